/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A multigrid solver as small as an example may be: -laplace u = f on a cube of cells that is cut
 * into boxes, one a process. Halo exchanges of six faces and sums of 8 bytes, as AMG codes have
 * them: many calls of a microsecond, so that clocks a millisecond apart make nonsense of a trace.
 *
 * usage: amg [CELLS [CYCLES]] (cells along an edge of a process's box, a power of two; V-cycles)
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { FACES = 6, LEVELS_MAX = 8, SMOOTHINGS = 2 };

struct level {
    int n;     /* cells along an edge; arrays have one more at both ends */
    double h2; /* square of the distance of cells */
    double *u, *f, *r;
    double *out[FACES], *in[FACES];
    const struct level *coarse; /* of half the cells along an edge; NULL: there is none */
};

struct solver {
    MPI_Comm cart;
    int rank, size, levels;
    int peer[FACES]; /* across the low and the high face of each dimension */
    struct level level[LEVELS_MAX];
};

static size_t at(const struct level *l, int i, int j, int k)
{
    const size_t edge = (size_t)l->n + 2;
    return ((size_t)i * edge + (size_t)j) * edge + (size_t)k;
}

/* A cell of a face: the layer `plane` along dimension d. */
static size_t at_face(const struct level *l, int d, int plane, int a, int b)
{
    return d == 0 ? at(l, plane, a, b) : d == 1 ? at(l, a, plane, b) : at(l, a, b, plane);
}

static double *zeros(size_t count)
{
    double *array = calloc(count, sizeof(*array));
    if (!array) {
        (void)fprintf(stderr, "amg: no memory\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    return array;
}

/* The faces of x to and from the neighbours; at the cube's faces the solution is 0. */
static void exchange(const struct solver *s, const struct level *l, double *x)
{
    MPI_Request requests[2 * FACES];
    const int cells = l->n * l->n;
    for (int face = 0; face < FACES; face++) {
        MPI_Irecv(l->in[face], cells, MPI_DOUBLE, s->peer[face], face ^ 1, s->cart,
                  &requests[face]);
    }
    for (int face = 0; face < FACES; face++) {
        const int plane = face % 2 ? l->n : 1;
        for (int c = 0; c < cells; c++) {
            l->out[face][c] = x[at_face(l, face / 2, plane, 1 + c / l->n, 1 + c % l->n)];
        }
        MPI_Isend(l->out[face], cells, MPI_DOUBLE, s->peer[face], face, s->cart,
                  &requests[FACES + face]);
    }
    MPI_Waitall(2 * FACES, requests, MPI_STATUSES_IGNORE);
    for (int face = 0; face < FACES; face++) {
        const int ghost = face % 2 ? l->n + 1 : 0;
        const int plane = face % 2 ? l->n : 1;
        for (int c = 0; c < cells; c++) {
            const int a = 1 + c / l->n;
            const int b = 1 + c % l->n;
            x[at_face(l, face / 2, ghost, a, b)] = s->peer[face] == MPI_PROC_NULL
                                                       ? -x[at_face(l, face / 2, plane, a, b)]
                                                       : l->in[face][c];
        }
    }
}

/* r = f - A u; with it the sum of r's squares over all processes: 8 bytes. */
static double residual(const struct solver *s, const struct level *l)
{
    double sum = 0.0;
    exchange(s, l, l->u);
    for (int i = 1; i <= l->n; i++) {
        for (int j = 1; j <= l->n; j++) {
            for (int k = 1; k <= l->n; k++) {
                const size_t c = at(l, i, j, k);
                const double around = l->u[at(l, i - 1, j, k)] + l->u[at(l, i + 1, j, k)] +
                                      l->u[at(l, i, j - 1, k)] + l->u[at(l, i, j + 1, k)] +
                                      l->u[at(l, i, j, k - 1)] + l->u[at(l, i, j, k + 1)];
                l->r[c] = l->f[c] - (6.0 * l->u[c] - around) / l->h2;
                sum += l->r[c] * l->r[c];
            }
        }
    }
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, s->cart);
    return sqrt(sum);
}

/* Damped Jacobi: 6/7 is the best for high frequencies in three dimensions. */
static void smooth(const struct solver *s, const struct level *l)
{
    for (int sweep = 0; sweep < SMOOTHINGS; sweep++) {
        (void)residual(s, l);
        for (size_t c = 0; c < at(l, l->n + 1, l->n + 1, l->n + 2); c++) {
            l->u[c] += l->r[c] * l->h2 / 7.0;
        }
    }
}

static void cycle(const struct solver *s, const struct level *fine)
{
    const struct level *coarse = fine->coarse;
    smooth(s, fine);
    if (coarse) {
        (void)residual(s, fine);
        for (int c = 0; c < coarse->n * coarse->n * coarse->n; c++) {
            const int i = c / coarse->n / coarse->n;
            const int j = c / coarse->n % coarse->n;
            const int k = c % coarse->n;
            double sum = 0.0;
            for (int o = 0; o < 8; o++) {
                sum +=
                    fine->r[at(fine, 2 * i + 1 + o / 4, 2 * j + 1 + o / 2 % 2, 2 * k + 1 + o % 2)];
            }
            coarse->f[at(coarse, i + 1, j + 1, k + 1)] = sum / 8.0;
            coarse->u[at(coarse, i + 1, j + 1, k + 1)] = 0.0;
        }
        cycle(s, coarse);
        for (int i = 1; i <= fine->n; i++) {
            for (int j = 1; j <= fine->n; j++) {
                for (int k = 1; k <= fine->n; k++) {
                    fine->u[at(fine, i, j, k)] +=
                        coarse->u[at(coarse, (i + 1) / 2, (j + 1) / 2, (k + 1) / 2)];
                }
            }
        }
    }
    smooth(s, fine);
}

static void make(struct solver *s, int cells)
{
    int dims[3] = {0, 0, 0};
    const int periods[3] = {0, 0, 0};
    MPI_Comm_size(MPI_COMM_WORLD, &s->size);
    MPI_Dims_create(s->size, 3, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &s->cart);
    MPI_Comm_set_name(s->cart, "boxes");
    MPI_Comm_rank(s->cart, &s->rank);
    for (int d = 0; d < 3; d++) {
        MPI_Cart_shift(s->cart, d, 1, &s->peer[2 * d], &s->peer[2 * d + 1]);
    }
    for (int n = cells; n >= 2 && s->levels < LEVELS_MAX; n /= 2) {
        struct level *l = &s->level[s->levels++];
        const size_t all = (size_t)(n + 2) * (size_t)(n + 2) * (size_t)(n + 2);
        *l = (struct level){.n = n, .h2 = 1.0 / n / n};
        if (l > s->level) {
            (l - 1)->coarse = l;
        }
        l->u = zeros(all);
        l->f = zeros(all);
        l->r = zeros(all);
        for (int face = 0; face < FACES; face++) {
            l->out[face] = zeros((size_t)n * (size_t)n);
            l->in[face] = zeros((size_t)n * (size_t)n);
        }
    }
}

static void release(struct solver *s)
{
    for (int i = 0; i < s->levels; i++) {
        struct level *l = &s->level[i];
        free(l->u);
        free(l->f);
        free(l->r);
        for (int face = 0; face < FACES; face++) {
            free(l->out[face]);
            free(l->in[face]);
        }
    }
    MPI_Comm_free(&s->cart);
}

int main(int argc, char **argv)
{
    struct solver s = {.levels = 0};
    const int cells = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 16;
    const int cycles = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 10;
    MPI_Init(&argc, &argv);
    if (cells < 2 || cells > 512 || (cells & (cells - 1)) != 0 || cycles < 1) {
        (void)fprintf(stderr, "usage: amg [CELLS [CYCLES]] (a power of two, 2 to 512)\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    make(&s, cells);
    struct level *top = &s.level[0];
    for (int c = 0; c < cells * cells * cells; c++) {
        const size_t cell = at(top, 1 + c / cells / cells, 1 + c / cells % cells, 1 + c % cells);
        top->f[cell] = 1.0;
    }
    const double first = residual(&s, top);
    for (int i = 0; i < cycles; i++) {
        cycle(&s, top);
    }
    const double last = residual(&s, top);
    if (s.rank == 0) {
        printf("%d processes, %d levels, %d cycles: residual %.3g to %.3g\n", s.size, s.levels,
               cycles, first, last);
    }
    release(&s);
    MPI_Finalize();
    return last < first ? 0 : 1;
}

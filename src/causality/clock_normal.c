/* SPDX-License-Identifier: BSD-3-Clause */
#include "causality/clock_normal.h"

#include "causality/cholesky.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/*
 * The iteration ends when r' M^-1 r has fallen to this share of its first value, which leaves ten
 * correct digits.
 */
static const double enough = 1e-20;

static double *normal_own(const struct normal *s, uint64_t clock)
{
    return &s->own[clock * s->nb * s->nb];
}

static double *normal_block(const struct normal *s, uint64_t edge)
{
    return &s->blocks[edge * s->nb * s->nb];
}

int ictusi_normal_init(struct normal *s, uint32_t clocks, uint32_t nb, uint64_t edges, bool dense)
{
    const uint64_t square = (uint64_t)nb * nb;
    *s = (struct normal){.clocks = clocks, .nb = nb, .n = (uint64_t)clocks * nb, .dense = dense};
    s->edge_count = edges;
    s->edges = calloc(edges + 1, sizeof *s->edges);
    s->own = calloc(clocks * square + 1, sizeof *s->own);
    s->blocks = calloc(edges * square + 1, sizeof *s->blocks);
    s->right = calloc(s->n + 1, sizeof *s->right);
    /*
     * The dense solver needs the matrix and a scale per row. The iterative one needs a factor and
     * its scales per clock, four vectors, and the work space of ictusi_normal_draw().
     */
    const uint64_t room = dense ? s->n * s->n : clocks * (square + nb);
    double **const solver = dense ? &s->matrix : &s->inverse;
    double **const vectors = dense ? &s->scale : &s->vectors;
    *solver = malloc((room + 1) * sizeof **solver);
    *vectors = calloc((dense ? s->n : 4 * s->n + square + nb) + 1, sizeof **vectors);
    if (!s->edges || !s->own || !s->blocks || !s->right || !*solver || !*vectors) {
        ictusi_normal_fini(s);
        return ICTUS_ERR_NOMEM;
    }
    return ICTUS_OK;
}

void ictusi_normal_fini(struct normal *s)
{
    free(s->edges);
    free(s->own);
    free(s->blocks);
    free(s->right);
    free(s->matrix);
    free(s->scale);
    free(s->inverse);
    free(s->vectors);
    *s = (struct normal){0};
}

void ictusi_normal_clear(struct normal *s)
{
    const uint64_t square = (uint64_t)s->nb * s->nb;
    memset(s->own, 0, s->clocks * square * sizeof *s->own);
    memset(s->blocks, 0, s->edge_count * square * sizeof *s->blocks);
    memset(s->right, 0, s->n * sizeof *s->right);
}

/* Add sign * block to the matrix, in the rows of one clock and the columns of another. */
static void matrix_add(const struct normal *s, uint64_t clock, uint64_t other, const double *block,
                       double sign)
{
    double *at = &s->matrix[clock * s->nb * s->n + other * s->nb];
    for (uint64_t i = 0; i < s->nb; i++) {
        for (uint64_t k = 0; k < s->nb; k++) {
            at[i * s->n + k] += sign * block[i * s->nb + k];
        }
    }
}

/*
 * An edge's (x_b - x_a)' S (x_b - x_a) adds S at (a, a) and (b, b) and subtracts it at (a, b) and
 * (b, a): this is the Laplacian of a graph whose weights are matrices. Moving all clocks alike
 * changes none of these terms, so A would be singular without what is known of single clocks.
 */
static void matrix_fill(const struct normal *s)
{
    memset(s->matrix, 0, s->n * s->n * sizeof *s->matrix);
    for (uint64_t e = 0; e < s->edge_count; e++) {
        const uint64_t a = s->edges[e].a;
        const uint64_t b = s->edges[e].b;
        const double *block = normal_block(s, e);
        matrix_add(s, a, a, block, 1);
        matrix_add(s, b, b, block, 1);
        matrix_add(s, a, b, block, -1);
        matrix_add(s, b, a, block, -1);
    }
    for (uint64_t u = 0; u < s->clocks; u++) {
        matrix_add(s, u, u, normal_own(s, u), 1);
    }
}

static double *normal_inverse_at(const struct normal *s, uint64_t clock)
{
    return &s->inverse[clock * (s->nb + 1UL) * s->nb];
}

/*
 * Factorise the preconditioner M (block Jacobi), which consists of the blocks on A's diagonal. Each
 * holds the clock's own terms and S of all its edges. The blocks are
 * principal submatrices of A, so if one is not positive definite, A is not either.
 */
static bool diagonal_factorise(const struct normal *s)
{
    const uint64_t square = (uint64_t)s->nb * s->nb;
    for (uint64_t u = 0; u < s->clocks; u++) {
        memcpy(normal_inverse_at(s, u), normal_own(s, u), square * sizeof *s->own);
    }
    for (uint64_t e = 0; e < s->edge_count; e++) {
        for (uint64_t i = 0; i < square; i++) {
            normal_inverse_at(s, s->edges[e].a)[i] += normal_block(s, e)[i];
            normal_inverse_at(s, s->edges[e].b)[i] += normal_block(s, e)[i];
        }
    }
    bool definite = true;
    for (uint64_t u = 0; u < s->clocks && definite; u++) {
        double *block = normal_inverse_at(s, u);
        definite = ictusi_cholesky_factorise(block, s->nb, block + square);
    }
    return definite;
}

bool ictusi_normal_factorise(struct normal *s)
{
    if (!s->dense) {
        return diagonal_factorise(s);
    }
    matrix_fill(s);
    return ictusi_cholesky_factorise(s->matrix, (uint32_t)s->n, s->scale);
}

/* y += block * x. */
static void block_multiply(const double *block, const double *x, double *y, uint32_t nb)
{
    for (uint32_t i = 0; i < nb; i++) {
        for (uint32_t k = 0; k < nb; k++) {
            y[i] += block[(uint64_t)i * nb + k] * x[k];
        }
    }
}

/* Add S (x_b - x_a) to y at b, and subtract it at a. */
static void edge_multiply(const struct normal *s, uint64_t e, const double *x, double *y)
{
    const double *block = normal_block(s, e);
    const double *xa = &x[(uint64_t)s->edges[e].a * s->nb];
    const double *xb = &x[(uint64_t)s->edges[e].b * s->nb];
    double *ya = &y[(uint64_t)s->edges[e].a * s->nb];
    double *yb = &y[(uint64_t)s->edges[e].b * s->nb];
    for (uint32_t i = 0; i < s->nb; i++) {
        double sum = 0;
        for (uint32_t k = 0; k < s->nb; k++) {
            sum += block[(uint64_t)i * s->nb + k] * (xb[k] - xa[k]);
        }
        ya[i] -= sum;
        yb[i] += sum;
    }
}

/* y = A x, without forming the matrix: the time is proportional to the number of edges. */
static void normal_multiply(const struct normal *s, const double *x, double *y)
{
    memset(y, 0, s->n * sizeof *y);
    for (uint64_t e = 0; e < s->edge_count; e++) {
        edge_multiply(s, e, x, y);
    }
    for (uint64_t u = 0; u < s->clocks; u++) {
        block_multiply(normal_own(s, u), &x[u * s->nb], &y[u * s->nb], s->nb);
    }
}

/* z = M^-1 r, one clock at a time. */
static void diagonal_solve(const struct normal *s, const double *r, double *z)
{
    const uint64_t square = (uint64_t)s->nb * s->nb;
    memcpy(z, r, s->n * sizeof *z);
    for (uint64_t u = 0; u < s->clocks; u++) {
        const double *block = normal_inverse_at(s, u);
        ictusi_cholesky_solve(block, s->nb, block + square, &z[u * s->nb]);
    }
}

static double vectors_product(const double *a, const double *b, uint64_t n)
{
    double sum = 0;
    for (uint64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/*
 * Preconditioned conjugate gradients for A x = right, from x = 0. r is the residual, z = M^-1 r, p
 * the direction, q = A p, and rho = r' z. Without rounding, n steps would be enough.
 *
 * Every iterate has a lower objective than the one before. So if the limit on the steps is reached,
 * the result is a shorter step of the fit, not a wrong one.
 */
static void gradients_solve(struct normal *s)
{
    const uint64_t steps = 4 * s->n + 100;
    double *x = s->right;
    double *r = s->vectors;
    double *z = r + s->n;
    double *p = z + s->n;
    double *q = p + s->n;
    memcpy(r, x, s->n * sizeof *r);
    memset(x, 0, s->n * sizeof *x);
    diagonal_solve(s, r, z);
    memcpy(p, z, s->n * sizeof *p);
    double rho = vectors_product(r, z, s->n);
    const double end = rho * enough;
    for (uint64_t step = 0; step < steps && rho > end; step++) {
        normal_multiply(s, p, q);
        const double alpha = rho / vectors_product(p, q, s->n);
        if (!(alpha > 0) || !isfinite(alpha)) {
            break; /* rounding has used up what was left to gain */
        }
        for (uint64_t i = 0; i < s->n; i++) {
            x[i] += alpha * p[i];
            r[i] -= alpha * q[i];
        }
        diagonal_solve(s, r, z);
        const double next = vectors_product(r, z, s->n);
        for (uint64_t i = 0; i < s->n; i++) {
            p[i] = z[i] + next / rho * p[i];
        }
        rho = next;
    }
}

void ictusi_normal_solve(struct normal *s)
{
    if (s->dense) {
        ictusi_cholesky_solve(s->matrix, (uint32_t)s->n, s->scale, s->right);
    } else {
        gradients_solve(s);
    }
}

/*
 * A random vector with the block as its covariance: the columns of its Cholesky factor times normal
 * random numbers. A block may lack full rank, such as that of a pair whose delays determine the
 * slope only. Its pivots are then rounding errors, which count as 0. work: nb x nb.
 */
static void block_draw(const double *block, double *work, double *out, uint64_t nb, struct rng *rng)
{
    const double rounding = 1e-13;
    memcpy(work, block, nb * nb * sizeof *work);
    memset(out, 0, nb * sizeof *out);
    for (uint64_t k = 0; k < nb; k++) {
        const double pivot = work[k * nb + k];
        if (!(pivot > rounding * block[k * nb + k])) {
            continue;
        }
        const double share = ictusi_random_normal(rng) / sqrt(pivot);
        for (uint64_t i = k; i < nb; i++) {
            out[i] += work[i * nb + k] * share;
        }
        for (uint64_t i = k + 1; i < nb; i++) {
            for (uint64_t j = k + 1; j <= i; j++) {
                work[i * nb + j] -= work[i * nb + k] * work[j * nb + k] / pivot;
            }
        }
    }
}

/*
 * Draw one independent vector for each term of A, with that term as its covariance. Covariances of
 * independent vectors add up, here to A.
 */
void ictusi_normal_draw(struct normal *s, struct rng *rng)
{
    double *part = s->vectors + 4 * s->n;
    double *work = part + s->nb;
    memset(s->right, 0, s->n * sizeof *s->right);
    for (uint64_t u = 0; u < s->clocks; u++) {
        block_draw(normal_own(s, u), work, &s->right[u * s->nb], s->nb, rng);
    }
    for (uint64_t e = 0; e < s->edge_count; e++) {
        block_draw(normal_block(s, e), work, part, s->nb, rng);
        for (uint64_t i = 0; i < s->nb; i++) {
            s->right[(uint64_t)s->edges[e].a * s->nb + i] -= part[i];
            s->right[(uint64_t)s->edges[e].b * s->nb + i] += part[i];
        }
    }
}

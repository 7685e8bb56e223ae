/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program in which one process has more to do than the others in each step, with a collective at
 * the end of the step: what bench/arrivals traces, tunes for and runs again.
 *   late_program OPERATION BYTES STEPS LATE_US [RANK]
 * The last process is the late one, unless another RANK is given. allreduce, reduce, bcast (from
 * the first process) or alltoall (BYTES for each). It prints the mean time of a step, in us, and
 * what of it was not the late one's work.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPERATIONS = 4, WARMUP = 20 };

static const char *const operations[OPERATIONS] = {"allreduce", "reduce", "bcast", "alltoall"};

struct program {
    int rank, size, late, operation, count;
    double late_s;
    double *in, *out;
};

/* Computing that takes as long as it is told to, on any machine. */
static void work(double seconds)
{
    const double end = MPI_Wtime() + seconds;
    while (seconds > 0 && MPI_Wtime() < end) {
    }
}

static void step(const struct program *p)
{
    const MPI_Comm world = MPI_COMM_WORLD;
    work(p->rank == p->late ? p->late_s : 0);
    switch (p->operation) {
    case 0:
        MPI_Allreduce(p->in, p->out, p->count, MPI_DOUBLE, MPI_SUM, world);
        break;
    case 1:
        MPI_Reduce(p->in, p->out, p->count, MPI_DOUBLE, MPI_SUM, 0, world);
        MPI_Barrier(world); /* or nobody would know how long it took */
        break;
    case 2:
        MPI_Bcast(p->out, p->count, MPI_DOUBLE, 0, world);
        MPI_Barrier(world);
        break;
    default:
        MPI_Alltoall(p->in, p->count, MPI_DOUBLE, p->out, p->count, MPI_DOUBLE, world);
    }
}

static int read_words(int argc, char **argv, struct program *p, long *steps)
{
    p->operation = 0;
    while ((argc == 5 || argc == 6) && p->operation < OPERATIONS &&
           strcmp(argv[1], operations[p->operation]) != 0) {
        p->operation++;
    }
    if ((argc != 5 && argc != 6) || p->operation == OPERATIONS) {
        return -1;
    }
    p->count = (int)(strtol(argv[2], NULL, 10) / (long)sizeof(double));
    *steps = strtol(argv[3], NULL, 10);
    p->late_s = 1e-6 * strtod(argv[4], NULL);
    p->late = argc == 6 ? (int)strtol(argv[5], NULL, 10) : p->size - 1;
    return p->count > 0 && *steps > 0 && p->late >= 0 && p->late < p->size ? 0 : -1;
}

int main(int argc, char **argv)
{
    struct program p = {.rank = 0};
    long steps = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &p.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &p.size);
    if (read_words(argc, argv, &p, &steps)) {
        (void)fprintf(stderr,
                      "usage: late_program allreduce|reduce|bcast|alltoall BYTES STEPS LATE_US "
                      "[RANK]\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    p.in = calloc((size_t)p.count * (size_t)p.size, sizeof(*p.in));
    p.out = calloc((size_t)p.count * (size_t)p.size, sizeof(*p.out));
    if (!p.in || !p.out) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < WARMUP; i++) {
        step(&p);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    for (long i = 0; i < steps; i++) {
        step(&p);
    }
    const double each_us = 1e6 * (MPI_Wtime() - begin) / (double)steps;
    if (p.rank == p.late) { /* who was never early has the whole step in its time */
        printf("%.3f %.3f\n", each_us, each_us - 1e6 * p.late_s);
    }
    free(p.in);
    free(p.out);
    MPI_Finalize();
    return 0;
}

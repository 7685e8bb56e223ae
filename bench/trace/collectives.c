/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What collectives cost: the least of many short batches, in ns a call; other load only adds.
 *   trace_collectives [BATCHES]
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCHES = 400, CALLS = 500 };

static double now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double in[1024], out[1024];

static void call_allreduce(void)
{
    MPI_Allreduce(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void call_barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void call_bcast(void)
{
    MPI_Bcast(in, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static void call_alltoall(void)
{
    MPI_Alltoall(in, 16, MPI_DOUBLE, out, 16, MPI_DOUBLE, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*call)(void);
    } rows[] = {{"allreduce", call_allreduce},
                {"barrier", call_barrier},
                {"bcast", call_bcast},
                {"alltoall", call_alltoall}};
    const int batches = argc > 1 ? atoi(argv[1]) : BATCHES;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double best = 1e18;
        for (int b = 0; b < batches; b++) {
            const double from = now_ns();
            for (int k = 0; k < CALLS; k++) {
                rows[i].call();
            }
            const double one = (now_ns() - from) / CALLS;
            best = one < best ? one : best;
        }
        if (rank == 0) {
            printf("%s %.1f\n", rows[i].name, best);
        }
    }
    MPI_Finalize();
    return 0;
}

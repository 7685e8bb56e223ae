/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many calls of the cheapest kind: what tracing takes of memory and writes a second when nothing
 * else happens. usage: many CALLS; each process prints its peak memory (KiB) behind MPI_Finalize.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

int main(int argc, char **argv)
{
    struct rusage usage;
    const long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Barrier(MPI_COMM_WORLD);
    const double from = MPI_Wtime();
    for (long i = 0; i < calls; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    const double recorded = MPI_Wtime() - from;
    MPI_Barrier(MPI_COMM_WORLD);
    const double together = MPI_Wtime() - from;
    MPI_Finalize();
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("rank %d recorded_s %.3f together_s %.3f peak_kib %ld\n", rank, recorded, together,
           usage.ru_maxrss);
    return 0;
}

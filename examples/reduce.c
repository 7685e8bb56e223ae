/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark loop of S23 section 5.3: harmonised starts instead of barriers, and repetitions
 * whose start was late on some process left out and made again. Usage: mpirun -n N reduce
 * [REPETITIONS]
 */
#include <ictus/mpix_harmonize.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const int wanted = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 1000;
    int rank = 0;
    int done = 0;
    int tried = 0;
    double sum = 0.0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    while (done < wanted && tried < 20 * wanted) {
        int flag = 0;
        int all = 0;
        const double value = rank;
        double result = 0.0;
        MPIX_Harmonize(MPI_COMM_WORLD, &flag);
        const double begin = MPI_Wtime();
        MPI_Reduce(&value, &result, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        const double took = MPI_Wtime() - begin;
        /*
         * The flag is local: whether all processes started in time is known only after they have
         * compared theirs.
         */
        MPI_Allreduce(&flag, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        tried++;
        if (all) {
            sum += took;
            done++;
        }
    }
    double slowest = 0.0;
    const double mean = done ? sum / done : 0.0;
    MPI_Reduce(&mean, &slowest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("MPI_Reduce of 8 bytes: %.3f us on the slowest process, %d of %d starts in time\n",
               slowest * 1e6, done, tried);
    }
    MPI_Finalize();
    return 0;
}

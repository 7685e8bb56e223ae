/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A benchmark like many others: a barrier before each repetition, and the mean over the processes.
 * It does not know ictus. Run it as it is, and once more with harmonised starts: mpirun -n 4
 * allreduce and mpirun -n 4 -x LD_PRELOAD=libictus-barrier.so allreduce
 */
#include <mpi.h>
#include <stdio.h>

enum { REPETITIONS = 1000, SKIPPED = 100, SIZE_MAX_BYTES = 65536 };

int main(int argc, char **argv)
{
    static char in[SIZE_MAX_BYTES];
    static char out[SIZE_MAX_BYTES];
    int rank = 0;
    int size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int bytes = 8; bytes <= SIZE_MAX_BYTES; bytes *= 8) {
        double sum = 0.0;
        for (int i = 0; i < REPETITIONS + SKIPPED; i++) {
            MPI_Barrier(MPI_COMM_WORLD);
            const double begin = MPI_Wtime();
            MPI_Allreduce(in, out, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
            sum += i >= SKIPPED ? MPI_Wtime() - begin : 0.0;
        }
        double total = 0.0;
        MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        if (rank == 0) {
            printf("%8d bytes %10.3f us\n", bytes, total / size / REPETITIONS * 1e6);
        }
    }
    MPI_Finalize();
    return 0;
}

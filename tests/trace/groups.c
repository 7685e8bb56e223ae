/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Barriers of an inter-communicator between the lower half of the processes and the upper half. In
 * each round another process is late: a nonblocking barrier, then a blocking one.
 */
#include <mpi.h>

#include <unistd.h>

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    MPI_Comm own = MPI_COMM_NULL;
    MPI_Comm between = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int lower = rank < size / 2;
    MPI_Comm_split(MPI_COMM_WORLD, lower, rank, &own);
    MPI_Intercomm_create(own, 0, MPI_COMM_WORLD, lower ? size / 2 : 0, 1, &between);
    for (int late = 0; late < size; late++) {
        for (int blocking = 0; blocking < 2; blocking++) {
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Barrier(MPI_COMM_WORLD);
            if (rank == late) {
                (void)usleep(5000);
            }
            if (blocking) {
                MPI_Barrier(between);
            } else {
                MPI_Ibarrier(between, &request);
                MPI_Wait(&request, MPI_STATUS_IGNORE);
            }
        }
    }
    MPI_Comm_free(&between);
    MPI_Comm_free(&own);
    MPI_Finalize();
    return 0;
}

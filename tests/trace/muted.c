/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages and barriers of which one process records only some. usage: muted WHO: the rank that
 * switches recording off for the middle third, or -1. Each message takes a while, so that a wrong
 * pair goes back in time.
 */
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 30, PAUSE_US = 4000 };

int main(int argc, char **argv)
{
    const int who = argc > 1 ? (int)strtol(argv[1], NULL, 10) : -1;
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == who && i % (ROUNDS / 3) == 0) {
            MPI_Pcontrol(i != ROUNDS / 3);
        }
        if (rank == 0) {
            (void)usleep(PAUSE_US);
            MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
        } else if (rank == 1) {
            int got = -1;
            MPI_Request request = MPI_REQUEST_NULL;
            MPI_Irecv(&got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Finalize();
    return 0;
}

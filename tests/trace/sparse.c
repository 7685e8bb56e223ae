/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges in which each process receives from its left neighbour alone: Alltoallv, Ialltoallv and
 * Alltoallw, five times each, between processes that come one after the other. Then five Alltoallv
 * and five Ialltoallv in which each of at most 16 processes receives from all.
 */
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *zeros = calloc((size_t)size, sizeof(*zeros));
    int *to = calloc((size_t)size, sizeof(*to));
    int *from = calloc((size_t)size, sizeof(*from));
    int places[16] = {0};
    MPI_Datatype *types = calloc((size_t)size, sizeof(MPI_Datatype));
    if (!zeros || !to || !from || !types) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return 1;
    }
    for (int i = 0; i < size; i++) {
        types[i] = MPI_INT;
        places[i % 16] = i % 16;
    }
    /* A line, not a ring: the first receives nothing, and nobody waits for the last. */
    if (rank + 1 < size) {
        to[rank + 1] = 1;
    }
    if (rank > 0) {
        from[rank - 1] = 1;
    }
    for (int i = 0; i < 5; i++) {
        int in = 0;
        MPI_Request request = MPI_REQUEST_NULL;
        (void)usleep(2000U * (unsigned)rank);
        MPI_Alltoallv(&rank, to, zeros, MPI_INT, &in, from, zeros, MPI_INT, MPI_COMM_WORLD);
        MPI_Ialltoallv(&rank, to, zeros, MPI_INT, &in, from, zeros, MPI_INT, MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Alltoallw(&rank, to, zeros, types, &in, from, zeros, types, MPI_COMM_WORLD);
    }
    /* And from everybody: then the totals and the number of senders prove all pairs. */
    for (int i = 0; i < size; i++) {
        to[i] = 1;
    }
    for (int i = 0; i < 5; i++) {
        int in[16] = {0};
        MPI_Request request = MPI_REQUEST_NULL;
        MPI_Alltoallv(&rank, to, zeros, MPI_INT, in, to, places, MPI_INT, MPI_COMM_WORLD);
        MPI_Ialltoallv(&rank, to, zeros, MPI_INT, in, to, places, MPI_INT, MPI_COMM_WORLD,
                       &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    free(zeros);
    free(to);
    free(from);
    free(types);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls from several functions, of which it prints, on rank 0, from which line each was made:
 * "FUNCTION CALLER LINE". With an argument rank 0 then ends without MPI_Finalize.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>

static int own_rank;

extern int sites_rank(void);

/* The call must be in the line of the macro. */
#define SAID(function) (own_rank == 0 ? printf("%s %s %d\n", function, __func__, __LINE__) : 0)

static __attribute__((noinline)) void exchange(int size)
{
    int in = 0;
    const int next = (own_rank + 1) % size;
    const int last = (own_rank + size - 1) % size;
    MPI_Request request = MPI_REQUEST_NULL;
    for (int i = 0; i < 3; i++) {
        /* clang-format off */
        MPI_Irecv(&in, 1, MPI_INT, last, 0, MPI_COMM_WORLD, &request); SAID("MPI_Irecv");
        MPI_Send(&own_rank, 1, MPI_INT, next, 0, MPI_COMM_WORLD); SAID("MPI_Send");
        MPI_Wait(&request, MPI_STATUS_IGNORE); SAID("MPI_Wait");
        /* clang-format on */
    }
}

static __attribute__((noinline)) void meet(void)
{
    /* clang-format off */
    MPI_Barrier(MPI_COMM_WORLD); SAID("MPI_Barrier");
    PMPI_Barrier(MPI_COMM_WORLD); SAID("MPI_Barrier");
    /* clang-format on */
}

int main(int argc, char **argv)
{
    int size = 0;
    MPI_Init(&argc, &argv);
    const int init_line = __LINE__ - 1;
    own_rank = sites_rank();
    if (own_rank == 0) {
        printf("MPI_Init main %d\nMPI_Comm_rank sites_rank 0\n", init_line);
    }
    /* clang-format off */
    MPI_Comm_size(MPI_COMM_WORLD, &size); SAID("MPI_Comm_size");
    /* clang-format on */
    exchange(size);
    meet();
    if (argc > 1) {
        (void)fflush(stdout);
        if (own_rank == 0) {
            _Exit(1);
        }
    }
    /* clang-format off */
    SAID("MPI_Finalize"); MPI_Finalize();
    /* clang-format on */
    return 0;
}

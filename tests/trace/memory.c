/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of several windows, many active requests and many communicators: prints each process's
 * peak memory (KiB) behind MPI_Finalize.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { CALLS = 1000000, REQUESTS = 5000, COMMS = 300 };

int main(int argc, char **argv)
{
    struct rusage usage;
    int rank = 0;
    const int out = 1;
    int in = 0;
    MPI_Request *requests = calloc(REQUESTS, sizeof(*requests));
    MPI_Init(&argc, &argv);
    for (int i = 0; i < CALLS; i++) {
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    }
    for (int i = 0; requests && i < REQUESTS; i++) {
        MPI_Irecv(&in, 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
    }
    for (int i = 0; requests && i < REQUESTS; i++) {
        MPI_Send(&out, 1, MPI_INT, 0, i, MPI_COMM_SELF);
    }
    if (requests) {
        MPI_Waitall(REQUESTS, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < COMMS; i++) {
        MPI_Comm copy;
        MPI_Comm_dup(MPI_COMM_SELF, &copy);
        MPI_Barrier(copy);
        MPI_Comm_free(&copy);
    }
    MPI_Finalize();
    free(requests);
    (void)getrusage(RUSAGE_SELF, &usage);
    printf("peak_kib %ld\n", usage.ru_maxrss);
    return 0;
}

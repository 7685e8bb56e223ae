/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each collective of the list, twice at each size, without anything of ictus: what bench/labels
 * compares with, started with the library's documented settings in the environment.
 *   reference OPERATION,... BYTES,... [ELEMENT_BYTES]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2 };

struct buffers {
    char *in;
    char *out;
    int *counts;
    int *places;
    int count;
};

#define N b->count, MPI_CHAR
static int reference_run(const char *name, const struct buffers *b, MPI_Comm comm)
{
#define IS(text) (strcmp(name, text) == 0)
    return IS("barrier")     ? MPI_Barrier(comm)
           : IS("bcast")     ? MPI_Bcast(b->in, N, 0, comm)
           : IS("reduce")    ? MPI_Reduce(b->in, b->out, N, MPI_SUM, 0, comm)
           : IS("allreduce") ? MPI_Allreduce(b->in, b->out, N, MPI_SUM, comm)
           : IS("scan")      ? MPI_Scan(b->in, b->out, N, MPI_SUM, comm)
           : IS("exscan")    ? MPI_Exscan(b->in, b->out, N, MPI_SUM, comm)
           : IS("gather")    ? MPI_Gather(b->in, N, b->out, N, 0, comm)
           : IS("scatter")   ? MPI_Scatter(b->in, N, b->out, N, 0, comm)
           : IS("allgather") ? MPI_Allgather(b->in, N, b->out, N, comm)
           : IS("alltoall")  ? MPI_Alltoall(b->in, N, b->out, N, comm)
           : IS("allgatherv")
               ? MPI_Allgatherv(b->in, N, b->out, b->counts, b->places, MPI_CHAR, comm)
           : IS("alltoallv") ? MPI_Alltoallv(b->in, b->counts, b->places, MPI_CHAR, b->out,
                                             b->counts, b->places, MPI_CHAR, comm)
           : IS("reduce_scatter")
               ? MPI_Reduce_scatter(b->in, b->out, b->counts, MPI_CHAR, MPI_SUM, comm)
           : IS("reduce_scatter_block") ? MPI_Reduce_scatter_block(b->in, b->out, N, MPI_SUM, comm)
                                        : MPI_ERR_ARG;
}

static int reference_sizes(const char *name, const char *sizes, int processes, MPI_Comm comm)
{
    int err = MPI_SUCCESS;
    for (const char *at = sizes; at && *at; at = strchr(at, ','), at += at ? 1 : 0) {
        const int count = atoi(at);
        const size_t room = (size_t)(count + 1) * (size_t)processes;
        struct buffers b = {calloc(1, room), calloc(1, room),
                            calloc((size_t)processes, sizeof(int)),
                            calloc((size_t)processes, sizeof(int)), count};
        for (int i = 0; i < processes; i++) {
            b.counts[i] = count;
            b.places[i] = i * count;
        }
        for (int i = 0; i < RUNS; i++) {
            err = reference_run(name, &b, comm) == MPI_SUCCESS ? err : MPI_ERR_OTHER;
        }
        free(b.in);
        free(b.out);
        free(b.counts);
        free(b.places);
    }
    return err;
}

int main(int argc, char **argv)
{
    int processes = 0;
    char name[64];
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_size(MPI_COMM_WORLD, &processes);
    for (const char *at = argc == 3 ? argv[1] : ""; *at; at += *at ? 1 : 0) {
        const size_t length = strcspn(at, ",");
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, at);
        (void)reference_sizes(name, argv[2], processes, MPI_COMM_WORLD);
        at += length;
    }
    return MPI_Finalize();
}

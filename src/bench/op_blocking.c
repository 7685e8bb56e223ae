/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking collectives of MPI-3.1, with their v- and w-variants. */
#include "bench/operation.h"

/* Defines how NAME is called: the arguments of the MPI function in terms of the call c. */
#define BLOCKING(name, function, ...)                                                              \
    static int run_##name(struct call *c)                                                          \
    {                                                                                              \
        return function(__VA_ARGS__);                                                              \
    }

BLOCKING(barrier, MPI_Barrier, c->comm)
BLOCKING(bcast, MPI_Bcast, c->send, c->count, c->type, c->root, c->comm)
BLOCKING(reduce, MPI_Reduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm)
BLOCKING(allreduce, MPI_Allreduce, c->send, c->recv, c->count, c->type, c->op, c->comm)
BLOCKING(gather, MPI_Gather, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
         c->comm)
BLOCKING(gatherv, MPI_Gatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs, c->type,
         c->root, c->comm)
BLOCKING(scatter, MPI_Scatter, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
         c->comm)
BLOCKING(scatterv, MPI_Scatterv, c->send, c->counts, c->displs, c->type, c->recv, c->count, c->type,
         c->root, c->comm)
BLOCKING(allgather, MPI_Allgather, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
BLOCKING(allgatherv, MPI_Allgatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs,
         c->type, c->comm)
BLOCKING(alltoall, MPI_Alltoall, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
BLOCKING(alltoallv, MPI_Alltoallv, c->send, c->counts, c->displs, c->type, c->recv, c->counts,
         c->displs, c->type, c->comm)
BLOCKING(alltoallw, MPI_Alltoallw, c->send, c->counts, c->byte_displs, c->types, c->recv, c->counts,
         c->byte_displs, c->types, c->comm)
BLOCKING(reduce_scatter, MPI_Reduce_scatter, c->send, c->recv, c->counts, c->type, c->op, c->comm)
BLOCKING(reduce_scatter_block, MPI_Reduce_scatter_block, c->send, c->recv, c->count, c->type, c->op,
         c->comm)
BLOCKING(scan, MPI_Scan, c->send, c->recv, c->count, c->type, c->op, c->comm)
BLOCKING(exscan, MPI_Exscan, c->send, c->recv, c->count, c->type, c->op, c->comm)
BLOCKING(reduce_local, MPI_Reduce_local, c->send, c->recv, c->count, c->type, c->op)

#define ROW(name, mpi_name, shape)                                                                 \
    {                                                                                              \
#name, mpi_name, shape, run_##name, NULL, NULL, NULL, NULL                                 \
    }

const struct operation ictusi_blocking[] = {
    ROW(barrier, "MPI_Barrier", SHAPE_BARRIER),
    ROW(bcast, "MPI_Bcast", SHAPE_BCAST),
    ROW(reduce, "MPI_Reduce", SHAPE_REDUCE),
    ROW(allreduce, "MPI_Allreduce", SHAPE_ALLREDUCE),
    ROW(gather, "MPI_Gather", SHAPE_GATHER),
    ROW(gatherv, "MPI_Gatherv", SHAPE_GATHER),
    ROW(scatter, "MPI_Scatter", SHAPE_SCATTER),
    ROW(scatterv, "MPI_Scatterv", SHAPE_SCATTER),
    ROW(allgather, "MPI_Allgather", SHAPE_ALLGATHER),
    ROW(allgatherv, "MPI_Allgatherv", SHAPE_ALLGATHER),
    ROW(alltoall, "MPI_Alltoall", SHAPE_ALLTOALL),
    ROW(alltoallv, "MPI_Alltoallv", SHAPE_ALLTOALL),
    ROW(alltoallw, "MPI_Alltoallw", SHAPE_ALLTOALL),
    ROW(reduce_scatter, "MPI_Reduce_scatter", SHAPE_REDUCE_SCATTER),
    ROW(reduce_scatter_block, "MPI_Reduce_scatter_block", SHAPE_REDUCE_SCATTER),
    ROW(scan, "MPI_Scan", SHAPE_SCAN),
    ROW(exscan, "MPI_Exscan", SHAPE_EXSCAN),
    ROW(reduce_local, "MPI_Reduce_local", SHAPE_REDUCE_LOCAL),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};

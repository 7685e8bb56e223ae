/* SPDX-License-Identifier: BSD-3-Clause */
/* The blocking collectives of MPI-3.1, with their v- and w-variants. */
#include "bench/op_call.h"

CALL(barrier, MPI_Barrier, c->comm)
CALL(bcast, MPI_Bcast, c->send, c->count, c->type, c->root, c->comm)
CALL(reduce, MPI_Reduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm)
CALL(allreduce, MPI_Allreduce, c->send, c->recv, c->count, c->type, c->op, c->comm)
CALL(gather, MPI_Gather, c->send, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm)
CALL(gatherv, MPI_Gatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs, c->type,
     c->root, c->comm)
CALL(scatter, MPI_Scatter, c->send, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm)
CALL(scatterv, MPI_Scatterv, c->send, c->counts, c->displs, c->type, c->recv, c->count, c->type,
     c->root, c->comm)
CALL(allgather, MPI_Allgather, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
CALL(allgatherv, MPI_Allgatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs, c->type,
     c->comm)
CALL(alltoall, MPI_Alltoall, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
CALL(alltoallv, MPI_Alltoallv, c->send, c->counts, c->displs, c->type, c->recv, c->counts,
     c->displs, c->type, c->comm)
CALL(alltoallw, MPI_Alltoallw, c->send, c->counts, c->byte_displs, c->types, c->recv, c->counts,
     c->byte_displs, c->types, c->comm)
CALL(reduce_scatter, MPI_Reduce_scatter, c->send, c->recv, c->counts, c->type, c->op, c->comm)
CALL(reduce_scatter_block, MPI_Reduce_scatter_block, c->send, c->recv, c->count, c->type, c->op,
     c->comm)
CALL(scan, MPI_Scan, c->send, c->recv, c->count, c->type, c->op, c->comm)
CALL(exscan, MPI_Exscan, c->send, c->recv, c->count, c->type, c->op, c->comm)
CALL(reduce_local, MPI_Reduce_local, c->send, c->recv, c->count, c->type, c->op)

const struct operation ictusi_blocking[] = {
    CALL_ROW(barrier, "MPI_Barrier", SHAPE_BARRIER),
    CALL_ROW(bcast, "MPI_Bcast", SHAPE_BCAST),
    CALL_ROW(reduce, "MPI_Reduce", SHAPE_REDUCE),
    CALL_ROW(allreduce, "MPI_Allreduce", SHAPE_ALLREDUCE),
    CALL_ROW(gather, "MPI_Gather", SHAPE_GATHER),
    CALL_ROW(gatherv, "MPI_Gatherv", SHAPE_GATHER),
    CALL_ROW(scatter, "MPI_Scatter", SHAPE_SCATTER),
    CALL_ROW(scatterv, "MPI_Scatterv", SHAPE_SCATTER),
    CALL_ROW(allgather, "MPI_Allgather", SHAPE_ALLGATHER),
    CALL_ROW(allgatherv, "MPI_Allgatherv", SHAPE_ALLGATHER),
    CALL_ROW(alltoall, "MPI_Alltoall", SHAPE_ALLTOALL),
    CALL_ROW(alltoallv, "MPI_Alltoallv", SHAPE_ALLTOALL),
    CALL_ROW(alltoallw, "MPI_Alltoallw", SHAPE_ALLTOALL),
    CALL_ROW(reduce_scatter, "MPI_Reduce_scatter", SHAPE_REDUCE_SCATTER),
    CALL_ROW(reduce_scatter_block, "MPI_Reduce_scatter_block", SHAPE_REDUCE_SCATTER),
    CALL_ROW(scan, "MPI_Scan", SHAPE_SCAN),
    CALL_ROW(exscan, "MPI_Exscan", SHAPE_EXSCAN),
    CALL_ROW(reduce_local, "MPI_Reduce_local", SHAPE_REDUCE_LOCAL),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of MPI-4 that take an MPI_Count: for blocks of more elements than an int counts.
 * MPI_Reduce_scatter_block_c is not among them: MPICH 4.0.2's copies within overlapping memory.
 */
#include "bench/op_call.h"

#include <string.h>

#if MPI_VERSION >= 4
CALL(bcast, MPI_Bcast_c, c->send, c->elements, c->type, c->root, c->comm)
CALL(reduce, MPI_Reduce_c, c->send, c->recv, c->elements, c->type, c->op, c->root, c->comm)
CALL(allreduce, MPI_Allreduce_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
CALL(gather, MPI_Gather_c, c->send, c->elements, c->type, c->recv, c->elements, c->type, c->root,
     c->comm)
CALL(scatter, MPI_Scatter_c, c->send, c->elements, c->type, c->recv, c->elements, c->type, c->root,
     c->comm)
CALL(allgather, MPI_Allgather_c, c->send, c->elements, c->type, c->recv, c->elements, c->type,
     c->comm)
CALL(alltoall, MPI_Alltoall_c, c->send, c->elements, c->type, c->recv, c->elements, c->type,
     c->comm)
CALL(scan, MPI_Scan_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
CALL(exscan, MPI_Exscan_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
CALL(reduce_local, MPI_Reduce_local_c, c->send, c->recv, c->elements, c->type, c->op)

static const struct operation rows[] = {
    CALL_ROW(bcast, "MPI_Bcast_c", SHAPE_BCAST),
    CALL_ROW(reduce, "MPI_Reduce_c", SHAPE_REDUCE),
    CALL_ROW(allreduce, "MPI_Allreduce_c", SHAPE_ALLREDUCE),
    CALL_ROW(gather, "MPI_Gather_c", SHAPE_GATHER),
    CALL_ROW(scatter, "MPI_Scatter_c", SHAPE_SCATTER),
    CALL_ROW(allgather, "MPI_Allgather_c", SHAPE_ALLGATHER),
    CALL_ROW(alltoall, "MPI_Alltoall_c", SHAPE_ALLTOALL),
    CALL_ROW(scan, "MPI_Scan_c", SHAPE_SCAN),
    CALL_ROW(exscan, "MPI_Exscan_c", SHAPE_EXSCAN),
    CALL_ROW(reduce_local, "MPI_Reduce_local_c", SHAPE_REDUCE_LOCAL),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};
#else
static const struct operation rows[] = {
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};
#endif

const struct operation *ictusi_operation_large(const struct operation *operation)
{
    for (const struct operation *row = rows; row->name; row++) {
        if (strcmp(row->name, operation->name) == 0) {
            return row;
        }
    }
    return NULL;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of MPI-4 that take an MPI_Count: for blocks of more elements than an int counts.
 * MPI_Reduce_scatter_block_c is not among them: MPICH 4.0.2's copies within overlapping memory.
 */
#include "bench/operation.h"

#include <string.h>

#if MPI_VERSION >= 4
/* Defines how NAME is called: the arguments of the MPI function in terms of the call c. */
#define LARGE(name, function, ...)                                                                 \
    static int run_##name(struct call *c)                                                          \
    {                                                                                              \
        return function(__VA_ARGS__);                                                              \
    }

LARGE(bcast, MPI_Bcast_c, c->send, c->elements, c->type, c->root, c->comm)
LARGE(reduce, MPI_Reduce_c, c->send, c->recv, c->elements, c->type, c->op, c->root, c->comm)
LARGE(allreduce, MPI_Allreduce_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
LARGE(gather, MPI_Gather_c, c->send, c->elements, c->type, c->recv, c->elements, c->type, c->root,
      c->comm)
LARGE(scatter, MPI_Scatter_c, c->send, c->elements, c->type, c->recv, c->elements, c->type, c->root,
      c->comm)
LARGE(allgather, MPI_Allgather_c, c->send, c->elements, c->type, c->recv, c->elements, c->type,
      c->comm)
LARGE(alltoall, MPI_Alltoall_c, c->send, c->elements, c->type, c->recv, c->elements, c->type,
      c->comm)
LARGE(scan, MPI_Scan_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
LARGE(exscan, MPI_Exscan_c, c->send, c->recv, c->elements, c->type, c->op, c->comm)
LARGE(reduce_local, MPI_Reduce_local_c, c->send, c->recv, c->elements, c->type, c->op)

#define ROW(name, mpi_name, shape)                                                                 \
    {                                                                                              \
#name, mpi_name, shape, run_##name, NULL, NULL, NULL, NULL                                 \
    }

static const struct operation rows[] = {
    ROW(bcast, "MPI_Bcast_c", SHAPE_BCAST),
    ROW(reduce, "MPI_Reduce_c", SHAPE_REDUCE),
    ROW(allreduce, "MPI_Allreduce_c", SHAPE_ALLREDUCE),
    ROW(gather, "MPI_Gather_c", SHAPE_GATHER),
    ROW(scatter, "MPI_Scatter_c", SHAPE_SCATTER),
    ROW(allgather, "MPI_Allgather_c", SHAPE_ALLGATHER),
    ROW(alltoall, "MPI_Alltoall_c", SHAPE_ALLTOALL),
    ROW(scan, "MPI_Scan_c", SHAPE_SCAN),
    ROW(exscan, "MPI_Exscan_c", SHAPE_EXSCAN),
    ROW(reduce_local, "MPI_Reduce_local_c", SHAPE_REDUCE_LOCAL),
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* The operation of a collective. The numbers are OTF2's, as archive/scan.c asserts. */
#ifndef ICTUS_CORE_COLLECTIVE_OP_H
#define ICTUS_CORE_COLLECTIVE_OP_H

#include <stdbool.h>
#include <stdint.h>

enum collective_op {
    COLLECTIVE_BARRIER,
    COLLECTIVE_BCAST,
    COLLECTIVE_GATHER,
    COLLECTIVE_GATHERV,
    COLLECTIVE_SCATTER,
    COLLECTIVE_SCATTERV,
    COLLECTIVE_ALLGATHER,
    COLLECTIVE_ALLGATHERV,
    COLLECTIVE_ALLTOALL,
    COLLECTIVE_ALLTOALLV,
    COLLECTIVE_ALLTOALLW,
    COLLECTIVE_ALLREDUCE,
    COLLECTIVE_REDUCE,
    COLLECTIVE_REDUCE_SCATTER,
    COLLECTIVE_SCAN,
    COLLECTIVE_EXSCAN,
    COLLECTIVE_REDUCE_SCATTER_BLOCK,
    COLLECTIVE_CREATE_HANDLE, /* from here on: operations that create handles and allocate memory */
    COLLECTIVE_DESTROY_HANDLE,
    COLLECTIVE_ALLOCATE,
    COLLECTIVE_DEALLOCATE,
    COLLECTIVE_CREATE_HANDLE_AND_ALLOCATE,
    COLLECTIVE_DESTROY_HANDLE_AND_DEALLOCATE,
    COLLECTIVE_OPS
};

/* Return the name of the operation in reports and in ictus bench; static. */
const char *ictusi_collective_op_name(enum collective_op op);

/* Values of a root that are not a rank. */
#define COLLECTIVE_ROOT_NONE UINT32_MAX
#define COLLECTIVE_ROOT_SELF (UINT32_MAX - 1)
#define COLLECTIVE_ROOT_THIS_GROUP (UINT32_MAX - 2)

/* Return whether one member sends to all, or all send to one. */
static inline bool collective_is_rooted(uint8_t op)
{
    return op == COLLECTIVE_BCAST || op == COLLECTIVE_SCATTER || op == COLLECTIVE_SCATTERV ||
           op == COLLECTIVE_GATHER || op == COLLECTIVE_GATHERV || op == COLLECTIVE_REDUCE;
}

/* Alltoallv and Alltoallw are recorded with the totals of each member. These show who exchanged
 * with whom only if there is a single sender or a single receiver. */
static inline bool collective_is_sparse(uint8_t op)
{
    return op == COLLECTIVE_ALLTOALLV || op == COLLECTIVE_ALLTOALLW;
}

#endif

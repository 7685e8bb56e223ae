/* SPDX-License-Identifier: BSD-3-Clause */
#include "core/collective_op.h"

const char *ictusi_collective_op_name(enum collective_op op)
{
    static const char *const names[COLLECTIVE_OPS] = {
        [COLLECTIVE_BARRIER] = "barrier",
        [COLLECTIVE_BCAST] = "bcast",
        [COLLECTIVE_GATHER] = "gather",
        [COLLECTIVE_GATHERV] = "gatherv",
        [COLLECTIVE_SCATTER] = "scatter",
        [COLLECTIVE_SCATTERV] = "scatterv",
        [COLLECTIVE_ALLGATHER] = "allgather",
        [COLLECTIVE_ALLGATHERV] = "allgatherv",
        [COLLECTIVE_ALLTOALL] = "alltoall",
        [COLLECTIVE_ALLTOALLV] = "alltoallv",
        [COLLECTIVE_ALLTOALLW] = "alltoallw",
        [COLLECTIVE_ALLREDUCE] = "allreduce",
        [COLLECTIVE_REDUCE] = "reduce",
        [COLLECTIVE_REDUCE_SCATTER] = "reduce_scatter",
        [COLLECTIVE_SCAN] = "scan",
        [COLLECTIVE_EXSCAN] = "exscan",
        [COLLECTIVE_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
        [COLLECTIVE_CREATE_HANDLE] = "create_handle",
        [COLLECTIVE_DESTROY_HANDLE] = "destroy_handle",
        [COLLECTIVE_ALLOCATE] = "allocate",
        [COLLECTIVE_DEALLOCATE] = "deallocate",
        [COLLECTIVE_CREATE_HANDLE_AND_ALLOCATE] = "create_handle_and_allocate",
        [COLLECTIVE_DESTROY_HANDLE_AND_DEALLOCATE] = "destroy_handle_and_deallocate",
    };
    return names[op];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collective operations, with OTF2's numbers, and kinds of atomic RMA operations. */
#ifndef ICTUS_TRACER_OPS_H
#define ICTUS_TRACER_OPS_H

enum coll_op {
    COLL_BARRIER = 0,
    COLL_BCAST = 1,
    COLL_GATHER = 2,
    COLL_GATHERV = 3,
    COLL_SCATTER = 4,
    COLL_SCATTERV = 5,
    COLL_ALLGATHER = 6,
    COLL_ALLGATHERV = 7,
    COLL_ALLTOALL = 8,
    COLL_ALLTOALLV = 9,
    COLL_ALLTOALLW = 10,
    COLL_ALLREDUCE = 11,
    COLL_REDUCE = 12,
    COLL_REDUCE_SCATTER = 13,
    COLL_SCAN = 14,
    COLL_EXSCAN = 15,
    COLL_REDUCE_SCATTER_BLOCK = 16,
    COLL_CREATE_HANDLE = 17
};

enum rma_atomic { RMA_ACCUMULATE, RMA_FETCH, RMA_SWAP };

/* Roots of collectives that are not ranks, with OTF2's numbers. */
#define ROOT_NONE UINT32_C(0xffffffff)
#define ROOT_SELF UINT32_C(0xfffffffe)
#define ROOT_THIS_GROUP UINT32_C(0xfffffffd)

#endif

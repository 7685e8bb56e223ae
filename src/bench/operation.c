/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of operations, and access to the tables. */
#include "bench/operation.h"

static const struct shape_info shapes[SHAPES] = {
    [SHAPE_BARRIER] = {false, false, false, false, BLOCKS_NONE, BLOCKS_NONE, WINDOW_NONE},
    [SHAPE_BCAST] = {true, false, true, false, BLOCKS_ONE, BLOCKS_NONE, WINDOW_NONE},
    [SHAPE_REDUCE] = {true, true, true, true, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_ALLREDUCE] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_GATHER] = {true, false, true, true, BLOCKS_ONE, BLOCKS_ALL, WINDOW_NONE},
    [SHAPE_SCATTER] = {true, false, true, true, BLOCKS_ALL, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_ALLGATHER] = {false, false, true, true, BLOCKS_ONE, BLOCKS_ALL, WINDOW_NONE},
    [SHAPE_ALLTOALL] = {false, false, true, true, BLOCKS_ALL, BLOCKS_ALL, WINDOW_NONE},
    [SHAPE_REDUCE_SCATTER] = {false, true, true, true, BLOCKS_ALL, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_SCAN] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_EXSCAN] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_REDUCE_LOCAL] = {false, true, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_NEIGHBOR_ALLGATHER] = {false, false, true, false, BLOCKS_ONE, BLOCKS_SOURCES,
                                  WINDOW_NONE},
    [SHAPE_NEIGHBOR_ALLTOALL] = {false, false, true, false, BLOCKS_TARGETS, BLOCKS_SOURCES,
                                 WINDOW_NONE},
    [SHAPE_EXCHANGE] = {false, false, true, false, BLOCKS_ONE, BLOCKS_SOURCES, WINDOW_NONE},
    [SHAPE_SHIFT] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_PING_PONG] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_THREADS] = {false, false, true, false, BLOCKS_THREADS, BLOCKS_THREADS, WINDOW_NONE},
    [SHAPE_PAIRS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_STREAM] = {false, false, true, false, BLOCKS_ONE, BLOCKS_MESSAGES, WINDOW_NONE},
    [SHAPE_STREAMS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_MESSAGES, WINDOW_NONE},
    [SHAPE_PUT] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_ON_RECV},
    [SHAPE_PUTS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_MESSAGES, WINDOW_ON_RECV},
    [SHAPE_GET] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_ON_SEND},
    [SHAPE_GETS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_MESSAGES, WINDOW_ON_SEND},
    [SHAPE_ACCUMULATE] = {false, true, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_ON_RECV},
    [SHAPE_ACCUMULATES] = {false, true, true, false, BLOCKS_ONE, BLOCKS_MESSAGES, WINDOW_ON_RECV},
    [SHAPE_GET_ACCUMULATE] = {false, true, true, false, BLOCKS_ONE, BLOCKS_ONE, WINDOW_ON_RECV},
    [SHAPE_GET_ACCUMULATES] = {false, true, true, false, BLOCKS_ONE, BLOCKS_MESSAGES,
                               WINDOW_ON_RECV},
    [SHAPE_SWAP] = {false, false, true, false, BLOCKS_SWAP, BLOCKS_ONE, WINDOW_ON_RECV},
    [SHAPE_SWAPS] = {false, false, true, false, BLOCKS_SWAPS, BLOCKS_MESSAGES, WINDOW_ON_RECV},
    [SHAPE_FAN_IN] = {true, false, true, false, BLOCKS_ONE, BLOCKS_ALL, WINDOW_NONE},
    [SHAPE_FAN_INS] = {true, false, true, false, BLOCKS_ONE, BLOCKS_ALL_MESSAGES, WINDOW_NONE},
    [SHAPE_FAN_OUT] = {true, false, true, false, BLOCKS_ALL, BLOCKS_ONE, WINDOW_NONE},
    [SHAPE_FAN_OUTS] = {true, false, true, false, BLOCKS_ALL, BLOCKS_MESSAGES, WINDOW_NONE},
    [SHAPE_USER] = {false, false, true, false, BLOCKS_NONE, BLOCKS_NONE, WINDOW_NONE},
};

static const struct operation *const tables[] = {
    ictusi_blocking,       ictusi_nonblocking,
    ictusi_persistent,     ictusi_point_to_point,
    ictusi_persistent_p2p, ictusi_one_sided,
    ictusi_threaded,       ictusi_launching,
    ictusi_mockups,        NULL,
};

/* Operations that are over before a measurement can begin. */
const struct operation ictusi_launching[] = {
    {.name = "init",
     .summary = "MPI_Init of this program, once per launch",
     .shape = SHAPE_BARRIER,
     .once = true},
    {.name = NULL},
};

const struct shape_info *ictusi_operation_shape(enum shape shape)
{
    return &shapes[shape];
}

bool ictusi_operation_shape_has_neighbors(enum shape shape)
{
    return shapes[shape].receives == BLOCKS_SOURCES;
}

int64_t ictusi_operation_block_count(const struct call *call, enum blocks blocks)
{
    switch (blocks) {
    case BLOCKS_NONE:
        return 0;
    case BLOCKS_ONE:
        return 1;
    case BLOCKS_SWAP:
        return 2;
    case BLOCKS_SWAPS:
        return 1 + (int64_t)call->messages;
    case BLOCKS_SOURCES:
        return call->topology.source_count;
    case BLOCKS_TARGETS:
        return call->topology.target_count;
    case BLOCKS_THREADS:
        return call->threads;
    case BLOCKS_MESSAGES:
        return call->messages;
    case BLOCKS_ALL_MESSAGES:
        return (int64_t)call->size * call->messages;
    default:
        return call->size;
    }
}

/*
 * Neighbourhood operations have a request for each edge. In a fan the root communicates with all
 * others; in the other shapes with requests a process has one partner.
 */
size_t ictusi_operation_request_count(const struct call *call)
{
    const enum shape shape = call->operation->shape;
    if (ictusi_operation_shape_has_neighbors(shape)) {
        return (size_t)call->topology.source_count + (size_t)call->topology.target_count;
    }
    const bool fans = shape == SHAPE_FAN_IN || shape == SHAPE_FAN_INS || shape == SHAPE_FAN_OUT ||
                      shape == SHAPE_FAN_OUTS;
    /* or both directions with one peer */
    const int peers = fans && call->size > 2 ? call->size : 2;
    return (size_t)peers * (size_t)call->messages;
}

/*
 * Rank i of the first half is paired with rank i + size / 2. The last of an odd number of processes
 * has no partner.
 */
int ictusi_operation_partner(const struct call *call)
{
    const int half = call->size / 2;
    if (call->rank >= 2 * half) {
        return MPI_PROC_NULL;
    }
    return call->rank < half ? call->rank + half : call->rank - half;
}

const struct operation *ictusi_operation_row(int i)
{
    for (int table = 0; tables[table]; table++) {
        for (const struct operation *row = tables[table]; row->name; row++) {
            if (i-- == 0) {
                return row;
            }
        }
    }
    return NULL;
}

/*
 * The requests were started through a function pointer of the tables, which the checker cannot
 * follow.
 */
int ictusi_operation_wait(struct call *call)
{
    int err = MPI_Wait(&call->request, MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin.mpi*) */
    if (err == MPI_SUCCESS && call->request_twin != MPI_REQUEST_NULL) {
        err = MPI_Wait(&call->request_twin, MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin*) */
    }
    return err;
}

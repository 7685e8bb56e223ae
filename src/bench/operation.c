/* SPDX-License-Identifier: BSD-3-Clause */
/* The shapes of operations, and finding a row in the tables. */
#include "bench/operation.h"

#include <ictus/text.h>

#include <string.h>

static const struct shape_info shapes[SHAPES] = {
    [SHAPE_BARRIER] = {false, false, false, false, BLOCKS_NONE, BLOCKS_NONE},
    [SHAPE_BCAST] = {true, false, true, false, BLOCKS_ONE, BLOCKS_NONE},
    [SHAPE_REDUCE] = {true, true, true, true, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_ALLREDUCE] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_GATHER] = {true, false, true, true, BLOCKS_ONE, BLOCKS_ALL},
    [SHAPE_SCATTER] = {true, false, true, true, BLOCKS_ALL, BLOCKS_ONE},
    [SHAPE_ALLGATHER] = {false, false, true, true, BLOCKS_ONE, BLOCKS_ALL},
    [SHAPE_ALLTOALL] = {false, false, true, true, BLOCKS_ALL, BLOCKS_ALL},
    [SHAPE_REDUCE_SCATTER] = {false, true, true, true, BLOCKS_ALL, BLOCKS_ONE},
    [SHAPE_SCAN] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_EXSCAN] = {false, true, true, true, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_REDUCE_LOCAL] = {false, true, true, false, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_NEIGHBOR_ALLGATHER] = {false, false, true, false, BLOCKS_ONE, BLOCKS_TWO},
    [SHAPE_NEIGHBOR_ALLTOALL] = {false, false, true, false, BLOCKS_TWO, BLOCKS_TWO},
    [SHAPE_SHIFT] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_PING_PONG] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_PAIRS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_ONE},
    [SHAPE_STREAM] = {false, false, true, false, BLOCKS_ONE, BLOCKS_WINDOW},
    [SHAPE_STREAMS] = {false, false, true, false, BLOCKS_ONE, BLOCKS_WINDOW},
    [SHAPE_USER] = {false, false, true, false, BLOCKS_NONE, BLOCKS_NONE},
};

static const struct operation *const tables[] = {
    ictusi_blocking,
    ictusi_nonblocking,
    ictusi_neighbor,
    ictusi_persistent,
    ictusi_point_to_point,
    ictusi_mockups,
    NULL,
};

enum { NAMES_MAX = 512 };

const struct shape_info *ictusi_shape(enum shape shape)
{
    return &shapes[shape];
}

int64_t ictusi_block_count(enum blocks blocks, int processes)
{
    switch (blocks) {
    case BLOCKS_NONE:
        return 0;
    case BLOCKS_ONE:
        return 1;
    case BLOCKS_TWO:
        return NEIGHBORS;
    case BLOCKS_WINDOW:
        return WINDOW;
    default:
        return processes;
    }
}

int ictusi_partner(const struct call *call)
{
    const int half = call->size / 2;
    if (call->rank >= 2 * half) {
        return MPI_PROC_NULL;
    }
    return call->rank < half ? call->rank + half : call->rank - half;
}

const struct operation *ictusi_operation_at(const struct ictus_plugins *plugins, int i)
{
    for (int table = 0; tables[table]; table++) {
        for (const struct operation *row = tables[table]; row->name; row++) {
            if (i-- == 0) {
                return row;
            }
        }
    }
    return plugins && i >= 0 ? ictusi_plugin_operation(plugins, i) : NULL;
}

const struct operation *ictusi_operation_find(const struct ictus_plugins *plugins, const char *name,
                                              struct ictus_why *why)
{
    const char *names[NAMES_MAX + 1] = {NULL};
    const struct operation *row = NULL;
    for (int i = 0; i < NAMES_MAX && (row = ictusi_operation_at(plugins, i)); i++) {
        names[i] = row->name;
        if (strcmp(name, row->name) == 0) {
            return row;
        }
    }
    (void)ictus_unknown(why, "operation", name, names);
    return NULL;
}

static void describe(const struct operation *row, struct ictus_operation_info *info)
{
    const struct shape_info *shape = ictusi_shape(row->shape);
    *info = (struct ictus_operation_info){
        .name = row->name,
        .summary = row->summary,
        .rooted = shape->rooted,
        .reduces = shape->reduces,
        .has_data = shape->has_data,
        .nonblocking = row->start != NULL,
        .persistent = row->prepare != NULL,
        .mocks = row->mockup ? row->mockup->of : NULL,
        .pieces = row->mockup ? row->mockup->pieces : 0,
    };
}

int ictus_operation(const struct ictus_plugins *plugins, int i, struct ictus_operation_info *info)
{
    const struct operation *row = i < 0 ? NULL : ictusi_operation_at(plugins, i);
    if (!row) {
        return ICTUS_ERR_SAMPLES;
    }
    describe(row, info);
    return ICTUS_OK;
}

int ictus_operation_find(const struct ictus_plugins *plugins, const char *name,
                         struct ictus_operation_info *info, struct ictus_why *why)
{
    const struct operation *row = ictusi_operation_find(plugins, name, why);
    if (!row) {
        return ICTUS_ERR_UNKNOWN;
    }
    describe(row, info);
    return ICTUS_OK;
}

int ictus_operation_messages(const char *name)
{
    const struct operation *row = ictusi_operation_find(NULL, name, NULL);
    return row && ictusi_shape(row->shape)->receives == BLOCKS_WINDOW ? WINDOW : 0;
}

/* The requests were begun through a row of the tables, where no checker can follow. */
int ictusi_wait(struct call *call)
{
    int err = MPI_Wait(&call->request, MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin.mpi*) */
    if (err == MPI_SUCCESS && call->request_twin != MPI_REQUEST_NULL) {
        err = MPI_Wait(&call->request_twin, MPI_STATUS_IGNORE); /* NOLINT(clang-analyzer-optin*) */
    }
    return err;
}

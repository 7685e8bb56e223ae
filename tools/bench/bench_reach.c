/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options have an effect on which operations. */
#include "bench/bench_reach.h"

#include <ictus/text.h>

/*
 * The parts of a mock-up may be rooted where the whole is not. Asking for threads raises the level
 * that MPI_Init is called with.
 */
unsigned bench_reach_of(const struct ictus_operation_info *op)
{
    return (op->rooted || op->mocks ? REACH_ROOT : 0U) | (op->has_data ? REACH_DATA : 0U) |
           (op->reduces ? REACH_REDUCTION : 0U) | (op->neighborhood ? REACH_NEIGHBORS : 0U) |
           (op->streams ? REACH_MESSAGES : 0U) | (op->partitioned ? REACH_PARTITIONS : 0U) |
           (op->threaded || op->once ? REACH_THREADS : 0U) | (op->one_sided ? REACH_WINDOW : 0U);
}

/*
 * An operation on which the option has an effect is named, so that a user knows what to add to
 * --ops.
 */
static const char *reach_name(unsigned reach)
{
    switch (reach) {
    case REACH_ROOT:
        return "rooted operations such as bcast";
    case REACH_DATA:
        return "operations that move data, such as bcast";
    case REACH_REDUCTION:
        return "reductions such as allreduce";
    case REACH_NEIGHBORS:
        return "operations among neighbours, such as neighbor_allgather";
    case REACH_MESSAGES:
        return "operations with several messages in flight, such as bandwidth";
    case REACH_PARTITIONS:
        return "partitioned operations such as ping_pong_partitioned";
    case REACH_THREADS:
        return "ping_pong_threads and init";
    default:
        return "one-sided operations such as put";
    }
}

static const struct {
    const char *option;
    unsigned reach;
} reach_options[] = {
    {"root", REACH_ROOT},       {"rotate-root", REACH_ROOT},  {"datatype", REACH_DATA},
    {"op", REACH_REDUCTION},    {"layout", REACH_DATA},       {"topology", REACH_NEIGHBORS},
    {"buffers", REACH_DATA},    {"messages", REACH_MESSAGES}, {"partitions", REACH_PARTITIONS},
    {"threads", REACH_THREADS}, {"window", REACH_WINDOW},
};

int bench_reach_check(const struct option_row *rows, const void *options, unsigned reached,
                      struct ictus_why *why)
{
    for (size_t i = 0; i < sizeof(reach_options) / sizeof(*reach_options); i++) {
        const struct option_row *row = options_row(rows, reach_options[i].option);
        if (row && options_is_set(row, options) && !(reached & reach_options[i].reach)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has an effect only on %s; --ops names none of these",
                                 row->name, reach_name(reach_options[i].reach));
        }
    }
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which options reach which operations. */
#include "bench/bench_reach.h"

#include <ictus/text.h>

#include <string.h>

/* What an operation takes notice of. */
enum {
    REACH_ROOT = 1,
    REACH_DATA = 2,
    REACH_REDUCTION = 4,
    REACH_NEIGHBORS = 8,
    REACH_MESSAGES = 16,
    REACH_PARTITIONS = 32,
    REACH_THREADS = 64,
    REACH_WINDOW = 128
};

/*
 * The parts of a mock-up may be rooted where the whole is not, and the root's own times can be
 * asked for of any operation. Asking for threads raises the level that MPI_Init is called with.
 */
static unsigned reach_of(const struct bench_study *study, const struct ictus_operation_info *op)
{
    const bool root = op->rooted || op->mocks || study->wanted[ICTUS_REDUCE_ROOT];
    return (root ? REACH_ROOT : 0U) | (op->has_data ? REACH_DATA : 0U) |
           (op->reduces ? REACH_REDUCTION : 0U) | (op->neighborhood ? REACH_NEIGHBORS : 0U) |
           (op->streams ? REACH_MESSAGES : 0U) | (op->partitioned ? REACH_PARTITIONS : 0U) |
           (op->threaded || op->once ? REACH_THREADS : 0U) | (op->one_sided ? REACH_WINDOW : 0U);
}

/* Some operation that takes notice is named, so that a user knows what to add to --ops. */
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

int bench_reach_check(const struct bench_study *study, struct ictus_why *why)
{
    const struct bench_options *o = study->options;
    const struct {
        const char *option;
        bool is_set; /* to anything but its default */
        unsigned reach;
    } rows[] = {
        {"root", o->root != 0, REACH_ROOT},
        {"rotate-root", o->rotate_root, REACH_ROOT},
        {"datatype", strcmp(o->datatype, "char") != 0, REACH_DATA},
        {"op", strcmp(o->reduce, "sum") != 0, REACH_REDUCTION},
        {"layout", strcmp(o->layout, "contiguous") != 0, REACH_DATA},
        {"topology", strcmp(o->topology, "ring") != 0, REACH_NEIGHBORS},
        {"buffers", o->buffers != 1, REACH_DATA},
        {"messages", o->messages != BENCH_MESSAGES, REACH_MESSAGES},
        {"partitions", o->partitions != BENCH_PARTITIONS, REACH_PARTITIONS},
        {"threads", o->threads != 0, REACH_THREADS},
        {"window", strcmp(ictus_window_kinds[o->window], ICTUS_WINDOW_DEFAULT) != 0, REACH_WINDOW},
    };
    unsigned reached = 0;
    for (int op = 0; op < study->op_count; op++) {
        reached |= reach_of(study, &study->ops[op]);
    }
    for (size_t i = 0; i < sizeof(rows) / sizeof(*rows) && !study->every_operation; i++) {
        if (rows[i].is_set && !(reached & rows[i].reach)) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "--%s has an effect only on %s; --ops names none of these",
                                 rows[i].option, reach_name(rows[i].reach));
        }
    }
    return ICTUS_OK;
}

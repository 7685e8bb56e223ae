/* SPDX-License-Identifier: BSD-3-Clause */
/* All operations in one list: the rows of the tables, then those of the plugins. */
#include "bench/operation_list.h"

#include "bench/plugin.h"

#include <ictus/text.h>

#include <string.h>

enum { NAMES_MAX = 512 };

/*
 * Each call walks the tables from the beginning. That is fast enough for a few hundred rows, and
 * never done while anything is timed.
 */
const struct operation *ictusi_operation_at(const struct ictus_plugins *plugins, int i)
{
    int own = 0;
    while (own <= i && ictusi_operation_row(own)) {
        own++;
    }
    if (own > i) {
        return ictusi_operation_row(i);
    }
    return plugins ? ictusi_plugin_operation(plugins, i - own) : NULL;
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

/*
 * Whether the operation has many messages in flight, so that their number is part of what is
 * measured.
 */
static bool operation_streams(const struct operation *row)
{
    const enum blocks receives = ictusi_operation_shape(row->shape)->receives;
    return receives == BLOCKS_MESSAGES || receives == BLOCKS_ALL_MESSAGES;
}

static void operation_describe(const struct operation *row, struct ictus_operation_info *info)
{
    const struct shape_info *shape = ictusi_operation_shape(row->shape);
    *info = (struct ictus_operation_info){
        .name = row->name,
        .summary = row->summary,
        .rooted = shape->rooted,
        .reduces = shape->reduces,
        .has_data = shape->has_data,
        .nonblocking = row->start != NULL,
        .streams = operation_streams(row),
        .one_sided = shape->window != WINDOW_NONE,
        .persistent = row->prepare != NULL,
        .single = row->is_single,
        .partitioned = row->is_partitioned,
        .once = row->once,
        .threaded = row->shape == SHAPE_THREADS,
        .neighborhood = ictusi_operation_shape_has_neighbors(row->shape),
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
    operation_describe(row, info);
    return ICTUS_OK;
}

int ictus_operation_find(const struct ictus_plugins *plugins, const char *name,
                         struct ictus_operation_info *info, struct ictus_why *why)
{
    const struct operation *row = ictusi_operation_find(plugins, name, why);
    if (!row) {
        return ICTUS_ERR_UNKNOWN;
    }
    operation_describe(row, info);
    return ICTUS_OK;
}

int ictus_operation_messages(const struct ictus_bench_plan *plan)
{
    const struct operation *row = ictusi_operation_find(plan->plugins, plan->operation, NULL);
    if (!row || !operation_streams(row)) {
        return 0;
    }
    return plan->messages > 0 ? plan->messages : MESSAGES;
}

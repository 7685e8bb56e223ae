/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes in which all values are known and nobody waits: counting, and limits for the sends. */
#include "causality/flow_state.h"

#include <ictus/error.h>

/* Points that are sorted out at a time. */
enum { BATCH = 256 };

/* Some of a location's points, sorted out: who is at the other end. */
struct batch {
    uint32_t pairs[BATCH]; /* a point of this rank */
    uint32_t nodes[BATCH]; /* a virtual node */
    uint32_t pair_count, node_count;
};

/*
 * The points in [from, to) on one side (POINT_IN or POINT_OUT) of pairs, and on one of nodes.
 * Without branches: who is where is as good as random, and a processor guesses half of that wrong.
 */
static void sort_out(const struct points *points, uint64_t from, uint64_t to,
                     const uint8_t sides[2], struct batch *batch)
{
    batch->pair_count = 0;
    batch->node_count = 0;
    for (uint64_t i = from; i < to; i++) {
        const uint32_t link = points->link[i];
        const uint8_t kind = points->kind[i];
        batch->pairs[batch->pair_count] = (uint32_t)i;
        batch->pair_count += ((kind & sides[0]) != 0) & !(link & NODE_VIRTUAL);
        batch->nodes[batch->node_count] = (uint32_t)i;
        batch->node_count += ((kind & sides[1]) != 0) & ((link & NODE_TYPE) == NODE_VIRTUAL);
    }
}

/* Have the value at the other end of a pair further on at hand when it is needed. */
static inline void fetch_pair(const struct points *points, const int64_t *values,
                              const struct batch *batch, uint32_t i)
{
    if (i + AHEAD < batch->pair_count) {
        __builtin_prefetch(&values[points->link[batch->pairs[i + AHEAD]]]);
    }
}

int ictusi_flow_check(struct flow *flow, uint32_t location)
{
    static const uint8_t sides[] = {POINT_IN, POINT_OUT};
    const struct points *points = &flow->graph->history->points;
    const int64_t *known = flow->known;
    const uint64_t first = flow->graph->history->first[location];
    const uint64_t end = flow->graph->history->first[location + 1];
    struct batch batch;
    int err = ICTUS_OK;
    for (uint64_t i = first; i < end && !err; i += BATCH) {
        sort_out(points, i, end - i < BATCH ? end : i + BATCH, sides, &batch);
        for (uint32_t k = 0; k < batch.pair_count; k++) {
            const uint32_t point = batch.pairs[k];
            fetch_pair(points, known, &batch, k);
            flow->observer->pair(flow->observer, point, points->peer[point], location,
                                 known[point] - known[points->link[point]]);
        }
        for (uint32_t k = 0; k < batch.node_count && !err; k++) {
            err = ictusi_flow_push(flow, location, batch.nodes[k], known[batch.nodes[k]]);
        }
    }
    flow->visited += end - first;
    flow->unfinished--;
    return err;
}

int ictusi_flow_limit(struct flow *flow, uint32_t location)
{
    static const uint8_t sides[] = {POINT_OUT, POINT_IN};
    struct points *points = &flow->graph->history->points;
    const uint64_t first = flow->graph->history->first[location];
    const uint64_t end = flow->graph->history->first[location + 1];
    struct batch batch;
    int err = ICTUS_OK;
    for (uint64_t i = first; i < end && !err; i += BATCH) {
        sort_out(points, i, end - i < BATCH ? end : i + BATCH, sides, &batch);
        for (uint32_t k = 0; k < batch.pair_count; k++) {
            const uint32_t point = batch.pairs[k];
            fetch_pair(points, points->value, &batch, k);
            points->note[point].limit = points->value[points->link[point]] -
                                        latency_of(flow->latency, location, points->peer[point]);
        }
        for (uint32_t k = 0; k < batch.node_count && !err; k++) {
            const uint32_t point = batch.nodes[k];
            const struct message message = {points->link[point], location, LAYOUT_NONE,
                                            points->value[point], INT64_MAX};
            err = ictusi_flow_deliver(flow, message.node, &message);
        }
    }
    flow->visited += end - first;
    flow->unfinished--;
    return err;
}

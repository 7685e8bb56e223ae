/* SPDX-License-Identifier: BSD-3-Clause */
/* The passes in which all values are known and nobody waits: counting, and limits for the sends. */
#include "causality/crew.h"
#include "causality/flow_state.h"

#include <ictus/error.h>
#include <stdatomic.h>
#include <stdlib.h>

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
static void flow_sweep_sort_out(const struct points *points, uint64_t from, uint64_t to,
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

/* What a pass does with a point of a pair, and with one of a virtual node. */
struct sweep {
    uint8_t sides[2];
    void (*pair)(struct flow *flow, uint32_t location, uint32_t point);
    int (*node)(struct flow *flow, uint32_t location, uint32_t point);
};

/* A location's points, batch by batch; values are what its pairs look up at their other ends. */
static inline int sweep_location(struct flow *flow, uint32_t location, const int64_t *values,
                                 const struct sweep *sweep)
{
    const struct points *points = &flow->graph->history->points;
    const uint64_t first = flow->graph->history->first[location];
    const uint64_t end = flow->graph->history->first[location + 1];
    struct batch batch;
    int err = ICTUS_OK;
    for (uint64_t i = first; i < end && !err; i += BATCH) {
        flow_sweep_sort_out(points, i, end - i < BATCH ? end : i + BATCH, sweep->sides, &batch);
        for (uint32_t k = 0; k < batch.pair_count; k++) {
            if (k + AHEAD < batch.pair_count) { /* at hand when it is needed */
                __builtin_prefetch(&values[points->link[batch.pairs[k + AHEAD]]]);
            }
            sweep->pair(flow, location, batch.pairs[k]);
        }
        for (uint32_t k = 0; k < batch.node_count && !err; k++) {
            err = sweep->node(flow, location, batch.nodes[k]);
        }
    }
    flow->visited += end - first;
    flow->unfinished--;
    return err;
}

/* How much later the second event is by the values that are looked at; the observer judges. */
static inline void flow_sweep_check_pair(struct flow *flow, uint32_t location, uint32_t point)
{
    const struct points *points = &flow->graph->history->points;
    flow->observer->pair(flow->observer, point, points->peer[point], location,
                         flow->known[point] - flow->known[points->link[point]]);
}

static inline int flow_sweep_check_node(struct flow *flow, uint32_t location, uint32_t point)
{
    return ictusi_flow_push(flow, location, point, flow->known[point]);
}

int ictusi_flow_check(struct flow *flow, uint32_t location)
{
    static const struct sweep check = {
        {POINT_IN, POINT_OUT}, flow_sweep_check_pair, flow_sweep_check_node};
    return sweep_location(flow, location, flow->known, &check);
}

/* How late a send may become: as its receive is after the forward pass, less the least delay. */
static inline void flow_sweep_limit_pair(struct flow *flow, uint32_t location, uint32_t point)
{
    struct points *points = &flow->graph->history->points;
    points->note[point].limit = points->value[points->link[point]] -
                                latency_of(flow->latency, location, points->peer[point]);
}

static inline int flow_sweep_limit_node(struct flow *flow, uint32_t location, uint32_t point)
{
    const struct points *points = &flow->graph->history->points;
    const struct message message = {points->link[point], location, LAYOUT_NONE,
                                    points->value[point], INT64_MAX};
    return ictusi_flow_deliver(flow, message.node, &message);
}

/* Pairs and nodes apart: nodes have a state, by whose order one thread goes. */
static int flow_sweep_check_pairs(struct flow *flow, uint32_t location)
{
    static const struct sweep pairs = {{POINT_IN, 0}, flow_sweep_check_pair, flow_sweep_check_node};
    return sweep_location(flow, location, flow->known, &pairs);
}

static int flow_sweep_check_nodes(struct flow *flow, uint32_t location)
{
    static const struct sweep nodes = {
        {0, POINT_OUT}, flow_sweep_check_pair, flow_sweep_check_node};
    return sweep_location(flow, location, flow->known, &nodes);
}

/* What threads share, and the flow of each: the same with an observer of its own. */
struct together {
    struct flow *flow, *lanes;
    atomic_uint next; /* location */
    int err;
};

static void lane_relax(struct flow *lane)
{
    if (lane->visited > VISITS) {
        lane->visited = 0;
        ictusi_points_relax(&lane->graph->history->points);
    }
}

/* The first lane goes through the nodes; pairs are for all. */
static void lane_run(void *self, uint32_t number)
{
    struct together *t = self;
    struct flow *lane = &t->lanes[number];
    const uint64_t n = lane->graph->history->layout->location_count;
    for (uint32_t i = 0; number == 0 && i < n && !t->err; i++) {
        t->err = flow_sweep_check_nodes(lane, i);
        lane_relax(lane);
    }
    for (uint32_t i = 0; (i = atomic_fetch_add(&t->next, 1)) < n;) {
        (void)flow_sweep_check_pairs(lane, i);
        lane_relax(lane);
    }
}

int ictusi_flow_check_together(struct flow *flow)
{
    struct observer *own = flow->observer;
    struct together t = {.flow = flow};
    uint32_t count = 0;
    t.lanes = malloc((size_t)flow->threads * sizeof *t.lanes);
    if (!t.lanes) {
        return ICTUS_ERR_NOMEM;
    }
    /* The first lane tells the caller's own observer; one that found no memory is left out. */
    for (int k = 0; k < flow->threads; k++) {
        t.lanes[count] = *flow;
        t.lanes[count].observer = k ? own->split(own) : own;
        count += t.lanes[count].observer != NULL;
    }
    atomic_init(&t.next, 0);
    ictusi_crew_run((int)count, count, lane_run, &t);
    for (uint32_t k = 1; k < count; k++) {
        const int err = own->join(own, t.lanes[k].observer);
        t.err = t.err ? t.err : err;
    }
    free(t.lanes);
    return t.err;
}

int ictusi_flow_limit(struct flow *flow, uint32_t location)
{
    static const struct sweep limit = {
        {POINT_OUT, POINT_IN}, flow_sweep_limit_pair, flow_sweep_limit_node};
    return sweep_location(flow, location, flow->graph->history->points.value, &limit);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The passes in which all values are known and nothing has to wait: counting violations, and limits
 * for the sends.
 */
#include "causality/crew.h"
#include "causality/flow_state.h"

#include <ictus/error.h>
#include <stdatomic.h>
#include <stdlib.h>

/* The number of points classified at a time. */
enum { BATCH = 256 };

/* Some of a location's points, by what is at the other end. */
struct batch {
    uint32_t pairs[BATCH]; /* a point of this rank */
    uint32_t nodes[BATCH]; /* a virtual node */
    uint32_t pair_count, node_count;
};

/*
 * Classify the points in [from, to): those on one side (POINT_IN or POINT_OUT) of pairs, and those
 * on one side of nodes. Without branches, because the order of the two is as good as random and
 * half of all branches would be mispredicted.
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

/* What a pass does with a point of a pair and with a point of a virtual node. */
struct sweep {
    uint8_t sides[2];
    void (*pair)(struct flow *flow, uint32_t location, uint32_t point);
    int (*node)(struct flow *flow, uint32_t location, uint32_t point);
};

/*
 * Process a location's points batch by batch. values are those that pairs look up at their other
 * ends.
 */
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
            if (k + AHEAD < batch.pair_count) { /* prefetch */
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

/* Report by how much the second event is later, by the values that are examined. */
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

/*
 * How late a send may become: the time of its receive after the forward pass, minus the least
 * delay.
 */
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

int ictusi_flow_limit(struct flow *flow, uint32_t location)
{
    static const struct sweep limit = {
        {POINT_OUT, POINT_IN}, flow_sweep_limit_pair, flow_sweep_limit_node};
    return sweep_location(flow, location, flow->graph->history->points.value, &limit);
}

/* Nodes are skipped here, because they are processed separately. */
static int flow_sweep_no_node(struct flow *flow, uint32_t location, uint32_t point)
{
    (void)flow;
    (void)location;
    (void)point;
    return ICTUS_OK;
}

static int flow_sweep_check_pairs(struct flow *flow, uint32_t location)
{
    static const struct sweep pairs = {{POINT_IN, 0}, flow_sweep_check_pair, flow_sweep_no_node};
    return sweep_location(flow, location, flow->known, &pairs);
}

/* Sends without a receive have no limit. Those of a collective get theirs from its node. */
static int flow_sweep_limit_pairs(struct flow *flow, uint32_t location)
{
    static const struct sweep pairs = {{POINT_OUT, 0}, flow_sweep_limit_pair, flow_sweep_no_node};
    const struct points *points = &flow->graph->history->points;
    const uint64_t end = flow->graph->history->first[location + 1];
    for (uint64_t i = flow->graph->history->first[location]; i < end; i++) {
        if ((points->kind[i] & POINT_OUT) && points->link[i] == NODE_NONE) {
            points->note[i].limit = LIMIT_NONE;
        }
    }
    return sweep_location(flow, location, points->value, &pairs);
}

/* The number of nodes that a thread takes at a time. */
enum { NODES_EACH = 4096 };

/* What the threads share. Each has a copy of the flow with an observer of its own. */
struct together {
    struct flow *lanes;
    uint32_t jobs;    /* one per location, then one per NODES_EACH nodes */
    atomic_uint next; /* the next job */
};

static void lane_relax(struct flow *lane)
{
    if (lane->visited > VISITS) {
        lane->visited = 0;
        ictusi_points_relax(&lane->graph->history->points);
    }
}

/*
 * Take jobs until none is left. Pairs belong to locations and nodes are in a list of their own;
 * neither depends on the other.
 */
static void lane_run(void *self, uint32_t number)
{
    struct together *t = self;
    struct flow *lane = &t->lanes[number];
    const uint32_t n = (uint32_t)lane->graph->history->layout->location_count;
    for (uint32_t i = 0; (i = atomic_fetch_add(&t->next, 1)) < t->jobs;) {
        if (i >= n) {
            ictusi_flow_nodes(lane, (uint64_t)(i - n) * NODES_EACH,
                              (uint64_t)(i - n + 1) * NODES_EACH);
        } else if (lane->mode == FLOW_CHECK) {
            (void)flow_sweep_check_pairs(lane, i);
        } else {
            (void)flow_sweep_limit_pairs(lane, i);
        }
        lane_relax(lane);
    }
}

/* Make the flow of each thread. If there is no memory for an observer, there is one thread less. */
static uint32_t lanes_make(struct flow *flow, struct flow *lanes, int threads)
{
    struct observer *own = flow->mode == FLOW_CHECK ? flow->observer : NULL;
    uint32_t count = 0;
    for (int k = 0; k < threads; k++) {
        lanes[count] = *flow;
        lanes[count].visited = 0;
        lanes[count].observer = own && k ? own->split(own) : own;
        count += lanes[count].observer || !own;
    }
    return count;
}

int ictusi_flow_sweep(struct flow *flow)
{
    const bool alone = flow->threads < 2 || (flow->mode == FLOW_CHECK && !flow->observer->split);
    const int threads = alone ? 1 : flow->threads;
    const struct graph *graph = flow->graph;
    const uint64_t nodes = (graph->vnode_count + NODES_EACH - 1) / NODES_EACH;
    struct together t = {.jobs = (uint32_t)(graph->history->layout->location_count + nodes)};
    int err = ICTUS_OK;
    t.lanes = malloc((size_t)threads * sizeof *t.lanes);
    if (!t.lanes) {
        return ICTUS_ERR_NOMEM;
    }
    const uint32_t count = lanes_make(flow, t.lanes, threads);
    atomic_init(&t.next, 0);
    ictusi_crew_run((int)count, count, lane_run, &t);
    for (uint32_t k = 1; k < count && flow->mode == FLOW_CHECK; k++) {
        const int joined = flow->observer->join(flow->observer, t.lanes[k].observer);
        err = err ? err : joined;
    }
    free(t.lanes);
    return err;
}

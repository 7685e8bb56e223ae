/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Virtual nodes: what they keep of what arrives, and, in passes where all values are known, what
 * each of them passes on. In those passes a node needs no messages. It reads its own list, one node
 * after the other in the order of memory, so that several threads can share the work.
 */
#include "causality/flow_state.h"

/* How many edges ahead a value is prefetched. The lists of consecutive nodes are contiguous. */
enum { EDGES_AHEAD = 32 };

void ictusi_node_clear(const struct flow *flow, struct vnode *v)
{
    v->first = flow_worst(flow);
    v->second = flow_worst(flow);
    v->who = LAYOUT_NONE;
    v->other = LAYOUT_NONE;
}

/*
 * Of equal values, the one from the first location is kept, so that the origin does not depend on
 * the order in which ranks deliver.
 */
static bool node_prefers(const struct flow *flow, int64_t value, uint32_t who, int64_t to,
                         uint32_t whose)
{
    return flow_is_better(flow, value, to) || (value == to && who < whose);
}

/*
 * A collective bounds each member by the best value among the *others*, because a process does not
 * wait for itself. So a virtual node keeps the best value and the best value of any other location.
 * The member that contributed the best takes the second. Two values serve any number of members.
 */
static void node_merge(const struct flow *flow, struct vnode *v, uint32_t who, int64_t value)
{
    if (node_prefers(flow, value, who, v->first, v->who)) {
        if (who != v->who) {
            v->second = v->first;
            v->other = v->who;
        }
        v->first = value;
        v->who = who;
    } else if (who != v->who && node_prefers(flow, value, who, v->second, v->other)) {
        v->second = value;
        v->other = who;
    }
}

void ictusi_node_take(const struct flow *flow, struct vnode *v, const struct message *message)
{
    if (message->first != flow_worst(flow)) {
        node_merge(flow, v, message->who, message->first);
    }
    if (message->second != flow_worst(flow)) {
        node_merge(flow, v, message->other, message->second);
    }
}

/*
 * The location of a point, given that of the previous one: lists mostly name consecutive locations,
 * so the next one is tried before a search.
 */
static uint32_t node_location(const struct matching *m, uint32_t point, uint32_t before)
{
    const uint32_t next = before + 1;
    return next < m->layout->location_count && m->first[next] <= point && point < m->first[next + 1]
               ? next
               : ictusi_match_location(m, point);
}

/*
 * Merge the values of a list. Nodes in the list have their values already: the chain of a scan goes
 * in one direction through the node numbers.
 */
static void node_collect(const struct flow *flow, const int64_t *values, struct vnode *v,
                         const uint32_t *list, uint32_t count)
{
    const struct graph *graph = flow->graph;
    const uint32_t *end = graph->edges + graph->edge_count;
    uint32_t location = LAYOUT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (list + i + EDGES_AHEAD < end && !(list[i + EDGES_AHEAD] & NODE_VIRTUAL)) {
            __builtin_prefetch(&values[list[i + EDGES_AHEAD]]);
        }
        if (list[i] & NODE_VIRTUAL) {
            const struct vnode *from = graph_vnode(graph, list[i]);
            const struct message message = {list[i], from->who, from->other, from->first,
                                            from->second};
            ictusi_node_take(flow, v, &message);
        } else {
            location = node_location(&graph->history->matching, list[i], location);
            node_merge(flow, v, location, values[list[i]]);
        }
    }
}

/* Pass the result to the points of the other list. Nodes in it read their own lists. */
static void node_spread(struct flow *flow, const struct vnode *v, const uint32_t *list,
                        uint32_t count)
{
    struct points *points = &flow->graph->history->points;
    const int64_t delay = flow_node_delay(flow, v->class);
    uint32_t location = LAYOUT_NONE;
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] & NODE_VIRTUAL) {
            continue;
        }
        location = node_location(&flow->graph->history->matching, list[i], location);
        const bool own = v->who == location;
        const int64_t value = own ? v->second : v->first;
        const bool known = value != flow_worst(flow);
        if (flow->mode == FLOW_LIMIT) {
            points->note[list[i]].limit = known ? value - delay : LIMIT_NONE;
        } else if (known) {
            flow->observer->pair(flow->observer, list[i], own ? v->other : v->who, location,
                                 flow->known[list[i]] - value);
        }
    }
}

/*
 * Whether a node depends on no other node. Then no earlier node depends on later ones either, and
 * the list can be divided here.
 */
static bool node_begins(struct graph *graph, uint64_t i)
{
    const struct vnode *v = &graph->vnodes[i];
    const uint32_t *list = graph->edges + v->edges;
    bool begins = v->in_count > 0;
    for (uint32_t k = 0; k < v->in_count; k++) {
        begins = begins && !(list[k] & NODE_VIRTUAL);
    }
    return begins;
}

static uint64_t node_first_of(struct graph *graph, uint64_t i)
{
    while (i > 0 && i < graph->vnode_count && !node_begins(graph, i)) {
        i++;
    }
    return i < graph->vnode_count ? i : graph->vnode_count;
}

void ictusi_flow_nodes(struct flow *flow, uint64_t from, uint64_t to)
{
    struct graph *graph = flow->graph;
    const bool back = flow->mode == FLOW_LIMIT;
    const int64_t *values = back ? graph->history->points.value : flow->known;
    const uint64_t first = node_first_of(graph, from);
    const uint64_t end = node_first_of(graph, to);
    for (uint64_t k = first; k < end; k++) {
        struct vnode *v = &graph->vnodes[back ? end - 1 - (k - first) : k];
        const uint32_t *in = graph->edges + v->edges;
        const uint32_t *out = in + v->in_count;
        ictusi_node_clear(flow, v);
        node_collect(flow, values, v, back ? out : in, back ? v->out_count : v->in_count);
        node_spread(flow, v, back ? in : out, back ? v->in_count : v->out_count);
        flow->visited += v->in_count + v->out_count;
    }
}

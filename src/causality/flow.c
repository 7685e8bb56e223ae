/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * B07, equations (3') and (4), over the graph, in integer ticks. Between two points of a location
 * the logical clock has a closed form. After a jump it leads its input by LC - C, and the lead
 * falls by (1 - gamma) of the time that passes, but never so fast that two events with different
 * input stamps meet (the term with delta). So internal events need no state of their own.
 */
#include "causality/flow_state.h"

#include <ictus/error.h>
#include <stdlib.h>

/* No point of a location has been raised. */
#define NOWHERE UINT64_MAX

/*
 * Make a waiting location ready again. A location waits at its first point whose values have not
 * all arrived. Each location is in the list at most once, so a pass takes O(points + edges).
 */
static void flow_wake(struct flow *flow, uint32_t location)
{
    if (flow->blocked[location]) {
        flow->blocked[location] = false;
        flow->ready[flow->ready_count++] = location;
    }
}

/* FLOW_RAISE: a higher value arrives at a point that already has one. */
static void flow_lift(struct flow *flow, uint32_t point, uint32_t location, int64_t value)
{
    struct points *points = &flow->graph->history->points;
    if (value > points->value[point]) {
        points->value[point] = value;
        flow->cursor[location] = point < flow->cursor[location] ? point : flow->cursor[location];
        flow->far[location] = point > flow->far[location] ? point : flow->far[location];
        flow_wake(flow, location);
    }
}

/* A value arrives at a point. The delay has already been added (or subtracted, backward). */
static void flow_arrive(struct flow *flow, uint32_t point, uint32_t location, int64_t value)
{
    struct points *points = &flow->graph->history->points;
    if (flow->mode == FLOW_LIMIT) {
        points->note[point].limit = value;
        return;
    }
    if (flow->mode == FLOW_RAISE) {
        flow_lift(flow, point, location, value);
        return;
    }
    /* otherwise it stopped waiting: see flow_break_cycle() */
    if (flow->cursor[location] <= point) {
        points->value[point] = value;
    }
    if (flow->cursor[location] == point) {
        flow_wake(flow, location);
    }
}

static void flow_observe(struct flow *flow, uint32_t point, uint32_t from, uint32_t to,
                         int64_t sent)
{
    if (sent != NO_BOUND) {
        flow->observer->pair(flow->observer, point, from, to, flow->known[point] - sent);
    }
}

/* Pass the value of a complete virtual node to one of its points. */
static void node_fire_point(struct flow *flow, const struct vnode *v, uint32_t point)
{
    const uint32_t location = ictusi_match_location(&flow->graph->history->matching, point);
    const int64_t value = v->who == location ? v->second : v->first;
    const int64_t delay = flow_node_delay(flow, v->class);
    if (flow->mode == FLOW_CHECK) {
        flow_observe(flow, point, v->who == location ? v->other : v->who, location, value);
    } else if (value == flow_worst(flow)) {
        flow_arrive(flow, point, location, value);
    } else {
        flow_arrive(flow, point, location,
                    flow->mode == FLOW_LIMIT ? value - delay : value + delay);
    }
}

/*
 * A node has received all that it waits for: pass its values on to its receivers, or, backward, to
 * its senders.
 */
static int node_fire(struct flow *flow, uint32_t node)
{
    const bool back = flow->mode == FLOW_LIMIT;
    const struct vnode v = *graph_vnode(flow->graph, node);
    const uint32_t count = back ? v.in_count : v.out_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t target =
            back ? ictusi_graph_in(flow->graph, node)[i] : ictusi_graph_out(flow->graph, node)[i];
        if (!(target & NODE_VIRTUAL)) {
            node_fire_point(flow, &v, target);
            continue;
        }
        const struct message message = {target, v.who, v.other, v.first, v.second};
        const int err = ictusi_flow_deliver(flow, target, &message);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

/* FLOW_RAISE visits nodes repeatedly. A node passes on only what changed it. */
static bool flow_is_same(const struct vnode *a, const struct vnode *b)
{
    return a->first == b->first && a->second == b->second && a->who == b->who &&
           a->other == b->other;
}

int ictusi_flow_deliver(struct flow *flow, uint32_t node, const struct message *message)
{
    if ((node & NODE_TYPE) == NODE_REMOTE) {
        const struct remote *remote = &flow->graph->remotes[node & NODE_INDEX];
        if (flow->ahead && message->first == flow_worst(flow)) {
            return ICTUS_OK; /* no bound to pass on, and nobody waits for it */
        }
        struct message out = *message;
        out.node = remote->node;
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): remotes need a team */
        return flow->team->send(flow->team, remote->rank, &out);
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    }
    if (!(node & NODE_VIRTUAL)) {
        const uint32_t location = ictusi_match_location(&flow->graph->history->matching, node);
        if (flow->mode == FLOW_CHECK) {
            flow_observe(flow, node, message->who, location, message->first);
        } else {
            flow_arrive(flow, node, location, message->first);
        }
        return ICTUS_OK;
    }
    struct vnode *v = graph_vnode(flow->graph, node);
    const struct vnode before = *v;
    ictusi_node_take(flow, v, message);
    if (flow->mode == FLOW_RAISE) {
        return flow_is_same(v, &before) ? ICTUS_OK : node_fire(flow, node);
    }
    return --v->pending == 0 ? node_fire(flow, node) : ICTUS_OK;
}

static int arrivals_keep(struct arrivals *arrivals, const struct message *message)
{
    if (arrivals->count == arrivals->room) {
        const uint64_t room = arrivals->room ? 2 * arrivals->room : 1024;
        struct message *wide = realloc(arrivals->list, room * sizeof *wide);
        if (!wide) {
            return ICTUS_ERR_NOMEM;
        }
        arrivals->list = wide;
        arrivals->room = room;
    }
    arrivals->list[arrivals->count++] = *message;
    return ICTUS_OK;
}

int ictusi_flow_receive(struct flow *flow, const struct message *message)
{
    return flow->ahead ? arrivals_keep(&flow->later, message)
                       : ictusi_flow_deliver(flow, message->node, message);
}

int ictusi_flow_push(struct flow *flow, uint32_t location, uint64_t i, int64_t value)
{
    const struct points *points = &flow->graph->history->points;
    const uint32_t link = points->link[i];
    struct message message = {link, location, LAYOUT_NONE, value, NO_BOUND};
    if (link == NODE_NONE) {
        return ICTUS_OK;
    }
    if ((link & NODE_TYPE) == NODE_VIRTUAL) {
        return ictusi_flow_deliver(flow, link, &message);
    }
    if (flow->mode != FLOW_CHECK) {
        message.first += latency_of(flow->latency, location, points->peer[i]);
    }
    if ((link & NODE_TYPE) == NODE_REMOTE) {
        const bool known = flow->ahead && value == points->time[i]; /* see flow_run_clock() */
        return known ? ICTUS_OK : ictusi_flow_deliver(flow, link, &message);
    }
    flow_arrive(flow, link, points->peer[i], message.first);
    return ICTUS_OK;
}

/*
 * The value of equation (4), without what is received. With the input stamp C and the logical clock
 * LC of the preceding event e-,
 *
 *     LC(e) = max(C(e), C(e) + LC(e-) - C(e-) - min((1 - gamma) (C(e) - C(e-)), C(e) - C(e-) -
 * gap)).
 *
 * After a jump the lead falls by the share 1 - gamma (flow->decay) of the time that passes. gap is
 * the number of events since the preceding point: each of them keeps one tick, otherwise their
 * stamps would coincide. Ticks are integers, and only the product is rounded, towards zero, so the
 * lead never falls too fast.
 */
static int64_t flow_own_value(const struct flow *flow, uint64_t i, uint64_t first)
{
    const struct points *points = &flow->graph->history->points;
    const int64_t time = points->time[i];
    if (i == first) {
        return time;
    }
    const int64_t passed = time - points->time[i - 1];
    const int64_t slack = passed > points->gap[i] ? passed - points->gap[i] : 0;
    int64_t fall = (int64_t)(flow->decay * (double)passed);
    fall = fall < slack ? fall : slack;
    const int64_t lead = points->value[i - 1] - points->time[i - 1] - fall;
    return time + (lead > 0 ? lead : 0);
}

/* What a point has received, or VALUE_UNSET if nothing has arrived yet. */
static int64_t flow_received_at(const struct flow *flow, const struct points *points, uint64_t i)
{
    if (!(points->kind[i] & POINT_IN) || points->link[i] == NODE_NONE) {
        return NO_BOUND;
    }
    const bool remote = (points->link[i] & NODE_TYPE) == NODE_REMOTE;
    return remote && flow->ahead ? points->note[i].arrived : points->value[i];
}

/*
 * Prefetch the value at the other end of a later point, so that it is in the cache when that point
 * is reached. The ends lie in other locations, in no order that the processor could predict.
 */
static inline void flow_fetch_ahead(const struct points *points, const int64_t *values, uint64_t i,
                                    uint64_t end)
{
    const uint32_t link = i + AHEAD < end ? points->link[i + AHEAD] : NODE_NONE;
    if (!(link & NODE_VIRTUAL)) {
        __builtin_prefetch(&values[link]);
    }
}

/* Raise a send whose ramp would be too steep to the level of its ramp (easing.h). */
static inline void flow_raise_to_floor(const struct flow *flow, const struct points *points,
                                       uint64_t i)
{
    if (flow->eased && points->note[i].floor > points->value[i]) {
        points->value[i] = points->note[i].floor;
    }
}

/* Advance a location until it has to wait. */
static int flow_advance_clock(struct flow *flow, uint32_t location)
{
    struct points *points = &flow->graph->history->points;
    const uint64_t first = flow->graph->history->first[location];
    const uint64_t end = flow->graph->history->first[location + 1];
    uint64_t i = flow->cursor[location];
    int err = ICTUS_OK;
    for (; i < end && !err; i++) {
        flow->cursor[location] = i;
        flow_fetch_ahead(points, points->value, i, end);
        const int64_t received = flow_received_at(flow, points, i);
        if (received == VALUE_UNSET) {
            flow->blocked[location] = true;
            return ICTUS_OK;
        }
        const int64_t own = flow_own_value(flow, i, first);
        points->value[i] = received > own ? received : own;
        flow->visited++;
        if (points->kind[i] & POINT_OUT) {
            flow_raise_to_floor(flow, points, i);
            err = ictusi_flow_push(flow, location, i, points->value[i]);
        }
    }
    flow->cursor[location] = end;
    flow->unfinished--;
    return err;
}

/* FLOW_RAISE: recompute a location from the first point raised, for as long as values change. */
static int flow_advance_raise(struct flow *flow, uint32_t location)
{
    struct points *points = &flow->graph->history->points;
    const uint64_t first = flow->graph->history->first[location];
    const uint64_t end = flow->graph->history->first[location + 1];
    const uint64_t from = flow->cursor[location];
    const uint64_t far = flow->far[location];
    uint64_t i = from + 1; /* a point that receives does not send */
    int err = ICTUS_OK;
    flow->cursor[location] = NOWHERE;
    flow->far[location] = 0;
    flow->blocked[location] = true;
    for (; i < end && !err; i++) {
        const int64_t own = flow_own_value(flow, i, first);
        if (own > points->value[i]) {
            points->value[i] = own;
            err = points->kind[i] & POINT_OUT ? ictusi_flow_push(flow, location, i, own) : ICTUS_OK;
        } else if (i > far) {
            /* past the last raised point, the first value that does not change ends the pass */
            break;
        }
    }
    flow->walked += i - from;
    flow->visited += i - from;
    return err;
}

/*
 * No location can advance, yet some wait: the dependencies of a broken trace form a cycle. The
 * location that waits earliest gives up waiting.
 */
static int flow_break_cycle(struct flow *flow)
{
    const struct history *history = flow->graph->history;
    int64_t time = INT64_MAX;
    uint32_t location = LAYOUT_NONE;
    for (uint32_t i = 0; i < history->layout->location_count; i++) {
        if (flow->blocked[i] && history->points.time[flow->cursor[i]] < time) {
            time = history->points.time[flow->cursor[i]];
            location = i;
        }
    }
    const uint32_t own = location;
    int err = flow->team ? flow->team->least(flow->team, &time, &location) : 0;
    if (!err && own == location && own != LAYOUT_NONE) {
        history->points.value[flow->cursor[own]] = NO_BOUND;
        flow->broken++;
        flow_wake(flow, own);
    }
    return err;
}

/* FLOW_RAISE: recomputing has cost more by now than waiting for the other ranks' messages would. */
static bool flow_is_worn_out(const struct flow *flow)
{
    return flow->mode == FLOW_RAISE && flow->walked > 4 * flow->graph->history->points.count;
}

static int flow_work(struct flow *flow)
{
    int err = ICTUS_OK;
    while (flow->ready_count && !err) {
        const uint32_t location = flow->ready[--flow->ready_count];
        err = flow->mode == FLOW_CLOCK   ? flow_advance_clock(flow, location)
              : flow->mode == FLOW_RAISE ? flow_advance_raise(flow, location)
              : flow->mode == FLOW_CHECK ? ictusi_flow_check(flow, location)
                                         : ictusi_flow_limit(flow, location);
        if (flow->visited > VISITS) {
            flow->visited = 0;
            ictusi_points_relax(&flow->graph->history->points);
        }
        if (flow_is_worn_out(flow)) {
            flow->ready_count = 0;
        }
        if (!err && flow->team) {
            err = flow->team->poll(flow->team, flow);
        }
    }
    return err;
}

/* The number of messages that a node waits for. */
static uint32_t node_awaited(const struct flow *flow, uint32_t node)
{
    const struct vnode *v = graph_vnode(flow->graph, node);
    uint32_t count = flow->mode == FLOW_LIMIT ? v->out_count : v->in_count;
    for (uint32_t i = 0; flow->ahead && i < v->in_count; i++) {
        count -= (ictusi_graph_in(flow->graph, node)[i] & NODE_TYPE) == NODE_REMOTE;
    }
    return count;
}

static int flow_start_nodes(struct flow *flow)
{
    struct graph *graph = flow->graph;
    for (uint64_t i = 0; i < graph->vnode_count; i++) {
        struct vnode *v = &graph->vnodes[i];
        ictusi_node_clear(flow, v);
        v->pending = node_awaited(flow, NODE_VIRTUAL | (uint32_t)i);
    }
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < graph->vnode_count && !err; i++) {
        const struct vnode *v = &graph->vnodes[i];
        const uint32_t node = NODE_VIRTUAL | (uint32_t)i;
        /* Nothing will arrive here that could trigger this node, so it fires at once. */
        if (v->in_count + v->out_count > 0 && node_awaited(flow, node) == 0) {
            err = node_fire(flow, node);
        }
    }
    return err;
}

static int flow_start(struct flow *flow)
{
    const struct history *history = flow->graph->history;
    const uint64_t n = history->layout->location_count;
    struct points *points = &flow->graph->history->points;
    flow->ready_count = 0;
    flow->unfinished = 0;
    flow->visited = 0;
    for (uint64_t i = 0; i < points->count && flow->mode == FLOW_CLOCK; i++) {
        points->value[i] = VALUE_UNSET;
    }
    for (uint64_t i = 0; i < points->count && flow->mode == FLOW_LIMIT; i++) {
        if (points->kind[i] & POINT_OUT) {
            points->note[i].limit = LIMIT_NONE;
        }
    }
    /*
     * The list is a stack, so locations are pushed in reverse: the first one is to be processed
     * first.
     */
    for (uint64_t i = n; i-- > 0;) {
        flow->cursor[i] = history->first[i];
        flow->blocked[i] = false;
        if (flow->graph->share->mine[i]) {
            flow->ready[flow->ready_count++] = (uint32_t)i;
            flow->unfinished++;
        }
    }
    return flow_start_nodes(flow);
}

/* Work until nothing is left to do and no message is in transit. */
static int flow_circulate(struct flow *flow)
{
    int err = ICTUS_OK;
    while (!err) {
        bool quiet = true;
        bool finished = false;
        err = flow_work(flow);
        if (err) {
            break;
        }
        if (flow->team) {
            err = flow->team->idle(flow->team, flow, flow->unfinished == 0, &quiet, &finished);
        } else {
            finished = flow->unfinished == 0;
        }
        if (err || (quiet && finished)) {
            break;
        }
        if (quiet) {
            err = flow_break_cycle(flow);
        }
    }
    return err;
}

static int flow_run(struct flow *flow)
{
    int err = flow_start(flow);
    if (!err && flow->team && flow->mode != FLOW_CLOCK) {
        err = flow->team->exchange(flow->team, flow);
    }
    return err ? err : flow_circulate(flow);
}

/*
 * Process what other ranks reported since the last wave, and everything that follows from it here.
 */
static int flow_wave(struct flow *flow)
{
    const struct arrivals now = flow->later;
    int err = ICTUS_OK;
    flow->later = (struct arrivals){.list = NULL};
    for (uint64_t i = 0; i < now.count && !err; i++) {
        err = ictusi_flow_deliver(flow, now.list[i].node, &now.list[i]);
    }
    free(now.list);
    return err ? err : flow_circulate(flow);
}

/* Run waves until no rank has news (*settled). Otherwise the ranks have to wait for each other. */
static int flow_run_waves(struct flow *flow, bool *settled)
{
    enum { WAVES = 64 };
    const uint64_t hopeless = UINT64_C(1) << 48;
    const uint64_t n = flow->graph->history->layout->location_count;
    int err = ICTUS_OK;
    flow->mode = FLOW_RAISE;
    flow->walked = 0;
    for (uint64_t i = 0; i < n; i++) {
        flow->cursor[i] = NOWHERE;
        flow->far[i] = 0;
        flow->blocked[i] = true;
    }
    *settled = false;
    for (int i = 0; i < WAVES && !err && !*settled; i++) {
        /*
         * If one rank found a cycle or is worn out, its huge value makes every rank's sum hopeless,
         * so that all ranks give up together.
         */
        uint64_t news = flow->broken || flow_is_worn_out(flow) ? hopeless : flow->later.count;
        err = flow->team->sums(flow->team, &news, 1);
        *settled = news == 0;
        if (news >= hopeless) {
            break;
        }
        err = err || *settled ? err : flow_wave(flow);
    }
    flow->mode = FLOW_CLOCK;
    return err;
}

/*
 * The logical clock over several ranks. Waiting for each message between ranks would cost its
 * latency, one message after the other. So all ranks go ahead with what they know of the others:
 * C(s) + mu at receives and nothing in collectives, neither of which is ever too high. A rank that
 * then finds a higher value reports it. Values are raised, which may be news for yet other ranks,
 * until no rank has any. This converges because values only ever rise, and without cycles there is
 * one solution. Corrections seldom propagate over more than a few locations. Where they do, and
 * where there are cycles, the ranks wait for each other's messages after all.
 */
static int flow_run_clock(struct flow *flow)
{
    bool settled = false;
    flow->broken = 0;
    flow->ahead = true;
    int err = flow->team->exchange(flow->team, flow);
    err = err ? err : flow_run(flow);
    err = err ? err : flow_run_waves(flow, &settled);
    flow->ahead = false;
    free(flow->later.list);
    flow->later = (struct arrivals){.list = NULL};
    if (err || settled) {
        return err;
    }
    flow->broken = 0;
    return flow_run(flow);
}

int ictusi_flow_run(struct flow *flow, enum flow_mode mode)
{
    const uint64_t n = flow->graph->history->layout->location_count + 1;
    flow->mode = mode;
    if (!flow->team && mode != FLOW_CLOCK) {
        return ictusi_flow_sweep(flow);
    }
    flow->cursor = calloc(n, sizeof *flow->cursor);
    flow->far = calloc(n, sizeof *flow->far);
    flow->blocked = calloc(n, sizeof *flow->blocked);
    flow->ready = calloc(n, sizeof *flow->ready);
    const bool enough = flow->cursor && flow->far && flow->blocked && flow->ready;
    int err = enough ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        err = flow->team && mode == FLOW_CLOCK ? flow_run_clock(flow) : flow_run(flow);
    }
    free(flow->cursor);
    free(flow->far);
    free(flow->blocked);
    free(flow->ready);
    flow->cursor = NULL;
    flow->far = NULL;
    flow->blocked = NULL;
    flow->ready = NULL;
    return err;
}

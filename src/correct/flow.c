/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * B07, equations (3') and (4), over the graph, in integer ticks. Between two points of a location
 * the logical clock is a closed form: after a jump it leads its input by LC - C, and the lead falls
 * by (1 - gamma) of the time that passes, but never so fast that two events of different input
 * stamps meet (the term with delta). So internal events need no state of their own.
 */
#include "correct/flow.h"

#include <ictus/error.h>
#include <stdlib.h>

/* Nothing arrived, and nothing will: no bound. */
#define NO_BOUND (INT64_MIN + 1)
/* How many points may be visited before their memory is let go. */
enum { VISITS = 1 << 21 };
/* How many points ahead the value at the other end is asked for: about a memory's latency. */
enum { AHEAD = 12 };
/* Points that are sorted out at a time. */
enum { BATCH = 256 };

static int deliver(struct flow *flow, uint32_t node, const struct message *message);

static int64_t worst(const struct flow *flow)
{
    return flow->mode == FLOW_LIMIT ? INT64_MAX : NO_BOUND;
}

static bool better(const struct flow *flow, int64_t a, int64_t b)
{
    return flow->mode == FLOW_LIMIT ? a < b : a > b;
}

/* The delay that a pair through a virtual node must have. */
static int64_t node_delay(const struct flow *flow, uint8_t class)
{
    return class == POINT_THREAD ? flow->latency->thread : flow->latency->least;
}

static void wake(struct flow *flow, uint32_t location)
{
    if (flow->blocked[location]) {
        flow->blocked[location] = false;
        flow->ready[flow->ready_count++] = location;
    }
}

/* A value reaches a point: already with the delay added, or taken off. */
static void arrive(struct flow *flow, uint32_t point, uint32_t location, int64_t value)
{
    struct points *points = &flow->graph->scan->points;
    if (flow->mode == FLOW_LIMIT) {
        points->cap[point] = value;
        return;
    }
    if (flow->cursor[location] <= point) { /* else it stopped waiting: see break_cycle() */
        points->value[point] = value;
    }
    if (flow->cursor[location] == point) {
        wake(flow, location);
    }
}

static void observe(struct flow *flow, uint32_t point, uint32_t from, uint32_t to, int64_t sent)
{
    if (sent != NO_BOUND) {
        flow->observer->pair(flow->observer, point, from, to, flow->known[point] - sent);
    }
}

/* From a complete virtual node to one of its points. */
static void fire_point(struct flow *flow, const struct vnode *v, uint32_t point)
{
    const uint32_t location = ictusi_match_location(&flow->graph->scan->matching, point);
    const int64_t value = v->who == location ? v->second : v->first;
    const int64_t delay = node_delay(flow, v->class);
    if (flow->mode == FLOW_CHECK) {
        observe(flow, point, v->who == location ? v->other : v->who, location, value);
    } else if (value == worst(flow)) {
        arrive(flow, point, location, value);
    } else {
        arrive(flow, point, location, flow->mode == FLOW_LIMIT ? value - delay : value + delay);
    }
}

static int fire(struct flow *flow, uint32_t node)
{
    const bool back = flow->mode == FLOW_LIMIT;
    const struct vnode v = *graph_vnode(flow->graph, node);
    const uint32_t count = back ? v.in_count : v.out_count;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t target =
            back ? ictusi_graph_in(flow->graph, node)[i] : ictusi_graph_out(flow->graph, node)[i];
        if (!(target & NODE_VIRTUAL)) {
            fire_point(flow, &v, target);
            continue;
        }
        const struct message message = {target, v.who, v.other, v.first, v.second};
        const int err = deliver(flow, target, &message);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

static void merge(const struct flow *flow, struct vnode *v, uint32_t who, int64_t value)
{
    if (better(flow, value, v->first)) {
        if (who != v->who) {
            v->second = v->first;
            v->other = v->who;
        }
        v->first = value;
        v->who = who;
    } else if (who != v->who && better(flow, value, v->second)) {
        v->second = value;
        v->other = who;
    }
}

/* Bring a value to a node: a point here, a virtual node here, or any node elsewhere. */
static int deliver(struct flow *flow, uint32_t node, const struct message *message)
{
    if ((node & NODE_TYPE) == NODE_REMOTE) {
        const struct remote *remote = &flow->graph->remotes[node & NODE_INDEX];
        struct message out = *message;
        out.node = remote->node;
        /* NOLINTBEGIN(clang-analyzer-core.NullDereference): remotes need a transport */
        return flow->transport->send(flow->transport, remote->rank, &out);
        /* NOLINTEND(clang-analyzer-core.NullDereference) */
    }
    if (!(node & NODE_VIRTUAL)) {
        const uint32_t location = ictusi_match_location(&flow->graph->scan->matching, node);
        if (flow->mode == FLOW_CHECK) {
            observe(flow, node, message->who, location, message->first);
        } else {
            arrive(flow, node, location, message->first);
        }
        return ICTUS_OK;
    }
    struct vnode *v = graph_vnode(flow->graph, node);
    if (message->first != worst(flow)) {
        merge(flow, v, message->who, message->first);
    }
    if (message->second != worst(flow)) {
        merge(flow, v, message->other, message->second);
    }
    return --v->pending == 0 ? fire(flow, node) : ICTUS_OK;
}

static int keep(struct arrivals *arrivals, const struct message *message)
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
    /* Any odd constants do: equal sums of different messages are a matter of 2^-64. */
    uint64_t hash = message->node * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (uint64_t)message->first) * UINT64_C(0xbf58476d1ce4e5b9);
    hash = (hash ^ (hash >> 29) ^ (uint64_t)message->second) * UINT64_C(0x94d049bb133111eb);
    hash = (hash ^ (hash >> 32) ^ message->who) * UINT64_C(0xff51afd7ed558ccd);
    hash = (hash ^ (hash >> 31) ^ message->other) * UINT64_C(0xc4ceb9fe1a85ec53);
    arrivals->sum += hash ^ (hash >> 30);
    return ICTUS_OK;
}

/* What this pass heard becomes what the pass before heard. */
static void turn_page(struct flow *flow)
{
    const struct arrivals old = flow->heard;
    flow->heard = flow->hearing;
    flow->hearing = old;
    flow->hearing.count = 0;
    flow->hearing.sum = 0;
}

int ictusi_flow_receive(struct flow *flow, const struct message *message)
{
    const int err = flow->rounds || flow->mode == FLOW_CHECK ? keep(&flow->hearing, message) : 0;
    return err || flow->rounds ? err : deliver(flow, message->node, message);
}

/* In rounds: what the pass before heard from other ranks' virtual nodes. */
static int deliver_heard(struct flow *flow)
{
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < flow->heard.count && !err; i++) {
        err = deliver(flow, flow->heard.list[i].node, &flow->heard.list[i]);
    }
    return err;
}

void ictusi_flow_fini(struct flow *flow)
{
    free(flow->heard.list);
    free(flow->hearing.list);
    flow->heard = (struct arrivals){.list = NULL};
    flow->hearing = (struct arrivals){.list = NULL};
}

/* A pair's first event is done: tell the second. */
static int push(struct flow *flow, uint32_t location, uint64_t i, int64_t value)
{
    const struct points *points = &flow->graph->scan->points;
    const uint32_t link = points->link[i];
    struct message message = {link, location, TRACE_NONE, value, NO_BOUND};
    if (link == NODE_NONE) {
        return ICTUS_OK;
    }
    if ((link & NODE_TYPE) == NODE_VIRTUAL) {
        return deliver(flow, link, &message);
    }
    if (flow->mode == FLOW_CLOCK) {
        message.first += latency_of(flow->latency, location, points->peer[i]);
    }
    if ((link & NODE_TYPE) == NODE_REMOTE) {
        return flow->rounds ? ICTUS_OK : deliver(flow, link, &message);
    }
    arrive(flow, link, points->peer[i], message.first);
    return ICTUS_OK;
}

/* The value of equation (4): without what is received. */
static int64_t own_value(const struct flow *flow, uint64_t i, uint64_t first)
{
    const struct points *points = &flow->graph->scan->points;
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

/* What a point has received; VALUE_UNSET: nothing yet. */
static int64_t received_at(const struct flow *flow, const struct points *points, uint64_t i)
{
    if (!(points->kind[i] & POINT_IN) || points->link[i] == NODE_NONE) {
        return NO_BOUND;
    }
    const bool remote = (points->link[i] & NODE_TYPE) == NODE_REMOTE;
    return remote && flow->rounds ? points->cap[i] : points->value[i];
}

/* Have the value at the other end of a point further on at hand when it is needed. */
static inline void fetch_ahead(const struct points *points, const int64_t *values, uint64_t i,
                               uint64_t end)
{
    const uint32_t link = i + AHEAD < end ? points->link[i + AHEAD] : NODE_NONE;
    if (!(link & NODE_VIRTUAL)) {
        __builtin_prefetch(&values[link]);
    }
}

/* Follow a location until it has to wait. */
static int advance_clock(struct flow *flow, uint32_t location)
{
    struct points *points = &flow->graph->scan->points;
    const uint64_t first = flow->graph->scan->first[location];
    const uint64_t end = flow->graph->scan->first[location + 1];
    uint64_t i = flow->cursor[location];
    int err = ICTUS_OK;
    for (; i < end && !err; i++) {
        flow->cursor[location] = i;
        fetch_ahead(points, points->value, i, end);
        const int64_t received = received_at(flow, points, i);
        if (received == VALUE_UNSET) {
            flow->blocked[location] = true;
            return ICTUS_OK;
        }
        const int64_t own = own_value(flow, i, first);
        points->value[i] = received > own ? received : own;
        flow->visited++;
        if (points->kind[i] & POINT_OUT) {
            err = push(flow, location, i, points->value[i]);
        }
    }
    flow->cursor[location] = end;
    flow->unfinished--;
    return err;
}

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

/*
 * Counting. Pairs within this rank are looked at from their second events, which come in order:
 * only the first one's value lies elsewhere. Those between ranks have been exchanged.
 */
static int advance_check(struct flow *flow, uint32_t location)
{
    static const uint8_t sides[] = {POINT_IN, POINT_OUT};
    const struct points *points = &flow->graph->scan->points;
    const int64_t *known = flow->known;
    const uint64_t first = flow->graph->scan->first[location];
    const uint64_t end = flow->graph->scan->first[location + 1];
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
            err = push(flow, location, batch.nodes[k], known[batch.nodes[k]]);
        }
    }
    flow->visited += end - first;
    flow->unfinished--;
    return err;
}

/* Limits within this rank: all values are known, no waiting. */
static int advance_limit(struct flow *flow, uint32_t location)
{
    static const uint8_t sides[] = {POINT_OUT, POINT_IN};
    struct points *points = &flow->graph->scan->points;
    const uint64_t first = flow->graph->scan->first[location];
    const uint64_t end = flow->graph->scan->first[location + 1];
    struct batch batch;
    int err = ICTUS_OK;
    for (uint64_t i = first; i < end && !err; i += BATCH) {
        sort_out(points, i, end - i < BATCH ? end : i + BATCH, sides, &batch);
        for (uint32_t k = 0; k < batch.pair_count; k++) {
            const uint32_t point = batch.pairs[k];
            fetch_pair(points, points->value, &batch, k);
            points->cap[point] = points->value[points->link[point]] -
                                 latency_of(flow->latency, location, points->peer[point]);
        }
        for (uint32_t k = 0; k < batch.node_count && !err; k++) {
            const uint32_t point = batch.nodes[k];
            const struct message message = {points->link[point], location, TRACE_NONE,
                                            points->value[point], INT64_MAX};
            err = deliver(flow, message.node, &message);
        }
    }
    flow->visited += end - first;
    flow->unfinished--;
    return err;
}

/* Nothing moves and somebody waits: a cycle in a broken trace. The earliest waiter stops waiting.
 */
static int break_cycle(struct flow *flow)
{
    const struct scan *scan = flow->graph->scan;
    int64_t time = INT64_MAX;
    uint32_t location = TRACE_NONE;
    for (uint32_t i = 0; i < scan->trace->location_count; i++) {
        if (flow->blocked[i] && scan->points.time[flow->cursor[i]] < time) {
            time = scan->points.time[flow->cursor[i]];
            location = i;
        }
    }
    const uint32_t own = location;
    int err = flow->transport ? flow->transport->least(flow->transport, &time, &location) : 0;
    if (!err && own == location && own != TRACE_NONE) {
        scan->points.value[flow->cursor[own]] = NO_BOUND;
        flow->broken++;
        wake(flow, own);
    }
    return err;
}

static int work(struct flow *flow)
{
    int err = ICTUS_OK;
    while (flow->ready_count && !err) {
        const uint32_t location = flow->ready[--flow->ready_count];
        err = flow->mode == FLOW_CLOCK   ? advance_clock(flow, location)
              : flow->mode == FLOW_CHECK ? advance_check(flow, location)
                                         : advance_limit(flow, location);
        if (flow->visited > VISITS) {
            flow->visited = 0;
            ictusi_points_relax(&flow->graph->scan->points);
        }
        if (!err && flow->transport) {
            err = flow->transport->poll(flow->transport, flow);
        }
    }
    return err;
}

static int start_nodes(struct flow *flow)
{
    struct graph *graph = flow->graph;
    const bool back = flow->mode == FLOW_LIMIT;
    for (uint64_t i = 0; i < graph->vnode_count; i++) {
        struct vnode *v = &graph->vnodes[i];
        v->first = worst(flow);
        v->second = worst(flow);
        v->who = TRACE_NONE;
        v->other = TRACE_NONE;
        v->pending = back ? v->out_count : v->in_count;
    }
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < graph->vnode_count && !err; i++) {
        const struct vnode *v = &graph->vnodes[i];
        if ((back ? v->out_count : v->in_count) == 0 && v->in_count + v->out_count > 0) {
            err = fire(flow, NODE_VIRTUAL | (uint32_t)i);
        }
    }
    return err;
}

static int start(struct flow *flow)
{
    const struct scan *scan = flow->graph->scan;
    const uint64_t n = scan->trace->location_count;
    struct points *points = &flow->graph->scan->points;
    flow->ready_count = 0;
    flow->unfinished = 0;
    flow->visited = 0;
    for (uint64_t i = 0; i < points->count && flow->mode == FLOW_CLOCK; i++) {
        points->value[i] = VALUE_UNSET;
    }
    for (uint64_t i = 0; i < points->count && flow->mode == FLOW_LIMIT; i++) {
        /* The cap of a collective's exit is its operation: see check.c. */
        points->cap[i] = points->kind[i] & POINT_OUT ? CAP_NONE : points->cap[i];
    }
    for (uint64_t i = n; i-- > 0;) {
        flow->cursor[i] = scan->first[i];
        flow->blocked[i] = false;
        if (flow->graph->share->mine[i]) {
            flow->ready[flow->ready_count++] = (uint32_t)i;
            flow->unfinished++;
        }
    }
    return start_nodes(flow);
}

static int run(struct flow *flow)
{
    uint64_t open = 0;
    int err = start(flow);
    if (!err && flow->transport && flow->mode != FLOW_CLOCK) {
        err = flow->transport->exchange(flow->transport, flow, &open);
    }
    if (!err && flow->rounds) {
        err = deliver_heard(flow);
    }
    while (!err) {
        bool quiet = true;
        bool finished = flow->unfinished == 0;
        err = work(flow);
        if (err) {
            break;
        }
        if (flow->transport) {
            err = flow->transport->idle(flow->transport, flow, flow->unfinished == 0, &quiet,
                                        &finished);
        } else {
            finished = flow->unfinished == 0;
        }
        if (err || (quiet && finished)) {
            break;
        }
        if (quiet) {
            err = break_cycle(flow);
        }
    }
    return err;
}

/*
 * The clock over several ranks. Waiting for each message between them costs its latency, one after
 * the other; so all are given what is known (first C(s) + mu, and for collectives what the last
 * look at all pairs heard from other ranks), and the pass is repeated with what it found until
 * nothing changes. Without cycles there is one solution, whatever the passes begin with.
 * Corrections seldom pass on over more than a few locations; where they do, and where
 * there are cycles, the ranks wait for each other's messages after all.
 */
static int run_clock(struct flow *flow)
{
    enum { ROUNDS = 16 };
    struct points *points = &flow->graph->scan->points;
    uint64_t open = 1;
    flow->broken = 0;
    flow->rounds = true;
    for (uint64_t i = 0; i < points->count; i++) {
        points->value[i] = points->time[i];
    }
    int err = flow->transport->exchange(flow->transport, flow, &open);
    open = 1; /* a rank without crossings has its pass to do as well */
    for (int round = 0; round < ROUNDS && open && !err; round++) {
        flow->broken = 0;
        err = run(flow);
        flow->unsettled =
            flow->heard.count != flow->hearing.count || flow->heard.sum != flow->hearing.sum;
        turn_page(flow);
        err = err ? err : flow->transport->exchange(flow->transport, flow, &open);
    }
    flow->rounds = false;
    flow->unsettled = 0;
    flow->broken = open ? 0 : flow->broken;
    return err || !open ? err : run(flow);
}

int ictusi_flow_run(struct flow *flow, enum flow_mode mode)
{
    const uint64_t n = flow->graph->scan->trace->location_count + 1;
    flow->mode = mode;
    flow->cursor = calloc(n, sizeof *flow->cursor);
    flow->blocked = calloc(n, sizeof *flow->blocked);
    flow->ready = calloc(n, sizeof *flow->ready);
    int err = flow->cursor && flow->blocked && flow->ready ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        err = flow->transport && mode == FLOW_CLOCK ? run_clock(flow) : run(flow);
    }
    if (mode == FLOW_CHECK) {
        turn_page(flow); /* the first values that a pass in rounds takes for granted */
    }
    free(flow->cursor);
    free(flow->blocked);
    free(flow->ready);
    flow->cursor = NULL;
    flow->blocked = NULL;
    flow->ready = NULL;
    return err;
}

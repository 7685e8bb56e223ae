/* SPDX-License-Identifier: BSD-3-Clause */
/* Connecting messages and threads; the storage of nodes and edges. */
#include "causality/graph.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

static int reserve(void **array, uint64_t count, uint64_t more, size_t size)
{
    /* Capacity is the next power of two above count: no need to store it. */
    uint64_t capacity = 1;
    while (capacity < count) {
        capacity *= 2;
    }
    if (*array && count + more <= capacity) {
        return ICTUS_OK;
    }
    while (capacity < count + more) {
        capacity *= 2;
    }
    void *wide = realloc(*array, capacity * size);
    if (!wide) {
        return ICTUS_ERR_NOMEM;
    }
    *array = wide;
    return ICTUS_OK;
}

int ictusi_graph_edges(struct graph *graph, uint32_t node, uint32_t in, uint32_t out)
{
    const uint64_t more = (uint64_t)in + out;
    if (graph->edge_count + more > UINT32_MAX ||
        reserve((void **)&graph->edges, graph->edge_count, more, sizeof *graph->edges)) {
        return ICTUS_ERR_NOMEM;
    }
    struct vnode *v = graph_vnode(graph, node);
    v->edges = (uint32_t)graph->edge_count;
    v->in_count = in;
    v->out_count = out;
    graph->edge_count += more;
    return ICTUS_OK;
}

int ictusi_graph_vnode(struct graph *graph, uint32_t in, uint32_t out, uint8_t class,
                       uint32_t *node)
{
    if (graph->vnode_count >= NODE_INDEX ||
        reserve((void **)&graph->vnodes, graph->vnode_count, 1, sizeof *graph->vnodes)) {
        return ICTUS_ERR_NOMEM;
    }
    *node = NODE_VIRTUAL | (uint32_t)graph->vnode_count;
    graph->vnodes[graph->vnode_count++] = (struct vnode){.class = class};
    return ictusi_graph_edges(graph, *node, in, out);
}

uint32_t *ictusi_graph_in(struct graph *graph, uint32_t node)
{
    return graph->edges + graph_vnode(graph, node)->edges;
}

uint32_t *ictusi_graph_out(struct graph *graph, uint32_t node)
{
    const struct vnode *v = graph_vnode(graph, node);
    return graph->edges + v->edges + v->in_count;
}

uint32_t ictusi_graph_remote(struct graph *graph, uint32_t rank, uint32_t node)
{
    if (reserve((void **)&graph->remotes, graph->remote_count, 1, sizeof *graph->remotes)) {
        return NODE_NONE;
    }
    graph->remotes[graph->remote_count] = (struct remote){rank, node};
    return NODE_REMOTE | (uint32_t)graph->remote_count++;
}

static bool is_point(uint32_t node)
{
    return !(node & NODE_VIRTUAL);
}

void ictusi_graph_pair(struct graph *graph, uint32_t send, uint32_t receive, uint32_t send_location,
                       uint32_t receive_location)
{
    struct points *points = &graph->scan->points;
    if (is_point(send)) {
        points->link[send] = receive;
        points->peer[send] = receive_location;
    }
    if (is_point(receive)) {
        points->link[receive] = send;
        points->peer[receive] = send_location;
    }
}

/* Disconnect what is left of a chain; how many that were. */
static uint64_t drop_chain(struct points *points, uint32_t from)
{
    uint64_t count = 0;
    while (from != NODE_NONE) {
        const uint32_t next = points->link[from];
        points->link[from] = NODE_NONE;
        from = next;
        count++;
    }
    return count;
}

struct timed {
    int64_t time;
    uint32_t point;
};

static int by_time(const void *a, const void *b)
{
    const struct timed *x = a;
    const struct timed *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->point > y->point) - (x->point < y->point);
}

/* Messages of several threads: the order of their stamps is the best there is. */
static int sort_chain(struct points *points, struct chain *chain)
{
    struct timed *list = malloc((chain->count + 1UL) * sizeof *list);
    uint32_t n = 0;
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint32_t p = chain->head; p != NODE_NONE; p = points->link[p]) {
        list[n++] = (struct timed){points->time[p], p};
    }
    qsort(list, n, sizeof *list, by_time);
    for (uint32_t i = 0; i < n; i++) {
        points->link[list[i].point] = i + 1 < n ? list[i + 1].point : NODE_NONE;
    }
    chain->head = n ? list[0].point : NODE_NONE;
    free(list);
    return ICTUS_OK;
}

int ictusi_graph_order(struct graph *graph, struct channel *channel)
{
    struct points *points = &graph->scan->points;
    if (!channel->mixed) {
        return ICTUS_OK;
    }
    const int err = sort_chain(points, &channel->sends);
    return err ? err : sort_chain(points, &channel->receives);
}

uint64_t ictusi_graph_drop(struct graph *graph, uint32_t from)
{
    return drop_chain(&graph->scan->points, from);
}

/* The k-th send of a channel meets its k-th receive: messages do not overtake each other. */
static int pair_channel(struct graph *graph, struct channel *channel)
{
    struct points *points = &graph->scan->points;
    const struct matching *m = &graph->scan->matching;
    const int err = ictusi_graph_order(graph, channel);
    if (err) {
        return ICTUS_ERR_NOMEM;
    }
    uint32_t send = channel->sends.head;
    uint32_t receive = channel->receives.head;
    while (send != NODE_NONE && receive != NODE_NONE) {
        const uint32_t next_send = points->link[send];
        const uint32_t next_receive = points->link[receive];
        const uint32_t from =
            channel->mixed ? ictusi_match_location(m, send) : channel->send_location;
        const uint32_t to =
            channel->mixed ? ictusi_match_location(m, receive) : channel->receive_location;
        ictusi_graph_pair(graph, send, receive, from, to);
        graph->messages++;
        send = next_send;
        receive = next_receive;
    }
    graph->unmatched_sends += drop_chain(points, send);
    graph->unmatched_receives += drop_chain(points, receive);
    return ICTUS_OK;
}

/* A channel whose other end is on another rank is connected by the exchange in replay.c. */
static bool crosses_ranks(const struct graph *graph, const struct channel *channel)
{
    return graph->share->owner[channel->sender] != graph->share->owner[channel->receiver];
}

static uint32_t team_size(const struct trace *trace, uint32_t comm)
{
    return comm == TRACE_NONE ? 0 : trace->comms[comm].size_a;
}

/* Whether a thread instance has all its members, so that their numbering can be trusted. */
static bool is_whole(const struct trace *trace, const struct instance *instance)
{
    const uint32_t size = team_size(trace, instance->comm);
    switch (instance->op) {
    case OP_FORK:
        return instance->out.count == 1 && instance->in.count == size;
    case OP_JOIN:
        return instance->out.count == size && instance->in.count == 1;
    case OP_TEAM_BARRIER:
        return instance->out.count == size && instance->in.count == size && size > 1;
    default:
        return instance->out.count == 1 && instance->in.count >= 1;
    }
}

static int connect_thread(struct graph *graph, const struct instance *instance)
{
    struct points *points = &graph->scan->points;
    uint32_t node = NODE_NONE;
    if (!is_whole(graph->scan->trace, instance)) {
        graph->incomplete += instance->out.count && instance->in.count;
        (void)drop_chain(points, instance->out.head);
        (void)drop_chain(points, instance->in.head);
        return ICTUS_OK;
    }
    graph->thread_pairs += instance->in.count;
    if (instance->out.count == 1 && instance->in.count == 1) {
        ictusi_graph_pair(graph, instance->out.head, instance->in.head,
                          ictusi_match_location(&graph->scan->matching, instance->out.head),
                          ictusi_match_location(&graph->scan->matching, instance->in.head));
        return ICTUS_OK;
    }
    const int err =
        ictusi_graph_vnode(graph, instance->out.count, instance->in.count, instance->class, &node);
    if (err) {
        return err;
    }
    uint32_t *list = ictusi_graph_in(graph, node);
    for (uint32_t p = instance->out.head, next; p != NODE_NONE; p = next) {
        next = points->link[p];
        points->link[p] = node;
        *list++ = p;
    }
    for (uint32_t p = instance->in.head, next; p != NODE_NONE; p = next) {
        next = points->link[p];
        points->link[p] = node;
        *list++ = p;
    }
    return ICTUS_OK;
}

int ictusi_graph_build(struct graph *graph, struct scan *scan, const struct share *share,
                       const struct agreement *agreements)
{
    struct matching *m = &scan->matching;
    *graph = (struct graph){.scan = scan, .share = share};
    int err = ictusi_graph_collectives(graph, agreements);
    for (uint64_t i = 0; i < m->instance_count && !err; i++) {
        if (m->instances[i].op >= OP_FORK && m->instances[i].op <= OP_PAIR) {
            err = connect_thread(graph, &m->instances[i]);
        }
    }
    for (uint64_t i = 0; i < m->channel_count && !err; i++) {
        if (!crosses_ranks(graph, &m->channels[i])) {
            err = pair_channel(graph, &m->channels[i]);
        }
    }
    return err;
}

void ictusi_graph_fini(struct graph *graph)
{
    free(graph->vnodes);
    free(graph->edges);
    free(graph->remotes);
    memset(graph, 0, sizeof(*graph));
}

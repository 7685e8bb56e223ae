/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects messages and threads with each other, and all of a history. */
#include "causality/connect.h"

#include "causality/crew.h"

#include <ictus/error.h>
#include <stdlib.h>

struct timed {
    int64_t time;
    uint32_t point;
};

static int timed_by_time(const void *a, const void *b)
{
    const struct timed *x = a;
    const struct timed *y = b;
    if (x->time != y->time) {
        return x->time < y->time ? -1 : 1;
    }
    return (x->point > y->point) - (x->point < y->point);
}

/* For messages of several threads, the order of their timestamps is the best available order. */
static int connect_sort_chain(struct points *points, struct chain *chain)
{
    struct timed *list = malloc((chain->count + 1UL) * sizeof *list);
    uint32_t n = 0;
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint32_t p = chain->head; p != NODE_NONE; p = points->link[p]) {
        list[n++] = (struct timed){points->time[p], p};
    }
    qsort(list, n, sizeof *list, timed_by_time);
    for (uint32_t i = 0; i < n; i++) {
        points->link[list[i].point] = i + 1 < n ? list[i + 1].point : NODE_NONE;
    }
    chain->head = n ? list[0].point : NODE_NONE;
    free(list);
    return ICTUS_OK;
}

/* Sort both sides by time if several threads of a process used the channel. */
int ictusi_connect_order(struct graph *graph, struct channel *channel)
{
    struct points *points = &graph->history->points;
    if (!channel->mixed) {
        return ICTUS_OK;
    }
    const int err = connect_sort_chain(points, &channel->sends);
    return err ? err : connect_sort_chain(points, &channel->receives);
}

/*
 * How much of one side of a channel was recorded without a gap: by one location, or, if several
 * threads took part, by the whole process.
 */
struct reach ictusi_connect_reach(const struct matching *m, const struct channel *c, bool send)
{
    const uint32_t location = send ? c->send_location : c->receive_location;
    return ictusi_stretches_reach(
        &m->stretches, send ? &c->sent : &c->received, send ? c->sends.count : c->receives.count,
        c->mixed ? LAYOUT_NONE : location, send ? c->sender : c->receiver);
}

/*
 * Leave out and count this many messages of a chain, whose partners fell into an interval that was
 * not recorded. @return the next point of the chain.
 */
uint32_t ictusi_connect_skip(struct graph *graph, uint32_t from, uint32_t count)
{
    uint32_t *link = graph->history->points.link;
    for (; count > 0 && from != NODE_NONE; count--) {
        const uint32_t next = link[from];
        link[from] = NODE_NONE;
        graph->left_out++;
        from = next;
    }
    return from;
}

/*
 * The k-th send of a channel matches its k-th receive, because messages do not overtake each other
 * (MPI 4.1, 3.5). That holds only while both sides recorded all of them. After an interval without
 * recording the numbers no longer agree. Then the first messages are paired from the beginning and
 * the last ones from the end, as far as nothing can be missing (stretches.h), and those in between
 * are left out.
 */
static int connect_pair_channel(struct graph *graph, struct channel *channel)
{
    struct points *points = &graph->history->points;
    const struct matching *m = &graph->history->matching;
    const int err = ictusi_connect_order(graph, channel);
    if (err) {
        return ICTUS_ERR_NOMEM;
    }
    const struct reach sends = ictusi_connect_reach(m, channel, true);
    const struct reach receives = ictusi_connect_reach(m, channel, false);
    uint32_t first = 0;
    uint32_t last = 0;
    ictusi_stretches_pairs(&sends, channel->sends.count, &receives, channel->receives.count, &first,
                           &last);
    const bool cut = sends.cut || receives.cut;
    uint32_t send = channel->sends.head;
    uint32_t receive = channel->receives.head;
    for (uint32_t k = 0; send != NODE_NONE && receive != NODE_NONE; k++) {
        if (cut && k == first) {
            send = ictusi_connect_skip(graph, send, channel->sends.count - first - last);
            receive = ictusi_connect_skip(graph, receive, channel->receives.count - first - last);
            if (send == NODE_NONE || receive == NODE_NONE) {
                break;
            }
        }
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
    const uint64_t lone_sends = ictusi_graph_drop(graph, send);
    const uint64_t lone_receives = ictusi_graph_drop(graph, receive);
    graph->unmatched_sends += cut ? 0 : lone_sends;
    graph->unmatched_receives += cut ? 0 : lone_receives;
    graph->left_out += cut ? lone_sends + lone_receives : 0;
    return ICTUS_OK;
}

/*
 * A channel with its other end on another rank is connected by the exchange in
 * correct/rank_matching.c.
 */
static bool connect_crosses_ranks(const struct graph *graph, const struct channel *channel)
{
    return graph->share->owner[channel->sender] != graph->share->owner[channel->receiver];
}

/* The size of a thread team, which is a communicator of one group; 0 if none was recorded. */
static uint32_t team_size(const struct layout *layout, uint32_t comm)
{
    return comm == LAYOUT_NONE ? 0 : layout->comms[comm].size_a;
}

/* Whether all members of a thread instance are present, so that their numbering can be trusted. */
static bool connect_is_whole(const struct layout *layout, const struct instance *instance)
{
    const uint32_t size = team_size(layout, instance->comm);
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

/*
 * A single pair is connected directly. All others go through a virtual node on which every exit
 * depends, so that n x m dependencies take n + m edges.
 */
static int instance_connect_thread(struct graph *graph, const struct instance *instance)
{
    struct points *points = &graph->history->points;
    uint32_t node = NODE_NONE;
    if (!connect_is_whole(graph->history->layout, instance)) {
        graph->incomplete += instance->out.count && instance->in.count;
        (void)ictusi_graph_drop(graph, instance->out.head);
        (void)ictusi_graph_drop(graph, instance->in.head);
        return ICTUS_OK;
    }
    graph->thread_pairs += instance->in.count;
    if (instance->out.count == 1 && instance->in.count == 1) {
        ictusi_graph_pair(graph, instance->out.head, instance->in.head,
                          ictusi_match_location(&graph->history->matching, instance->out.head),
                          ictusi_match_location(&graph->history->matching, instance->in.head));
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

/* At most so many jobs connect channels. */
enum { CHANNEL_JOBS = 8 };

/* What is connected, and what the jobs have counted. */
struct connecting {
    struct graph *graph;
    const struct agreement *agreements;
    struct graph counts[CHANNEL_JOBS]; /* of the messages only */
    int err[1 + CHANNEL_JOBS];
};

/* Collectives come first, because other ranks compute the numbers of their nodes. */
static int connect_nodes(struct graph *graph, const struct agreement *agreements)
{
    const struct matching *m = &graph->history->matching;
    int err = ictusi_collectives_connect(graph, agreements);
    for (uint64_t i = 0; i < m->instance_count && !err; i++) {
        if (m->instances[i].op >= OP_FORK && m->instances[i].op <= OP_PAIR) {
            err = instance_connect_thread(graph, &m->instances[i]);
        }
    }
    return err;
}

/* Connect an equal part of the channels, which have no points in common. */
static int connect_channels(const struct graph *graph, uint32_t part, struct graph *counts)
{
    struct matching *m = &graph->history->matching;
    const uint64_t end = m->channel_count * (part + 1) / CHANNEL_JOBS;
    struct graph own = {.history = graph->history, .share = graph->share};
    int err = ICTUS_OK;
    for (uint64_t i = m->channel_count * part / CHANNEL_JOBS; i < end && !err; i++) {
        if (!connect_crosses_ranks(graph, &m->channels[i])) {
            err = connect_pair_channel(&own, &m->channels[i]);
        }
    }
    *counts = own;
    return err;
}

/* No message has a point in common with a node, so that these are made at the same time. */
static void connect_job(void *self, uint32_t number)
{
    struct connecting *c = self;
    c->err[number] = number == 0 ? connect_nodes(c->graph, c->agreements)
                                 : connect_channels(c->graph, number - 1, &c->counts[number - 1]);
}

/* Turn all chains into links. */
int ictusi_connect_history(struct graph *graph, struct history *history, const struct share *share,
                           const struct agreement *agreements, int threads)
{
    struct connecting c = {.graph = graph, .agreements = agreements};
    *graph = (struct graph){.history = history, .share = share};
    ictusi_crew_run(threads, 1 + CHANNEL_JOBS, connect_job, &c);
    int err = c.err[0];
    for (int i = 0; i < CHANNEL_JOBS; i++) {
        err = err ? err : c.err[1 + i];
        graph->messages += c.counts[i].messages;
        graph->unmatched_sends += c.counts[i].unmatched_sends;
        graph->unmatched_receives += c.counts[i].unmatched_receives;
        graph->left_out += c.counts[i].left_out;
    }
    return err;
}

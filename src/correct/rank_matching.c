/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Each rank tells each other rank which of its channels lead there and how many sends they hold.
 * The other rank answers with the receives. What all messages of a channel have in common is sent
 * once.
 */
#include "correct/rank_matching.h"

#include "causality/connect.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

/* A channel from one rank to another, as announced to the receiving rank. */
struct lead {
    uint32_t comm, tag, sender, receiver, sends;
    struct reach reach; /* of the sends */
};

/*
 * A receive, in answer to a send. location is LAYOUT_NONE if there is no receive, and 0 for a send
 * that is left out.
 */
struct answer {
    uint32_t point, location;
};

/*
 * Records that are exchanged with all ranks, grouped by rank. counts and starts are those of
 * MPI_Alltoallv, in units of records. A post owns all three arrays.
 */
struct post {
    char *records;
    int *counts, *starts;
    uint64_t total;
    size_t size; /* of a record */
};

struct rank_matching {
    MPI_Comm comm;
    int ranks;
    struct graph *graph;
    struct post leads_out, leads_in;
    struct post sends_out, sends_in; /* the location of each send */
    struct post answers_out, answers_in;
    struct post met_out, met_in; /* the receive of each matched send */
    uint32_t *points;            /* the sends, in the order of sends_out */
};

/* Counts begin at 0. Starts follow from them, and the records from both. */
static int post_init(struct post *post, int ranks, size_t size)
{
    post->size = size;
    post->counts = calloc((uint32_t)ranks + 1UL, sizeof(int));
    post->starts = calloc((uint32_t)ranks + 1UL, sizeof(int));
    return post->counts && post->starts ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static void post_fini(struct post *post)
{
    free(post->records);
    free(post->counts);
    free(post->starts);
}

/*
 * Allocate, once the counts are known. Starts must fit into an int, so each is checked before it is
 * stored.
 */
static int post_room(struct post *post, int ranks)
{
    post->total = 0;
    for (int r = 0; r < ranks; r++) {
        if (post->total > INT32_MAX) {
            return ICTUS_ERR_UNSUPPORTED;
        }
        post->starts[r] = (int)post->total;
        post->total += (uint32_t)post->counts[r];
    }
    post->records = malloc((post->total + 1) * post->size);
    return post->records ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * The counts are exchanged first, since Alltoallv needs them. From here on all ranks fail together.
 * Collective.
 */
static int post_exchange_counts(struct rank_matching *m, const struct post *out, struct post *in)
{
    const int code = MPI_Alltoall(out->counts, 1, MPI_INT, in->counts, 1, MPI_INT, m->comm);
    return ictusi_ranks_agree(m->comm,
                              code == MPI_SUCCESS ? post_room(in, m->ranks) : ICTUS_ERR_MPI);
}

/*
 * Records are sent as a contiguous datatype. Counts and displacements are then in units of records,
 * which extends the range of an int by the size of a record. The ranks of one job share a byte
 * order. Collective.
 */
static int post_exchange(struct rank_matching *m, const struct post *out, struct post *in)
{
    MPI_Datatype type;
    MPI_Type_contiguous((int)out->size, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    const int code = MPI_Alltoallv(out->records, out->counts, out->starts, type, in->records,
                                   in->counts, in->starts, type, m->comm);
    MPI_Type_free(&type);
    return code == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* A channel has one sender and one receiver, so it crosses ranks either entirely or not at all. */
static bool channel_leaves(const struct share *share, const struct channel *channel)
{
    return share->mine[channel->sender] && !share->mine[channel->receiver];
}

static bool channel_arrives(const struct share *share, const struct channel *channel)
{
    return share->mine[channel->receiver] && !share->mine[channel->sender];
}

/* Count what goes to each rank, and allocate room for it. */
static int rank_matching_count_sends(struct rank_matching *m)
{
    const struct share *share = m->graph->share;
    const struct matching *matching = &m->graph->history->matching;
    for (uint64_t i = 0; i < matching->channel_count; i++) {
        const struct channel *c = &matching->channels[i];
        if (channel_leaves(share, c)) {
            const uint32_t rank = share->owner[c->receiver];
            m->leads_out.counts[rank]++;
            m->sends_out.counts[rank] += (int)c->sends.count;
        }
    }
    const int err = post_room(&m->leads_out, m->ranks);
    return err ? err : post_room(&m->sends_out, m->ranks);
}

/*
 * Write one channel's sends in order, from index at. Their chain links are removed, because the
 * links will then lead to the receives.
 */
static void rank_matching_write_channel(struct rank_matching *m, const struct channel *c, int at)
{
    uint32_t *link = m->graph->history->points.link;
    uint32_t *locations = (uint32_t *)(void *)m->sends_out.records + at;
    uint32_t *points = m->points + at;
    for (uint32_t p = c->sends.head, next = 0; p != NODE_NONE; p = next) {
        next = link[p];
        link[p] = NODE_NONE;
        *points++ = p;
        *locations++ =
            c->mixed ? ictusi_match_location(&m->graph->history->matching, p) : c->send_location;
    }
}

/*
 * Write all sends to other ranks, channel by channel. Each rank has two cursors: for its next lead,
 * and for its next send. The sends are in the order of the leads, so a lead need not say where its
 * own begin.
 */
static int rank_matching_write_sends(struct rank_matching *m)
{
    struct matching *matching = &m->graph->history->matching;
    int err = rank_matching_count_sends(m);
    const uint64_t n = (uint32_t)m->ranks;
    int *at = calloc(2 * n + 1, sizeof *at);
    m->points = malloc((m->sends_out.total + 1) * sizeof *m->points);
    if (err || !at || !m->points) {
        free(at);
        return err ? err : ICTUS_ERR_NOMEM;
    }
    memcpy(at, m->leads_out.starts, n * sizeof *at);
    memcpy(at + n, m->sends_out.starts, n * sizeof *at);
    for (uint64_t i = 0; i < matching->channel_count && !err; i++) {
        struct channel *c = &matching->channels[i];
        if (!channel_leaves(m->graph->share, c)) {
            continue;
        }
        const uint32_t rank = m->graph->share->owner[c->receiver];
        const struct lead lead = {c->comm,        c->tag,
                                  c->sender,      c->receiver,
                                  c->sends.count, ictusi_connect_reach(matching, c, true)};
        err = ictusi_connect_order(m->graph, c);
        memcpy(m->leads_out.records + (size_t)at[rank]++ * sizeof lead, &lead, sizeof lead);
        if (!err) {
            rank_matching_write_channel(m, c, at[n + rank]);
            at[n + rank] += (int)lead.sends;
        }
    }
    free(at);
    return err;
}

/*
 * Pair the sends of a channel on another rank with its receives here, and answer. If there is no
 * such channel here, there are no receives; the answers are still written, because the sender
 * expects one per send. In a channel with recording gaps, the first pairs hold from the beginning
 * and the last ones from the end (stretches.h). The messages in between are skipped on both sides.
 */
static void channel_meet(struct rank_matching *m, const struct lead *lead, const uint32_t *senders,
                         struct answer *answers)
{
    struct graph *graph = m->graph;
    const struct matching *matching = &graph->history->matching;
    const int64_t index =
        ictusi_idmap_get(&matching->channel_index, (uint64_t)lead->comm << 32 | lead->tag,
                         (uint64_t)lead->sender << 32 | lead->receiver);
    static const struct channel nothing = {.receives = {NODE_NONE, NODE_NONE, 0},
                                           .receive_location = LAYOUT_NONE};
    struct channel none = nothing;
    none.receiver = lead->receiver;
    struct channel *c = index == IDMAP_NONE ? &none : &matching->channels[index];
    const struct reach reach = ictusi_connect_reach(matching, c, false);
    const bool cut = lead->reach.cut || reach.cut;
    uint32_t first = 0;
    uint32_t last = 0;
    ictusi_stretches_pairs(&lead->reach, lead->sends, &reach, c->receives.count, &first, &last);
    for (uint32_t i = 0; i < lead->sends; i++) {
        answers[i] = (struct answer){NODE_NONE, cut ? 0 : LAYOUT_NONE};
        if (cut && i == first) {
            c->receives.head =
                ictusi_connect_skip(graph, c->receives.head, c->receives.count - first - last);
        }
        const uint32_t receive = c->receives.head;
        if (receive == NODE_NONE || (cut && i >= first && i < lead->sends - last)) {
            continue;
        }
        answers[i] = (struct answer){receive, c->mixed ? ictusi_match_location(matching, receive)
                                                       : c->receive_location};
        c->receives.head = graph->history->points.link[receive];
        /*
         * The receive does not need to know which send it is, because values come in the order of
         * the crossings.
         */
        ictusi_graph_pair(graph, NODE_REMOTE, receive, senders[i], answers[i].location);
        graph->messages++;
    }
}

/*
 * Drop the receives that no send has matched. In a channel with recording gaps, their sends may
 * just not have been recorded, so they count as left out and not as unmatched.
 */
static void rank_matching_drop_receives(struct graph *graph, struct channel *c)
{
    const struct matching *m = &graph->history->matching;
    const bool cut = ictusi_connect_reach(m, c, true).cut || ictusi_connect_reach(m, c, false).cut;
    const uint64_t lone = ictusi_graph_drop(graph, c->receives.head);
    graph->unmatched_receives += cut ? 0 : lone;
    graph->left_out += cut ? lone : 0;
}

/*
 * Pair the sends from other ranks with the receives here, in the order of their channel. Each send
 * has one answer, so the counts of the answers are those of the sends, in the opposite direction,
 * and need no exchange. Receives are sorted before the first lead is processed, and dropped after
 * the last one.
 */
static int matching_meet(struct rank_matching *m)
{
    struct graph *graph = m->graph;
    struct matching *matching = &graph->history->matching;
    int err = ICTUS_OK;
    memcpy(m->answers_out.counts, m->sends_in.counts, (uint32_t)m->ranks * sizeof(int));
    memcpy(m->answers_in.counts, m->sends_out.counts, (uint32_t)m->ranks * sizeof(int));
    err = post_room(&m->answers_out, m->ranks);
    err = err ? err : post_room(&m->answers_in, m->ranks);
    for (uint64_t i = 0; i < matching->channel_count && !err; i++) {
        if (channel_arrives(graph->share, &matching->channels[i])) {
            err = ictusi_connect_order(graph, &matching->channels[i]);
        }
    }
    uint64_t at = 0; /* leads and sends of a rank are in the same order */
    for (uint64_t i = 0; i < m->leads_in.total && !err; i++) {
        struct lead lead;
        memcpy(&lead, m->leads_in.records + i * sizeof lead, sizeof lead);
        channel_meet(m, &lead, (uint32_t *)(void *)m->sends_in.records + at,
                     (struct answer *)(void *)m->answers_out.records + at);
        at += lead.sends;
    }
    for (uint64_t i = 0; i < matching->channel_count && !err; i++) {
        if (channel_arrives(graph->share, &matching->channels[i])) {
            rank_matching_drop_receives(graph, &matching->channels[i]);
        }
    }
    return err;
}

/*
 * Connect the sends with the answers of the other ranks. Answer i belongs to send i, because
 * answers come back in the order in which the sends were sent.
 */
static int rank_matching_take_answers(struct rank_matching *m)
{
    const struct answer *answers = (const struct answer *)(const void *)m->answers_in.records;
    for (int r = 0; r < m->ranks; r++) {
        const uint64_t start = (uint64_t)m->answers_in.starts[r];
        const uint64_t end = start + (uint64_t)m->answers_in.counts[r];
        for (uint64_t i = start; i < end; i++) {
            if (answers[i].point == NODE_NONE) {
                m->graph->unmatched_sends += answers[i].location == LAYOUT_NONE;
                m->graph->left_out += answers[i].location != LAYOUT_NONE;
                continue;
            }
            const uint32_t node = ictusi_graph_remote(m->graph, (uint32_t)r, answers[i].point);
            if (node == NODE_NONE) {
                return ICTUS_ERR_NOMEM;
            }
            ictusi_graph_pair(m->graph, m->points[i], node, LAYOUT_NONE, answers[i].location);
        }
    }
    return ICTUS_OK;
}

/* The rank and point at the other end of a send, if that is on another rank, else NULL. */
static const struct remote *rank_matching_send_met(const struct graph *graph, uint64_t point)
{
    const struct points *points = &graph->history->points;
    const uint32_t link = points->link[point];
    const bool crosses =
        (points->kind[point] & POINT_OUT) && link != NODE_NONE && (link & NODE_TYPE) == NODE_REMOTE;
    return crosses ? &graph->remotes[link & NODE_INDEX] : NULL;
}

static int rank_matching_make_list(struct crossing_list *list, const struct post *post, int ranks)
{
    uint64_t *counts = calloc((uint32_t)ranks + 1UL, sizeof *counts);
    for (int r = 0; counts && r < ranks; r++) {
        counts[r] = (uint32_t)post->counts[r];
    }
    const int err = counts ? ictusi_crossing_list(list, counts, ranks) : ICTUS_ERR_NOMEM;
    free(counts);
    return err;
}

/*
 * List the sends in the order of their points, so that each exchange goes through memory in order.
 */
static int rank_matching_list_sends(struct rank_matching *m, struct crossing_list *list)
{
    const struct graph *graph = m->graph;
    const uint64_t points = graph->history->points.count;
    for (uint64_t i = 0; i < points; i++) {
        const struct remote *remote = rank_matching_send_met(graph, i);
        m->met_out.counts[remote ? remote->rank : 0] += remote != NULL;
    }
    int *at = calloc((uint32_t)m->ranks + 1UL, sizeof *at);
    int err = at ? post_room(&m->met_out, m->ranks) : ICTUS_ERR_NOMEM;
    err = err ? err : rank_matching_make_list(list, &m->met_out, m->ranks);
    for (uint64_t i = 0; i < points && !err; i++) {
        const struct remote *remote = rank_matching_send_met(graph, i);
        if (remote) {
            const int place = m->met_out.starts[remote->rank] + at[remote->rank]++;
            ((uint32_t *)(void *)m->met_out.records)[place] = remote->node;
            list->points[place] = (uint32_t)i;
        }
    }
    free(at);
    return err;
}

/*
 * Both sides list their crossings in the sender's order, so that later only values need to be
 * exchanged.
 */
static int rank_matching_list_crossings(struct rank_matching *m, struct crossings *crossings)
{
    int err = ictusi_ranks_agree(m->comm, rank_matching_list_sends(m, &crossings->sends));
    err = err ? err : post_exchange_counts(m, &m->met_out, &m->met_in);
    err = err ? err
              : ictusi_ranks_agree(
                    m->comm, rank_matching_make_list(&crossings->receives, &m->met_in, m->ranks));
    err = err ? err : post_exchange(m, &m->met_out, &m->met_in);
    if (!err) {
        memcpy(crossings->receives.points, m->met_in.records,
               m->met_in.total * sizeof *crossings->receives.points);
    }
    return err;
}

/*
 * leads and sends -> receivers, which pair them (matching_meet()) -> answers -> senders, which then
 * know their receives -> met, the final order of crossings -> receivers. Each arrow is one
 * Alltoallv. An error on any rank ends the sequence on all of them before the next one.
 */
static int matching_run(struct rank_matching *m, struct crossings *crossings)
{
    int err = ictusi_ranks_agree(m->comm, rank_matching_write_sends(m));
    err = err ? err : post_exchange_counts(m, &m->leads_out, &m->leads_in);
    err = err ? err : post_exchange_counts(m, &m->sends_out, &m->sends_in);
    err = err ? err : post_exchange(m, &m->leads_out, &m->leads_in);
    err = err ? err : post_exchange(m, &m->sends_out, &m->sends_in);
    err = ictusi_ranks_agree(m->comm, err);
    err = err ? err : ictusi_ranks_agree(m->comm, matching_meet(m));
    err = err ? err : post_exchange(m, &m->answers_out, &m->answers_in);
    err = err ? err : rank_matching_take_answers(m);
    err = ictusi_ranks_agree(m->comm, err);
    err = err ? err : ictusi_ranks_agree(m->comm, rank_matching_list_crossings(m, crossings));
    return err ? err : ictusi_crossings_ready(crossings, m->comm);
}

/*
 * All counts are allocated before the ranks agree for the first time, so that an error on one ends
 * all. What is sent lives until the end of this call; only the graph and the lists of crossings
 * remain.
 */
int ictusi_rank_matching_run(MPI_Comm comm, struct graph *graph, struct crossings *crossings)
{
    struct rank_matching m = {.comm = comm, .ranks = graph->share->size, .graph = graph};
    struct post *posts[] = {&m.leads_out,   &m.leads_in,   &m.sends_out, &m.sends_in,
                            &m.answers_out, &m.answers_in, &m.met_out,   &m.met_in};
    static const size_t sizes[] = {
        sizeof(struct lead),   sizeof(struct lead),   sizeof(uint32_t), sizeof(uint32_t),
        sizeof(struct answer), sizeof(struct answer), sizeof(uint32_t), sizeof(uint32_t)};
    enum { POSTS = sizeof sizes / sizeof *sizes };
    int err = ICTUS_OK;
    for (int i = 0; i < POSTS; i++) {
        err = post_init(posts[i], m.ranks, sizes[i]) ? ICTUS_ERR_NOMEM : err;
    }
    err = ictusi_ranks_agree(m.comm, err);
    err = err ? err : matching_run(&m, crossings);
    for (int i = 0; i < POSTS; i++) {
        post_fini(posts[i]);
    }
    free(m.points);
    return err;
}

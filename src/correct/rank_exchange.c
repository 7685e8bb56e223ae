/* SPDX-License-Identifier: BSD-3-Clause */
/* Exchanges the values of messages between ranks, in rounds of bounded size. */
#include "correct/rank_exchange.h"

#include "causality/flow_state.h"

#include <ictus/error.h>
#include <stdlib.h>

/* How many values a rank sends in one round to all others together, and at least to each. */
enum { ROUND_VALUES = 1 << 17, ROUND_LEAST = 256 };

/* One exchange in progress. */
struct exchange {
    struct crossings *crossings;
    struct flow *flow;
    uint32_t location; /* of the last point */
};

int ictusi_ranks_agree(MPI_Comm comm, int err)
{
    int worst = ICTUS_ERR_MPI;
    return MPI_Allreduce(&err, &worst, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS ? worst
                                                                                 : ICTUS_ERR_MPI;
}

int ictusi_crossing_list(struct crossing_list *list, const uint64_t *counts, int ranks)
{
    list->starts = calloc((uint32_t)ranks + 1UL, sizeof *list->starts);
    if (!list->starts) {
        return ICTUS_ERR_NOMEM;
    }
    for (int r = 0; r < ranks; r++) {
        list->starts[r + 1] = list->starts[r] + counts[r];
    }
    list->points = malloc((list->starts[ranks] + 1) * sizeof *list->points);
    return list->points ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/*
 * Rounds have a bounded size, so that memory does not grow with the trace: 2^17 values of 8 bytes
 * are 1 MB, whatever the number of ranks. But each rank is sent at least 256 values, because
 * shorter rounds would be dominated by latency. counts, starts and in_counts share one allocation.
 */
static int rank_exchange_make_room(struct crossings *c)
{
    const uint64_t n = (uint64_t)c->size;
    c->piece = ROUND_VALUES / n > ROUND_LEAST ? ROUND_VALUES / n : ROUND_LEAST;
    c->piece = c->piece < c->longest ? c->piece : c->longest;
    c->counts = calloc(3 * n, sizeof *c->counts);
    c->out = malloc((n * c->piece + 1) * sizeof *c->out);
    c->in = malloc((n * c->piece + 1) * sizeof *c->in);
    if (!c->counts || !c->out || !c->in) {
        return ICTUS_ERR_NOMEM;
    }
    c->starts = c->counts + n;
    c->in_counts = c->starts + n;
    for (int r = 0; r < c->size; r++) {
        c->starts[r] = r * (int)c->piece;
    }
    return ICTUS_OK;
}

/*
 * The longest list of any pair determines the number of rounds for all ranks. A rank with fewer
 * values sends nothing in the last rounds, but must still take part in the collective call.
 */
int ictusi_crossings_ready(struct crossings *c, MPI_Comm comm)
{
    uint64_t longest = 0;
    c->comm = comm;
    MPI_Comm_size(comm, &c->size);
    for (int r = 0; r < c->size; r++) {
        const uint64_t n = c->sends.starts[r + 1] - c->sends.starts[r];
        longest = n > longest ? n : longest;
    }
    if (MPI_Allreduce(&longest, &c->longest, 1, MPI_UINT64_T, MPI_MAX, comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    return rank_exchange_make_room(c);
}

void ictusi_crossings_fini(struct crossings *c)
{
    free(c->sends.points);
    free(c->sends.starts);
    free(c->receives.points);
    free(c->receives.starts);
    free(c->counts);
    free(c->out);
    free(c->in);
    *c = (struct crossings){.size = 0};
}

/*
 * The location of a point. Points come in runs of one location, as sends do, so it is mostly that
 * of the last point.
 */
static uint32_t rank_exchange_location_of(struct exchange *x, uint32_t point)
{
    const struct history *history = x->flow->graph->history;
    if (point < history->first[x->location] || point >= history->first[x->location + 1]) {
        x->location = ictusi_match_location(&history->matching, point);
    }
    return x->location;
}

/* How much of the list for one rank belongs to a round. */
static int rank_exchange_share_of(const struct crossing_list *list, int rank, uint64_t piece,
                                  uint64_t round)
{
    const uint64_t n = list->starts[rank + 1] - list->starts[rank];
    const uint64_t done = round * piece;
    const uint64_t left = n > done ? n - done : 0;
    return (int)(left < piece ? left : piece);
}

/*
 * Pack the values that the other rank waits for, in the order of the list, so that no message needs
 * to say which value is which. For FLOW_CLOCK the sender adds mu, because latency_of() needs both
 * ends and the receiver would have to look up the location of the send.
 */
static void round_pack(struct exchange *x, const struct crossing_list *list, int rank,
                       uint64_t round)
{
    struct crossings *c = x->crossings;
    const struct points *all = &x->flow->graph->history->points;
    const bool clock = x->flow->mode == FLOW_CLOCK;
    const int64_t *values = clock                         ? all->time
                            : x->flow->mode == FLOW_CHECK ? x->flow->known
                                                          : all->value;
    const uint32_t *points = list->points + list->starts[rank] + round * c->piece;
    int64_t *out = c->out + c->starts[rank];
    for (int i = 0; i < c->counts[rank]; i++) {
        const uint32_t point = points[i];
        const int64_t delay =
            clock ? latency_of(x->flow->latency, rank_exchange_location_of(x, point),
                               all->peer[point])
                  : 0;
        out[i] = values[point] + delay;
    }
}

/*
 * The inverse of round_pack(). The value is a bound C(s) + mu for a receive (FLOW_CLOCK), the stamp
 * of the send (FLOW_CHECK), or LC(r), from which the limit of a send is LC(r) - mu (FLOW_LIMIT).
 */
static void value_take(struct exchange *x, uint32_t point, int64_t value)
{
    struct flow *flow = x->flow;
    struct points *all = &flow->graph->history->points;
    if (flow->mode == FLOW_CLOCK) {
        all->note[point].arrived = value;
        return;
    }
    const uint32_t location = rank_exchange_location_of(x, point);
    if (flow->mode == FLOW_CHECK) {
        flow->observer->pair(flow->observer, point, all->peer[point], location,
                             flow->known[point] - value);
    } else {
        all->note[point].limit = value - latency_of(flow->latency, location, all->peer[point]);
    }
}

/* The points of a list are scattered over memory, so each is prefetched some steps in advance. */
static void round_unpack(struct exchange *x, const struct crossing_list *list, int rank,
                         uint64_t round)
{
    const struct crossings *c = x->crossings;
    const struct points *all = &x->flow->graph->history->points;
    const bool check = x->flow->mode == FLOW_CHECK;
    const uint32_t *points = list->points + list->starts[rank] + round * c->piece;
    for (int i = 0; i < c->in_counts[rank]; i++) {
        if (i + AHEAD < c->in_counts[rank]) {
            const uint32_t next = points[i + AHEAD];
            __builtin_prefetch(check ? (const void *)&x->flow->known[next]
                                     : (const void *)&all->note[next]);
            __builtin_prefetch(&all->peer[next]);
        }
        value_take(x, points[i], c->in[c->starts[rank] + i]);
    }
}

/*
 * Limits go from receives back to sends, everything else from sends to receives. Both sides know
 * the counts from the lists, so rounds need no exchange of counts.
 */
static int rank_exchange_run_round(struct exchange *x, uint64_t round)
{
    struct crossings *c = x->crossings;
    const bool back = x->flow->mode == FLOW_LIMIT;
    const struct crossing_list *from = back ? &c->receives : &c->sends;
    const struct crossing_list *to = back ? &c->sends : &c->receives;
    for (int r = 0; r < c->size; r++) {
        c->counts[r] = rank_exchange_share_of(from, r, c->piece, round);
        c->in_counts[r] = rank_exchange_share_of(to, r, c->piece, round);
        round_pack(x, from, r, round);
    }
    if (MPI_Alltoallv(c->out, c->counts, c->starts, MPI_INT64_T, c->in, c->in_counts, c->starts,
                      MPI_INT64_T, c->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    for (int r = 0; r < c->size; r++) {
        round_unpack(x, to, r, round);
    }
    return ICTUS_OK;
}

int ictusi_crossings_exchange(struct crossings *c, struct flow *flow)
{
    struct exchange x = {.crossings = c, .flow = flow};
    int err = ICTUS_OK;
    /*
     * All ranks make as many rounds as the longest list of any pair takes, with empty shares once
     * their own lists have ended, because the Alltoallv is collective.
     */
    for (uint64_t round = 0; !err && round * c->piece < c->longest; round++) {
        err = rank_exchange_run_round(&x, round);
    }
    return err;
}

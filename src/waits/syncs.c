/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waits between two locations are sorted by pair; meetings of all with all (barriers, N×N, teams
 * that begin) are found going back from one of the calls.
 */
#include "waits/syncs.h"

#include <stdlib.h>

/* Meetings looked at, going back, before a pair counts as having none. */
enum { MEETINGS_BACK = 64 };

static uint64_t pair_key(uint32_t a, uint32_t b)
{
    return a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
}

static int by_pair(const void *a, const void *b)
{
    const struct sync_pair *x = a;
    const struct sync_pair *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->low > y->low) - (x->low < y->low);
}

static int find_pairs(struct syncs *s)
{
    const struct analysis *a = s->analysis;
    const uint64_t calls = a->calls.calls.count;
    uint64_t n = 0;
    for (uint64_t i = 0; i < calls; i++) {
        n += analysis_wait(a, i) > 0;
    }
    s->pairs = calloc(n + 1, sizeof *s->pairs);
    s->place = calloc(calls + 1, sizeof *s->place);
    if (!s->pairs || !s->place) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < calls; i++) {
        if (analysis_wait(a, i) > 0) {
            const uint32_t cause = partner_at(&a->partners, i)->call;
            const uint32_t own = analysis_location(a, i);
            const uint32_t other = partner_at(&a->partners, i)->location;
            s->pairs[s->pair_count++] =
                (struct sync_pair){pair_key(own, other), own < other ? (uint32_t)i : cause,
                                   own < other ? cause : (uint32_t)i};
        }
    }
    qsort(s->pairs, s->pair_count, sizeof *s->pairs, by_pair);
    for (uint64_t i = 0; i < s->pair_count; i++) {
        const struct partner *low = partner_at(&a->partners, s->pairs[i].low);
        const bool waits = low->wait > 0 && low->call == s->pairs[i].high;
        s->place[waits ? s->pairs[i].low : s->pairs[i].high] = (uint32_t)i;
    }
    return ICTUS_OK;
}

/* Whether all that leave through a node have met all others there. */
static bool is_meeting(const struct analysis *a, uint32_t node)
{
    const struct vnode *v = graph_vnode(&a->session.graph, node);
    const bool threads = v->class == POINT_THREAD;
    if (v->out_count < 2) {
        return false; /* a join, or rooted */
    }
    for (uint32_t i = 0; i < v->in_count; i++) {
        if (analysis_ins(a, node)[i] & NODE_VIRTUAL) {
            return false; /* a scan */
        }
    }
    return threads || v->in_count > 1;
}

static int find_meetings(struct syncs *s)
{
    const struct analysis *a = s->analysis;
    s->meeting = malloc((a->calls.calls.count + 1) * sizeof *s->meeting);
    s->earlier = malloc((a->calls.calls.count + 1) * sizeof *s->earlier);
    if (!s->meeting || !s->earlier) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < a->calls.calls.count; i++) {
        s->meeting[i] = NODE_NONE;
    }
    for (uint64_t n = 0; n < a->session.graph.vnode_count; n++) {
        const uint32_t node = NODE_VIRTUAL | (uint32_t)n;
        const uint32_t outs = graph_vnode(&a->session.graph, node)->out_count;
        if (!is_meeting(a, node)) {
            continue;
        }
        for (uint32_t i = 0; i < outs; i++) {
            const uint32_t out = analysis_outs(a, node)[i];
            if (!(out & NODE_VIRTUAL)) {
                s->meeting[call_of_point(&a->calls, out)] = node;
            }
        }
    }
    return ICTUS_OK;
}

static void link_meetings(struct syncs *s)
{
    const struct analysis *a = s->analysis;
    for (uint64_t l = 0; l < a->session.trace->layout.location_count; l++) {
        uint32_t last = CALL_NONE;
        for (uint64_t i = a->calls.first[l]; i < a->calls.first[l + 1]; i++) {
            s->earlier[i] = last;
            last = s->meeting[i] == NODE_NONE ? last : (uint32_t)i;
        }
    }
}

int ictusi_syncs_make(struct syncs *s, const struct analysis *a)
{
    *s = (struct syncs){.analysis = a};
    int err = find_pairs(s);
    err = err ? err : find_meetings(s);
    if (!err) {
        link_meetings(s);
    }
    return err;
}

void ictusi_syncs_free(struct syncs *s)
{
    free(s->pairs);
    free(s->place);
    free(s->meeting);
    free(s->earlier);
    *s = (struct syncs){.pairs = NULL};
}

/* The last wait of the pair before both calls of this one; those of one pair are in order. */
static struct sync_point pair_before(const struct syncs *s, uint32_t call)
{
    const struct sync_pair *const own = &s->pairs[s->place[call]];
    for (const struct sync_pair *p = own; p > s->pairs && p[-1].key == own->key; p--) {
        if (p[-1].low < own->low && p[-1].high < own->high) {
            return (struct sync_point){p[-1].low, p[-1].high};
        }
    }
    return (struct sync_point){CALL_NONE, CALL_NONE};
}

/* A location's call that left through a node; CALL_NONE: it has none. */
static uint32_t member_call(const struct analysis *a, uint32_t node, uint32_t location)
{
    const uint64_t first = a->session.history.first[location];
    const uint64_t end = a->session.history.first[location + 1];
    const uint32_t *outs = analysis_outs(a, node);
    const uint32_t count = graph_vnode(&a->session.graph, node)->out_count;
    for (uint32_t i = 0; i < count; i++) {
        if (outs[i] >= first && outs[i] < end) {
            return call_of_point(&a->calls, outs[i]);
        }
    }
    return CALL_NONE;
}

struct sync_point ictusi_syncs_before(const struct syncs *s, uint32_t call)
{
    const struct analysis *a = s->analysis;
    const struct partner *p = partner_at(&a->partners, call);
    struct sync_point best = pair_before(s, call);
    if (analysis_location(a, call) > p->location) {
        best = (struct sync_point){best.other, best.own};
    }
    uint32_t at = s->earlier[call];
    for (int tried = 0; at != CALL_NONE && tried < MEETINGS_BACK; tried++) {
        if (best.own != CALL_NONE && at <= best.own) {
            break;
        }
        const uint32_t met = member_call(a, s->meeting[at], p->location);
        if (met != CALL_NONE && met < p->call) {
            return (struct sync_point){at, met};
        }
        at = s->earlier[at];
    }
    return best;
}

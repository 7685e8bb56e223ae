/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that ranks exchange by their lists of crossings: how many there are between two ranks, and
 * what each of them is, follow from the ranks alone. For processes, and for ranks of a simulated
 * job: check_rank and check_size are the rank and the number of ranks, CROSSING_COMM is that of
 * all.
 */
#ifndef ICTUS_TESTS_CROSSING_VALUES_H
#define ICTUS_TESTS_CROSSING_VALUES_H

#include "correct/rank_exchange.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stdlib.h>

/* Values of which each rank has a few for each other one, and some too many for one round. */
enum { LONG = 150000, SHORT = 17, TICK = 3, SIDES = 2, WITHIN = 55, VALUES_RANKS = 64 };

static uint64_t values_count(int from, int to, uint64_t most)
{
    return from == 0 && to == check_size - 1 ? most : (uint64_t)(from * 5 + to * 11) % SHORT;
}

/* What one rank has: points of two locations, the sends at even numbers, the receives at odd ones.
 */
struct values {
    uint32_t *unit_of, *process_of;
    uint64_t *first;
    int64_t *known;
    struct layout layout;
    struct history history;
    struct graph graph;
    struct latency latency;
    struct crossings crossings;
    struct flow flow;
    uint64_t seen;
    struct observer observer;
};

static struct values *values_of[VALUES_RANKS]; /* for the observer */

/* When a point of any rank is, by which of the rank's own sends or receives it is. */
static int64_t values_time(int rank, uint64_t point)
{
    return (int64_t)rank * 1000000007 + (int64_t)point * TICK;
}

/* Who stands behind the kth value between two ranks. */
static uint32_t values_peer(int rank, uint64_t k)
{
    return (uint32_t)rank * SIDES + (uint32_t)(k / 2 % SIDES);
}

static int64_t values_latency(uint32_t from, uint32_t to)
{
    return from == to ? WITHIN : 1000 + 100 * (int64_t)from + to;
}

/* The point that is the kth of this rank's list for another one. */
static uint64_t values_point(int rank, int other, uint64_t k, bool receive, uint64_t most)
{
    uint64_t at = k;
    for (int r = 0; r < other; r++) {
        at += receive ? values_count(r, rank, most) : values_count(rank, r, most);
    }
    return 2 * at + receive;
}

static uint64_t values_all(int rank, bool receive, uint64_t most)
{
    return values_point(rank, check_size, 0, receive, most) / 2;
}

/* Points come from two locations: the first third of them from the first one. */
static uint32_t values_location(int rank, uint64_t point, uint64_t points)
{
    return (uint32_t)rank * SIDES + (point >= points / 3);
}

static uint64_t values_points(int rank, uint64_t most)
{
    const uint64_t sends = values_all(rank, false, most);
    const uint64_t receives = values_all(rank, true, most);
    return 2 * (sends > receives ? sends : receives) + 2;
}

static uint64_t values_most; /* of this exchange, which all ranks end together */

static void values_pair(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                        int64_t delay)
{
    const struct points *points = &values_of[check_rank]->history.points;
    CHECK(observer == &values_of[check_rank]->observer && point % 2 == 1);
    int sender = 0;
    uint64_t k = point / 2;
    while (k >= values_count(sender, check_rank, values_most)) {
        k -= values_count(sender++, check_rank, values_most);
    }
    const uint64_t sent = values_point(sender, check_rank, k, false, values_most);
    CHECK(from == values_peer(sender, k));
    CHECK(to == values_location(check_rank, point, points->count));
    CHECK(delay == -values_time(check_rank, point) + values_time(sender, sent));
    values_of[check_rank]->seen++;
}

static void values_list(struct values *v, struct crossing_list *list, bool receive)
{
    uint64_t *counts = calloc((unsigned)check_size + 1UL, sizeof *counts);
    REQUIRE(counts);
    for (int r = 0; r < check_size; r++) {
        counts[r] = receive ? values_count(r, check_rank, values_most)
                            : values_count(check_rank, r, values_most);
    }
    REQUIRE(!ictusi_crossing_list(list, counts, check_size));
    for (int r = 0; r < check_size; r++) {
        for (uint64_t k = 0; k < counts[r]; k++) {
            const uint64_t point = values_point(check_rank, r, k, receive, values_most);
            list->points[list->starts[r] + k] = (uint32_t)point;
            v->history.points.peer[point] = values_peer(r, k);
        }
    }
    free(counts);
}

static struct values *values_make(void)
{
    struct values *v = calloc(1, sizeof *v);
    REQUIRE(v);
    const uint32_t locations = (uint32_t)check_size * SIDES;
    const uint64_t points = values_points(check_rank, values_most);
    struct points *p = &v->history.points;
    v->unit_of = calloc(locations, sizeof *v->unit_of);
    v->process_of = calloc(locations, sizeof *v->process_of);
    v->first = calloc(locations + 1UL, sizeof *v->first);
    v->known = calloc(points, sizeof *v->known);
    v->latency.table = calloc((size_t)locations * locations, sizeof *v->latency.table);
    *p = (struct points){.count = points,
                         .time = calloc(points, sizeof *p->time),
                         .value = calloc(points, sizeof *p->value),
                         .note = calloc(points, sizeof *p->note),
                         .peer = calloc(points, sizeof *p->peer)};
    REQUIRE(v->unit_of && v->process_of && v->first && v->known && v->latency.table && p->time &&
            p->value && p->note && p->peer);
    for (uint32_t l = 0; l < locations; l++) {
        v->unit_of[l] = v->process_of[l] = l;
        v->first[l + 1] = l < (uint32_t)check_rank * SIDES    ? 0
                          : l == (uint32_t)check_rank * SIDES ? points / 3
                                                              : points;
        for (uint32_t to = 0; to < locations; to++) {
            v->latency.table[l * locations + to] = values_latency(l, to);
        }
    }
    for (uint64_t i = 0; i < points; i++) {
        p->time[i] = values_time(check_rank, i);
        p->value[i] = p->time[i] + 7;
        v->known[i] = -p->time[i];
        p->note[i].arrived = INT64_MIN;
    }
    v->layout.location_count = locations;
    v->history.layout = &v->layout;
    v->history.first = v->first;
    v->history.matching.layout = &v->layout;
    v->history.matching.first = v->first;
    v->graph.history = &v->history;
    v->latency.units = locations;
    v->latency.thread = WITHIN;
    v->latency.unit_of = v->unit_of;
    v->latency.process_of = v->process_of;
    v->observer.pair = values_pair;
    v->flow = (struct flow){
        .graph = &v->graph, .latency = &v->latency, .observer = &v->observer, .known = v->known};
    values_list(v, &v->crossings.sends, false);
    values_list(v, &v->crossings.receives, true);
    REQUIRE(!ictusi_crossings_ready(&v->crossings, CROSSING_COMM));
    return v;
}

static void values_drop(struct values *v)
{
    ictusi_crossings_fini(&v->crossings);
    CHECK(!v->crossings.sends.points && !v->crossings.out && v->crossings.size == 0);
    free(v->unit_of);
    free(v->process_of);
    free(v->first);
    free(v->known);
    free(v->latency.table);
    free(v->history.points.time);
    free(v->history.points.value);
    free(v->history.points.note);
    free(v->history.points.peer);
    free(v);
}

/* Each receive has what was sent, and when it can be known here at the earliest. */
static void values_arrived(const struct values *v)
{
    const struct points *p = &v->history.points;
    for (int r = 0; r < check_size; r++) {
        for (uint64_t k = 0; k < values_count(r, check_rank, values_most); k++) {
            const uint64_t point = values_point(check_rank, r, k, true, values_most);
            const uint64_t sent = values_point(r, check_rank, k, false, values_most);
            const uint32_t from = values_location(r, sent, values_points(r, values_most));
            CHECK(p->note[point].arrived ==
                  values_time(r, sent) + values_latency(from, values_peer(check_rank, k)));
        }
    }
    for (uint64_t i = 0; i < p->count; i += 2) {
        CHECK(p->note[i].arrived == INT64_MIN); /* nothing arrives at sends */
    }
}

/* No send may be later than its receive's value permits. */
static void values_limited(const struct values *v)
{
    const struct points *p = &v->history.points;
    for (int r = 0; r < check_size; r++) {
        for (uint64_t k = 0; k < values_count(check_rank, r, values_most); k++) {
            const uint64_t point = values_point(check_rank, r, k, false, values_most);
            const uint64_t got = values_point(r, check_rank, k, true, values_most);
            const uint32_t from = values_location(check_rank, point, p->count);
            CHECK(p->note[point].limit ==
                  values_time(r, got) + 7 - values_latency(from, values_peer(r, k)));
        }
    }
}

/* However many there are: rounds are of a bounded size, and as few as that permits. */
static void values_cross(void)
{
    REQUIRE(check_size <= VALUES_RANKS);
    for (int length = 0; length < 2; length++) {
        values_most = length ? LONG : 0;
        struct values *v = values_of[check_rank] = values_make();
        uint64_t longest = 0;
        for (int from = 0; from < check_size; from++) {
            for (int to = 0; to < check_size; to++) {
                const uint64_t n = values_count(from, to, values_most);
                longest = n > longest ? n : longest;
            }
        }
        const uint64_t bound = (UINT64_C(1) << 17) / (uint64_t)check_size;
        CHECK(v->crossings.longest == longest);
        CHECK(v->crossings.piece == (longest < bound ? longest : bound));
        v->flow.mode = FLOW_CLOCK;
        CHECK(!ictusi_crossings_exchange(&v->crossings, &v->flow));
        values_arrived(v);
        v->flow.mode = FLOW_LIMIT;
        CHECK(!ictusi_crossings_exchange(&v->crossings, &v->flow));
        values_limited(v);
        v->flow.mode = FLOW_CHECK;
        CHECK(!ictusi_crossings_exchange(&v->crossings, &v->flow));
        CHECK(v->seen == values_all(check_rank, true, values_most));
        values_drop(v);
        CHECK(!ictusi_ranks_agree(CROSSING_COMM, ICTUS_OK)); /* all have ended this exchange */
    }
}

#endif

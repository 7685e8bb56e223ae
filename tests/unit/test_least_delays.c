/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The least delays between clocks. Several ranks that have each seen a part of a run find the same
 * as a single one that has seen all of it; the constants of the clocks follow from them; and easing
 * bends no interval more than requested.
 */
#include "thread_team.h"

#include "causality/easing.h"
#include "causality/least_delays.h"
#include "core/random.h"

#include <ictus/error.h>
#include <stdbool.h>

enum { RANKS = 3, CLOCKS = 14, CELLS = 24, SPAN = 24000, DELAYS = 4000 };

/* The same delays each time, for few pairs and for many, with ties at other instants. */
static void delays_see(struct least_delays *d, uint64_t rank, uint64_t ranks)
{
    struct rng rng;
    ictusi_random_seed(&rng, 17, 0);
    for (uint64_t i = 0; i < DELAYS; i++) {
        const uint32_t from = (uint32_t)ictusi_random_below(&rng, CLOCKS);
        const uint32_t step = 1 + (uint32_t)ictusi_random_below(&rng, from < 3 ? CLOCKS - 1 : 3);
        const int64_t time = (int64_t)ictusi_random_below(&rng, SPAN + 1);
        const int64_t delay = 2 * (int64_t)ictusi_random_below(&rng, 40) - 8;
        if (i % ranks == rank) {
            ictusi_delays_add(d, from, (from + step) % CLOCKS, time, delay);
        }
    }
}

static bool pair_same(const struct least_delays *a, const struct delay_pair *p,
                      const struct least_delays *b, const struct delay_pair *q)
{
    bool same = p->a == q->a && p->b == q->b;
    for (int way = 0; way < 2 && same; way++) {
        const bool known = p->row[way] != DELAY_NO_ROW;
        same = known == (q->row[way] != DELAY_NO_ROW);
        for (uint64_t c = 0; c < a->cells && known && same; c++) {
            const uint64_t i = p->row[way] * a->cells + c;
            const uint64_t k = q->row[way] * b->cells + c;
            same = a->delay[i] == b->delay[k] && a->instant[i] == b->instant[k];
        }
    }
    return same;
}

static struct least_delays alone;

static void *rank_run(void *argument)
{
    struct team *team = argument;
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    delays_see(&d, (uint64_t)team->rank, (uint64_t)team->size);
    const int err = ictusi_delays_finish(&d, team);
    (void)pthread_mutex_lock(&meeting.lock);
    CHECK(!err && d.cells == alone.cells && d.row_count == alone.row_count);
    CHECK(d.pair_count == alone.pair_count);
    for (uint64_t i = 0; i < d.pair_count && d.pair_count == alone.pair_count; i++) {
        CHECK(pair_same(&d, &d.pairs[i], &alone, &alone.pairs[i]));
    }
    (void)pthread_mutex_unlock(&meeting.lock);
    ictusi_delays_fini(&d);
    return NULL;
}

static void ranks_see_as_one(void)
{
    REQUIRE(!ictusi_delays_init(&alone, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&alone, NULL, 0, SPAN);
    delays_see(&alone, 0, 1);
    REQUIRE(!ictusi_delays_finish(&alone, NULL));
    CHECK(alone.cells == CELLS && alone.pair_count > CLOCKS);
    team_run(RANKS, rank_run);
    ictusi_delays_fini(&alone);
}

/* The shortest delay of each cell, and the earliest of equal ones, whatever the order. */
static void shortest_are_kept(void)
{
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 1000, 1000 + SPAN);
    ictusi_delays_add(&d, 1, 2, 1000 + 500, 30);
    ictusi_delays_add(&d, 1, 2, 1000 + 600, 20);
    ictusi_delays_add(&d, 1, 2, 1000 + 550, 20);
    ictusi_delays_add(&d, 1, 2, 1000 + 700, 20);
    ictusi_delays_add(&d, 1, 2, 1000 + 999, 21);
    ictusi_delays_add(&d, 1, 2, 1000 + 1000, 7);
    ictusi_delays_add(&d, 1, 2, 0, 25);      /* before the span: the first cell */
    ictusi_delays_add(&d, 1, 2, 100000, -6); /* after it: the last one */
    ictusi_delays_add(&d, 2, 1, 1000 + 800, 9);
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(d.pair_count == 1 && d.row_count == 2);
    const uint64_t row = d.pairs[0].row[0] * d.cells;
    CHECK(d.pairs[0].a == 1 && d.pairs[0].b == 2);
    CHECK(d.delay[row] == 20 && d.instant[row] == 1540);
    CHECK(d.delay[row + 1] == 7 && d.instant[row + 1] == 2000 - 3);
    CHECK(d.delay[row + 2] == DELAY_NONE && d.instant[row + 2] == INT64_MAX);
    CHECK(d.delay[row + CELLS - 1] == -6 && d.instant[row + CELLS - 1] == 100003);
    CHECK(ictusi_delays_least(&d, d.pairs[0].row[0]) == -6);
    CHECK(ictusi_delays_least(&d, d.pairs[0].row[1]) == 9);
    CHECK_NEAR(ictusi_delays_half_trip(&d, &d.pairs[0]), 1.5, 0);
    ictusi_delays_begin(&d, NULL, 0, SPAN); /* everything is forgotten */
    ictusi_delays_add(&d, 5, 2, 10, 4);
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(d.pair_count == 1 && d.row_count == 1);
    CHECK(d.pairs[0].a == 2 && d.pairs[0].b == 5 && d.pairs[0].row[0] == DELAY_NO_ROW);
    CHECK(ictusi_delays_least(&d, d.pairs[0].row[1]) == 4);
    CHECK(ictusi_delays_least(&d, DELAY_NO_ROW) == DELAY_NONE);
    CHECK(ictusi_delays_half_trip(&d, &d.pairs[0]) == -1);
    ictusi_delays_fini(&d);
}

/* All events between two clocks are used, of whatever kind. */
static void events_are_observed(void)
{
    static const uint32_t clock_of[] = {0, 1, 1, 2};
    static const int64_t values[] = {100, 200, 300};
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, clock_of, 3, CELLS));
    ictusi_delays_begin(&d, values, 0, SPAN);
    d.observer.pair(&d.observer, 0, 0, 1, 40);
    d.observer.pair(&d.observer, 1, 3, 2, 50);
    d.observer.pair(&d.observer, 0, 2, 1, 5);           /* one clock */
    d.observer.pair(&d.observer, 0, LAYOUT_NONE, 1, 5); /* of an unknown clock */
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(d.pair_count == 2 && d.row_count == 2);
    CHECK(d.pairs[0].a == 0 && d.pairs[0].b == 1);
    CHECK(ictusi_delays_least(&d, d.pairs[0].row[0]) == 40);
    CHECK(d.instant[d.pairs[0].row[0] * d.cells] == 80);
    CHECK(d.pairs[1].a == 1 && d.pairs[1].b == 2 && d.pairs[1].row[0] == DELAY_NO_ROW);
    CHECK(ictusi_delays_least(&d, d.pairs[1].row[1]) == 50);
    ictusi_delays_fini(&d);
}

/* Clocks with constant errors, on paths that are symmetric: the constants are found. */
static void constants_are_found(void)
{
    struct least_delays d;
    double found[CLOCKS];
    int64_t truth[CLOCKS];
    struct rng rng;
    ictusi_random_seed(&rng, 23, 0);
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    for (uint32_t u = 0; u < CLOCKS; u++) {
        truth[u] = (int64_t)ictusi_random_below(&rng, 100000) - 50000;
    }
    for (uint32_t u = 0; u + 2 < CLOCKS; u++) { /* two chains; the last two clocks show nothing */
        const uint32_t other = u + 2 < CLOCKS - 2 ? u + 2 : u % 2;
        const int64_t path = 1 + (int64_t)ictusi_random_below(&rng, 500);
        const int64_t off = truth[other] - truth[u]; /* b minus a */
        for (int64_t wait = 300; wait >= 0; wait -= 100) {
            ictusi_delays_add(&d, u, other, 60 * wait, path + off + wait);
            ictusi_delays_add(&d, other, u, 70 * wait, path - off + wait);
        }
    }
    ictusi_delays_add(&d, CLOCKS - 2, CLOCKS - 1, 5, 12345); /* one way only */
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_delays_constants(&d, found));
    for (uint32_t u = 2; u + 2 < CLOCKS; u++) {
        const double off = (double)(truth[u] - truth[u % 2]);
        CHECK_NEAR(found[u % 2] - found[u], off, 1e-6 * fabs(off) + 1e-6);
    }
    CHECK(found[CLOCKS - 2] == 0 && found[CLOCKS - 1] == 0);
    ictusi_delays_fini(&d);
}

/* Contradictions between pairs are divided; a more certain pair, with a shorter trip, gets less. */
static void contradictions_are_shared(void)
{
    struct least_delays d;
    double found[3];
    REQUIRE(!ictusi_delays_init(&d, NULL, 3, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    static const int64_t halves[3] = {9, 19, 99};
    static const int64_t middles[3] = {0, 0, 300}; /* 300 remain around the triangle */
    for (uint32_t u = 0; u < 3; u++) {
        ictusi_delays_add(&d, u, (u + 1) % 3, 50, halves[u] + middles[u]);
        ictusi_delays_add(&d, (u + 1) % 3, u, 50, halves[u] - middles[u]);
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_delays_constants(&d, found));
    const double all = 100 + 400 + 10000; /* (half + 1)^2: the share that each takes */
    CHECK_NEAR(found[0] - found[1], -300 * 100 / all, 1e-6);
    CHECK_NEAR(found[1] - found[2], -300 * 400 / all, 1e-6);
    CHECK_NEAR(found[2] - found[0], 300 - 300 * 10000 / all, 1e-6);
    ictusi_delays_fini(&d);
}

/* Points of one location: a jump of 500 at the end, and sends with the room that they have. */
static void easing_is_asked(void)
{
    enum { POINTS = 101 };
    struct points points;
    REQUIRE(!ictusi_points_init(&points, POINTS, NULL));
    for (uint64_t i = 0; i < POINTS; i++) {
        points.time[i] = (int64_t)i * 1000;
        points.value[i] = points.time[i] + (i == POINTS - 1 ? 500 : i == 30 ? 20 : 0);
        points.kind[i] = i % 2 ? POINT_OUT : POINT_IN;
        points.note[i].limit = LIMIT_NONE;
    }
    /* With a slope of 1 %, the shift is 500, 490, ...: 10 less for each point before the last. */
    points.note[91].limit = points.time[91] + 410; /* just enough */
    points.note[71].limit = points.time[71] + 209; /* 210 are wanted */
    points.note[11].limit = points.time[11];       /* the ramp has ended before this point */
    points.kind[80] = POINT_IN;                    /* receives have no limit */
    points.note[80].limit = 0;
    CHECK(ictusi_easing_above(&points, 0, POINTS, 0.01) == 1);
    CHECK(ictusi_easing_above(&points, 80, POINTS, 0.01) == 0);
    CHECK(ictusi_easing_above(&points, 0, POINTS, 0.02) == 0);
    CHECK(ictusi_easing_above(&points, 0, POINTS, 0.005) == 3);
    ictusi_easing_floors(&points, 0, POINTS, 0.01);
    for (uint64_t i = 1; i < POINTS; i += 2) {
        const int64_t ramp = 500 - 10 * (int64_t)(POINTS - 1 - i);
        const int64_t hill = i < 30 ? 20 - 10 * (int64_t)(30 - i) : 0;
        const int64_t shift = ramp > 0 ? ramp : hill > 0 ? hill : 0;
        CHECK(points.note[i].floor == points.time[i] + shift);
    }
    CHECK(points.note[80].floor == 0);
    ictusi_points_fini(&points);
}

int main(void)
{
    shortest_are_kept();
    events_are_observed();
    ranks_see_as_one();
    constants_are_found();
    contradictions_are_shared();
    easing_is_asked();
    return check_result();
}

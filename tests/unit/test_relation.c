/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Parts of the happened-before relation and its solver that need no archive: linear systems, calls
 * in the order in which they were posted, and what gaps in a recording leave of that order.
 */
#include "../check.h"

#include "causality/calls.h"
#include "causality/cholesky.h"
#include "causality/layout.h"
#include "causality/stretches.h"
#include "core/random.h"

#include <ictus/error.h>
#include <math.h>

enum { SIDE = 11, CALLS = 200 };

/* A = M M' + 1 with random M of all sizes: A y is the right-hand side, and D A D = L L'. */
static void systems_are_solved(uint32_t n)
{
    double a[SIDE * SIDE];
    double l[SIDE * SIDE];
    double m[SIDE * SIDE];
    double scale[SIDE];
    double b[SIDE];
    double x[SIDE];
    struct rng rng;
    ictusi_random_seed(&rng, n, 1);
    for (uint32_t i = 0; i < n * n; i++) {
        m[i] = ictusi_random_normal(&rng) * (i % 3 ? 1.0 : 1000.0);
    }
    for (uint32_t i = 0; i < n; i++) {
        b[i] = ictusi_random_normal(&rng);
        for (uint32_t j = 0; j < n; j++) {
            a[i * n + j] = i == j;
            for (uint32_t k = 0; k < n; k++) {
                a[i * n + j] += m[i * n + k] * m[j * n + k];
            }
        }
    }
    memcpy(l, a, sizeof(l));
    REQUIRE(ictusi_cholesky_factorise(l, n, scale));
    memcpy(x, b, sizeof(x));
    ictusi_cholesky_solve(l, n, scale, x);
    for (uint32_t i = 0; i < n; i++) {
        double product = 0.0;
        double size = 0.0;
        for (uint32_t j = 0; j < n; j++) {
            product += a[i * n + j] * x[j];
            size += fabs(a[i * n + j] * x[j]);
        }
        CHECK_NEAR(product, b[i], 1e-7 * size + 1e-7);
        CHECK_NEAR(scale[i] * scale[i] * a[i * n + i], 1.0, 1e-12);
    }
    memcpy(x, b, sizeof(x));
    ictusi_cholesky_forward(l, n, scale, x);
    for (uint32_t i = 0; i < n; i++) {
        double product = 0.0;
        for (uint32_t j = 0; j <= i; j++) {
            product += l[i * n + j] * x[j];
        }
        CHECK_NEAR(product, scale[i] * b[i], 1e-9);
    }
}

static void indefinite_ones_are_refused(void)
{
    double a[] = {1, 2, 2, 1};
    double scale[2];
    CHECK(!ictusi_cholesky_factorise(a, 2, scale));
    double one[] = {4};
    CHECK(ictusi_cholesky_factorise(one, 1, scale));
    CHECK_NEAR(one[0], 1.0, 1e-9);
    CHECK_NEAR(scale[0], 0.5, 1e-12);
}

/* More calls than the queue's initial size, while its head moves; each is found again. */
static void calls_wait_in_order(void)
{
    struct calls calls = {.ring = NULL};
    uint64_t number = 0;
    for (uint32_t i = 0; i < CALLS; i++) {
        const struct call call = {
            .kind = CALL_RECEIVE, .state = i % 2 ? CALL_OPEN : CALL_CANCELLED, .tag = i};
        calls.gap = i / 3;
        REQUIRE(!ictusi_calls_open(&calls, &call, &number));
        CHECK(number == i);
        CHECK(!ictusi_calls_request(&calls, 1000 + i, number));
        if (i == 60) { /* the first open call holds back all later ones */
            CHECK(!ictusi_calls_commit(&calls, NULL, 0, false));
            CHECK(calls.head == 1 && calls.count == 60);
            struct call *first = ictusi_calls_take(&calls, 1001);
            REQUIRE(first && first->tag == 1);
            first->state = CALL_CANCELLED;
            CHECK(!ictusi_calls_commit(&calls, NULL, 0, false));
            CHECK(calls.head == 3 && calls.count == 58);
        }
    }
    CHECK(calls.count == CALLS - 3);
    for (uint32_t i = 3; i < CALLS; i++) {
        CHECK(ictusi_calls_at(&calls, i)->tag == i && ictusi_calls_at(&calls, i)->gap == i / 3);
        const struct call *taken = ictusi_calls_take(&calls, 1000 + i);
        CHECK((taken != NULL) == (i % 2 == 1));
        CHECK(!ictusi_calls_take(&calls, 1000 + i)); /* a request belongs to one call only */
    }
    CHECK(!ictusi_calls_take(&calls, 1001));
    CHECK(!ictusi_calls_request(&calls, 7, CALLS) && !ictusi_calls_take(&calls, 7));
    CHECK(!ictusi_calls_request(&calls, 7, 2) && !ictusi_calls_take(&calls, 7));
    CHECK(!ictusi_calls_commit(&calls, NULL, 0, true) && calls.count == 0);
    CHECK(calls.skipped == 0);
    ictusi_calls_fini(&calls);
    CHECK(!calls.ring && calls.count == 0);
}

/* Receives that are open at the end of a recording with gaps may have completed in a gap. */
static void open_calls_are_skipped(void)
{
    struct calls calls = {.ring = NULL, .cut = true};
    uint64_t number = 0;
    for (int i = 0; i < 4; i++) {
        const struct call call = {.kind = CALL_RECEIVE,
                                  .state = i < 3 ? CALL_OPEN : CALL_CANCELLED};
        REQUIRE(!ictusi_calls_open(&calls, &call, &number));
    }
    CHECK(!ictusi_calls_commit(&calls, NULL, 0, true));
    CHECK(calls.skipped == 3);
    ictusi_calls_fini(&calls);
}

/* A collective after a gap, or after receives that may have completed in one, has no known partner.
 */
static void collectives_after_gaps_are_left_out(void)
{
    for (uint32_t gap = 0; gap < 3; gap++) {
        for (uint32_t open = gap > 0 ? 0 : 1; open < 4; open++) {
            struct calls calls = {.gap = gap, .cut = true};
            struct matching matching = {.left_out = 0};
            const struct call receive = {.kind = CALL_RECEIVE, .state = CALL_OPEN};
            const struct call meeting = {.kind = CALL_COLLECTIVE, .state = CALL_DONE};
            uint64_t number = 0;
            for (uint32_t i = 0; i < open; i++) {
                REQUIRE(!ictusi_calls_open(&calls, &receive, &number));
            }
            REQUIRE(!ictusi_calls_open(&calls, &meeting, &number));
            CHECK(!ictusi_calls_commit(&calls, &matching, 0, true));
            CHECK(matching.left_out == 1 && matching.gap == gap + open);
            ictusi_calls_fini(&calls);
        }
    }
}

/* Three processes with one location each, and a fourth one with two. */
static struct layout_location locations[5] = {{.process = 0, .events = 9},
                                              {.process = 1, .events = 9},
                                              {.process = 2, .events = 9},
                                              {.process = 3, .events = 9},
                                              {.process = 3, .events = 9}};
static struct layout_process processes[4] = {
    {.rank_location = 0}, {.rank_location = 1}, {.rank_location = 2}, {.rank_location = 3}};

static bool reach_is(const struct stretch_list *list, const struct stretches *side,
                     uint32_t location, uint32_t standing, uint32_t before, uint32_t after,
                     bool cut)
{
    const struct reach r = ictusi_stretches_reach(list, side, 10, location, standing);
    return r.before == before && r.after == after && r.cut == cut;
}

static void gaps_leave_some_order(void)
{
    const struct layout layout = {
        .location_count = 5, .locations = locations, .process_count = 4, .processes = processes};
    struct stretch_list list;
    struct stretches side = {0, 0, 0};
    REQUIRE(!ictusi_stretches_init(&list, &layout));
    ictusi_stretches_seal(&list);
    CHECK(!list.any && reach_is(&list, &side, 1, 1, 10, 10, false));
    ictusi_stretches_fini(&list);
    /* Two gaps at 1, one at 4; events before, inside and after them. */
    REQUIRE(!ictusi_stretches_init(&list, &layout));
    list.gaps[1].count = 2;
    list.gaps[4].count = 1;
    ictusi_stretches_seal(&list);
    CHECK(list.any && !list.begin_late);
    static const uint32_t gaps[] = {0, 0, 0, 1, 1, 1, 1, 2, 2, 2};
    for (int i = 0; i < 10; i++) {
        stretches_add(&side, gaps[i]);
    }
    CHECK(side.before == 3 && side.after == 3 && side.gap == 2);
    CHECK(reach_is(&list, &side, 1, 1, 3, 3, true));
    CHECK(reach_is(&list, &side, 0, 0, 10, 10, false));
    CHECK(reach_is(&list, &side, 3, 3, 0, 0, true));           /* the other thread had the gap */
    CHECK(reach_is(&list, &side, LAYOUT_NONE, 3, 0, 0, true)); /* the thread is unknown */
    /* Nothing follows the last gap, so nothing is known from the end. */
    struct stretches early = {0, 0, 0};
    stretches_add(&early, 0);
    stretches_add(&early, 1);
    CHECK(reach_is(&list, &early, 1, 1, 1, 0, true));
    ictusi_stretches_fini(&list);
}

static void late_beginnings(void)
{
    const struct layout layout = {
        .location_count = 5, .locations = locations, .process_count = 4, .processes = processes};
    struct stretch_list list;
    struct stretches side = {0, 0, 0};
    for (int i = 0; i < 4; i++) {
        stretches_add(&side, 0);
    }
    REQUIRE(!ictusi_stretches_init(&list, &layout));
    for (int i = 0; i < 5; i++) {
        list.gaps[i].late = true; /* the recording began then */
    }
    ictusi_stretches_seal(&list);
    CHECK(!list.any && reach_is(&list, &side, 0, 0, 10, 10, false));
    ictusi_stretches_fini(&list);
    REQUIRE(!ictusi_stretches_init(&list, &layout));
    list.gaps[2].late = true; /* only for this one: its first call is not the others' first */
    ictusi_stretches_seal(&list);
    CHECK(list.begin_late && reach_is(&list, &side, 2, 2, 0, 4, true));
    CHECK(reach_is(&list, &side, 1, 1, 10, 10, false));
    ictusi_stretches_fini(&list);
    REQUIRE(!ictusi_stretches_init(&list, &layout));
    locations[2].events = 0; /* a location without events is ignored */
    list.gaps[2].late = true;
    ictusi_stretches_seal(&list);
    CHECK(!list.begin_late);
    locations[2].events = 9;
    ictusi_stretches_fini(&list);
}

static bool pairs_are(struct reach sends, uint32_t send_count, struct reach receives,
                      uint32_t receive_count, uint32_t first, uint32_t last)
{
    uint32_t from_first = 0;
    uint32_t from_last = 0;
    ictusi_stretches_pairs(&sends, send_count, &receives, receive_count, &from_first, &from_last);
    return from_first == first && from_last == last;
}

static void pairs_hold_from_both_ends(void)
{
    const struct reach whole_9 = {9, 9, false};
    const struct reach whole_7 = {7, 7, false};
    CHECK(pairs_are(whole_9, 9, whole_7, 7, 7, 0));
    CHECK(pairs_are((struct reach){3, 4, true}, 9, whole_7, 7, 3, 4));
    CHECK(pairs_are((struct reach){3, 5, true}, 9, whole_7, 7, 3, 4)); /* none is in two pairs */
    CHECK(pairs_are(whole_9, 9, (struct reach){2, 3, true}, 7, 2, 3));
    CHECK(pairs_are((struct reach){1, 2, true}, 9, (struct reach){2, 3, true}, 7, 1, 2));
    CHECK(pairs_are((struct reach){0, 0, true}, 9, whole_7, 7, 0, 0));
    CHECK(pairs_are((struct reach){8, 1, true}, 9, (struct reach){5, 9, true}, 9, 5, 1));
}

int main(void)
{
    for (uint32_t n = 1; n <= SIDE; n++) {
        systems_are_solved(n);
    }
    indefinite_ones_are_refused();
    calls_wait_in_order();
    open_calls_are_skipped();
    collectives_after_gaps_are_left_out();
    gaps_leave_some_order();
    late_beginnings();
    pairs_hold_from_both_ends();
    return check_result();
}

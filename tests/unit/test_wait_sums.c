/* SPDX-License-Identifier: BSD-3-Clause */
/* The effect of error histories on sums of waits. */
#include "wait_scene.h"

#include <math.h>

/* What histories add: pairs of opposite sign, and an even part that does not change sign. */
static void fill_lanes(struct wait_sum *sum, double odd, double even)
{
    for (int k = 0; k < HISTORIES; k++) {
        const double part = (k % 2 ? odd : -odd) * (k < 2 ? 3 : 1); /* the outermost is left out */
        sum->lanes[k] = part + even;
        sum->lanes[HISTORIES + k] = -part + even;
    }
}

static void ranges_say_how_sure(void)
{
    struct wait_sum sum = {.ticks = 1000, .n = 3, .decidable = 1000};
    struct sum_range r = ictusi_sum_range(&sum);
    CHECK(r.kind == SUM_EXACT && r.decidable == 1);
    CHECK(r.estimate == 1000 && r.low == 1000 && r.high == 1000);
    /* Errors average out: two standard deviations around the estimate. */
    fill_lanes(&sum, 50, 0);
    sum.sigma = 10000;
    r = ictusi_sum_range(&sum);
    const double odd = sqrt((38 * 50.0 * 50.0 + 2 * 150.0 * 150.0) / 40);
    CHECK(r.kind == SUM_CERTAIN && r.decidable == 1);
    CHECK_NEAR(r.estimate, 1000, 1e-9);
    CHECK_NEAR(r.low, 1000 - 2 * odd, 1e-9);
    CHECK_NEAR(r.high, 1000 + 2 * odd, 1e-9);
    /* If all waits share one clock's error: the range of the histories, except the outermost. */
    sum.sigma = 100;
    r = ictusi_sum_range(&sum);
    CHECK(r.kind == SUM_CERTAIN);
    CHECK_NEAR(r.low, 1000 - 150, 1e-9); /* four are at 150, two on each side */
    CHECK_NEAR(r.high, 1000 + 150, 1e-9);
    CHECK_NEAR(r.estimate, 1000, 1e-9);
    /* What histories say is likely is between their limits, be the bias as large as it may. */
    fill_lanes(&sum, 50, 400);
    r = ictusi_sum_range(&sum);
    CHECK_NEAR(r.low, 1000 + 400 - 150, 1e-9);
    CHECK_NEAR(r.estimate, r.low, 1e-9);
    CHECK_NEAR(r.high, 1000 + 400 + 150, 1e-9);
    /* What histories add with either sign is a bias of the recorded sum. */
    fill_lanes(&sum, 50, 20);
    sum.sigma = 10000;
    r = ictusi_sum_range(&sum);
    CHECK_NEAR(r.estimate, 980, 1e-9);
    CHECK_NEAR(r.high - r.low, 4 * odd, 1e-9);
    /* With doubtful signs: also the range of the histories, or no lower limit at all. */
    sum.decidable = 800;
    r = ictusi_sum_range(&sum);
    CHECK(r.kind == SUM_ABOUT);
    CHECK_NEAR(r.decidable, 0.8, 1e-12);
    CHECK_NEAR(r.low, fmin(980 - 2 * odd, 1000 - 130), 1e-9);
    CHECK_NEAR(r.high, fmax(980 + 2 * odd, 1000 + 170), 1e-9);
    sum.decidable = 750;
    CHECK(ictusi_sum_range(&sum).kind == SUM_ABOUT);
    sum.decidable = 749;
    r = ictusi_sum_range(&sum);
    CHECK(r.kind == SUM_AT_MOST && r.low == 0);
    CHECK_NEAR(r.high, 1170, 1e-9);
    sum.decidable = 950;
    CHECK(ictusi_sum_range(&sum).kind == SUM_CERTAIN);
    sum.decidable = 949;
    CHECK(ictusi_sum_range(&sum).kind == SUM_ABOUT);
    /* A limit is never negative. */
    fill_lanes(&sum, 5000, 4000);
    sum.decidable = 1000;
    r = ictusi_sum_range(&sum);
    CHECK(r.estimate == 0 && r.low == 0 && r.high > 0);
    sum.ticks = 0;
    CHECK(ictusi_sum_range(&sum).decidable == 0);
}

/* Errors of a clock: 1 to HISTORIES, and the same with negative sign. */
static double error_counted(int history)
{
    return history + 1.0;
}

/*
 * Location 1 waits for a lock from 1000 to 1100. Location 0 releases it at an instant that, by
 * uncertain clocks, may be after that. Returns the call that waits.
 */
static uint32_t lock_scene(struct scene *s, int64_t released)
{
    scene_open(s);
    s->first[0] = 0;
    const uint32_t cause = scene_call(s, 0, released, released, 1);
    s->first[1] = 1;
    const uint32_t call = scene_call(s, 1, 1000, 1100, 2);
    s->first[2] = s->first[3] = s->first[4] = 2;
    scene_wait(s, call, cause, WAIT_RMA_LOCK);
    scene_errs(s, 0, 20, error_counted);
    scene_errs(s, 1, 0, NULL);
    return call;
}

static struct wait_row lock_row(int64_t released)
{
    struct wait_rows rows = {.list = NULL};
    struct scene s;
    (void)lock_scene(&s, released);
    scene_rows(&s, &rows);
    REQUIRE(rows.count == 1);
    const struct wait_row row = rows.list[0];
    ictusi_rows_free(&rows);
    scene_close(&s);
    return row;
}

/* What each history says of a wait for a lock does not depend on which others are asked for. */
static void locks_are_split_among_workers(void)
{
    double whole[LANES] = {0};
    double parts[LANES] = {0};
    for (int64_t released = 1060; released <= 1200; released += 20) {
        struct scene s;
        const uint32_t call = lock_scene(&s, released);
        CHECK(ictusi_wait_lanes(&s.a, call, (struct history_range){0, HISTORIES}, whole));
        for (int from = 0; from < HISTORIES; from += HISTORIES / 4) {
            const struct history_range part = {from, from + HISTORIES / 4};
            CHECK(ictusi_wait_lanes(&s.a, call, part, parts));
            for (int k = part.from; k < part.to; k++) {
                CHECK(parts[k] == whole[k] && parts[HISTORIES + k] == whole[HISTORIES + k]);
            }
            for (int k = 0; k < LANES; k++) {
                parts[k] = -1e9; /* what was there does not matter */
            }
        }
        scene_close(&s);
    }
}

/* Histories in which a lock was released after its waiter had it are impossible. */
static void locks_end_waits(void)
{
    struct wait_row row = lock_row(1060); /* all are possible */
    for (int k = 0; k < HISTORIES; k++) {
        CHECK_NEAR(row.sum.lanes[k], -error_counted(k), 1e-9);
        CHECK_NEAR(row.sum.lanes[HISTORIES + k], error_counted(k), 1e-9);
    }
    CHECK(row.sum.confined == 0);
    row = lock_row(1120); /* 20 too late: possible if it was 20 to 40 earlier */
    for (int k = 0; k < LANES; k++) {
        CHECK(row.sum.lanes[k] >= -20 && row.sum.lanes[k] <= 0);
    }
    for (int k = 1; k < HISTORIES; k++) { /* the order of the errors stays */
        CHECK(row.sum.lanes[k] <= row.sum.lanes[k - 1]);
        CHECK(row.sum.lanes[HISTORIES + k] >= row.sum.lanes[HISTORIES + k - 1]);
    }
    CHECK(row.sum.lanes[0] < row.sum.lanes[HISTORIES]);
    /* 21 are possible, with waits of 80 to 100; the 80 ranks are spread evenly over them */
    for (int k = 0; k < LANES; k++) {
        const int rank = k < HISTORIES ? HISTORIES - 1 - k : k;
        const double at = (rank + 0.5) * 21 / LANES - 0.5;
        CHECK_NEAR(row.sum.lanes[k], fmin(fmax(at, 0), 20) - 20, 1e-9);
    }
    CHECK(row.sum.ticks == 100);
    CHECK_NEAR(ictusi_sum_range(&row.sum).estimate, 90, 0.5);
    row = lock_row(1200); /* none is possible: the wait ends with the call */
    for (int k = 0; k < LANES; k++) {
        CHECK(row.sum.lanes[k] == 0);
    }
}

int main(void)
{
    ranges_say_how_sure();
    locks_end_waits();
    locks_are_split_among_workers();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a traced process between, before and after its synchronisations, by hand: straight
 * lines, curves where there are many, and what is known of their errors.
 */
#include "../check.h"

#include "trace/timeline.h"

#include <stdbool.h>

static const int64_t second = 1000000000;

static struct timeline made(const struct timeline_point *points, int count)
{
    struct timeline_point *own = calloc((size_t)count, sizeof *own);
    REQUIRE(own);
    memcpy(own, points, (size_t)count * sizeof *own);
    return ictusi_timeline_make(own, count);
}

static void error_is(const struct timeline *t, int64_t from, int64_t to, double sigma, double bound)
{
    double found_sigma = -1;
    double found_bound = -1;
    ictusi_timeline_error(t, from, to, &found_sigma, &found_bound);
    CHECK_NEAR(found_sigma, sigma, 1e-6);
    CHECK_NEAR(found_bound, bound, 1e-3);
}

/* Two synchronisations: 1.2 us/s in between, and the lines that were fitted outside. */
static const struct timeline_point two[] = {{.local = 0,
                                             .global = 1000,
                                             .slope = 1e-6,
                                             .sigma_ns = 30,
                                             .bound_ns = 100,
                                             .later_sigma_ns = 50},
                                            {.local = 2000000000,
                                             .global = 2000003400,
                                             .slope = 1.5e-6,
                                             .sigma_ns = 40,
                                             .bound_ns = 90,
                                             .later_sigma_ns = 45}};

static void two_points_make_lines(void)
{
    static const int64_t wanted[][2] = {{0, 1000},
                                        {500000000, 500001600},
                                        {1000000000, 1000002200},
                                        {1900000000, 1900003280},
                                        {2000000000, 2000003400},
                                        {3000000000, 3000004900},
                                        {-1000000000, -1000000000}};
    struct timeline t = made(two, 2);
    CHECK(t.count == 2 && t.jump_ns == 0 && !t.points[0].smoothed && !t.points[1].smoothed);
    for (int turn = 0; turn < 2;
         turn++) { /* forwards and backwards: what is cached may not matter */
        for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
            const int64_t *w = wanted[turn ? sizeof wanted / sizeof *wanted - 1 - i : i];
            CHECK(ictusi_timeline_map(&t, w[0]) == w[1]);
        }
    }
    ictusi_timeline_free(&t);
    CHECK(!t.points && t.count == 0);
}

/* Half of a variance is common to neighbours, half is each one's own. */
static void errors_are_known(void)
{
    struct timeline t = made(two, 2);
    CHECK_NEAR(ictusi_timeline_sigma(&t, 0), 30, 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, second / 2),
               sqrt((32.5 * 32.5 + 22.5 * 22.5 + 10 * 10) / 2), 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, second), sqrt((35 * 35 + 15 * 15 + 20 * 20) / 2.0), 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, -second), hypot(30, 50), 1e-9);
    CHECK_NEAR(ictusi_timeline_sigma(&t, 4 * second), hypot(40, 90), 1e-9);
    /* In the middle, a drift of 200 ppm may have led away for a second. */
    error_is(&t, 0, 2 * second, 40, 90 + 200000);
    error_is(&t, second / 2, second, 40, 90 + 200000);
    error_is(&t, -second, second, hypot(30, 50), 100 + 200000);
    error_is(&t, 0, 4 * second, hypot(40, 90), 90 + 400000);
    error_is(&t, -2 * second, 4 * second, hypot(30, 100), 100 + 400000);
    ictusi_timeline_free(&t);
    /* Nothing leads the reference away from itself; other errors grow only if they are said to. */
    const struct timeline_point exact[] = {{.local = 0},
                                           {.local = 2000000000, .global = 2000000000}};
    t = made(exact, 2);
    error_is(&t, -second, 9 * second, 0, 0);
    ictusi_timeline_free(&t);
    struct timeline_point shrinking = two[0];
    shrinking.later_sigma_ns = 20;
    t = made(&shrinking, 1);
    CHECK_NEAR(ictusi_timeline_sigma(&t, 5 * second), 30, 1e-9);
    error_is(&t, 0, second, 30, 100 + 200000);
    ictusi_timeline_free(&t);
}

/* A clock that is set between two points shows its first line until the second one. */
static void steps_are_kept_apart(void)
{
    struct timeline_point points[] = {two[0], two[1]};
    points[1].global += 50000000;
    struct timeline t = made(points, 2);
    CHECK(t.count == 2 && t.points[1].stepped);
    CHECK(t.jump_ns > 49e6 && t.jump_ns < 51e6);
    CHECK(ictusi_timeline_map(&t, second) == second + 1000 + 1000);
    CHECK(ictusi_timeline_map(&t, 2 * second - 1) == 2 * second - 1 + 1000 + 2000);
    CHECK(ictusi_timeline_map(&t, 2 * second) == 2 * second + 3400 + 50000000);
    double sigma = 0;
    double bound = 0;
    ictusi_timeline_error(&t, 0, 2 * second, &sigma, &bound);
    CHECK_NEAR(sigma, t.jump_ns, 1e-6);
    CHECK_NEAR(bound, 90 + 200000 + t.jump_ns, 1e-3);
    ictusi_timeline_free(&t);
}

/* Of points at one instant the first one counts, and of those that go back none. */
static void points_advance(void)
{
    const struct timeline_point points[] = {two[0], two[0], two[1], two[0], two[1]};
    struct timeline t = made(points, 5);
    CHECK(t.count == 2 && t.points[1].local == two[1].local);
    CHECK(ictusi_timeline_map(&t, second) == second + 2200);
    ictusi_timeline_free(&t);
}

/* A drift that changes steadily bends the clock, by 125 ns from the chords of a second each. */
static void many_points_make_a_curve(void)
{
    enum { POINTS = 40 };
    struct timeline_point points[POINTS];
    for (int i = 0; i < POINTS; i++) {
        points[i] = (struct timeline_point){.local = i * second,
                                            .global = i * second + 500L * i * i,
                                            .slope = 1e-6 * i,
                                            .sigma_ns = 5,
                                            .bound_ns = 50,
                                            .later_sigma_ns = 8};
    }
    struct timeline t = made(points, POINTS);
    double farthest = 0;
    for (int64_t local = 5 * second; local <= 34 * second; local += second / 8) {
        const double at = (double)local * 1e-9;
        const double moved = (double)(ictusi_timeline_map(&t, local) - local);
        farthest = fmax(farthest, fabs(moved - 500 * at * at));
        CHECK(ictusi_timeline_sigma(&t, local) > 2.0);
    }
    /* Between two points the drift walks, by as much as both ends let it. */
    for (int i = 5; i < 35; i += 7) {
        for (int u = 1; u < 4; u++) {
            const struct timeline_point *p = &t.points[i];
            const double way = 0.25 * u * (1 - 0.25 * u);
            const double a = 5 * (1 - 0.25 * u);
            const double b = 5 * 0.25 * u;
            const double walked = p->walk * sqrt(2.4 * way * way * way / 3);
            CHECK(p->smoothed && p->walk > 10.0);
            CHECK_NEAR(ictusi_timeline_sigma(&t, i * second + u * second / 4),
                       sqrt(((a + b) * (a + b) + a * a + b * b) / 2 + walked * walked), 1e-6);
        }
    }
    CHECK(t.points[20].smoothed && t.jump_ns == 0);
    CHECK(farthest < 15);
    ictusi_timeline_free(&t);
}

int main(void)
{
    two_points_make_lines();
    errors_are_known();
    steps_are_kept_apart();
    points_advance();
    many_points_make_a_curve();
    return check_result();
}

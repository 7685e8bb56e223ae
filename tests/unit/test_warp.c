/* SPDX-License-Identifier: BSD-3-Clause */
/* Where events are moved: by the maps of their clock, and between the points around them. */
#include "../check.h"

#include "core/random.h"
#include "correct/presync.h"
#include "correct/warp.h"

#include <math.h>
#include <stdlib.h>

/*
 * Clock offsets whose sum overflows: this is reported for the copy, which continues as far as
 * possible.
 */
static void test_warp_beyond(void)
{
    struct piece far = {.offset = INT64_C(1) << 62};
    const struct clock_map map = {&far, 1};
    struct warp warp = {.local = &map};
    CHECK(ictusi_warp_event(&warp, 1000) == (UINT64_C(1) << 62));
    CHECK(warp.bits >> STAMP_BITS);
    struct warp both = {.local = &map, .unit = &map};
    (void)ictusi_warp_event(&both, (UINT64_C(1) << 62) - 1);
    (void)ictusi_warp_event(&both, UINT64_C(1) << 63);
    CHECK(both.bits >> STAMP_BITS);
    struct piece near = {.offset = 5};
    const struct clock_map small = {&near, 1};
    struct warp fine = {.local = &small};
    CHECK(ictusi_warp_event(&fine, 1000) == 1005);
    CHECK(fine.bits >> STAMP_BITS == 0);
}

/* Remembering recent stamps changes nothing: each is where the two maps alone put it. */
static void test_warp_remembers(void)
{
    static const int64_t strides[] = {1, 3, 17, 64, 65, 1000, 9999};
    static const int64_t times[] = {1000, 9000, 40000};
    static const double offsets[] = {5, 300.4, -200};
    static const double others[] = {-3, -3, 70};
    struct clock_map local;
    struct clock_map unit;
    REQUIRE(!ictusi_clock_map_knots(&local, times, offsets, 3));
    REQUIRE(!ictusi_clock_map_knots(&unit, times, others, 3));
    for (size_t s = 0; s < sizeof strides / sizeof *strides; s++) {
        struct warp warp = {.local = &local, .unit = &unit};
        int failures = 0;
        for (int64_t i = 0; i < 120000; i += strides[s]) {
            const int64_t stamp = i < 60000 ? i : i - 30000; /* and back once */
            uint32_t hints[2] = {0, 0};
            const int64_t between = clock_map_at(&local, stamp, &hints[0]);
            failures += ictusi_warp_presync(&warp, (uint64_t)stamp) !=
                        clock_map_at(&unit, between, &hints[1]);
        }
        CHECK(failures == 0);
    }
    free(local.pieces);
    free(unit.pieces);
}

/*
 * A clock's map that bends by more than is asked changes intervals by itself, which is listed as
 * forced; what the archive's offsets change is not, and where the map bends little nothing is.
 */
static void test_warp_bent(void)
{
    static const int64_t times[] = {0, 100000, 200000, 300000};
    static const double bends[] = {0, 0, 5000, 5000}; /* the second piece: by 5 % */
    static const double offsets[] = {0, 10000, 20000, 30000};
    struct clock_map local;
    struct clock_map unit;
    REQUIRE(!ictusi_clock_map_knots(&local, times, offsets, 4));
    REQUIRE(!ictusi_clock_map_knots(&unit, times, bends, 4));
    for (int bent = 0; bent < 2; bent++) {
        struct forced forced = {.slope = 0.01};
        struct warp warp = {.local = &local, .unit = &unit, .bent = bent, .forced = &forced};
        for (uint64_t stamp = 1000; stamp < 250000; stamp += 1000) {
            (void)ictusi_warp_event(&warp, stamp);
        }
        /* The piece spans 100000 ticks after the offsets' map, which is 91 of the intervals. */
        CHECK(bent ? forced.count >= 90 && forced.count <= 92 : forced.count == 0);
        CHECK(!bent || (forced.list[0].was == 1100 && forced.list[0].is >= 1154));
    }
    free(local.pieces);
    free(unit.pieces);
}

/* Points of one location with the given times and forward values. */
static void set_point(struct points *points, uint64_t i, int64_t time, int64_t lead, int64_t room)
{
    points->time[i] = time;
    points->value[i] = time + lead;
    points->gap[i] = 1;
    points->link[i] = NODE_NONE;
    points->kind[i] = room >= 0 ? POINT_OUT : POINT_IN;
    points->note[i].limit = room >= 0 ? time + lead + room : LIMIT_NONE;
}

static void test_warp(void)
{
    struct points points;
    struct piece piece = {0, 0, 0, 0};
    const struct clock_map map = {&piece, 1};
    REQUIRE(ictusi_points_init(&points, 2, NULL) == 0);
    set_point(&points, 0, 1000, 300, -1);
    set_point(&points, 1, 1010, 296, -1);
    points.gap[0] = 2;
    points.gap[1] = 6;
    struct warp warp = {.local = &map, .points = &points, .end = 2, .decay = 0.5, .slope = 0.01};
    static const uint64_t in[] = {900, 1000, 1001, 1002, 1002, 1003, 1009, 1010, 5000};
    uint64_t out[9];
    for (int i = 0; i < 9; i++) {
        out[i] = ictusi_warp_event(&warp, in[i]);
    }
    CHECK(out[1] == 1300);
    CHECK(out[7] == 1306);
    for (int i = 1; i < 9; i++) {
        CHECK(in[i] == in[i - 1] ? out[i] >= out[i - 1] : out[i] > out[i - 1]);
    }
    CHECK(out[8] == 5000);
    CHECK(warp.stats.events == 9 && warp.stats.largest_shift >= 300);
    ictusi_points_fini(&points);
}

/* Random points of a location with events in between; half of the points stay where they are. */
enum { WARP_POINTS = 12, WARP_EVENTS = 200 };

struct warp_scene {
    struct points points;
    uint64_t in[WARP_EVENTS];
    int point_of[WARP_EVENTS]; /* the point of an event; -1: none */
    int count;
};

static void warp_scene_draw(struct warp_scene *s, uint64_t seed)
{
    struct rng rng;
    uint64_t time = 1000;
    int64_t value = 0;
    ictusi_random_seed(&rng, seed, 0);
    s->count = 0;
    for (uint64_t q = 0; q <= WARP_POINTS; q++) {
        const int before = (int)ictusi_random_below(&rng, 12);
        for (int k = 0; k <= before; k++) {
            time += ictusi_random_below(&rng, 4) ? 1 + ictusi_random_below(&rng, 60) : 0;
            s->point_of[s->count] = k == before && q < WARP_POINTS ? (int)q : -1;
            s->in[s->count++] = time;
        }
        if (q < WARP_POINTS) {
            const int64_t lead =
                ictusi_random_below(&rng, 2) ? (int64_t)ictusi_random_below(&rng, 300) : 0;
            value = (int64_t)time + lead > value + before + 1 ? (int64_t)time + lead
                                                              : value + before + 1;
            set_point(&s->points, q, (int64_t)time, value - (int64_t)time, -1);
            s->points.gap[q] = (uint32_t)before + 1;
        }
    }
}

/* Where an event between points p and q belongs; -1 and WARP_POINTS mean that there is no point. */
static double warp_wanted(const struct warp_scene *s, int p, int q, double time, double decay,
                          double slope)
{
    const double lead_at = p < 0 ? 0 : (double)s->points.time[p];
    const double lead = p < 0 ? 0 : (double)(s->points.value[p] - s->points.time[p]);
    const double rise_at = q == WARP_POINTS ? time : (double)s->points.time[q];
    const double rise = q == WARP_POINTS ? 0 : (double)(s->points.value[q] - s->points.time[q]);
    const double straight = p < 0 || rise_at <= lead_at ? 0 : (rise - lead) / (rise_at - lead_at);
    const double forward = lead - decay * (time - lead_at);
    const double backward = rise - fmax(slope, straight) * (rise_at - time);
    return time + fmax(0, fmax(forward, backward));
}

/*
 * Points get their values. Events in between lose the lead of the previous point and gain that of
 * the next one, unless their order or the next point prevents it. Where neither moves, nothing
 * does.
 */
static void test_warp_between(void)
{
    static struct warp_scene s;
    struct piece piece = {0, 0, 0, 0};
    const struct clock_map map = {&piece, 1};
    REQUIRE(ictusi_points_init(&s.points, WARP_POINTS, NULL) == 0);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct warp warp = {
            .local = &map, .points = &s.points, .end = WARP_POINTS, .decay = 0.5, .slope = 0.1};
        int wrong = 0;
        int next = 0;
        int64_t before = 0;
        warp_scene_draw(&s, seed);
        for (int i = 0; i < s.count; i++) {
            const int64_t out = (int64_t)ictusi_warp_event(&warp, s.in[i]);
            const double wanted =
                warp_wanted(&s, next - 1, next, (double)s.in[i], warp.decay, warp.slope);
            const int64_t least = i == 0 ? INT64_MIN : before + (s.in[i] > s.in[i - 1]);
            const int64_t most = next < WARP_POINTS ? s.points.value[next] : INT64_MAX;
            wrong += out < least || out > most;
            int left = 0; /* events from here to the next point */
            while (i + left < s.count && s.point_of[i + left] < 0) {
                left++;
            }
            if (left == 0) {
                wrong += out != s.points.value[next++];
            } else {
                const bool late = (double)out > wanted + 1 && out != least;
                /* It leaves at most one tick to each event between it and the point. */
                const bool early = (double)out < wanted - 1 && most - out > left;
                wrong += late || early;
            }
            before = out;
        }
        CHECK(wrong == 0 && next == WARP_POINTS);
        CHECK(warp.stats.events == (uint64_t)s.count);
    }
    ictusi_points_fini(&s.points);
}

/* An interval that becomes so long is counted in these bins, or in none if it did not change. */
static void interval_counts(int64_t old, int64_t new, int absolute, int relative)
{
    struct points points;
    const int64_t begin = 1000;
    const int64_t change = new - old;
    const int64_t lead = change < 0 ? -change : 0;
    REQUIRE(ictusi_points_init(&points, 2, NULL) == 0);
    set_point(&points, 0, begin, lead, -1);
    set_point(&points, 1, begin + old, lead + change, -1);
    struct warp warp = {.points = &points, .end = 2, .decay = 0.5, .slope = 0.01};
    CHECK(ictusi_warp_event(&warp, (uint64_t)begin) == (uint64_t)(begin + lead));
    CHECK(ictusi_warp_event(&warp, (uint64_t)(begin + old)) == (uint64_t)(begin + lead + new));
    const struct warp_stats *stats = &warp.stats;
    CHECK(stats->stretched == (change != 0) && stats->largest_stretch == llabs(change));
    CHECK_NEAR(stats->largest_ratio, old > 0 ? fabs((double)change) / (double)old : 0, 1e-15);
    for (int bin = 0; bin < WARP_BINS; bin++) {
        CHECK(stats->absolute[bin] == (bin == absolute));
        CHECK(stats->relative[bin] == (bin == relative));
    }
    ictusi_points_fini(&points);
}

/*
 * Intervals are counted by how much they changed: in ticks, from ten on by decades, and as a share
 * of their length, from 1e-9 on. A change of exactly so much belongs to the higher ones.
 */
static void test_warp_counts(void)
{
    static const struct {
        int64_t old, new;
        int absolute, relative;
    } cases[] = {{1000, 1000, -1, -1},
                 {1000, 1009, 0, 7},
                 {1000, 1010, 1, 8},
                 {1000, 991, 0, 7},
                 {1000, 990, 1, 8},
                 {1000, 1099, 1, 8},
                 {1000, 1100, 2, 9},
                 {1000, 900, 2, 9},
                 {1000, 2000, 3, 10},
                 {1000, 10999, 3, 10},
                 {1000, 11000, 4, 11},
                 {3, 5000, 3, 11},
                 {0, 0, -1, -1},
                 {0, 50, 1, -1}, /* no share of nothing */
                 {2000000000, 2000000001, 0, 0},
                 {1000000000, 1000000001, 0, 1},
                 {100000000, 100000001, 0, 2},
                 {10000000, 10000001, 0, 3},
                 {1000000, 1000001, 0, 4},
                 {100000, 100001, 0, 5},
                 {10000, 10001, 0, 6},
                 {1000, 100000001000, 11, 11},
                 {1000, 99999999999, 10, 11},
                 {1, 10000000001, 10, 11}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        interval_counts(cases[i].old, cases[i].new, cases[i].absolute, cases[i].relative);
    }
    int64_t edge = 1;
    for (int decade = 0; decade < WARP_BINS; decade++, edge *= 10) {
        const int64_t long_one = INT64_C(1000000000);
        const int share = decade + 1 < WARP_BINS ? decade + 1 : WARP_BINS - 1;
        interval_counts(long_one, long_one + edge, decade, share);
        if (decade > 0) {
            interval_counts(long_one, long_one + edge - 1, decade - 1, decade);
        }
    }
}

/* In a damaged archive, events may be far after the point that they lead to; it still counts. */
static void test_warp_behind(void)
{
    struct points points;
    const int64_t far = INT64_C(1) << 62;
    REQUIRE(ictusi_points_init(&points, 2, NULL) == 0);
    set_point(&points, 0, 1000, 0, -1);
    set_point(&points, 1, 1001, INT64_C(1) << 40, -1);
    points.gap[0] = 1;
    points.gap[1] = 3;
    struct warp warp = {.points = &points, .end = 2, .decay = 0.5, .slope = 0.01};
    CHECK(ictusi_warp_event(&warp, 1000) == 1000);
    const uint64_t out = ictusi_warp_event(&warp, (uint64_t)far);
    CHECK(out >= 1000 && out <= (uint64_t)points.value[1]);
    CHECK(ictusi_warp_event(&warp, (uint64_t)far + 5) >= out);
    CHECK(ictusi_warp_event(&warp, 1001) >= out);
    ictusi_points_fini(&points);
}

int main(void)
{
    test_warp_beyond();
    test_warp_remembers();
    test_warp_bent();
    test_warp();
    test_warp_between();
    test_warp_counts();
    test_warp_behind();
    return check_result();
}

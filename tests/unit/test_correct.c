/* SPDX-License-Identifier: BSD-3-Clause */
/* Parts of the correction: the hash map, backward amortisation, and the fit. */
#include "../check.h"

#include "causality/backward.h"
#include "causality/clock_choice.h"
#include "causality/easing.h"
#include "core/idmap.h"
#include "core/random.h"
#include "correct/presync.h"
#include "correct/warp.h"

#include <math.h>
#include <stdlib.h>

static void test_idmap(void)
{
    struct idmap map = {NULL, 0, 0};
    CHECK(ictusi_idmap_get(&map, 1, 2) == IDMAP_NONE);
    for (uint64_t i = 0; i < 5000; i++) {
        CHECK(ictusi_idmap_put(&map, i * 64, i % 7, (int64_t)i) == 0);
    }
    CHECK(map.used == 5000);
    for (uint64_t i = 0; i < 5000; i++) {
        CHECK(ictusi_idmap_get(&map, i * 64, i % 7) == (int64_t)i);
    }
    CHECK(ictusi_idmap_get(&map, 64, 0) == IDMAP_NONE);
    int64_t *slot = ictusi_idmap_at(&map, 64, 1, 99);
    REQUIRE(slot);
    CHECK(*slot == 1);
    for (uint64_t i = 0; i < 1000; i += 3) {
        ictusi_idmap_remove(&map, i * 64, i % 7);
        ictusi_idmap_remove(&map, i * 64, 7); /* is not there */
    }
    for (uint64_t i = 0; i < 1000; i++) {
        const int64_t value = ictusi_idmap_get(&map, i * 64, i % 7);
        CHECK(i % 3 == 0 ? value == IDMAP_NONE : value >= 0);
    }
    ictusi_idmap_fini(&map);
}

/*
 * A map agrees with an array after any sequence of insertions and removals. Chains of keys that
 * want the same slot close up, including around the end of the table.
 */
static void test_idmap_histories(void)
{
    enum { KEYS = 40, STEPS = 20000 };
    for (uint64_t seed = 1; seed <= 4; seed++) {
        struct idmap map = {NULL, 0, 0};
        struct rng rng;
        int64_t wanted[KEYS];
        uint64_t used = 0;
        int wrong = 0;
        for (int k = 0; k < KEYS; k++) {
            wanted[k] = IDMAP_NONE;
        }
        ictusi_random_seed(&rng, seed, 0);
        for (int64_t step = 0; step < STEPS; step++) {
            const int key = (int)(ictusi_random_uniform(&rng) * KEYS);
            const bool put = ictusi_random_uniform(&rng) < 0.5;
            used += (uint64_t)(put && wanted[key] == IDMAP_NONE);
            used -= (uint64_t)(!put && wanted[key] != IDMAP_NONE);
            wanted[key] = put ? step : IDMAP_NONE;
            if (put) {
                REQUIRE(!ictusi_idmap_put(&map, (uint64_t)key, seed, step));
            } else {
                ictusi_idmap_remove(&map, (uint64_t)key, seed);
            }
            for (int k = 0; k < KEYS; k++) {
                wrong += ictusi_idmap_get(&map, (uint64_t)k, seed) != wanted[k];
            }
            wrong += map.used != used || map.used * 2 > map.capacity;
        }
        CHECK(wrong == 0);
        CHECK(map.capacity <= 128); /* 40 keys at most half fill 128 slots */
        ictusi_idmap_fini(&map);
    }
}

/* Clock offsets with standard deviations that no recorder intends, as in damaged archives. */
static void test_presync_deviations(void)
{
    const double odd[] = {0, -1, 5e-324, 1e-170, 1e170, INFINITY};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct clock_offset offsets[] = {{1000, 70, odd[i]}, {5001000, 70, odd[i]}};
        struct layout_location location = {.offsets = offsets, .offset_count = 2};
        const struct layout layout = {
            .resolution = 1000000000, .location_count = 1, .locations = &location};
        struct clock_map *maps = NULL;
        uint32_t hint = 0;
        REQUIRE(ictusi_presync_make(&layout, PRESYNC_LINEAR, &maps) == 0);
        CHECK(clock_map_at(&maps[0], 2000, &hint) == 2070);
        ictusi_presync_free(maps, 1);
    }
}

/* Two offsets that differ by less than their errors say nothing about a slope. */
static void test_presync_noise(void)
{
    const int64_t second[] = {100, 3000}; /* 0.2 and 7 standard deviations from the first */
    for (int i = 0; i < 2; i++) {
        struct clock_offset offsets[] = {{1000, 0, 300}, {1000001000, second[i], 300}};
        struct layout_location location = {.offsets = offsets, .offset_count = 2};
        const struct layout layout = {.resolution = 1000000000,
                                      .length = 1000000000,
                                      .location_count = 1,
                                      .locations = &location};
        struct clock_map *maps = NULL;
        uint32_t hint = 0;
        REQUIRE(ictusi_presync_make(&layout, PRESYNC_AUTO, &maps) == 0);
        CHECK(clock_map_at(&maps[0], 1000, &hint) == 1000 + (i == 0 ? 50 : 0));
        CHECK(clock_map_at(&maps[0], 1000001000, &hint) == 1000001000 + (i == 0 ? 50 : 3000));
        ictusi_presync_free(maps, 1);
    }
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

/* One jump and no limits: a line with the requested slope up to it. */
static void test_ramp(void)
{
    struct points points;
    struct backward_stats stats = {0, 0, 0, 0};
    REQUIRE(ictusi_points_init(&points, 101, NULL) == 0);
    for (uint64_t i = 0; i <= 100; i++) {
        set_point(&points, i, (int64_t)i * 1000, i == 100 ? 500 : 0, -1);
    }
    CHECK(ictusi_backward(&points, 0, 101, 0.01, &stats) == 0);
    for (uint64_t i = 0; i <= 100; i++) {
        const int64_t left = (100 - (int64_t)i) * 10;
        const int64_t want = left < 500 ? 500 - left : 0;
        CHECK_NEAR(points.value[i] - points.time[i], want, 1);
    }
    CHECK(stats.largest_slope <= 0.01);
    ictusi_points_fini(&points);
}

/* A send's limit breaks the line there; the slope after it is that of the straight line. */
static void test_limit(void)
{
    struct points points;
    struct backward_stats stats = {0, 0, 0, 0};
    REQUIRE(ictusi_points_init(&points, 101, NULL) == 0);
    for (uint64_t i = 0; i <= 100; i++) {
        set_point(&points, i, (int64_t)i * 1000, i == 100 ? 500 : 0, i == 90 ? 100 : -1);
    }
    CHECK(ictusi_backward(&points, 0, 101, 0.01, &stats) == 0);
    CHECK(points.value[90] - points.time[90] == 100);
    CHECK_NEAR(points.value[95] - points.time[95], 300, 1);
    CHECK_NEAR(points.value[85] - points.time[85], 50, 1);
    CHECK_NEAR(stats.largest_slope, 0.04, 0.002);
    ictusi_points_fini(&points);
}

/*
 * Ten intervals rise by 32 of 1024 ticks, one of which may be rounding: a 31st of 1024 is as steep
 * as may be asked for, and no more. Before them the line has the requested slope.
 */
static void test_steep(void)
{
    for (int asked = 30; asked <= 31; asked++) {
        struct points points;
        struct backward_stats stats = {0, 0, 0, 0};
        REQUIRE(ictusi_points_init(&points, 101, NULL) == 0);
        for (uint64_t i = 0; i <= 100; i++) {
            set_point(&points, i, (int64_t)i * 1024, i == 100 ? 500 : 0, i == 90 ? 180 : -1);
        }
        CHECK(ictusi_backward(&points, 0, 101, asked / 1024.0, &stats) == 0);
        for (int64_t i = 0; i <= 100; i++) {
            const int64_t line = 180 - asked * (90 - i);
            const int64_t wanted = i >= 90 ? 500 - 32 * (100 - i) : line > 0 ? line : 0;
            CHECK(points.value[i] - points.time[i] == wanted);
        }
        CHECK(stats.jumps == 1 && stats.limited == 1 && stats.steep == (asked == 30 ? 10 : 0));
        CHECK_NEAR(stats.largest_slope, 31 / 1024.0, 0);
        ictusi_points_fini(&points);
    }
}

/* The same send limits the ramp, and gets a lower bound for it; its receive is not considered. */
static void test_easing(void)
{
    struct points points;
    REQUIRE(ictusi_points_init(&points, 101, NULL) == 0);
    for (uint64_t i = 0; i <= 100; i++) {
        set_point(&points, i, (int64_t)i * 1000, i == 100 ? 500 : 0, i == 90 ? 100 : -1);
    }
    set_point(&points, 20, 20000, 0, 10);
    CHECK(ictusi_easing_above(&points, 0, 101, 0.01) == 1);
    CHECK(ictusi_easing_above(&points, 0, 101, 0.04) == 0);
    ictusi_easing_floors(&points, 0, 101, 0.01);
    CHECK(points.note[90].floor == 90000 + 400);
    CHECK(points.note[20].floor == 20000);
    ictusi_points_fini(&points);
}

/* The largest of many forced intervals are listed first; two ticks are rounding. */
static void test_forced(void)
{
    struct forced forced = {.slope = 0.01};
    CHECK(!forced_is(&forced, 10, 12));
    CHECK(forced_is(&forced, 10, 13) && forced_is(&forced, 10, 7));
    CHECK(!forced_is(&forced, 10000, 10102) && forced_is(&forced, 10000, 10103));
    for (int64_t i = 0; i < 100; i++) {
        const struct forced_interval interval = {i, 1000, 1100 + i * 37 % 100, 0};
        ictusi_forced_keep(&forced, &interval);
    }
    CHECK(forced.count == 100 && forced.listed == FORCED_LISTED);
    for (int64_t i = 0; i < FORCED_LISTED; i++) {
        CHECK(forced.list[i].is == 1199 - i);
    }
}

/* For any jumps and limits: never below the forward values, above a limit, or out of order. */
static void test_random_ramps(void)
{
    enum { N = 400 };
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct points points;
        struct rng rng;
        struct backward_stats stats = {0, 0, 0, 0};
        int64_t forward[N];
        int64_t time = 0;
        int64_t lead = 0;
        ictusi_random_seed(&rng, seed, 0);
        REQUIRE(ictusi_points_init(&points, N, NULL) == 0);
        for (uint64_t i = 0; i < N; i++) {
            const int64_t passed = (int64_t)ictusi_random_below(&rng, 1000) + 1;
            time += passed;
            lead = lead > passed / 100 ? lead - passed / 100 : 0;
            const bool send = ictusi_random_below(&rng, 3) == 0;
            lead += !send && ictusi_random_below(&rng, 10) == 0
                        ? (int64_t)ictusi_random_below(&rng, 900)
                        : 0;
            set_point(&points, i, time, lead, send ? (int64_t)ictusi_random_below(&rng, 300) : -1);
            forward[i] = points.value[i];
        }
        CHECK(ictusi_backward(&points, 0, N, 0.02, &stats) == 0);
        for (uint64_t i = 0; i < N; i++) {
            CHECK(points.value[i] >= forward[i]);
            CHECK(points.note[i].limit == LIMIT_NONE || points.value[i] <= points.note[i].limit);
            CHECK(i == 0 || points.value[i] > points.value[i - 1]);
        }
        ictusi_points_fini(&points);
    }
}

/* Events between two points keep their order, remain distinct, and leave room for later ones. */
static void test_clock_map(void)
{
    static const int64_t times[] = {0, 1000, 3000};
    static const double offsets[] = {10, 20, 0};
    struct clock_map map = {NULL, 0};
    uint32_t hint = 0;
    REQUIRE(ictusi_clock_map_knots(&map, times, offsets, 3) == 0);
    CHECK(clock_map_at(&map, 500, &hint) == 515);
    CHECK(clock_map_at(&map, 2000, &hint) == 2010);
    CHECK(clock_map_at(&map, 4000, &hint) == 3990);
    CHECK(clock_map_at(&map, -1000, &hint) == -1000);
    free(map.pieces);
}

/* Lines through knots at random places; stamps occasionally go back. */
static void test_presync_of_neighbours(void)
{
    enum { KNOTS = 20, STAMPS = 20000 };
    int64_t times[KNOTS];
    double first[KNOTS];
    double second[KNOTS];
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    for (int i = 0; i < KNOTS; i++) {
        times[i] = (int64_t)(i * 100000 + 50000 * ictusi_random_uniform(&rng));
        first[i] = 300 * ictusi_random_uniform(&rng) - 150;
        second[i] = 300 * ictusi_random_uniform(&rng) - 150;
    }
    struct clock_map a = {NULL, 0};
    struct clock_map b = {NULL, 0};
    REQUIRE(ictusi_clock_map_knots(&a, times, first, KNOTS) == 0);
    REQUIRE(ictusi_clock_map_knots(&b, times, second, KNOTS) == 0);
    struct warp warp = {.local = &a, .unit = &b};
    uint32_t hint_a = 0;
    uint32_t hint_b = 0;
    int64_t stamp = -1000;
    for (int i = 0; i < STAMPS; i++) {
        stamp += (int64_t)(300 * ictusi_random_uniform(&rng)) - (i % 1000 == 0 ? 5000 : 0);
        const int64_t middle = clock_map_at(&a, stamp, &hint_a);
        CHECK(ictusi_warp_presync(&warp, (uint64_t)stamp) == clock_map_at(&b, middle, &hint_b));
    }
    CHECK(warp.reach > 64);
    free(a.pieces);
    free(b.pieces);
}

/* Least delays of clocks with known lines, as messages both ways would show them. */
enum { MODEL_CLOCKS = 3, MODEL_SPAN_NS = 1000000000 };

static double true_error(uint32_t clock, double position, double bend)
{
    static const double offsets[] = {0, 40000, -25000};
    static const double drifts[] = {0, 90000, -30000}; /* over the span */
    return offsets[clock] + drifts[clock] * position + (clock == 2 ? bend * sin(6 * position) : 0);
}

/* A clock_source with known delays. */
struct known_delays {
    struct clock_source source; /* first member */
    struct least_delays delays;
    double bend;
    double least; /* ns that a message takes */
    double jump;  /* ns, for the second clock after two fifths of the span */
    bool one_way; /* no clock sends to one with a higher number */
};

static double true_jump(const struct known_delays *known, uint32_t clock, double position)
{
    return clock == 1 && position > 0.4 ? known->jump : 0;
}

static int observe_known(struct clock_source *source, struct clock_model *model)
{
    struct known_delays *known = (struct known_delays *)source;
    struct least_delays *d = &known->delays;
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    ictusi_delays_begin(d, NULL, 0, MODEL_SPAN_NS);
    for (uint64_t i = 0; i < (uint64_t)d->clocks * d->clocks * d->cells; i++) {
        const uint32_t a = (uint32_t)(i / d->cells / d->clocks);
        const uint32_t b = (uint32_t)(i / d->cells % d->clocks);
        const double at = ((double)(i % d->cells) + ictusi_random_uniform(&rng)) / d->cells;
        const double wait =
            ictusi_random_uniform(&rng) < 0.5 ? 0 : 20000 * ictusi_random_uniform(&rng);
        const double position = at * (model->knots - 1);
        const double fitted = ictusi_clock_model_at(model, model->phi, b, position) -
                              ictusi_clock_model_at(model, model->phi, a, position);
        if (a != b && (a > b || !known->one_way)) {
            const int64_t delay =
                (int64_t)(known->least + wait + true_error(b, at, known->bend) -
                          true_error(a, at, known->bend) + true_jump(known, b, at) -
                          true_jump(known, a, at) - fitted * 1000);
            ictusi_delays_add(d, a, b, (int64_t)(at * MODEL_SPAN_NS) + delay / 2, delay);
        }
    }
    REQUIRE(!ictusi_delays_finish(d, NULL));
    return ictusi_clock_model_see(model, d, 1e-3);
}

static void run_model(uint32_t clocks, double bend, enum clock_kind kind, double within_us)
{
    enum { KNOTS = 17, CELLS = 48 };
    static const uint32_t clock_of[] = {0, 1, 2};
    struct known_delays known = {.source = {observe_known}, .bend = bend, .least = 1000};
    struct clock_model model;
    struct clock_choice choice;
    REQUIRE(!ictusi_clock_model_init(&model, clocks, KNOTS, MODEL_SPAN_NS * 1e-3));
    REQUIRE(!ictusi_delays_init(&known.delays, clock_of, clocks, CELLS));
    REQUIRE(!ictusi_clock_choice_run(&model, &known.source, &choice));
    ictusi_clock_model_align(&model);
    CHECK(choice.kind == kind);
    for (uint32_t u = 0; u < clocks; u++) {
        for (uint32_t k = 0; k < KNOTS; k++) {
            const double truth = true_error(u, k / (KNOTS - 1.0), bend) * 1e-3;
            CHECK_NEAR(model.phi[u * KNOTS + k], truth, within_us);
        }
    }
    /* If lines won, they fit all delays, whatever was tried afterwards: the fit stays there. */
    if (kind == CLOCKS_LINES) {
        double before[MODEL_CLOCKS * KNOTS];
        memcpy(before, model.phi, (uint64_t)clocks * KNOTS * sizeof *before);
        REQUIRE(!ictusi_clock_model_solve(&model, &choice.walk, -1, 12, false));
        ictusi_clock_model_align(&model);
        for (uint32_t i = 0; i < clocks * KNOTS; i++) {
            CHECK_NEAR(model.phi[i], before[i], 0.01);
        }
    }
    ictusi_clock_choice_fini(&choice);
    ictusi_clock_model_fini(&model);
    ictusi_delays_fini(&known.delays);
}

static void test_clock_model(void)
{
    run_model(2, 0, CLOCKS_LINES, 0.3);
    run_model(MODEL_CLOCKS, 0, CLOCKS_LINES, 0.3);
    run_model(MODEL_CLOCKS, 20000, CLOCKS_WALK, 3);
}

/*
 * No chain of pieces can follow a jump, and the bounds that it breaks must not determine how long
 * messages take everywhere else. Away from the jump, the declared error holds.
 */
static void test_jump(void)
{
    enum { KNOTS = 49, CELLS = 48, CLOCKS = 2, BESIDE = 4 };
    static const uint32_t clock_of[] = {0, 1};
    struct known_delays known = {.source = {observe_known}, .least = 1000, .jump = 20000};
    struct clock_model model;
    struct clock_choice choice;
    REQUIRE(!ictusi_clock_model_init(&model, CLOCKS, KNOTS, MODEL_SPAN_NS * 1e-3));
    REQUIRE(!ictusi_delays_init(&known.delays, clock_of, CLOCKS, CELLS));
    REQUIRE(!ictusi_clock_choice_run(&model, &known.source, &choice));
    ictusi_clock_model_align(&model);
    CHECK(choice.kind == CLOCKS_WALK);
    for (int way = 0; way < 2; way++) {
        CHECK(model.pairs[0].least[way] > -0.5);
    }
    for (uint32_t k = 0; k < KNOTS; k++) {
        const double at = k / (KNOTS - 1.0);
        const double truth = (true_error(1, at, 0) + true_jump(&known, 1, at)) * 1e-3;
        const double error = model.error[KNOTS + k];
        const bool beside = fabs(k - 0.4 * (KNOTS - 1)) < BESIDE;
        CHECK(beside || fabs(model.phi[KNOTS + k] - truth) <= error);
        CHECK(beside || error < 10);
    }
    /* The base may be wrong by as much as the declined fit says. */
    const double phi = model.phi[KNOTS];
    const double error = model.error[KNOTS];
    ictusi_clock_model_decline(&model);
    CHECK(model.phi[KNOTS] == 0);
    CHECK_NEAR(model.error[KNOTS], error + fabs(phi), 1e-12);
    ictusi_clock_choice_fini(&choice);
    ictusi_clock_model_fini(&model);
    ictusi_delays_fini(&known.delays);
}

/*
 * If messages go one way only, the level is known only from the offsets in the archive. If these
 * contradict each other or the messages, the error covers that.
 */
static void run_one_way(double first_lie_us, double last_lie_us, double within_us)
{
    enum { CLOCKS = 2, KNOTS = 17, CELLS = 48 };
    static const uint32_t clock_of[] = {0, 1};
    struct known_delays known = {.source = {observe_known}, .least = 10000, .one_way = true};
    struct clock_model model;
    struct clock_choice choice;
    REQUIRE(!ictusi_clock_model_init(&model, CLOCKS, KNOTS, MODEL_SPAN_NS * 1e-3));
    model.offsets = calloc(2, sizeof *model.offsets);
    REQUIRE(model.offsets);
    model.offset_count = 2;
    model.offsets[0] = (struct model_offset){1, 0, true_error(1, 0, 0) * 1e-3 + first_lie_us, 0.3};
    model.offsets[1] =
        (struct model_offset){1, KNOTS - 1.0, true_error(1, 1, 0) * 1e-3 + last_lie_us, 0.3};
    REQUIRE(!ictusi_delays_init(&known.delays, clock_of, CLOCKS, CELLS));
    REQUIRE(!ictusi_clock_choice_run(&model, &known.source, &choice));
    ictusi_clock_model_align(&model);
    for (uint32_t k = 0; k < KNOTS; k++) {
        const double truth = true_error(1, k / (KNOTS - 1.0), 0) * 1e-3;
        const double error = model.error[KNOTS + k];
        CHECK(fabs(model.phi[KNOTS + k] - truth) <= error);
        CHECK(fabs(model.phi[KNOTS + k] - truth) <= within_us);
        CHECK(error < 10 * (fabs(first_lie_us) + fabs(last_lie_us) + 0.3));
    }
    ictusi_clock_choice_fini(&choice);
    ictusi_clock_model_fini(&model);
    ictusi_delays_fini(&known.delays);
}

static void test_one_way(void)
{
    run_one_way(30, 0, 30);
    run_one_way(-30, -30, 60); /* more than the messages allow */
    run_one_way(20, -20, 5);   /* the mean: neither is more credible */
    run_one_way(0.2, -0.2, 1);
}

int main(void)
{
    test_clock_model();
    test_jump();
    test_one_way();
    test_idmap();
    test_idmap_histories();
    test_presync_deviations();
    test_presync_noise();
    test_ramp();
    test_limit();
    test_steep();
    test_easing();
    test_forced();
    test_random_ramps();
    test_clock_map();
    test_presync_of_neighbours();
    return check_result();
}

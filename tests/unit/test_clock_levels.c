/* SPDX-License-Identifier: BSD-3-Clause */
/* The levels of clocks that messages and the archive's offsets tell about equally well. */
#include "../check.h"

#include "causality/clock_choice.h"
#include "causality/clock_private.h"

#include <math.h>
#include <stdlib.h>

enum { CLOCKS = 4, KNOTS = 5, CELLS = 48, SPAN = 1000000 };

static const double error_us = 0.4;

/*
 * Clocks 1 and up have offsets at both ends, but for the last one. All are ahead by as much as
 * clock 0, which shows the time, and by a slope and this much more.
 */
static void levels_open(struct clock_model *m, const double moved[CLOCKS])
{
    REQUIRE(!ictusi_clock_model_init(m, CLOCKS, KNOTS, SPAN));
    m->offsets = calloc(2 * CLOCKS, sizeof *m->offsets);
    REQUIRE(m->offsets);
    for (uint32_t u = 0; u < CLOCKS; u++) {
        for (uint32_t k = 0; k < KNOTS; k++) {
            m->phi[u * KNOTS + k] = 7 + moved[u] + (k - 2.0) * u;
            m->error[u * KNOTS + k] = error_us;
        }
        for (uint32_t end = 0; end < 2 && u > 0 && u + 1 < CLOCKS; end++) {
            m->offsets[m->offset_count++] =
                (struct model_offset){.clock = u, .position = end * (KNOTS - 1.0), .sd = 0.3};
        }
    }
}

/* Whether the clocks with offsets are back at their level; the others and all slopes stay. */
static bool levels_kept(const double moved[CLOCKS], const struct model_pair *pair)
{
    struct clock_model m;
    levels_open(&m, moved);
    struct model_pair pairs[1];
    if (pair) {
        pairs[0] = *pair;
        m.pairs = pairs;
        m.pair_count = 1;
    }
    REQUIRE(!ictusi_clock_model_keep_levels(&m));
    const bool kept = fabs(m.phi[KNOTS + 2] - 7) < 1e-9;
    for (uint32_t i = 0; i < CLOCKS * KNOTS; i++) {
        const uint32_t u = i / KNOTS;
        const bool back = kept && u > 0 && u + 1 < CLOCKS;
        CHECK_NEAR(m.phi[i], 7 + (back ? 0 : moved[u]) + (i % KNOTS - 2.0) * u, 1e-9);
        CHECK_NEAR(m.error[i], back ? ictusi_model_error_beside(error_us, moved[u]) : error_us,
                   1e-9);
    }
    m.pairs = NULL;
    ictusi_clock_model_fini(&m);
    return kept;
}

/* Three standard deviations, which are one and a half errors, of all clocks together. */
static void chance_is_taken_back(void)
{
    CHECK(levels_kept((double[]){0, 0.55, 0, 0}, NULL));
    CHECK(!levels_kept((double[]){0, 0.65, 0, 0}, NULL));
    CHECK(!levels_kept((double[]){0, -0.65, 0, 0}, NULL));
    CHECK(levels_kept((double[]){0, 0.4, -0.4, 0}, NULL));
    CHECK(!levels_kept((double[]){0, 0.5, -0.5, 0}, NULL));
    CHECK(levels_kept((double[]){0, 0.4, -0.4, 9}, NULL)); /* has no offsets */
}

/* Offsets that a clock contradicts where it is, because it jumped, are no reason to stay there. */
static void jumps_leave_no_level(void)
{
    for (double jump = -1.5; jump < 2; jump += 1) {
        struct clock_model m;
        levels_open(&m, (double[]){0, 0.4, 0, 0});
        m.offsets[3].value = jump; /* 0.3 us is its standard deviation */
        REQUIRE(!ictusi_clock_model_keep_levels(&m));
        CHECK_NEAR(m.phi[KNOTS + 2], fabs(jump) < 1 ? 7 : 7.4, 1e-9);
        ictusi_clock_model_fini(&m);
    }
}

/* Messages that would then arrive before they were sent keep the fit. */
static void bounds_hold(void)
{
    struct model_pair pair = {.a = 1, .b = 2, .counts = {1, 1}, .least = {0.9, 0.1}};
    const double moved[CLOCKS] = {0, 0.4, -0.4, 0}; /* clock 2 catches up with clock 1 */
    CHECK(levels_kept(moved, &pair));
    pair.least[0] = 0.7;
    CHECK(!levels_kept(moved, &pair));
    pair.counts[0] = 0;
    CHECK(levels_kept(moved, &pair));
    const double apart[CLOCKS] = {0, -0.1, 0.1, 0};
    CHECK(!levels_kept(apart, &pair));
    pair.least[1] = 0.3;
    CHECK(levels_kept(apart, &pair));
}

static double normal_below(double x)
{
    return 0.5 * erfc(-x / sqrt(2));
}

/* However far a clock stays from the fit, its error holds the truth as often. */
static void errors_hold_as_often(void)
{
    for (double distance = -3; distance < 3; distance += 0.01) {
        const double error = ictusi_model_error_beside(0.5, distance);
        const double within =
            normal_below((error - distance) / 0.25) - normal_below((-error - distance) / 0.25);
        CHECK(within > 0.94 && within < 0.956);
    }
}

/* Two clocks; paths take 1.3 us one way and 0.7 us back, and clock 1 loses 1 us. */
static int levels_observe(struct clock_source *source, struct clock_model *m)
{
    struct least_delays d;
    (void)source;
    REQUIRE(!ictusi_delays_init(&d, NULL, 2, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN * 1000L);
    for (uint32_t i = 0; i < 2 * CELLS; i++) {
        const double share = (i / 2 + 0.5) / CELLS;
        const double at = share * (m->knots - 1);
        const double ahead = 0.5 - share - ictusi_clock_model_at(m, m->phi, 1, at) +
                             ictusi_clock_model_at(m, m->phi, 0, at);
        const double delay = i % 2 ? 0.7 - ahead : 1.3 + ahead;
        ictusi_delays_add(&d, i % 2, 1 - i % 2, llround(share * SPAN * 1000),
                          llround(1000 * delay));
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    const int err = ictusi_clock_model_see(m, &d, 1e-3);
    ictusi_delays_fini(&d);
    return err;
}

/*
 * The messages show the slope, and a level that is wrong by the asymmetry of their paths. The
 * offsets at both ends are wrong by the slope alone.
 */
static void asymmetry_moves_no_level(void)
{
    struct clock_source source = {levels_observe};
    struct clock_choice choice;
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, 2, KNOTS, SPAN));
    m.offsets = calloc(2, sizeof *m.offsets);
    REQUIRE(m.offsets);
    m.offset_count = 2;
    m.offsets[0] = (struct model_offset){.clock = 1, .position = 0, .sd = 0.3};
    m.offsets[1] = (struct model_offset){.clock = 1, .position = KNOTS - 1, .sd = 0.3};
    REQUIRE(!ictusi_clock_choice_run(&m, &source, &choice));
    ictusi_clock_model_align(&m);
    CHECK(choice.kind == CLOCKS_LINES);
    for (uint32_t k = 0; k < KNOTS; k++) {
        CHECK_NEAR(m.phi[KNOTS + k], 0.5 - k / (KNOTS - 1.0), 0.03);
        CHECK(m.error[KNOTS + k] > 0.3);
    }
    ictusi_clock_choice_fini(&choice);
    ictusi_clock_model_fini(&m);
}

int main(void)
{
    chance_is_taken_back();
    jumps_leave_no_level();
    bounds_hold();
    errors_hold_as_often();
    asymmetry_moves_no_level();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is said of a model of clocks: its violations, errors and movements, and how much the offsets
 * of an archive scatter, for models small enough to be judged by hand.
 */
#include "../check.h"

#include "causality/clock_private.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { CLOCKS = 3, KNOTS = 4 };

static void model_open(struct clock_model *m)
{
    REQUIRE(!ictusi_clock_model_init(m, CLOCKS, KNOTS, 1e6));
    memset(m->phi, 0, CLOCKS * KNOTS * sizeof *m->phi);
    memset(m->error, 0, CLOCKS * KNOTS * sizeof *m->error);
}

/* The worst violation is how far any delay lies below zero; without one it is 0. */
static void violations_are_negative_delays(void)
{
    struct clock_model m = {.clocks = 0};
    struct model_delay delays[3] = {{.seen = 4}, {.seen = 0.5}, {.seen = 2}};
    CHECK(ictusi_model_worst_violation(&m) == 0);
    m.delays = delays;
    m.delay_count = 3;
    CHECK(ictusi_model_worst_violation(&m) == 0);
    for (int i = 0; i < 3; i++) {
        const double kept = delays[i].seen;
        delays[i].seen = -0.25 - i;
        CHECK(ictusi_model_worst_violation(&m) == 0.25 + i);
        delays[(i + 1) % 3].seen = -7;
        CHECK(ictusi_model_worst_violation(&m) == 7);
        delays[i].seen = kept;
        delays[(i + 1) % 3].seen = 1;
    }
}

/* Each clock is known as well as at its best knot; how well all are known is the mean. */
static void errors_are_judged_where_least(void)
{
    static const double errors[CLOCKS][KNOTS] = {{0, 0, 0, 0}, {9, 5, 2, 8}, {1, 3, 4, 6}};
    struct clock_model m;
    model_open(&m);
    CHECK(ictusi_model_level_error(&m) == 0 && ictusi_model_largest_error(&m) == 0);
    memcpy(m.error, errors, sizeof errors);
    CHECK_NEAR(ictusi_model_level_error(&m), (0 + 2 + 1) / 3.0, 1e-12);
    CHECK(ictusi_model_largest_error(&m) == 9);
    m.error[1 * KNOTS + 0] = 2.5;
    m.error[2 * KNOTS + 3] = 0.5; /* the last of all */
    CHECK_NEAR(ictusi_model_level_error(&m), (0 + 2 + 0.5) / 3, 1e-12);
    CHECK(ictusi_model_largest_error(&m) == 8);
    m.error[2 * KNOTS + 3] = 80;
    CHECK(ictusi_model_largest_error(&m) == 80);
    ictusi_clock_model_fini(&m);
}

/* Clocks have moved if one of them moved against the reference by more than its error, anywhere. */
static void movements_exceed_errors(void)
{
    struct clock_model m;
    model_open(&m);
    m.reference = 1;
    CHECK(ictusi_model_largest_move(&m) == 0 && !ictusi_model_moves(&m));
    for (uint32_t i = 0; i < CLOCKS * KNOTS; i++) {
        m.error[i] = 2;
        m.phi[i] = 50; /* all alike, as nobody could see */
    }
    CHECK(ictusi_model_largest_move(&m) == 50 && !ictusi_model_moves(&m));
    for (uint32_t i = 0; i < CLOCKS * KNOTS; i++) {
        for (uint32_t k = 0; k < CLOCKS * KNOTS; k++) { /* the others are known less well */
            m.error[k] = k / KNOTS == i / KNOTS ? 2 : 1000;
        }
        for (int sign = -1; sign <= 1 && i / KNOTS != m.reference; sign += 2) {
            m.phi[i] = 50 + 2 * sign;
            CHECK(!ictusi_model_moves(&m));
            m.phi[i] = 50 + 2.01 * sign;
            CHECK(ictusi_model_moves(&m));
            m.phi[i] = -60;
            CHECK(ictusi_model_largest_move(&m) == 60);
        }
        m.phi[i] = 50;
    }
    ictusi_clock_model_fini(&m);
}

/*
 * Stated standard deviations are doubted only if most clocks have offsets that contradict each
 * other: neither one bad offset among many nor one bad clock among many matters, nor a clock that
 * has a single offset, which the fit may follow.
 */
static void offsets_are_doubted_if_most_err(void)
{
    struct model_offset offsets[] = {
        {0, 0.5, 0.1, 0.1}, {0, 1.0, -0.2, 0.1}, {0, 2.5, 60, 0.1}, /* 1, 2, 600: 2 */
        {1, 0.0, 90, 0.1},                                          /* a single one */
        {2, 0.5, 0.3, 0.1}, {2, 3.0, 0.6, 0.1},                     /* 3, 6: 6 */
    };
    struct model_offset few[] = {{2, 0.5, 0.3, 0.1}, {2, 3.0, -0.6, 0.1}};
    struct model_offset declared[] = {{1, 0.5, 1, 0}, {1, 3.0, 0.5, 0}};
    struct model_offset good[] = {{1, 0.5, 0.01, 0.1}, {1, 3.0, -0.01, 0.1}};
    double ratios[6];
    struct clock_model m;
    model_open(&m);
    m.reference = 0;
    m.offset_count = 0;
    CHECK(ictusi_model_offsets_scatter(&m, ratios) == 1);
    m.offsets = offsets;
    m.offset_count = 6;
    CHECK_NEAR(ictusi_model_offsets_scatter(&m, ratios), (2 + 6) / 2.0, 1e-9);
    m.offset_count = 5; /* clock 2 has one, too */
    CHECK_NEAR(ictusi_model_offsets_scatter(&m, ratios), 2, 1e-9);
    m.offsets = few;
    m.offset_count = 2;
    CHECK_NEAR(ictusi_model_offsets_scatter(&m, ratios), 6, 1e-9);
    m.offsets = declared; /* none is stated: a quarter of a microsecond */
    CHECK_NEAR(ictusi_model_offsets_scatter(&m, ratios), 1 / MODEL_OFFSET_SD, 1e-9);
    m.offsets = good; /* better than stated is no reason to trust them more */
    CHECK(ictusi_model_offsets_scatter(&m, ratios) == 1);
    m.offsets = NULL;
    m.offset_count = 0;
    ictusi_clock_model_fini(&m);
}

int main(void)
{
    violations_are_negative_delays();
    errors_are_judged_where_least();
    movements_exceed_errors();
    offsets_are_doubted_if_most_err();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Which model of clocks is chosen, for clocks that are known. */
#include "../check.h"

#include "causality/clock_choice.h"
#include "core/random.h"

#include <math.h>
#include <stdint.h>

/*
 * Five clocks that exchange messages with each other both ways in each time cell, and what each
 * shows.
 */
enum { SMALL = 5, SMALL_CELLS = 48, TALKS_US = 20, SPAN = 400000 };

struct small_source {
    struct clock_source source; /* first member */
    struct least_delays delays;
    /* Excess, by the share of the run that has passed. */
    double (*shown_us)(uint32_t clock, double share);
};

static int small_observe(struct clock_source *source, struct clock_model *m)
{
    struct small_source *small = (struct small_source *)source;
    struct least_delays *d = &small->delays;
    struct rng rng;
    ictusi_random_seed(&rng, 19, 0);
    ictusi_delays_begin(d, NULL, 0, SPAN * 1000L);
    for (uint32_t i = 0; i < SMALL * SMALL * SMALL_CELLS; i++) {
        const uint32_t from = i % SMALL;
        const uint32_t to = i / SMALL % SMALL;
        const uint32_t cell = i / (SMALL * SMALL);
        const double share = (cell + ictusi_random_uniform(&rng)) / (double)SMALL_CELLS;
        const double wait = 0.5 * ictusi_random_exponential(&rng);
        if (from == to) {
            continue;
        }
        const double at = share * (m->knots - 1);
        const double fitted =
            ictusi_clock_model_at(m, m->phi, to, at) - ictusi_clock_model_at(m, m->phi, from, at);
        const double delay =
            TALKS_US + wait + small->shown_us(to, share) - small->shown_us(from, share) - fitted;
        ictusi_delays_add(d, from, to, llround(share * SPAN * 1000.0), llround(1000 * delay));
    }
    REQUIRE(!ictusi_delays_finish(d, NULL));
    return ictusi_clock_model_see(m, d, 1e-3);
}

/* What was stated of the last model, by clock: its error at either end, and its factor. */
static struct {
    double first[SMALL], last[SMALL], factor[SMALL];
} stated;

/* The largest error of the chosen model, over all clocks except one and all knots, us. */
static double small_choose_but(double (*shown_us)(uint32_t clock, double share), uint32_t knots,
                               uint32_t but, struct clock_choice *choice)
{
    struct small_source small = {.source = {small_observe}, .shown_us = shown_us};
    struct clock_model m;
    double furthest = 0;
    REQUIRE(!ictusi_clock_model_init(&m, SMALL, knots, SPAN));
    REQUIRE(!ictusi_delays_init(&small.delays, NULL, SMALL, SMALL_CELLS));
    REQUIRE(!ictusi_clock_choice_run(&m, &small.source, choice));
    for (uint32_t u = 0; u < SMALL; u++) {
        stated.first[u] = m.error[u * knots];
        stated.last[u] = m.error[u * knots + knots - 1];
        stated.factor[u] = choice->walk.factor[u];
    }
    ictusi_clock_model_align(&m);
    for (uint32_t i = 0; i < SMALL * knots; i++) {
        const double share = (i % knots) / (double)(knots - 1);
        const double truth = shown_us(i / knots, share) - shown_us(0, share);
        furthest = i / knots == but ? furthest : fmax(furthest, fabs(m.phi[i] - truth));
    }
    ictusi_clock_model_fini(&m);
    ictusi_delays_fini(&small.delays);
    return furthest;
}

static double small_choose(double (*shown_us)(uint32_t clock, double share), uint32_t knots,
                           struct clock_choice *choice)
{
    return small_choose_but(shown_us, knots, SMALL, choice);
}

static double shown_rightly(uint32_t clock, double share)
{
    (void)clock;
    (void)share;
    return 0;
}

/* By less than messages take, so that none arrives before it was sent. */
static double shown_nearly(uint32_t clock, double share)
{
    return clock % 3 * 4.0 - 5.0 * (clock % 2) * share;
}

static double shown_wrongly(uint32_t clock, double share)
{
    return 1000.0 * clock - 300.0 * (clock % 2) * share;
}

/* Clock 3 rises and falls again. */
static double shown_bent(uint32_t clock, double share)
{
    return shown_wrongly(clock, share) + (clock == 3 ? 100 * sin(2 * 3.14159265 * share) : 0);
}

/* Clock 3 drifts, without breaking a bound. */
static double shown_drifting(uint32_t clock, double share)
{
    return clock == 3 ? 8 * (share - 0.5) : 0;
}

static double shown_drifting_more(uint32_t clock, double share)
{
    return 1.5 * shown_drifting(clock, share);
}

/*
 * Messages that take 20 us and may be asymmetric tell a level to within 4 us. A fit that moves a
 * clock by less does not show that the clock was wrong; one that moves it by more does.
 */
static void moves_exceed_errors(void)
{
    struct clock_choice choice;
    CHECK_NEAR(small_choose(shown_drifting, 2, &choice), 4, 1e-9);
    CHECK(choice.kind == CLOCKS_BASE);
    /* It may be wrong by what the fit says all the same. */
    CHECK(stated.first[3] > stated.first[1] + 2.5 && stated.first[3] < stated.first[1] + 4);
    CHECK(stated.last[3] > stated.last[1] + 2.5 && stated.last[3] < stated.last[1] + 4);
    CHECK_NEAR(stated.first[4], stated.first[1], 0.1);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_drifting_more, 2, &choice) < 0.5 && choice.kind == CLOCKS_LINES);
    ictusi_clock_choice_fini(&choice);
}

/* The clock that shows the time rises and falls again. */
static double shown_wandering(uint32_t clock, double share)
{
    return clock == 0 ? 100 * sin(2 * 3.14159265 * share) : 0;
}

/* All rise and fall, each in its own way. */
static double shown_waving(uint32_t clock, double share)
{
    return clock > 0 ? 60 * sin(2 * 3.14159265 * share * (1 + 0.1 * clock) + 2.0 * clock) : 0;
}

/* Whether this clock alone has a large factor; SMALL: none has. */
static void factor_is_large_of(uint32_t clock)
{
    for (uint32_t u = 0; u < SMALL; u++) {
        CHECK(u == clock ? stated.factor[u] > 100 : stated.factor[u] >= 1 && stated.factor[u] < 4);
    }
}

/*
 * One clock that bends among others that do not has a factor of its own, and a larger error than
 * they have, be it that all are compared to it; where all bend there is none.
 */
static void bends_have_factors(void)
{
    struct clock_choice choice;
    CHECK(small_choose(shown_bent, 9, &choice) < 6 && choice.kind == CLOCKS_WALK);
    CHECK(choice.walk.apart && !choice.walk.even && choice.walk.strength >= 1e-7);
    factor_is_large_of(3);
    for (uint32_t u = 0; u < SMALL; u++) {
        CHECK(u == 3 || stated.first[u] < stated.first[3] / 2);
        CHECK(u == 3 || stated.last[u] < stated.last[3] / 2);
    }
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_wandering, 9, &choice) < 25 && choice.kind == CLOCKS_WALK);
    factor_is_large_of(0);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_waving, 9, &choice) < 30 && choice.kind == CLOCKS_WALK);
    CHECK(!choice.walk.apart && choice.refused == CLOCKS_BASE);
    factor_is_large_of(SMALL);
    ictusi_clock_choice_fini(&choice);
}

static void lines_have_no_strength(void)
{
    struct clock_choice choice;
    CHECK(small_choose(shown_wrongly, 9, &choice) < 0.1 && choice.kind == CLOCKS_LINES);
    CHECK(choice.walk.strength == 0 && !choice.walk.apart && !choice.walk.even);
    ictusi_clock_choice_fini(&choice);
}

static void models_are_chosen(void)
{
    struct clock_choice choice;
    CHECK(small_choose(shown_rightly, 2, &choice) == 0 && choice.kind == CLOCKS_BASE);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_nearly, 2, &choice) < 0.5 && choice.kind == CLOCKS_LINES);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_wrongly, 2, &choice) < 0.5 && choice.kind == CLOCKS_LINES);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_wrongly, 9, &choice) < 0.5 && choice.kind == CLOCKS_LINES);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_bent, 9, &choice) < 30 && choice.kind == CLOCKS_WALK);
    CHECK(choice.walk.strength > 0);
    ictusi_clock_choice_fini(&choice);
}

/* Only clock 3 jumps. */
static double shown_jumping(uint32_t clock, double share)
{
    return shown_wrongly(clock, share) + (clock == 3 && share > 0.47 ? 200 : 0);
}

/* A clock that jumps breaks bounds on both sides of the jump, but bends no other clock. */
static void jumps_bend_no_other(void)
{
    struct clock_choice choice;
    CHECK(small_choose_but(shown_jumping, 9, 3, &choice) < 2);
    CHECK(choice.kind == CLOCKS_WALK && choice.walk.even);
    ictusi_clock_choice_fini(&choice);
    CHECK(small_choose(shown_bent, 9, &choice) < 30 && !choice.walk.even);
    ictusi_clock_choice_fini(&choice);
}

/* The same, seen between two offsets that were right: before the jump it is behind, then ahead. */
static double shown_sawing(uint32_t clock, double share)
{
    return clock == 3 ? 98 * ((share > 0.45) - share) : 0;
}

/*
 * No chain of pieces heals the violation at the jump, which is worse than any before, but it heals
 * nearly all others.
 */
static void jumps_are_healed(void)
{
    struct clock_choice choice;
    CHECK(small_choose_but(shown_sawing, 9, 3, &choice) < 1);
    CHECK(choice.kind == CLOCKS_WALK && choice.walk.even);
    ictusi_clock_choice_fini(&choice);
}

/* What is declined is told as refused, with how far it would have moved. */
static void declined_is_told(void)
{
    struct clock_model m;
    struct clock_choice choice = {.kind = CLOCKS_BASE};
    REQUIRE(!ictusi_clock_model_init(&m, 2, 2, SPAN));
    ictusi_clock_choice_decline(&choice, &m, 5);
    CHECK(choice.refused == CLOCKS_BASE && choice.moves == 0 && choice.heals == 0);
    m.phi[2] = -70;
    m.phi[3] = 40;
    choice.kind = CLOCKS_WALK;
    choice.walk.strength = 1e-7;
    ictusi_clock_choice_decline(&choice, &m, 5);
    CHECK(choice.kind == CLOCKS_BASE && choice.refused == CLOCKS_WALK);
    CHECK(choice.walk.strength == 0 && choice.heals == 5);
    CHECK(choice.moves == 70);
    CHECK(m.phi[2] == 0 && m.phi[3] == 0 && m.error[2] == 70 && m.error[3] == 40);
    ictusi_clock_model_fini(&m);
}

int main(void)
{
    models_are_chosen();
    moves_exceed_errors();
    bends_have_factors();
    lines_have_no_strength();
    jumps_bend_no_other();
    jumps_are_healed();
    declined_is_told();
    return check_result();
}

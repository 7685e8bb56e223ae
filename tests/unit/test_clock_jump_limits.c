/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What just passes for a jump, and what just does not, where no message waits but as it is told: so
 * sizes, instants and witnesses are known to the tick.
 */
#include "../check.h"

#include "causality/clock_jumps.h"

#include <math.h>
#include <stdint.h>

enum { CLOCKS = 4, CELLS = 48, LATENCY = 2000 };

static const double second = 1e9;

/* Clocks 1 and 2 may jump. */
struct world {
    double size[CLOCKS];
    double jump;      /* when, ns */
    double drift;     /* of clock c: c times as much */
    double wait;      /* of all messages in every other cell */
    double wait_near; /* of those in so many cells on either side of the jump */
    int near;         /* that many */
    double beyond;    /* how far clock 2 is ahead of itself before and after what is looked at */
    uint64_t talk;    /* before the jump, bit n: in the nth cell before it; 0: in all */
    double from, to;  /* what is looked at */
};

struct scene {
    struct least_delays delays;
    struct jump_finding finding;
    struct jump_witness witnesses[CLOCKS];
    bool found;
};

static double course(const struct world *w, uint32_t clock, double time)
{
    const bool beyond = time < w->from || time > w->to;
    return w->drift * clock * time + (time > w->jump ? w->size[clock] : 0) +
           (beyond && clock == 2 ? w->beyond : 0);
}

/* One message each way between all, a quarter and three quarters into each cell. */
static void scene_observe(struct scene *s, const struct world *w)
{
    const double cell = (w->to - w->from) / CELLS;
    ictusi_delays_begin(&s->delays, NULL, llround(w->from), llround(w->to));
    for (int i = w->beyond != 0 ? -2 : 0; i < 2 * CELLS + (w->beyond != 0 ? 2 : 0); i++) {
        const double at = w->from + (i * 0.5 + 0.25) * cell;
        const double away = (w->jump - at) / cell;
        const double wait = (i / 2 % 2 ? w->wait : 0) + (fabs(away) < w->near ? w->wait_near : 0);
        if (w->talk && away > 0.5 && !(w->talk >> (int)ceil(away - 0.5) & 1)) {
            continue;
        }
        for (uint32_t pair = 0; pair < CLOCKS * CLOCKS; pair++) {
            const uint32_t a = pair / CLOCKS;
            const uint32_t b = pair % CLOCKS;
            const double seen = LATENCY + wait + course(w, b, at) - course(w, a, at);
            if (a != b) {
                ictusi_delays_add(&s->delays, a, b, llround(at + seen / 2), llround(seen));
            }
        }
    }
    REQUIRE(!ictusi_delays_finish(&s->delays, NULL));
}

static void scene_find(struct scene *s, struct world *w, double least)
{
    w->from = 0;
    w->to = CELLS * second;
    REQUIRE(!ictusi_delays_init(&s->delays, NULL, CLOCKS, CELLS));
    s->finding = (struct jump_finding){.witnesses = s->witnesses};
    scene_observe(s, w);
    REQUIRE(!ictusi_clock_jump_find(&s->delays, 0, least, &s->finding, &s->found));
}

static bool jump_is_found(struct world w, double least)
{
    struct scene s;
    scene_find(&s, &w, least);
    ictusi_delays_fini(&s.delays);
    return s.found;
}

/*
 * In the middle of whatever cell it jumps: this cell, its size, when it was at the latest and at
 * the earliest, and what all others show. Three cells with messages must be on either side.
 */
static void cells_are_told_apart(void)
{
    for (int cell = 0; cell < CELLS; cell++) {
        struct scene s;
        struct world w = {.size = {0, 0, cell % 2 ? 20000 : -20000},
                          .jump = (cell + 0.5) * second,
                          .drift = 1e-6};
        scene_find(&s, &w, 1000);
        const struct clock_jump *jump = &s.finding.jump;
        CHECK(s.found == (cell >= 3 && cell + 3 < CELLS));
        if (s.found) {
            CHECK(jump->clock == 2 && !s.finding.gradual && s.finding.count == CLOCKS - 1);
            CHECK_NEAR(jump->size, w.size[2], 0.1);
            CHECK_NEAR((double)jump->from, (cell - 1) * second, 1);
            CHECK_NEAR((double)jump->to, (cell + 2) * second, 1);
            CHECK_NEAR((double)s.finding.centre, (cell + 0.5) * second, 1);
        }
        for (uint32_t i = 0; s.found && i < s.finding.count; i++) {
            const struct jump_witness *one = &s.witnesses[i];
            const double ahead = (one->b - (double)one->a) * 1e-6;
            CHECK(one->a < one->b && (one->a == 2 || one->b == 2));
            CHECK_NEAR(one->slope, ahead, 1e-11);
            CHECK_NEAR(one->level, ahead * w.jump, 1);
            CHECK_NEAR(one->half, LATENCY, 1);
        }
        ictusi_delays_fini(&s.delays);
    }
}

/*
 * A jump is larger than a round trip, and so large that a slide over three cells would miss by more
 * than a twentieth of what is looked for; and clearer than waits would make it.
 */
static void small_ones_are_none(void)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        struct world w = {.jump = 20.5 * second, .drift = -3e-6};
        w.size[2] = sign * 1.995 * LATENCY;
        CHECK(!jump_is_found(w, 1000));
        w.size[2] = sign * 2.005 * LATENCY;
        CHECK(jump_is_found(w, 1000) && jump_is_found(w, 500));
        w.size[2] = sign * 1.36 * 8000;
        CHECK(!jump_is_found(w, 8000));
        w.size[2] = sign * 1.38 * 8000;
        CHECK(jump_is_found(w, 8000));
        w.wait = 5000;
        w.size[2] = sign * 9.7 * w.wait;
        CHECK(!jump_is_found(w, 1000));
        w.size[2] = sign * 9.9 * w.wait;
        CHECK(jump_is_found(w, 1000));
    }
}

/* Three of the eight cells before must have messages. */
static void three_cells_are_enough(void)
{
    static const struct {
        int cells[3];
        bool enough;
    } cases[] = {{{1, 2, 3}, true}, {{1, 2, 2}, false}, {{1, 2, 8}, true}, {{1, 2, 9}, false},
                 {{2, 5, 8}, true}, {{2, 5, 9}, false}, {{6, 7, 8}, true}, {{2, 4, 10}, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world w = {.size = {0, 0, 20000}, .jump = 20.5 * second};
        for (int k = 0; k < 3; k++) {
            w.talk |= UINT64_C(1) << cases[i].cells[k];
        }
        CHECK(jump_is_found(w, 1000) == cases[i].enough);
    }
}

/* Of two clocks that jump at once, the one that explains more comes first, and the pair that they
 * form is not evidence for either. */
static void the_larger_one_comes_first(void)
{
    struct scene s;
    struct world w = {.size = {0, 30000, 20000}, .jump = 30.5 * second};
    scene_find(&s, &w, 1000);
    CHECK(s.found && s.finding.jump.clock == 1 && s.finding.count == 2);
    CHECK_NEAR(s.finding.jump.size, 30000, 0.1);
    for (uint32_t i = 0; i < s.finding.count; i++) {
        CHECK(s.witnesses[i].a != 2 && s.witnesses[i].b != 2);
    }
    ictusi_delays_fini(&s.delays);
}

/* A pair of clocks that shows a jump of another size, by three tenths of it, is not a witness. */
static void witnesses_agree(void)
{
    for (int sign = -1; sign <= 1; sign += 2) {
        for (int other = 0; other < 12; other++) {
            struct scene s;
            const double off = (0.245 + 0.02 * other) * 20000; /* what clock 1 jumps by */
            struct world w = {.size = {0, sign * off, sign * 20000}, .jump = 30.5 * second};
            scene_find(&s, &w, 1000);
            CHECK(s.found && s.finding.jump.clock == 2);
            CHECK_NEAR(s.finding.jump.size, sign * 20000, 0.1);
            CHECK(s.finding.count == (off < 6000 ? 3 : 2));
            ictusi_delays_fini(&s.delays);
        }
    }
}

/* More pairs than 4096 would take too long. */
static void many_pairs_are_left_alone(void)
{
    for (uint32_t clocks = 91; clocks <= 92; clocks++) {
        struct scene s;
        struct jump_witness witnesses[92];
        struct world w = {.size = {0, 0, 20000}, .jump = 20.5 * second, .to = CELLS * second};
        REQUIRE(!ictusi_delays_init(&s.delays, NULL, clocks, CELLS));
        s.finding = (struct jump_finding){.witnesses = witnesses};
        scene_observe(&s, &w);
        for (uint32_t pair = 0; pair < clocks * clocks; pair++) {
            if (pair / clocks < pair % clocks) {
                ictusi_delays_add(&s.delays, pair / clocks, pair % clocks, 1000, 900000);
            }
        }
        REQUIRE(!ictusi_delays_finish(&s.delays, NULL));
        REQUIRE(!ictusi_clock_jump_find(&s.delays, 0, 1000, &s.finding, &s.found));
        CHECK(s.delays.pair_count == clocks * (clocks - 1) / 2);
        CHECK(s.found == (s.delays.pair_count <= 4096));
        ictusi_delays_fini(&s.delays);
    }
}

/*
 * A closer look: between the nearest messages, if that leaves room for the size a hundred times;
 * otherwise on either side as far as that, but no farther than the nearest messages that did not
 * wait. What lies before and after is not asked.
 */
static void instants_are_narrowed_down(void)
{
    static const double cells[] = {1e8, 1e6, 3e5, 1e5, 5e4, 2e4};
    const double wide = 100 * 4200;
    for (int i = 0; i < 6 * 2 * 3 * 2; i++) {
        struct scene s;
        const double cell = cells[i % 6];
        const int near = i / 12 % 3 * 3;
        struct world w = {.size = {0, 0, i / 6 % 2 ? 4200 : -4200}, .jump = 20.5 * second};
        scene_find(&s, &w, 1000);
        REQUIRE(s.found);
        w.near = near;
        w.wait_near = 0.51 * 4200; /* speaks for its side, but leaves doubt */
        w.beyond = i / 36 ? 2 * w.size[2] : 0;
        w.talk = i % 2 ? ~(UINT64_C(7) << 10) : 0; /* nothing is known of some cells */
        w.from = w.jump - cell * CELLS / 2;
        w.to = w.jump + cell * CELLS / 2;
        scene_observe(&s, &w);
        s.finding.jump.from = llround(w.from);
        s.finding.jump.to = llround(w.to);
        REQUIRE(!ictusi_clock_jump_place(&s.delays, &s.finding));
        const double beside = fmax(0, (wide - cell) / 2);
        CHECK_NEAR((double)s.finding.jump.from,
                   w.jump - fmin(0.75 * cell + beside, (near + 0.75) * cell), 2);
        CHECK_NEAR((double)s.finding.jump.to,
                   w.jump + fmin(0.25 * cell + beside, (near + 0.25) * cell), 2);
        CHECK(!s.finding.gradual);
        ictusi_delays_fini(&s.delays);
    }
}

/*
 * What is left of a jump is added to it if it is less than three tenths of it; waits say how well
 * it is known: their mean over the square root of the number of witnesses.
 */
static void the_rest_is_added(void)
{
    for (int percent = -50; percent <= 50; percent += 7) {
        struct scene s;
        const double rest = 20000 * percent / 100.0;
        struct world w = {.size = {0, 0, rest}, .jump = 20.5 * second, .wait = 300, .drift = 2e-6};
        struct clock_jump jump = {2, 20000, 0, llround(20.4 * second), llround(20.6 * second)};
        scene_find(&s, &w, 1000);
        REQUIRE(!ictusi_clock_jump_rest(&s.delays, &jump));
        const bool added = abs(percent) <= 30;
        CHECK_NEAR(jump.size, 20000 + (added ? rest : 0), 1);
        CHECK_NEAR(jump.error, added ? w.wait / 2 / sqrt(3) : 0, 1e-3);
        ictusi_delays_fini(&s.delays);
    }
}

int main(void)
{
    cells_are_told_apart();
    small_ones_are_none();
    three_cells_are_enough();
    the_larger_one_comes_first();
    witnesses_agree();
    many_pairs_are_left_alone();
    instants_are_narrowed_down();
    the_rest_is_added();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The model of clocks, checked by hand: its predictions between and beyond knots, its scores, the
 * least delays for given clocks, which clock shows the time, and its errors.
 */
#include "../check.h"

#include "causality/clock_model.h"
#include "causality/clock_normal.h"
#include "causality/clock_private.h"
#include "core/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { CLOCKS = 4, KNOTS = 5, CELLS = 40, SPAN = 400000 };
static const double length_us = 4e5;

/* phi of the clocks at the knots, us. */
static double planted(uint32_t clock, uint32_t knot)
{
    return 100.0 * clock + 7.0 * clock * knot + (clock == 2 && knot == 3 ? 30 : 0);
}

static void model_open(struct clock_model *m)
{
    REQUIRE(!ictusi_clock_model_init(m, CLOCKS, KNOTS, length_us));
    for (uint32_t u = 0; u < CLOCKS; u++) {
        for (uint32_t k = 0; k < KNOTS; k++) {
            m->phi[u * KNOTS + k] = planted(u, k);
        }
    }
}

static void lines_between_knots(void)
{
    struct clock_model m;
    model_open(&m);
    for (double at = -1.5; at < KNOTS + 1; at += 0.125) {
        const double low = fmin(fmax(floor(at), 0), KNOTS - 2);
        for (uint32_t u = 0; u < CLOCKS; u++) {
            const double a = planted(u, (uint32_t)low);
            const double b = planted(u, (uint32_t)low + 1);
            CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, u, at), a + (at - low) * (b - a), 1e-9);
        }
    }
    ictusi_clock_model_fini(&m);
    CHECK(!m.phi && !m.error && m.clocks == 0);
}

/* The reference's clock shows the time; if it wanders, everything but its bends is subtracted. */
static void reference_shows_time(void)
{
    struct clock_model m;
    model_open(&m);
    m.reference = 2;
    ictusi_clock_model_align(&m);
    for (uint32_t i = 0; i < CLOCKS * KNOTS; i++) {
        CHECK_NEAR(m.phi[i], planted(i / KNOTS, i % KNOTS) - planted(2, i % KNOTS), 1e-9);
    }
    ictusi_clock_model_fini(&m);
    model_open(&m);
    m.reference = 2;
    m.mean_is_time = true;
    ictusi_clock_model_align(&m);
    double level = 0;
    double slope = 0;
    for (uint32_t k = 0; k < KNOTS; k++) {
        level += m.phi[2 * KNOTS + k];
        slope += m.phi[2 * KNOTS + k] * (k - (KNOTS - 1) / 2.0);
        for (uint32_t u = 0; u < CLOCKS; u++) { /* the differences between clocks stay */
            CHECK_NEAR(m.phi[u * KNOTS + k] - m.phi[k], planted(u, k) - planted(0, k), 1e-9);
        }
    }
    CHECK_NEAR(level, 0, 1e-9);
    CHECK_NEAR(slope, 0, 1e-9);
    CHECK(fabs(m.phi[2 * KNOTS + 3]) > 10); /* the bend stays */
    ictusi_clock_model_fini(&m);
}

/*
 * One pair with a delay in each cell and direction: the path, which depends on the direction, and a
 * wait that is 0 in every third cell. Observed delays have phi subtracted.
 */
static const double path_us[2] = {12, 20};

static double wait_us(uint32_t cell, int way)
{
    return (cell + (uint32_t)way) % 3 ? 5.0 * (1 + (cell * 7 + (uint32_t)way) % 11) : 0;
}

static void pair_seen(struct clock_model *m, double off_us)
{
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    for (uint32_t c = 0; c < CELLS; c++) {
        const int64_t time = (2 * (int64_t)c + 1) * SPAN / (2L * CELLS);
        for (int way = 0; way < 2; way++) {
            const double shown = path_us[way] + wait_us(c, way) + (way ? -off_us : off_us);
            ictusi_delays_add(&d, way ? 3 : 1, way ? 1 : 3, time, (int64_t)lround(shown));
        }
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(m, &d, 1.0));
    ictusi_delays_fini(&d);
}

/* What pairs of clocks are seen: one from each to the next, from this clock on. */
static void chain_seen(struct clock_model *m, uint32_t from, uint32_t count)
{
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    for (uint32_t a = from; a < from + count; a++) {
        ictusi_delays_add(&d, a, a + 1, SPAN / 2, 10 * (int64_t)(a + 1));
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(m, &d, 1.0));
    ictusi_delays_fini(&d);
}

/* A pair that was seen once stays, in order, whichever pairs are seen later. */
static void pairs_stay(void)
{
    for (uint32_t from = 0; from < CLOCKS - 1; from++) {
        for (uint32_t count = 1; from + count < CLOCKS; count++) {
            struct clock_model m;
            model_open(&m);
            chain_seen(&m, 0, CLOCKS - 1);
            chain_seen(&m, from, count);
            REQUIRE(m.pair_count == CLOCKS - 1);
            for (uint32_t a = 0; a + 1 < CLOCKS; a++) {
                const struct model_pair *pair = &m.pairs[a];
                const bool again = a >= from && a < from + count;
                CHECK(pair->a == a && pair->b == a + 1);
                CHECK((pair->now[0] == 1) == again && pair->now[1] == 0);
                CHECK(pair->counts[0] >= 1 && pair->counts[1] == 0);
            }
            ictusi_clock_model_fini(&m);
        }
    }
}

static void delays_are_seen(void)
{
    struct clock_model m;
    model_open(&m);
    pair_seen(&m, 0);
    REQUIRE(m.pair_count == 1 && m.delay_count == 2UL * CELLS);
    const struct model_pair *pair = m.pairs;
    CHECK(pair->a == 1 && pair->b == 3 && pair->now[0] && pair->now[1]);
    CHECK(m.degree[1] == 1 && m.degree[3] == 1 && m.degree[0] == 0);
    for (int way = 0; way < 2; way++) {
        REQUIRE(pair->counts[way] == CELLS);
        for (uint32_t c = 0; c < CELLS; c++) {
            const struct model_delay *delay = &pair->delays[way][c];
            const double at = delay->position;
            const double forth =
                ictusi_clock_model_at(&m, m.phi, 3, at) - ictusi_clock_model_at(&m, m.phi, 1, at);
            CHECK(delay->cell == c);
            CHECK_NEAR(at, (c + 0.5) * (KNOTS - 1) / CELLS, 1e-3);
            CHECK_NEAR(delay->seen, path_us[way] + wait_us(c, way), 1e-9);
            CHECK_NEAR(delay->y, delay->seen + (way ? -forth : forth), 1e-9);
        }
    }
    CHECK(ictusi_clock_model_violation(&m) == 0);
    ictusi_clock_model_fini(&m);
    /* All violations count, in the 40 cells of each direction: clock 3 is 50 us ahead. */
    double violated = 0;
    for (uint32_t c = 0; c < CELLS; c++) {
        violated += fmax(0, 50 - path_us[0] - wait_us(c, 0));
    }
    model_open(&m);
    pair_seen(&m, -50);
    CHECK(violated > 2 * 38.0);
    CHECK_NEAR(ictusi_clock_model_violation(&m), violated, 1e-9);
    CHECK(m.news == 1);
    pair_seen(&m, -50);
    CHECK(m.news == 0); /* it was seen before */
    ictusi_clock_model_fini(&m);
    model_open(&m);
    pair_seen(&m, 21.5); /* to 22: breaks the bounds of those that do not wait, and no others */
    CHECK_NEAR(ictusi_clock_model_violation(&m), 2 * 13, 1e-9);
    ictusi_clock_model_fini(&m);
}

/* Waits only lengthen delays, so D becomes the shortest delay that is not left out. */
static void least_delays_are_found(void)
{
    struct clock_model m;
    model_open(&m);
    pair_seen(&m, 0);
    for (int fold = -1; fold < 2; fold++) {
        ictusi_clock_model_delays_only(&m, fold);
        CHECK_NEAR(m.pairs[0].least[0], path_us[0], 0.5);
        CHECK_NEAR(m.pairs[0].least[1], path_us[1], 0.5);
    }
    ictusi_clock_model_fini(&m);
}

/* The scores of a fold: every second pair of cells, judged by the residual of each delay. */
static uint64_t scores_of_fold(const struct clock_model *m, int fold)
{
    double score[2 * CELLS];
    uint64_t pair_of[2 * CELLS];
    const uint64_t count = ictusi_clock_model_score(m, fold, score, pair_of);
    uint64_t i = 0;
    bool good = true;
    for (uint32_t k = 0; k < 2 * CELLS; k++) {
        const uint32_t cell = k % CELLS;
        if (cell / 2 % 2 == (uint32_t)fold) {
            const double wanted = log1p(wait_us(cell, k < CELLS ? 0 : 1) / 0.1);
            good = good && pair_of[i] == 0 && fabs(score[i] - wanted) < 1e-9;
            i++;
        }
    }
    CHECK(good && count == i);
    return count;
}

static void held_out_delays_are_scored(void)
{
    double score[2 * CELLS];
    uint64_t pair_of[2 * CELLS];
    struct clock_model m;
    model_open(&m);
    pair_seen(&m, 0);
    m.pairs[0].least[0] = path_us[0];
    m.pairs[0].least[1] = path_us[1];
    CHECK(scores_of_fold(&m, 0) + scores_of_fold(&m, 1) == 2UL * CELLS);
    CHECK(ictusi_clock_model_score(&m, -1, score, pair_of) == 0); /* nothing was left out */
    ictusi_clock_model_fini(&m);
}

static void medians_and_spreads(void)
{
    double odd[] = {5, 1, 9};
    double even[] = {8, 2, 4, 6};
    double one[] = {3};
    struct clock_model m;
    CHECK_NEAR(ictusi_model_median(odd, 3), 5, 0);
    CHECK_NEAR(ictusi_model_median(even, 4), 5, 0);
    CHECK_NEAR(ictusi_model_median(one, 1), 3, 0);
    model_open(&m);
    pair_seen(&m, 0);
    struct model_pair *pair = &m.pairs[0];
    double waits[CELLS];
    for (uint32_t c = 0; c < CELLS; c++) {
        waits[c] = wait_us(c, 1);
    }
    ictusi_model_least_guess(&m, pair, 1, -1);
    CHECK_NEAR(pair->least[1], path_us[1], 1e-9);
    ictusi_model_spread(&m, pair, 1, -1);
    CHECK_NEAR(pair->spread[1], ictusi_model_median(waits, CELLS), 1e-9);
    pair->least[1] = 1000; /* all are too early: no wait is negative, and the scale is not zero */
    ictusi_model_spread(&m, pair, 1, -1);
    CHECK_NEAR(pair->spread[1], 2 * MODEL_SCATTER, 1e-9);
    const uint32_t count = pair->counts[1];
    pair->counts[1] = 0;
    ictusi_model_least_guess(&m, pair, 1, -1);
    CHECK(pair->least[1] == 0);
    pair->counts[1] = count;
    ictusi_clock_model_fini(&m);
}

/* Bend clock 3 at knot 2, and let the delays of its pair agree. */
static void bend_seen(struct clock_model *m, double bend_us)
{
    struct model_pair *pair = m->pairs;
    m->phi[3 * KNOTS + 2] += bend_us;
    for (int way = 0; way < 2; way++) {
        for (uint32_t k = 0; k < pair->counts[way]; k++) {
            const double share = fmax(0, 1 - fabs(pair->delays[way][k].position - 2));
            pair->delays[way][k].y += (way ? -bend_us : bend_us) * share;
        }
    }
}

/* Errors of a solved model are larger where bounds contradict it and where clocks bend. */
static void errors_hold(void)
{
    const struct model_walk lines = {.strength = 0};
    const struct model_walk walk = {.strength = 1e-6};
    struct clock_model m;
    model_open(&m);
    m.reference = 1;
    pair_seen(&m, 0);
    REQUIRE(!ictusi_clock_model_solve(&m, &lines, -1, 12, true));
    ictusi_clock_model_align(&m);
    REQUIRE(!ictusi_clock_model_errors(&m, &walk));
    double before[CLOCKS * KNOTS];
    memcpy(before, m.error, sizeof(before));
    for (uint32_t k = 0; k < KNOTS; k++) { /* the planted clocks, which are not lines, lie within */
        const double truth = planted(3, k) - planted(1, k);
        const double found = m.phi[3 * KNOTS + k] - m.phi[KNOTS + k];
        CHECK(fabs(found - truth) <= m.error[KNOTS + k] + m.error[3 * KNOTS + k] + 10);
        CHECK(m.error[KNOTS + k] >= MODEL_SCATTER);
    }
    /*
     * A bend of 4 ms at knot 2 of clock 3, which the delays agree with. Its second differences are
     * 4, -8 and 4 ms, and a quarter of their root mean square appears, or of the knot's own. It is
     * independent of the rest, which is larger because the walk is.
     */
    bend_seen(&m, 4000);
    REQUIRE(!ictusi_clock_model_errors(&m, &walk));
    const double usual = 1000 * sqrt(2);
    const double more[KNOTS] = {usual, usual, 2000, usual, usual};
    for (uint32_t k = 0; k < KNOTS; k++) {
        const double rest = before[3 * KNOTS + k];
        CHECK(m.error[3 * KNOTS + k] > 0.99 * hypot(rest, more[k]));
        CHECK(m.error[3 * KNOTS + k] < hypot(2 * rest, more[k]));
        CHECK_NEAR(m.error[k], before[k], 1e-3 * before[k]); /* has no partner */
    }
    bend_seen(&m, -4000);
    /* A delay that contradicts the fit by 300 us in the first cell raises the errors around it. */
    m.pairs[0].delays[0][0].y -= 300;
    const double residual = model_residual(&m, &m.pairs[0], 0, 0);
    REQUIRE(!ictusi_clock_model_errors(&m, &walk));
    for (uint32_t k = 0; k < KNOTS; k++) {
        const double rest = before[3 * KNOTS + k];
        const bool near = k <= 2; /* of position 0.05: knots -1 to 2 */
        CHECK(near ? m.error[3 * KNOTS + k] > rest - residual - 2 * MODEL_SCATTER - 20
                   : m.error[3 * KNOTS + k] < rest + 100);
        CHECK_NEAR(m.error[k] - before[k], 0, 20); /* not a clock of the pair */
    }
    ictusi_clock_model_fini(&m);
}

/* The error of clock 3 at knot 2, which bends by this much against the reference. */
static double error_of_bends(double bend_us, double reference_bend_us, bool mean_is_time)
{
    const struct model_walk walk = {.strength = 1e-6};
    struct clock_model m;
    model_open(&m);
    m.reference = 1;
    m.mean_is_time = mean_is_time;
    m.phi[2 * KNOTS + 3] = planted(2, 2) + 14; /* a line, too */
    m.phi[3 * KNOTS + 2] += bend_us;
    m.phi[KNOTS + 2] += reference_bend_us;
    REQUIRE(!ictusi_clock_model_errors(&m, &walk));
    const double error = m.error[3 * KNOTS + 2];
    ictusi_clock_model_fini(&m);
    return error;
}

/*
 * A fit shares the bends between a clock and the one that shows the time; the error of the clock
 * follows from what they differ by. A mean clock bends by a quarter of what one of four does.
 */
static void bends_are_relative(void)
{
    const double straight = error_of_bends(0, 0, false);
    const double bent = error_of_bends(4e6, 0, false);
    CHECK(bent > 100 * straight);
    CHECK_NEAR(error_of_bends(2e6, -2e6, false), bent, 1e-3 * bent);
    CHECK_NEAR(error_of_bends(0, 4e6, false), bent, 1e-3 * bent);
    CHECK(error_of_bends(4e6, 4e6, false) < 0.05 * bent); /* the rest: such a walk is strong */
    CHECK_NEAR(error_of_bends(4e6, 0, true), 0.75 * bent, 1e-3 * bent);
}

/*
 * The mean error, at each knot, of identical clocks that exchange messages only with the reference.
 * Their errors do not depend on how many other such clocks there are.
 */
static void star_errors(uint32_t clocks, const struct model_walk *walk, double mean[KNOTS])
{
    struct clock_model m;
    struct least_delays d;
    REQUIRE(!ictusi_clock_model_init(&m, clocks, KNOTS, length_us));
    REQUIRE(!ictusi_delays_init(&d, NULL, clocks, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    for (uint32_t i = 0; i < (clocks - 1) * 2 * CELLS; i++) {
        const uint32_t leaf = 1 + i / (2 * CELLS);
        const uint32_t c = i / 2 % CELLS;
        const int way = (int)(i % 2);
        const int64_t time = (2 * (int64_t)c + 1) * SPAN / (2L * CELLS);
        ictusi_delays_add(&d, way ? leaf : 0, way ? 0 : leaf, time,
                          llround(path_us[way] + wait_us(c, way)));
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL) && !ictusi_clock_model_see(&m, &d, 1.0));
    ictusi_delays_fini(&d);
    REQUIRE(!ictusi_clock_model_solve(&m, walk, -1, 12, true));
    ictusi_clock_model_align(&m);
    REQUIRE(!ictusi_clock_model_errors(&m, walk));
    for (uint32_t k = 0; k < KNOTS; k++) {
        mean[k] = 0;
        for (uint32_t u = 1; u < clocks; u++) {
            mean[k] += m.error[u * KNOTS + k] / (clocks - 1);
        }
        CHECK(m.error[k] <= 1e-6 + MODEL_SCATTER); /* it shows the time */
    }
    ictusi_clock_model_fini(&m);
}

/*
 * The errors of two clocks are solved for and those of many are drawn: the results agree within
 * chance.
 */
static void errors_are_drawn_as_solved(void)
{
    const struct model_walk walks[] = {{.strength = 0}, {.strength = 1e-7}};
    for (int w = 0; w < 2; w++) {
        double solved[KNOTS], drawn[KNOTS];
        star_errors(2, &walks[w], solved);
        star_errors(NORMAL_DENSE_MAX + 1, &walks[w], drawn);
        for (uint32_t k = 0; k < KNOTS; k++) {
            CHECK(solved[k] > 0);
            CHECK_NEAR(drawn[k], solved[k], 0.05 * solved[k]);
        }
    }
}

/*
 * A clock without messages is known by its ten offsets of 4 us only. Every second one deviates from
 * the fit by this many standard deviations, and the others by as many to the other side.
 */
static double offsets_leave(double deviations)
{
    enum { OFFSETS = 10 };
    const struct model_walk lines = {.strength = 0};
    struct clock_model m;
    model_open(&m);
    m.reference = 1;
    for (uint32_t k = 0; k < KNOTS; k++) {
        m.phi[2 * KNOTS + k] = 210.0 + 14 * k; /* no bend */
    }
    pair_seen(&m, 0);
    m.offsets = calloc(OFFSETS, sizeof *m.offsets);
    REQUIRE(m.offsets);
    m.offset_count = OFFSETS;
    for (int i = 0; i < OFFSETS; i++) {
        const double at = (KNOTS - 1) * (floor(0.5 * i) + 0.5) / (0.5 * OFFSETS);
        const double fitted =
            ictusi_clock_model_at(&m, m.phi, 0, at) - ictusi_clock_model_at(&m, m.phi, 1, at);
        m.offsets[i] = (struct model_offset){
            .clock = 0, .position = at, .value = fitted + (i % 2 ? 4 : -4) * deviations, .sd = 4};
    }
    REQUIRE(!ictusi_clock_model_errors(&m, &lines));
    const double error = m.error[2]; /* of clock 0 in the middle */
    ictusi_clock_model_fini(&m);
    return sqrt(error * error - MODEL_SCATTER * MODEL_SCATTER);
}

/*
 * Offsets with residuals larger than their deviations are less certain, by the root of the ratio:
 * of ten, less one each for clocks 0 and 2, whose levels nothing else determines. Agreement by
 * chance does not make them more certain than declared. Student's weight with two degrees of
 * freedom adds half the square of the rest.
 */
static void offsets_are_doubted(void)
{
    for (double k = 0; k < 8; k += 0.25) {
        const double doubt2 = fmax(1, 10 * k * k / 8);
        const double wanted = 2 * 4 * sqrt((doubt2 + k * k / 2) / 10);
        CHECK_NEAR(offsets_leave(k), wanted, 1e-4 * wanted);
    }
}

/* Without messages or offsets a level is known to 1 ms, however little the clocks wander. */
static void stiff_walks_know_no_level(void)
{
    enum { PIECES = 48 };
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, 2, PIECES + 1, 1e6));
    for (double strength = 1e-9; strength < 1e-4; strength *= 10) {
        REQUIRE(!ictusi_clock_model_errors(&m, &(struct model_walk){.strength = strength}));
        CHECK(m.error[PIECES + 1] > 2000 && m.error[PIECES + 1 + PIECES / 2] > 2000);
    }
    ictusi_clock_model_fini(&m);
}

/*
 * Where a clock without messages is put that has an offset of this value at the beginning and of
 * another one at the end: its level and its change over the trace, us.
 */
static void offsets_fit(const struct model_walk *kind, double first, double last, double sd,
                        double found[2])
{
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, CLOCKS, KNOTS, length_us));
    m.offset_count = 2UL * (CLOCKS - 1);
    m.offsets = calloc(m.offset_count, sizeof *m.offsets);
    REQUIRE(m.offsets);
    for (uint32_t i = 0; i < m.offset_count; i++) { /* those of the others are right */
        const double value = i > 1 ? 0 : i ? last : first;
        m.offsets[i] = (struct model_offset){1 + i / 2, i % 2 * (KNOTS - 1.0), value, sd};
    }
    REQUIRE(!ictusi_clock_model_solve(&m, kind, -1, 200, true));
    found[0] = (m.phi[KNOTS] + m.phi[2 * KNOTS - 1]) / 2;
    found[1] = m.phi[2 * KNOTS - 1] - m.phi[KNOTS];
    for (uint32_t k = 0; k < KNOTS; k++) { /* the reference stays, and nothing bends */
        CHECK_NEAR(m.phi[k], 0, 1e-2);
        CHECK_NEAR(m.phi[KNOTS + k], found[0] + found[1] * (k / (KNOTS - 1.0) - 0.5), 1e-2);
    }
    ictusi_clock_model_fini(&m);
}

/* By how much an offset pulls: the slope of Student's loss with two degrees of freedom. */
static double offset_pull(double rest, double sd)
{
    return 2 * rest / (2 * sd * sd + rest * rest);
}

/*
 * Offsets and what is known of crystals balance each other: a drift of 50 ppm, and a level of 1 ms
 * whose pull is constant beyond one and a half of that. Stiff walks find what lines find.
 */
static void crystals_are_known(void)
{
    static const struct {
        double level, drift, sd;
    } cases[] = {{0, 30, 20},      {0, -30, 60},   {0, 100, 10},   {400, 0, 300},
                 {-1400, 0, 1000}, {3000, 0, 500}, {9000, 0, 500}, {-20000, 40, 2000}};
    const double drift_us = 50e-6 * length_us;
    const double level_us = hypot(1e3, drift_us);
    const struct model_walk kinds[] = {{.strength = 0}, {.strength = 1e-7}};
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        const double sd = cases[i / 2].sd;
        const double first = cases[i / 2].level - cases[i / 2].drift / 2;
        const double last = cases[i / 2].level + cases[i / 2].drift / 2;
        double found[2];
        offsets_fit(&kinds[i % 2], first, last, sd, found);
        const double early = offset_pull(first - (found[0] - found[1] / 2), sd);
        const double late = offset_pull(last - (found[0] + found[1] / 2), sd);
        const double level = fmin(fmax(found[0], -1.5 * level_us), 1.5 * level_us);
        const double most = 1 / sd + 1e-9;
        CHECK_NEAR((late - early) / 2, found[1] / (drift_us * drift_us), 2e-3 * most);
        CHECK_NEAR(late + early, level / (level_us * level_us), 2e-3 * most);
    }
}

/* A bound must hold if messages go both ways; otherwise breaking it counts like a wait. */
static void steps_pass_as_waits(void)
{
    struct model_pair pair = {.now = {1, 1}, .spread = {0.5, 0.5}};
    const struct model_delay delay = {.now = true};
    const double stiff = 1 / (MODEL_SCATTER * MODEL_SCATTER);
    CHECK_NEAR(model_delay_weight(&pair, 0, &delay, -20, false), stiff, 1e-9);
    CHECK_NEAR(model_delay_weight(&pair, 0, &delay, -20, true), 0.1, 1e-9);
    CHECK_NEAR(model_delay_weight(&pair, 0, &delay, 20, true), 0.1, 1e-9);
    pair.now[1] = 0;
    CHECK_NEAR(model_delay_weight(&pair, 0, &delay, -20, false), 0.1, 1e-9);
    CHECK_NEAR(model_delay_weight(&pair, 0, &delay, -0.001, false), stiff, 1e-9);
}

int main(void)
{
    lines_between_knots();
    reference_shows_time();
    delays_are_seen();
    pairs_stay();
    least_delays_are_found();
    held_out_delays_are_scored();
    medians_and_spreads();
    errors_hold();
    bends_are_relative();
    errors_are_drawn_as_solved();
    offsets_are_doubted();
    stiff_walks_know_no_level();
    crystals_are_known();
    steps_pass_as_waits();
    return check_result();
}

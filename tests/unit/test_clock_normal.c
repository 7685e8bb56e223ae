/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fit of many clocks: conjugate gradients find the same as the dense factorisation, draws have
 * the variances of the inverse, the delays of pairs with messages are kept as if for all pairs, and
 * the planted clocks of a thousand processes are found.
 */
#include "../check.h"

#include "causality/clock_choice.h"
#include "causality/clock_normal.h"
#include "causality/clock_private.h"
#include "core/random.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEW = 16, EDGES = 40, NB = 2, BLOCK = NB * NB };

/* Add weight v v' for a random v. */
static void block_add(double *block, double weight, struct rng *rng)
{
    const double v[NB] = {ictusi_random_normal(rng), ictusi_random_normal(rng)};
    for (int i = 0; i < BLOCK; i++) {
        block[i] += weight * v[i / NB] * v[i % NB];
    }
}

/*
 * A ring with chords, whose weights differ by a factor of ten thousand; some constrain a single
 * unknown.
 */
static void fill_system(struct normal *s)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    for (uint64_t e = 0; e < EDGES; e++) {
        const uint32_t a = (uint32_t)(e % FEW);
        const uint32_t hop = e < FEW ? 1 : 2 + (uint32_t)ictusi_random_below(&rng, FEW - 3);
        s->edges[e] = (struct normal_edge){a, (a + hop) % FEW};
        block_add(&s->blocks[e * BLOCK], pow(10, 4 * ictusi_random_uniform(&rng)), &rng);
        if (e % 3) {
            block_add(&s->blocks[e * BLOCK], 100, &rng);
        }
    }
    for (uint64_t u = 0; u < FEW; u++) {
        s->own[u * BLOCK] = u ? 1e-3 : 10;
        s->own[u * BLOCK + 3] = u ? 1e-2 : 10;
    }
    for (uint32_t i = 0; i < FEW * NB; i++) {
        s->right[i] = ictusi_random_normal(&rng);
    }
}

static void test_gradients(void)
{
    struct normal dense;
    struct normal sparse;
    REQUIRE(!ictusi_normal_init(&dense, FEW, NB, EDGES, true));
    REQUIRE(!ictusi_normal_init(&sparse, FEW, NB, EDGES, false));
    /* Previous contents are overwritten. */
    for (int i = 0; i < FEW * BLOCK; i++) {
        dense.own[i] = dense.blocks[i] = dense.right[i / NB] = 7e3;
    }
    ictusi_normal_clear(&dense);
    fill_system(&dense);
    fill_system(&sparse);
    REQUIRE(ictusi_normal_factorise(&dense));
    REQUIRE(ictusi_normal_factorise(&sparse));
    ictusi_normal_solve(&dense);
    ictusi_normal_solve(&sparse);
    double largest = 0;
    for (int i = 0; i < FEW * NB; i++) {
        largest = fmax(largest, fabs(dense.right[i]));
    }
    for (int i = 0; i < FEW * NB; i++) {
        CHECK_NEAR(sparse.right[i], dense.right[i], 1e-8 * largest);
    }
    /* The offset of clock 5 from clock 0, by solving and by drawing. */
    enum { DRAWS = 4000, FIVE = 5 * NB };
    memset(dense.right, 0, dense.n * sizeof *dense.right);
    dense.right[FIVE] = 1;
    dense.right[0] = -1;
    ictusi_normal_solve(&dense);
    const double variance = dense.right[FIVE] - dense.right[0];
    struct rng rng;
    ictusi_random_seed(&rng, 6, 0);
    double drawn = 0;
    for (int draw = 0; draw < DRAWS; draw++) {
        ictusi_normal_draw(&sparse, &rng);
        ictusi_normal_solve(&sparse);
        const double off = sparse.right[FIVE] - sparse.right[0];
        drawn += off * off / DRAWS;
    }
    CHECK_NEAR(drawn / variance, 1, 5 * sqrt(2.0 / DRAWS));
    ictusi_normal_fini(&dense);
    ictusi_normal_fini(&sparse);
}

/* Many pairs share the memory by using longer cells, and lose no least delay. */
static void test_coarser_cells(void)
{
    enum { CLOCKS = 600, SPAN = 4800, CELLS = 48 };
    struct least_delays d;
    struct rng rng;
    ictusi_random_seed(&rng, 8, 0);
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    /* A delay at 100 and one at 150: cell 1 of 48, and cell 0 of 24. */
    ictusi_delays_add(&d, 3, 4, 100, 70);
    ictusi_delays_add(&d, 3, 4, 150, 60);
    ictusi_delays_add(&d, 3, 4, 4799, 50);
    for (uint32_t a = 0; a < CLOCKS; a++) {
        for (uint32_t b = 0; b < CLOCKS; b++) {
            if (a != b && a != 4) {
                ictusi_delays_add(&d, a, b, (int64_t)ictusi_random_below(&rng, SPAN), 1000);
            }
        }
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    CHECK(d.cells == 12);
    CHECK(d.row_count == (CLOCKS - 1UL) * (CLOCKS - 1));
    CHECK(d.pair_count == CLOCKS * (CLOCKS - 1) / 2);
    for (uint64_t i = 0; i < d.pair_count; i++) {
        const struct delay_pair *pair = &d.pairs[i];
        CHECK(pair->a < pair->b && (i == 0 || pair->a > pair[-1].a || pair->b > pair[-1].b));
        CHECK((pair->row[0] == DELAY_NO_ROW) == (pair->a == 4));
        CHECK((pair->row[1] == DELAY_NO_ROW) == (pair->b == 4));
        if (pair->a == 3 && pair->b == 4) {
            CHECK(ictusi_delays_half_trip(&d, pair) < 0);
            CHECK(ictusi_delays_least(&d, pair->row[0]) == 50);
            CHECK(d.delay[pair->row[0] * d.cells] == 60);
            CHECK(d.instant[pair->row[0] * d.cells] == 120);
        }
    }
    ictusi_delays_fini(&d);
}

/*
 * Three clocks are thousands of ticks apart, and their offsets do not add up around the loop. The
 * remainder is divided between the pairs by the square of half the round trip plus one tick,
 * however far apart their clocks are. The fourth clock is heard but hears nothing, so it stays
 * where it is.
 */
static void test_constants_weigh_round_trips(void)
{
    enum { CLOCKS = 4, PAIRS = 3, CELLS = 12, SPAN = 1000000, MISSING = 1000 };
    static const struct {
        uint32_t a, b;
        int64_t apart, half;
    } talks[PAIRS] = {{0, 1, 2000, 10}, {1, 2, 3000, 40}, {0, 2, 5000 - MISSING, 100}};
    struct least_delays d;
    double constants[CLOCKS];
    double squares = 0;
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN);
    for (int i = 0; i < PAIRS; i++) {
        ictusi_delays_add(&d, talks[i].a, talks[i].b, SPAN / 2, talks[i].half + talks[i].apart);
        ictusi_delays_add(&d, talks[i].b, talks[i].a, SPAN / 2, talks[i].half - talks[i].apart);
        squares += (double)((talks[i].half + 1) * (talks[i].half + 1));
    }
    ictusi_delays_add(&d, 3, 0, SPAN / 2, 70000);
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(d.pair_count == PAIRS + 1);
    CHECK(ictusi_delays_half_trip(&d, &d.pairs[0]) == 10); /* 0 and 1 */
    CHECK(ictusi_delays_half_trip(&d, &d.pairs[1]) == 100);
    CHECK(ictusi_delays_half_trip(&d, &d.pairs[2]) < 0); /* 0 and 3 */
    CHECK(ictusi_delays_half_trip(&d, &d.pairs[3]) == 40);
    REQUIRE(!ictusi_delays_constants(&d, constants));
    CHECK_NEAR(constants[0] - constants[1], 2000 - MISSING * 11 * 11 / squares, 1e-6);
    CHECK_NEAR(constants[1] - constants[2], 3000 - MISSING * 41 * 41 / squares, 1e-6);
    CHECK(constants[3] == 0);
    ictusi_delays_fini(&d);
}

/* Knots are joined by straight lines, of which the first and last extend beyond the knots. */
static void test_between_knots(void)
{
    enum { CLOCKS = 2, KNOTS = 5 };
    static const double phi[KNOTS] = {3, 1, 4, -1, 9};
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, CLOCKS, KNOTS, 1e6));
    for (uint32_t k = 0; k < KNOTS; k++) {
        m.phi[k] = phi[k];
        m.phi[KNOTS + k] = 1000 - phi[k];
    }
    for (uint32_t k = 0; k < KNOTS; k++) {
        CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 0, k), phi[k], 1e-12);
        CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 1, k), 1000 - phi[k], 1e-9);
    }
    for (uint32_t k = 0; k + 1 < KNOTS; k++) {
        const double quarter = phi[k] + (phi[k + 1] - phi[k]) / 4;
        CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 0, k + 0.25), quarter, 1e-12);
        CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 1, k + 0.25), 1000 - quarter, 1e-9);
    }
    CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 0, -1.5), 3 + 1.5 * 2, 1e-12);
    CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 0, KNOTS - 1 + 0.5), 9 + 0.5 * 10, 1e-12);
    CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 0, KNOTS - 1 + 2.5), 9 + 2.5 * 10, 1e-12);
    CHECK_NEAR(ictusi_clock_model_at(&m, m.phi, 1, -0.5), 1000 - 3 - 0.5 * 2, 1e-9);
    ictusi_clock_model_fini(&m);
}

/* What one observation shows and the next does not still bounds the clocks, and moves with them. */
static void test_bounds_stay(void)
{
    enum { CLOCKS = 3, KNOTS = 2, CELLS = 12, SECOND = 1000000000 };
    struct least_delays d;
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, CLOCKS, KNOTS, SECOND * 1e-3));
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SECOND);
    ictusi_delays_add(&d, 0, 1, SECOND / 2, -5000);
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
    CHECK(m.news == 1 && m.pair_count == 1 && m.pairs[0].now[0]);
    CHECK_NEAR(m.pairs[0].delays[0][0].y, -5, 1e-6);
    m.phi[KNOTS] = -6;
    m.phi[KNOTS + 1] = -6;
    ictusi_delays_begin(&d, NULL, 0, SECOND);
    ictusi_delays_add(&d, 2, 1, SECOND / 2, 1000);
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
    REQUIRE(m.pair_count == 2 && m.pairs[0].counts[0] == 1 && m.pairs[1].counts[1] == 1);
    CHECK(m.news == 0 && !m.pairs[0].now[0] && m.pairs[1].now[1]);
    CHECK_NEAR(m.pairs[0].delays[0][0].seen, 1, 1e-6);
    CHECK_NEAR(m.pairs[0].delays[0][0].y, -5, 1e-6);
    CHECK_NEAR(m.pairs[1].delays[1][0].y, -5, 1e-6);
    ictusi_clock_model_fini(&m);
    ictusi_delays_fini(&d);
}

/* An earlier observation says nothing about waits, and does not pull clocks towards it. */
static void test_bounds_only(void)
{
    enum { KNOTS = 2, CELLS = 48, CELL = 1000000, LENGTH = CELLS * CELL };
    const struct model_walk lines = {.strength = 0};
    struct least_delays d;
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, 2, KNOTS, LENGTH * 1e-3));
    REQUIRE(!ictusi_delays_init(&d, NULL, 2, CELLS));
    for (int look = 0; look < 2; look++) {
        ictusi_delays_begin(&d, NULL, 0, LENGTH);
        for (int c = 0; c < CELLS; c++) {
            const int64_t at = (int64_t)c * CELL + CELL / 2;
            const int64_t wait = c * 7 % 5 * (int64_t)100;
            if (look == 0) { /* all waited for another clock that was late */
                ictusi_delays_add(&d, 0, 1, at, 100000 + 100 * wait);
            } else if (c % 3 == 0) {
                ictusi_delays_add(&d, 0, 1, at, 1000 + wait);
                ictusi_delays_add(&d, 1, 0, at, 1000 + wait);
            }
        }
        REQUIRE(!ictusi_delays_finish(&d, NULL));
        REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
    }
    CHECK(m.pairs[0].counts[0] == CELLS && m.pairs[0].now[0] == CELLS / 3);
    REQUIRE(!ictusi_clock_model_solve(&m, &lines, -1, 12, true));
    REQUIRE(!ictusi_clock_model_errors(&m, &lines));
    CHECK_NEAR(m.phi[2] - m.phi[0], 0, 0.2);
    CHECK_NEAR(m.phi[3] - m.phi[1], 0, 0.2);
    CHECK(m.pairs[0].spread[0] < 1 && m.error[2] < 2 && m.error[3] < 2);
    ictusi_clock_model_fini(&m);
    ictusi_delays_fini(&d);
}

/*
 * If all pairs take a little longer one way, the error at the far end of a chain is the sum of
 * these asymmetries. The stated error covers that, although what each pair shows about its two
 * clocks is right.
 */
static void test_lean_chain(void)
{
    enum { CHAIN = 400, KNOTS = 2, CELLS = 12, CELL = 1000000, LENGTH = CELLS * CELL, LEAN = 40 };
    const struct model_walk lines = {.strength = 0};
    struct least_delays d;
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, CHAIN, KNOTS, LENGTH * 1e-3));
    REQUIRE(!ictusi_delays_init(&d, NULL, CHAIN, CELLS));
    ictusi_delays_begin(&d, NULL, 0, LENGTH);
    for (uint32_t i = 0; i < (CHAIN - 1) * CELLS; i++) {
        const uint32_t u = i / CELLS;
        const int64_t at = (int64_t)(i % CELLS) * CELL + CELL / 2;
        const int64_t wait = i * 7 % 5 * (int64_t)100;
        ictusi_delays_add(&d, u, u + 1, at, 1000 + LEAN + wait);
        ictusi_delays_add(&d, u + 1, u, at, 1000 - LEAN + wait);
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
    REQUIRE(!ictusi_clock_model_solve(&m, &lines, -1, 12, true));
    REQUIRE(!ictusi_clock_model_errors(&m, &lines));
    uint32_t covered = 0;
    for (uint32_t i = 0; i < CHAIN * KNOTS; i++) {
        covered += fabs(m.phi[i] - m.phi[i % KNOTS]) <= m.error[i];
    }
    CHECK(covered >= CHAIN * KNOTS * 93 / 100);
    /* Errors are relative to the clock that shows the time, which itself has none. */
    CHECK(m.error[0] < m.error[KNOTS] && m.error[KNOTS] < m.error[(CHAIN - 1) * KNOTS] / 10);
    ictusi_clock_model_fini(&m);
    ictusi_delays_fini(&d);
}

/*
 * Messages one way only contradict the second clock by 100 us, and nothing else. It is mended; the
 * third clock, which nothing contradicts, stays where it is relative to the clock that shows the
 * time.
 */
static void test_others_stay(void)
{
    enum { CLOCKS = 3, KNOTS = 2, CELLS = 12, CELL = 1000000, LENGTH = CELLS * CELL };
    const struct model_walk lines = {.strength = 0};
    struct least_delays d;
    struct clock_model m;
    REQUIRE(!ictusi_clock_model_init(&m, CLOCKS, KNOTS, LENGTH * 1e-3));
    REQUIRE(!ictusi_delays_init(&d, NULL, CLOCKS, CELLS));
    ictusi_delays_begin(&d, NULL, 0, LENGTH);
    for (int64_t c = 0; c < CELLS; c++) {
        const int64_t at = c * CELL + CELL / 2;
        const int64_t wait = c * 7 % 5 * 100;
        ictusi_delays_add(&d, 0, 1, at, -100000 + wait);
        ictusi_delays_add(&d, 1, 2, at, 900000 + wait);
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL));
    REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
    REQUIRE(!ictusi_clock_model_solve(&m, &lines, -1, 12, true));
    for (int k = 0; k < KNOTS; k++) {
        CHECK_NEAR(m.phi[KNOTS + k] - m.phi[k], -100, 2);
        CHECK_NEAR(m.phi[2 * KNOTS + k] - m.phi[k], 0, 2);
    }
    ictusi_clock_model_fini(&m);
    ictusi_delays_fini(&d);
}

/*
 * Trips of 1.1 us each way, but one bound broken by a jump holds both D down to 0. The clocks may
 * then be off by as much as a trip takes: nothing tells which way the delays that are left belong
 * to. Where no bound is broken they tell as much as ever.
 */
static void test_held_down(void)
{
    enum { KNOTS = 2, CELLS = 12, CELL = 1000000, LENGTH = CELLS * CELL };
    const struct model_walk lines = {.strength = 0};
    double errors[2];
    for (int broken = 0; broken < 2; broken++) {
        struct least_delays d;
        struct clock_model m;
        REQUIRE(!ictusi_clock_model_init(&m, 2, KNOTS, LENGTH * 1e-3));
        REQUIRE(!ictusi_delays_init(&d, NULL, 2, CELLS));
        ictusi_delays_begin(&d, NULL, 0, LENGTH);
        for (int c = 0; c < CELLS; c++) {
            const int64_t at = (int64_t)c * CELL + CELL / 2;
            ictusi_delays_add(&d, 0, 1, at, broken && c == 5 ? -300 : 50);
            ictusi_delays_add(&d, 1, 0, at, 2150);
        }
        REQUIRE(!ictusi_delays_finish(&d, NULL));
        REQUIRE(!ictusi_clock_model_see(&m, &d, 1e-3));
        m.pairs[0].least[0] = m.pairs[0].least[1] = -0.005;
        CHECK(model_contradicts(&m, &m.pairs[0]) == broken);
        REQUIRE(!ictusi_clock_model_errors(&m, &lines));
        errors[broken] = m.error[KNOTS];
        ictusi_clock_model_fini(&m);
        ictusi_delays_fini(&d);
    }
    CHECK(errors[1] > 1.1 && errors[1] > 2 * errors[0]);
}

enum { MANY = CHECK_SANITIZED ? 200 : 1000, SPAN_NS = 1000000000, TALKS = 3 };

static double true_ns(uint32_t clock, double position)
{
    const double offset = (double)((clock * 7919U) % 1000) - 500;
    const double drift = (double)((clock * 104729U) % 1000) - 500;
    return clock == 0 ? 0 : 100 * offset + 200 * drift * position;
}

/* Each clock exchanges messages both ways with the next one and two random ones, with waits. */
struct network_source {
    struct clock_source source; /* first member */
    struct least_delays delays;
};

static int on_network(struct clock_source *source, struct clock_model *model)
{
    struct network_source *network = (struct network_source *)source;
    struct least_delays *d = &network->delays;
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    ictusi_delays_begin(d, NULL, 0, SPAN_NS);
    for (uint32_t i = 0; i < MANY * TALKS; i++) {
        const uint32_t a = i / TALKS;
        const uint32_t hop = i % TALKS ? 1 + (uint32_t)ictusi_random_below(&rng, MANY - 1) : 1;
        const uint32_t b = (a + hop) % MANY;
        for (uint32_t k = 0; k < 2 * d->cells; k++) {
            const uint32_t from = k % 2 ? b : a;
            const uint32_t to = k % 2 ? a : b;
            const uint32_t cell = k / 2;
            const double at = (cell + ictusi_random_uniform(&rng)) / d->cells;
            const double wait = 500 * ictusi_random_exponential(&rng);
            const double fitted = ictusi_clock_model_at(model, model->phi, to, at) -
                                  ictusi_clock_model_at(model, model->phi, from, at);
            const int64_t delay =
                (int64_t)(1000 + wait + true_ns(to, at) - true_ns(from, at) - fitted * 1000);
            ictusi_delays_add(d, from, to, (int64_t)(at * SPAN_NS) + delay / 2, delay);
        }
    }
    REQUIRE(!ictusi_delays_finish(d, NULL));
    return ictusi_clock_model_see(model, d, 1e-3);
}

static void test_thousand_clocks(void)
{
    enum { KNOTS = 2, CELLS = 12 };
    struct network_source network = {.source = {on_network}};
    struct clock_model model;
    struct clock_choice choice;
    REQUIRE(!ictusi_clock_model_init(&model, MANY, KNOTS, SPAN_NS * 1e-3));
    REQUIRE(!ictusi_delays_init(&network.delays, NULL, MANY, CELLS));
    REQUIRE(!ictusi_clock_choice_run(&model, &network.source, &choice));
    ictusi_clock_model_align(&model);
    CHECK(choice.kind == CLOCKS_LINES);
    uint32_t covered = 0;
    double squares = 0;
    for (uint32_t i = KNOTS; i < MANY * KNOTS; i++) {
        const uint32_t clock = i / KNOTS;
        const uint32_t knot = i % KNOTS;
        const double off = model.phi[i] - true_ns(clock, knot) * 1e-3;
        squares += off * off;
        covered += fabs(off) <= model.error[i];
        CHECK(model.error[i] < 2);
    }
    /* Delays scatter by half a microsecond, and a clock has dozens of them. */
    CHECK(sqrt(squares / (KNOTS * (MANY - 1))) < 0.3);
    CHECK(covered > 0.9 * KNOTS * (MANY - 1));
    ictusi_clock_choice_fini(&choice);
    ictusi_clock_model_fini(&model);
    ictusi_delays_fini(&network.delays);
}

int main(void)
{
    test_gradients();
    test_coarser_cells();
    test_constants_weigh_round_trips();
    test_between_knots();
    test_bounds_stay();
    test_bounds_only();
    test_lean_chain();
    test_others_stay();
    test_held_down();
    test_thousand_clocks();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What errors of clocks are stated, against what follows from the model by hand: what chance
 * leaves, which clock shows the time, bounds that are broken, bends, offsets, and messages that
 * take longer one way.
 */
#include "../check.h"

#include "causality/clock_model.h"
#include "causality/clock_normal.h"
#include "causality/clock_private.h"
#include "core/random.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { CELLS = 40, SPAN = 400000, PATH_NS = 400 };

static const struct model_walk lines = {.strength = 0};
static const struct model_walk walk = {.strength = 1e-4};

static void model_open(struct clock_model *m, uint32_t clocks, uint32_t knots, uint32_t reference)
{
    REQUIRE(!ictusi_clock_model_init(m, clocks, knots, SPAN));
    m->reference = reference;
}

/* Each clock talks to the next one, or all to the first one, both ways in these cells. */
static void model_talk(struct clock_model *m, bool star, uint32_t cells, int64_t wait_ns)
{
    struct least_delays d;
    REQUIRE(!ictusi_delays_init(&d, NULL, m->clocks, CELLS));
    ictusi_delays_begin(&d, NULL, 0, SPAN * INT64_C(1000));
    for (uint32_t i = 0; i < (m->clocks - 1) * cells; i++) {
        const uint32_t far = 1 + i / cells;
        const uint32_t near = star ? 0 : far - 1;
        const uint32_t c = i % cells;
        const int64_t time = (2 * (int64_t)c + 1) * SPAN * 1000 / (2L * CELLS);
        /* Waits are alike seen from either end of the time, and from either clock. */
        const int64_t wait = wait_ns * (c < CELLS - 1 - c ? c % 4 : (CELLS - 1 - c) % 4);
        ictusi_delays_add(&d, near, far, time, PATH_NS + wait);
        ictusi_delays_add(&d, far, near, time, PATH_NS + wait);
    }
    REQUIRE(!ictusi_delays_finish(&d, NULL) && !ictusi_clock_model_see(m, &d, 1e-3));
    ictusi_delays_fini(&d);
    for (uint64_t i = 0; i < m->pair_count; i++) {
        m->pairs[i].least[0] = m->pairs[i].least[1] = PATH_NS * 1e-3;
    }
}

static double error_at(const struct clock_model *m, uint32_t clock, uint32_t knot)
{
    return m->error[(uint64_t)clock * m->knots + knot];
}

/* What is left of an error without the scatter that every clock has. */
static double error_beyond(const struct clock_model *m, uint32_t clock, uint32_t knot)
{
    const double error = error_at(m, clock, knot);
    return sqrt(fmax(0, error * error - MODEL_SCATTER * MODEL_SCATTER));
}

/*
 * Of two clocks each is as far off as the other if that shows the time, and half as far if the mean
 * of both does. The end is known as well as the beginning. A walk may be farther off than lines.
 */
static void two_clocks_err_alike(void)
{
    enum { KNOTS = 9 };
    double straight[KNOTS];
    for (int wanders = 0; wanders < 2; wanders++) {
        struct clock_model m[3]; /* the first, the second, both show the time */
        for (uint32_t i = 0; i < 3; i++) {
            model_open(&m[i], 2, KNOTS, i % 2);
            m[i].mean_is_time = i == 2;
            model_talk(&m[i], false, CELLS, 700);
            for (int again = 0; again < 2; again++) { /* each time anew */
                REQUIRE(!ictusi_clock_model_errors(&m[i], wanders ? &walk : &lines));
            }
        }
        for (uint32_t k = 0; k < KNOTS; k++) {
            const double one = error_beyond(&m[0], 1, k);
            CHECK_NEAR(error_beyond(&m[0], 0, k), 0, 1e-3);
            CHECK_NEAR(error_beyond(&m[1], 1, k), 0, 1e-3);
            CHECK_NEAR(error_beyond(&m[1], 0, k), one, 1e-3 * one);
            CHECK_NEAR(error_beyond(&m[2], 0, k), one / 2, 1e-3 * one);
            CHECK_NEAR(error_beyond(&m[2], 1, k), one / 2, 1e-3 * one);
            CHECK_NEAR(error_beyond(&m[0], 1, KNOTS - 1 - k), one, 1e-3 * one);
            CHECK(!wanders || error_at(&m[0], 1, k) > 1.2 * straight[k]);
            straight[k] = error_at(&m[0], 1, k);
        }
        for (int i = 0; i < 3; i++) {
            ictusi_clock_model_fini(&m[i]);
        }
    }
}

/* Drawn, too, whichever clock shows the time. */
static void many_clocks_err_alike(void)
{
    enum { KNOTS = 2, MANY = NORMAL_DENSE_MAX + 1 };
    struct clock_model two;
    struct clock_model star;
    model_open(&two, 2, KNOTS, 1);
    model_open(&star, MANY, KNOTS, 1);
    model_talk(&two, true, CELLS, 700);
    model_talk(&star, true, CELLS, 700);
    REQUIRE(!ictusi_clock_model_errors(&two, &lines));
    REQUIRE(!ictusi_clock_model_errors(&star, &lines));
    for (uint32_t k = 0; k < KNOTS; k++) { /* within four standard deviations of 64 draws */
        CHECK_NEAR(error_at(&star, 0, k) / error_at(&two, 0, k), 1, 0.36);
        CHECK(error_beyond(&star, 1, k) < 1e-3);
    }
    ictusi_clock_model_fini(&two);
    ictusi_clock_model_fini(&star);
}

/*
 * Along a chain, messages that take a scatter longer one way than back move each clock a scatter
 * farther, at all times alike, wherever the messages are. The rest is chance, which is small.
 */
static void chains_lean(void)
{
    enum { CHAIN = 60, KNOTS = 3 };
    for (uint32_t cells = CELLS / 2; cells <= CELLS; cells += CELLS / 2) {
        for (int mean = 0; mean < 2; mean++) {
            struct clock_model m;
            model_open(&m, CHAIN, KNOTS, mean ? CHAIN / 2 : 0);
            m.mean_is_time = mean;
            model_talk(&m, false, cells, 0);
            REQUIRE(!ictusi_clock_model_errors(&m, &lines));
            for (uint32_t k = 0; k < (cells < CELLS ? 2 : KNOTS); k++) {
                for (uint32_t u = 0; u < CHAIN; u += CHAIN - 1) {
                    const double hops = mean ? (CHAIN - 1) / 2.0 : u;
                    const double lean = hops * MODEL_SCATTER;
                    CHECK(error_beyond(&m, u, k) >= lean * (1 - 1e-3));
                    CHECK(error_beyond(&m, u, k) <= lean * 1.15 + 1e-3);
                }
                CHECK(!mean || fabs(error_at(&m, 0, k) - error_at(&m, CHAIN - 1, k)) < 1e-3);
            }
            ictusi_clock_model_fini(&m);
        }
    }
}

/* By this much the bound of a pair and a direction is broken that is first after a position. */
static void bound_break(struct clock_model *m, uint32_t pair, int way, double position, double miss)
{
    uint32_t k = 0;
    while (m->pairs[pair].delays[way][k].position < position) {
        k++;
    }
    m->pairs[pair].delays[way][k].y -= miss + 2 * MODEL_SCATTER;
}

/*
 * A broken bound: by more than two scatters, its excess is added at the knots around it, and at the
 * next ones, for both of its clocks and for nobody else.
 */
static void broken_bounds_are_added(void)
{
    enum { CLOCKS = 4, KNOTS = 7, PLACES = KNOTS - 1 };
    static double errors[PLACES][CLOCKS][KNOTS];
    static const double miss = 0.5;
    for (uint32_t i = 0; i < 2 * (CLOCKS - 1); i++) {
        const uint32_t pair = i / 2;
        for (uint32_t p = 0; p < PLACES; p++) {
            struct clock_model m;
            model_open(&m, CLOCKS, KNOTS, 0);
            model_talk(&m, false, CELLS, 0);
            bound_break(&m, pair, (int)(i % 2), p, miss);
            REQUIRE(!ictusi_clock_model_errors(&m, &lines));
            memcpy(errors[p], m.error, sizeof errors[p]);
            ictusi_clock_model_fini(&m);
        }
        for (uint32_t cell = 0; cell < PLACES * CLOCKS * KNOTS; cell++) {
            const uint32_t p = cell / (CLOCKS * KNOTS);
            const uint32_t u = cell / KNOTS % CLOCKS;
            const uint32_t k = cell % KNOTS;
            const uint32_t elsewhere = k < KNOTS / 2 ? PLACES - 1 : 0;
            const bool near = k + 1 >= p && k <= p + 2 && (u == pair || u == pair + 1);
            CHECK_NEAR(errors[p][u][k] - errors[elsewhere][u][k], near ? miss : 0, 1e-9);
        }
    }
}

/* Of several broken bounds of a clock the largest excess counts, whichever comes first. */
static void largest_excess_counts(void)
{
    enum { CLOCKS = 3, KNOTS = 3 };
    static const double misses[][4] = {{0.5, 0, 0, 0},   {0.2, 0.5, 0, 0}, {0.5, 0.2, 0, 0},
                                       {0.5, 0, 0.2, 0}, {0.2, 0, 0, 0.5}, {0.5, 0.4, 0.3, 0.2}};
    for (size_t c = 0; c < sizeof misses / sizeof *misses; c++) {
        struct clock_model m;
        model_open(&m, CLOCKS, KNOTS, 0);
        model_talk(&m, false, CELLS, 0);
        double largest[CLOCKS] = {0};
        for (uint32_t i = 0; i < 4; i++) {
            if (misses[c][i] > 0) {
                bound_break(&m, i / 2, (int)(i % 2), 1, misses[c][i]);
            }
            largest[i / 2] = fmax(largest[i / 2], misses[c][i]);
            largest[i / 2 + 1] = fmax(largest[i / 2 + 1], misses[c][i]);
        }
        REQUIRE(!ictusi_clock_model_errors(&m, &lines));
        for (uint32_t u = 0; u < CLOCKS; u++) {
            CHECK(error_at(&m, u, 1) >= largest[u] + MODEL_SCATTER - 1e-9);
        }
        CHECK_NEAR(error_at(&m, 0, 1), largest[0] + MODEL_SCATTER, 1e-3);
        ictusi_clock_model_fini(&m);
    }
}

/* A bound beyond the ends, which a clock that was far off shows, says something about the end. */
static void bounds_beyond_the_end_are_added(void)
{
    enum { KNOTS = 5 };
    static const double positions[] = {-3, -0.5, KNOTS - 1, KNOTS - 0.5, KNOTS + 3};
    for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
        struct clock_model m;
        model_open(&m, 2, KNOTS, 0);
        model_talk(&m, false, CELLS, 0);
        m.pairs[0].delays[0][0].position = positions[i];
        m.pairs[0].delays[0][0].y -= 0.5 + 2 * MODEL_SCATTER;
        REQUIRE(!ictusi_clock_model_errors(&m, &lines));
        const bool begins = positions[i] < 1;
        for (uint32_t k = 0; k < KNOTS; k++) { /* of the clock that shows the time */
            const bool near = begins ? k <= 2 : k >= KNOTS - 2;
            CHECK_NEAR(error_at(&m, 0, k), (near ? 0.5 : 0) + MODEL_SCATTER, 1e-3);
        }
        ictusi_clock_model_fini(&m);
    }
}

/* A quarter of the bends within eight knots (root mean square), or of the knot's own, is added. */
static double bend_wanted(const struct clock_model *m, uint32_t clock, uint32_t knot)
{
    const int last = (int)m->knots - 2;
    const int inner = knot < 1 ? 1 : (int)knot > last ? last : (int)knot;
    double squares = 0;
    double own = 0;
    int count = 0;
    for (int k = 1; k <= last; k++) {
        double bend = 0;
        for (int i = -1; i <= 1; i++) {
            double time = 0;
            for (uint32_t u = 0; u < m->clocks; u++) {
                const double phi = m->phi[u * m->knots + (uint32_t)(k + i)];
                time += m->mean_is_time ? phi / m->clocks : u == m->reference ? phi : 0;
            }
            bend += (i ? 1 : -2) * (m->phi[clock * m->knots + (uint32_t)(k + i)] - time);
        }
        own = k == inner ? fabs(bend) : own;
        if (k >= inner - 8 && k <= inner + 8) {
            squares += bend * bend;
            count++;
        }
    }
    return fmax(own, sqrt(squares / count)) / 4;
}

static void bends_are_added(void)
{
    enum { CLOCKS = 3 };
    struct rng rng;
    ictusi_random_seed(&rng, 3, 0);
    for (uint32_t knots = 2; knots < 40; knots += knots < 4 ? 1 : 5) {
        for (int mean = 0; mean < 2; mean++) {
            struct clock_model straight;
            struct clock_model bent;
            model_open(&straight, CLOCKS, knots, 1);
            model_open(&bent, CLOCKS, knots, 1);
            straight.mean_is_time = bent.mean_is_time = mean;
            double wanted[CLOCKS * 40];
            for (uint32_t i = 0; i < CLOCKS * knots; i++) {
                bent.phi[i] = 100 * ictusi_random_normal(&rng);
            }
            for (uint32_t i = 0; i < CLOCKS * knots; i++) {
                wanted[i] = knots > 2 ? bend_wanted(&bent, i / knots, i % knots) : 0;
            }
            REQUIRE(!ictusi_clock_model_errors(&straight, &lines));
            REQUIRE(!ictusi_clock_model_errors(&bent, &lines));
            for (uint32_t i = 0; i < CLOCKS * knots; i++) {
                const double more = wanted[i];
                const double square = bent.error[i] * bent.error[i];
                CHECK_NEAR(square - straight.error[i] * straight.error[i], more * more,
                           1e-6 * square);
            }
            ictusi_clock_model_fini(&straight);
            ictusi_clock_model_fini(&bent);
        }
    }
}

/*
 * The error of a clock that is known by offsets of 4 us alone, each of which deviates by this many
 * standard deviations to either side. It takes up one of them with its level; two clocks that talk
 * take up none.
 */
static double offsets_leave(uint32_t silent, uint32_t count, double deviations)
{
    struct clock_model m;
    model_open(&m, 3, 2, 1);
    model_talk(&m, true, CELLS, 0);
    m.pair_count = 1; /* one clock talks to nobody */
    m.pairs[0].a = silent == 0;
    m.pairs[0].b = silent == 2 ? 1 : 2;
    for (uint32_t u = 0; u < 3; u++) {
        m.degree[u] = u != silent;
    }
    m.offsets = calloc(count, sizeof *m.offsets);
    REQUIRE(m.offsets);
    m.offset_count = count;
    for (uint32_t i = 0; i < count; i++) {
        m.offsets[i] = (struct model_offset){
            .clock = silent, .position = 0.5, .value = (i % 2 ? 4 : -4) * deviations, .sd = 4};
    }
    REQUIRE(!ictusi_clock_model_errors(&m, &lines));
    /* Nothing is known of its rate but that of crystals, which is as good at both ends. */
    const double drift = 50e-6 * SPAN;
    const double error = error_beyond(&m, silent, 0);
    CHECK_NEAR(error_beyond(&m, silent, 1), error, 1e-9 * error);
    ictusi_clock_model_fini(&m);
    return sqrt(error * error - drift * drift); /* twice half of the drift */
}

static void offsets_are_doubted(void)
{
    for (uint32_t count = 2; count <= 10; count += 4) {
        for (double k = 0; k < 6; k += 0.5) {
            const double doubt2 = fmax(1, count * k * k / (count - 1));
            const double wanted = 2 * 4 * sqrt((doubt2 + k * k / 2) / count);
            CHECK_NEAR(offsets_leave(0, count, k), wanted, 2e-3 * wanted);
            CHECK_NEAR(offsets_leave(2, count, k), wanted, 2e-3 * wanted);
        }
    }
}

/*
 * Half way between two offsets without errors, a frequency that walks by q in the root of a second
 * is off by half of what a second difference scatters by, 2/3 q^2 h^3.
 */
static void walks_wander(void)
{
    double factors[] = {1, 3};
    const struct model_walk kinds[] = {{.strength = 1e-3},
                                       {.strength = 2e-3},
                                       {.strength = 1e-3, .apart = true, .factor = factors}};
    const double times[] = {sqrt(2), 2 * sqrt(2), sqrt(1 + 9)}; /* both clocks walk */
    for (int i = 0; i < 3; i++) {
        struct clock_model m;
        model_open(&m, 2, 3, 0);
        m.offset_count = 2;
        m.offsets = calloc(2, sizeof *m.offsets);
        REQUIRE(m.offsets);
        m.offsets[0] = (struct model_offset){.clock = 1, .position = 0, .sd = 1e-2};
        m.offsets[1] = (struct model_offset){.clock = 1, .position = 2, .sd = 1e-2};
        REQUIRE(!ictusi_clock_model_errors(&m, &kinds[i]));
        const double wanted = times[i] * 1e-3 * pow(SPAN * 0.5e-6, 1.5) * sqrt(2 / 3.0) * 1e6;
        CHECK_NEAR(error_beyond(&m, 1, 1), wanted, 0.02 * wanted);
        ictusi_clock_model_fini(&m);
    }
}

int main(void)
{
    two_clocks_err_alike();
    many_clocks_err_alike();
    chains_lean();
    broken_bounds_are_added();
    largest_excess_counts();
    bounds_beyond_the_end_are_added();
    bends_are_added();
    offsets_are_doubted();
    walks_wander();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts on series of known truth. */
#include "bench/guideline.h"

#include <ictus/error.h>

#include <math.h>
#include <stdint.h>

#include "../check.h"

enum { ROUNDS = 15, EACH = 20 };

static const struct guideline_limits limits = {0.05, 0.05, 100};

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Rounds whose level jumps up to three times, as on a machine that moves its cores about. */
static void make(struct guideline_series *series, double scale, uint64_t seed, uint64_t levels)
{
    double values[EACH];
    REQUIRE(!guideline_series_init(series));
    for (int round = 0; round < ROUNDS; round++) {
        const double level = 1e-6 * (1.0 + 2.0 * uniform(&levels));
        for (int i = 0; i < EACH; i++) {
            values[i] = scale * level * (1.0 + 0.2 * uniform(&seed));
        }
        REQUIRE(!guideline_series_add(series, values, EACH));
    }
}

static struct guideline_result compare(double scale, uint64_t seed)
{
    struct guideline_series a;
    struct guideline_series b;
    struct guideline_result result;
    make(&a, scale, seed, 99);
    make(&b, 1.0, seed + 1000, 99);
    CHECK(!guideline_compare(&a, &b, &limits, &result));
    guideline_series_fini(&a);
    guideline_series_fini(&b);
    return result;
}

static void truth_is_found(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct guideline_result slower = compare(1.3, seed);
        CHECK(slower.state == GUIDELINE_VIOLATED);
        CHECK_NEAR(slower.factor, 1.3, 0.06);
        CHECK(slower.low <= slower.factor && slower.factor <= slower.high);
        CHECK(slower.p_adjusted < 0.05 && slower.rounds == ROUNDS);
        const struct guideline_result faster = compare(0.7, seed);
        CHECK(faster.state == GUIDELINE_HOLDS && faster.p > 0.999);
        /* Surely slower, but by less than is tolerated. */
        CHECK(compare(1.02, seed).state == GUIDELINE_HOLDS);
    }
}

/* With nothing to find, p is uniform: about one in ten below a tenth. */
static void chance_is_told(void)
{
    int below = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        const struct guideline_result equal = compare(1.0, 7 * seed);
        below += equal.p < 0.1;
        CHECK(equal.state != GUIDELINE_VIOLATED);
    }
    CHECK(below > 20 && below < 65);
}

/* One round, counted by hand. */
static void by_hand(void)
{
    const double a[] = {3, 5, 6};
    const double b[] = {1, 2, 4};
    struct guideline_series one;
    struct guideline_series other;
    struct guideline_result result;
    REQUIRE(!guideline_series_init(&one) && !guideline_series_init(&other));
    REQUIRE(!guideline_series_add(&one, a, 3) && !guideline_series_add(&other, b, 3));
    CHECK(!guideline_compare(&one, &other, &limits, &result));
    /* Rank sum 14, expected 10.5, variance 9 / 12 * 7. */
    CHECK_NEAR(result.p, 0.5 * erfc((14 - 10.5) / sqrt(5.25) / sqrt(2.0)), 1e-12);
    CHECK_NEAR(result.factor, 2.5, 1e-12);
    CHECK(result.state == GUIDELINE_OPEN && result.p_adjusted == 1.0);
    guideline_series_fini(&one);
    guideline_series_fini(&other);
}

static void empty_rounds_do_not_count(void)
{
    const double a[] = {2, 2, 2};
    const double b[] = {1, 1, 1};
    struct guideline_series one;
    struct guideline_series other;
    struct guideline_result result;
    REQUIRE(!guideline_series_init(&one) && !guideline_series_init(&other));
    REQUIRE(!guideline_series_add(&one, NULL, 0) && !guideline_series_add(&other, b, 3));
    CHECK(guideline_compare(&one, &other, &limits, &result) == ICTUS_ERR_SAMPLES);
    REQUIRE(!guideline_series_add(&one, a, 3) && !guideline_series_add(&other, b, 3));
    CHECK(!guideline_compare(&one, &other, &limits, &result));
    CHECK(result.rounds == 1 && result.factor == 2.0);
    /* All values alike in both: no variance, no verdict. */
    guideline_series_fini(&one);
    REQUIRE(!guideline_series_init(&one));
    REQUIRE(!guideline_series_add(&one, b, 3));
    CHECK(!guideline_compare(&one, &other, &limits, &result));
    CHECK(result.p == 1.0 && result.factor == 1.0 && result.state == GUIDELINE_HOLDS);
    guideline_series_fini(&one);
    guideline_series_fini(&other);
}

int main(void)
{
    truth_is_found();
    chance_is_told();
    by_hand();
    empty_rounds_do_not_count();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Verdicts on series with known truth. */
#include "bench/guideline.h"

#include <ictus/error.h>

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "../check.h"

enum { ROUNDS = 15, EACH = 20 };

static const struct guideline_limits limits = {0.05, 0.05, 100, 0.0, TURNS_UNKNOWN};
static const struct guideline_limits assuming = {0.05, 0.05, 100, 0.12, TURNS_UNKNOWN};

static double uniform(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(*state >> 11) / 9007199254740992.0;
}

/*
 * Rounds whose level jumps up to three times, as on a machine that moves processes between cores.
 */
static void make(struct turns *series, double scale, uint64_t seed, uint64_t levels)
{
    double values[EACH];
    REQUIRE(!turns_init(series));
    for (int round = 0; round < ROUNDS; round++) {
        const double level = 1e-6 * (1.0 + 2.0 * uniform(&levels));
        for (int i = 0; i < EACH; i++) {
            values[i] = scale * level * (1.0 + 0.2 * uniform(&seed));
        }
        REQUIRE(!turns_add(series, values, EACH));
    }
}

static struct guideline_result compare(double scale, uint64_t seed,
                                       const struct guideline_limits *how)
{
    struct turns a;
    struct turns b;
    struct guideline_result result;
    make(&a, scale, seed, 99);
    make(&b, 1.0, seed + 1000, 99);
    CHECK(!guideline_compare(&a, &b, how, &result));
    turns_fini(&a);
    turns_fini(&b);
    return result;
}

static void truth_is_found(void)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        const struct guideline_result slower = compare(1.3, seed, &limits);
        const struct turns_verdict *v = &slower.verdict;
        CHECK(slower.state == GUIDELINE_VIOLATED);
        CHECK_NEAR(v->factor, 1.3, 0.06);
        CHECK(slower.median_s > 1e-6 * 1.3 && slower.median_s < 3 * 1.2e-6 * 1.3);
        CHECK_NEAR(slower.median_s / slower.against_s, 1.3, 0.3);
        CHECK(v->low <= v->factor && v->factor <= v->high);
        CHECK(slower.p_adjusted < 0.05 && slower.ratio.rounds == ROUNDS);
        const struct guideline_result faster = compare(0.7, seed, &limits);
        CHECK(faster.state == GUIDELINE_HOLDS && faster.verdict.p > 0.999);
        /* Certainly slower, but within the tolerance. */
        CHECK(compare(1.02, seed, &limits).state == GUIDELINE_HOLDS);
        /* One launch says nothing about how the next one may differ. */
        CHECK(compare(1.3, seed, &assuming).state == GUIDELINE_OPEN);
        CHECK(compare(2.0, seed, &assuming).state == GUIDELINE_VIOLATED);
    }
}

/* Without a difference p is uniform: about one in ten is below 0.1. */
static void chance_is_told(void)
{
    int below = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        const struct guideline_result equal = compare(1.0, 7 * seed, &limits);
        below += equal.verdict.p < 0.1;
        CHECK(equal.state != GUIDELINE_VIOLATED);
    }
    CHECK(below > 20 && below < 65);
}

/* The sum of twelve uniform numbers. */
static double normal(uint64_t *state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) {
        sum += uniform(state);
    }
    return sum;
}

/* How often launches that differ by a share are reported as a violation at 5 %. */
static int count_violations(size_t launches, double factor, double spread, uint64_t *state)
{
    enum { TRIES = 400, MOST = 7 };
    const struct guideline_limits single = {0.0, 0.05, 1, 0.12, TURNS_UNKNOWN};
    int violated = 0;
    for (int i = 0; i < TRIES; i++) {
        struct guideline_result result = {0};
        double logs[MOST];
        double errors[MOST];
        for (size_t k = 0; k < launches; k++) {
            errors[k] = 0.01;
            logs[k] = log(factor) + hypot(spread, 0.01) * normal(state);
        }
        const struct turns_launches all = {logs, errors, launches, single.spread};
        guideline_judge(&all, &single, &result);
        violated += result.state == GUIDELINE_VIOLATED;
    }
    return violated * 100 / TRIES;
}

static void launches_are_judged(void)
{
    uint64_t state = 5;
    static const double spreads[] = {0.0, 0.02, 0.1};
    for (int i = 0; i < 3; i++) {
        CHECK(count_violations(1, 1.0, spreads[i], &state) <= 5);
        CHECK(count_violations(3, 1.0, spreads[i], &state) <= 5);
        CHECK(count_violations(7, 1.0, spreads[i], &state) <= 5);
    }
    CHECK(count_violations(7, 1.05, 0.02, &state) >= 90);
    CHECK(count_violations(1, 1.8, 0.1, &state) >= 90);
}

/* Rounds that resemble the previous ones say less than as many independent ones. */
static void drift_is_told(void)
{
    struct turns steady;
    struct turns mixed;
    struct turns slow;
    struct turns_ratio one;
    struct turns_ratio other;
    REQUIRE(!turns_init(&steady) && !turns_init(&mixed) && !turns_init(&slow));
    for (int round = 0; round < ROUNDS; round++) {
        const double even = 1.0;
        const double here = 1.0 + 0.01 * (round * 7 % ROUNDS);
        const double rising = 1.0 + 0.01 * round;
        REQUIRE(!turns_add(&steady, &even, 1) && !turns_add(&mixed, &here, 1) &&
                !turns_add(&slow, &rising, 1));
    }
    CHECK(!turns_compare(&mixed, &steady, &one) && !turns_compare(&slow, &steady, &other));
    CHECK_NEAR(one.factor, other.factor, 1e-9);
    CHECK(other.error > 1.5 * one.error);
    turns_fini(&steady);
    turns_fini(&mixed);
    turns_fini(&slow);
}

/* Rounds between whose turns the host changed say nothing of the two; what is not known is kept. */
static void changed_hosts_do_not_count(void)
{
    static const double trips[][2] = {{2, 2}, {2, 2.4}, {2, 6}, {6, 2}, {0, 2}, {6, 0}, {6, 6}};
    enum { CASES = sizeof(trips) / sizeof(trips[0]), ALIKE = 5 };
    struct turns one;
    struct turns other;
    struct turns_ratio ratio;
    REQUIRE(!turns_init(&one) && !turns_init(&other));
    for (int i = 0; i < CASES; i++) {
        const bool changed = i == 2 || i == 3;
        const double mine = changed ? 9 : 2;
        const double theirs = 1;
        REQUIRE(!turns_add(&one, &mine, 1) && !turns_add(&other, &theirs, 1));
        turns_note_trip(&one, 1e-7 * trips[i][0]);
        turns_note_trip(&other, 1e-7 * trips[i][1]);
    }
    CHECK(!turns_compare(&one, &other, &ratio) && ratio.rounds == ALIKE);
    CHECK_NEAR(ratio.factor, 2, 1e-9);
    CHECK_NEAR(ratio.error, 0, 1e-9);
    turns_fini(&one);
    turns_fini(&other);
}

static void empty_rounds_do_not_count(void)
{
    const double a[] = {2, 2, 2};
    const double b[] = {1, 1, 1};
    struct turns one;
    struct turns other;
    struct guideline_result result;
    REQUIRE(!turns_init(&one) && !turns_init(&other));
    REQUIRE(!turns_add(&one, NULL, 0) && !turns_add(&other, b, 3));
    CHECK(guideline_compare(&one, &other, &limits, &result) == ICTUS_ERR_SAMPLES);
    REQUIRE(!turns_add(&one, a, 3) && !turns_add(&other, b, 3));
    CHECK(!guideline_compare(&one, &other, &limits, &result));
    CHECK(result.ratio.rounds == 1);
    CHECK_NEAR(result.verdict.factor, 2.0, 1e-12);
    CHECK(result.state == GUIDELINE_OPEN); /* one round shows no error */
    /* Equal values in both: no difference. */
    turns_fini(&one);
    REQUIRE(!turns_init(&one));
    REQUIRE(!turns_add(&one, b, 3));
    CHECK(!guideline_compare(&one, &other, &limits, &result));
    CHECK(result.verdict.factor == 1.0 && result.state == GUIDELINE_HOLDS);
    turns_fini(&one);
    turns_fini(&other);
}

/*
 * The percentage of sets of ten runs in which nine agree, if each set starts anew or each run
 * follows the previous one.
 */
static int count_agreeing(double factor, double spread, bool follow, uint64_t *state)
{
    enum { SETS = 100, RUNS = 10 };
    int agreeing = 0;
    for (int i = 0; i < SETS; i++) {
        struct guideline_limits single = {0.05, 0.05, 1, 0.12, TURNS_UNKNOWN};
        int violated = 0;
        for (int k = 0; k < RUNS; k++) {
            struct guideline_result result = {0};
            double error = 0.01;
            double logarithm = log(factor) + hypot(spread, error) * normal(state);
            const struct turns_launches one = {&logarithm, &error, 1, single.spread};
            guideline_judge(&one, &single, &result);
            violated += result.state == GUIDELINE_VIOLATED;
            if (follow) {
                single.before =
                    result.state == GUIDELINE_VIOLATED ? TURNS_SLOWER : TURNS_NOT_SLOWER;
            }
        }
        agreeing += violated <= 1 || violated >= RUNS - 1;
    }
    return agreeing * 100 / SETS;
}

static enum guideline_state judge_after(double factor, enum turns_before before)
{
    const struct guideline_limits single = {0.05, 0.05, 1, 0.12, before};
    struct guideline_result result = {0};
    double error = 0.01;
    double logarithm = log(factor);
    const struct turns_launches one = {&logarithm, &error, 1, single.spread};
    guideline_judge(&one, &single, &result);
    return result.state;
}

/* At the limit itself, independent runs cannot agree; runs that follow each other do. */
static void findings_stay(void)
{
    uint64_t state = 11;
    const double limit = 1.05 * exp(1.6449 * sqrt(2.0) * hypot(0.12, 0.01));
    CHECK(count_agreeing(limit, 0.02, false, &state) < 50);
    for (double factor = 1.0; factor < 2.0; factor *= 1.05) {
        CHECK(count_agreeing(factor, 0.02, true, &state) >= 95);
    }
    CHECK(count_agreeing(limit, 0.05, true, &state) >= 90);
    /* A clear result does not depend on the previous verdict. */
    CHECK(judge_after(1.7, TURNS_NOT_SLOWER) == GUIDELINE_VIOLATED);
    CHECK(judge_after(1.4, TURNS_NOT_SLOWER) == GUIDELINE_OPEN);
    CHECK(judge_after(1.4, TURNS_UNKNOWN) == GUIDELINE_VIOLATED);
    CHECK(judge_after(1.2, TURNS_UNKNOWN) == GUIDELINE_OPEN);
    CHECK(judge_after(1.2, TURNS_SLOWER) == GUIDELINE_VIOLATED);
    CHECK(judge_after(1.1, TURNS_SLOWER) == GUIDELINE_OPEN);
    CHECK(judge_after(1.02, TURNS_SLOWER) == GUIDELINE_HOLDS);
}

/* Of many comparisons each must be the surer, so that none of all is called a violation by chance:
 * what is sure enough alone is not among a hundred. */
static void comparisons_are_counted(void)
{
    double logs[] = {0.2, 0.21, 0.19, 0.3, 0.1};
    double errors[] = {0.01, 0.01, 0.01, 0.01, 0.01};
    const struct turns_launches all = {logs, errors, 5, 0.12};
    struct guideline_limits some = {0.05, 0.05, 1, 0.12, TURNS_UNKNOWN};
    struct guideline_result alone, among;
    guideline_judge(&all, &some, &alone);
    CHECK(alone.launches == 5 && alone.state == GUIDELINE_VIOLATED);
    CHECK(alone.p_adjusted == alone.verdict.p);
    some.comparisons = 100;
    guideline_judge(&all, &some, &among);
    CHECK(among.verdict.p == alone.verdict.p && among.state == GUIDELINE_OPEN);
    CHECK_NEAR(among.p_adjusted, 100 * alone.verdict.p, 1e-12);
    some.comparisons = 1e6;
    guideline_judge(&all, &some, &among);
    CHECK(among.p_adjusted == 1.0);
}

int main(void)
{
    comparisons_are_counted();
    truth_is_found();
    chance_is_told();
    launches_are_judged();
    findings_stay();
    drift_is_told();
    empty_rounds_do_not_count();
    changed_hosts_do_not_count();
    return check_result();
}

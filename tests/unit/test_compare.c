/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of ictus compare, against known values and simulated truth. */
#include "../check.h"
#include "results/compare_stats.h"

#include <core/random.h>

enum { RESAMPLES = 2000, MOST = 64 };

/* Compare independent values. */
static void compare(const double *a, size_t n_a, const double *b, size_t n_b, size_t resamples,
                    uint64_t seed, struct comparison *result)
{
    const struct sample first = {a, n_a, (double)n_a};
    const struct sample second = {b, n_b, (double)n_b};
    compare_samples(&first, &second, resamples, seed, result);
}

static void test_exact(void)
{
    /* complete separation of 5 and 5: two of binomial(10, 5) = 252 orders are as extreme */
    const double low[] = {1, 2, 3, 4, 5};
    const double high[] = {6, 7, 8, 9, 10};
    struct comparison result;
    compare(low, 5, high, 5, RESAMPLES, 1, &result);
    CHECK_NEAR(result.p, 2.0 / 252, 1e-12);
    CHECK_NEAR(result.ratio, 8.0 / 3, 1e-12);
    compare(high, 5, low, 5, RESAMPLES, 1, &result);
    CHECK_NEAR(result.p, 2.0 / 252, 1e-12);
    /* 3 and 4 values, a wins 2 of 12 pairs: of 35 orders 1, 1, 2 win 0, 1, 2 */
    const double a[] = {1, 3, 4.5};
    const double b[] = {2, 4, 5, 6};
    compare(a, 3, b, 4, RESAMPLES, 1, &result);
    CHECK_NEAR(result.p, 2 * (1 + 1 + 2 + 3) / 35.0, 1e-12);
}

static void test_equal(void)
{
    const double same[] = {2, 2, 2, 2, 2, 2};
    struct comparison result;
    compare(same, 6, same, 6, RESAMPLES, 1, &result);
    CHECK_NEAR(result.p, 1.0, 0);
    CHECK_NEAR(result.ratio, 1.0, 0);
    CHECK_NEAR(result.low, 1.0, 0);
    CHECK_NEAR(result.high, 1.0, 0);
}

static void draw(struct rng *rng, double *values, size_t n, double scale, double grain)
{
    for (size_t i = 0; i < n; i++) {
        const double value = scale * (1 + 0.3 * ictusi_random_exponential(rng));
        values[i] = grain > 0 ? grain * ceil(value / grain) : value;
    }
    compare_sort(values, n);
}

/*
 * The interval covers the true ratio in 95 % of cases, and the test reports a difference that does
 * not exist in 5 %.
 */
static void test_truth(size_t n_a, size_t n_b, double grain)
{
    enum { TRIALS = 1000 };
    double a[MOST];
    double b[MOST];
    struct comparison result;
    struct rng rng;
    int covered = 0;
    int false_alarms = 0;
    ictusi_random_seed(&rng, 11, n_a * 100 + n_b);
    for (int trial = 0; trial < TRIALS; trial++) {
        draw(&rng, a, n_a, 1.0, 0);
        draw(&rng, b, n_b, 1.2, 0);
        compare(a, n_a, b, n_b, RESAMPLES, (uint64_t)trial, &result);
        covered += result.low <= 1.2 && result.high >= 1.2;
        draw(&rng, a, n_a, 1.0, grain);
        draw(&rng, b, n_b, 1.0, grain);
        compare(a, n_a, b, n_b, 100, (uint64_t)trial, &result);
        false_alarms += result.p <= 0.05;
    }
    CHECK(covered >= 930 && covered <= 985);
    CHECK(false_alarms >= 25 && false_alarms <= 75);
}

/* Values that come four times say no more than once: a quarter of them counts. */
static void test_dependent(void)
{
    enum { TRIALS = 1000, ALONE = 16, TOGETHER = 4 };
    double a[ALONE * TOGETHER];
    double b[ALONE * TOGETHER];
    struct comparison result;
    struct rng rng;
    int covered = 0;
    int false_alarms = 0;
    const struct sample first = {a, ALONE * TOGETHER, ALONE};
    const struct sample second = {b, ALONE * TOGETHER, ALONE};
    ictusi_random_seed(&rng, 13, 1);
    for (int trial = 0; trial < TRIALS; trial++) {
        draw(&rng, a, ALONE, 1.0, 0);
        draw(&rng, b, ALONE, 1.0, 0);
        for (int i = ALONE * TOGETHER - 1; i >= 0; i--) {
            a[i] = a[i / TOGETHER];
            b[i] = b[i / TOGETHER];
        }
        compare_samples(&first, &second, RESAMPLES, (uint64_t)trial, &result);
        covered += result.low <= 1.0 && result.high >= 1.0;
        false_alarms += result.p <= 0.05;
    }
    CHECK(covered >= 930 && covered <= 990);
    CHECK(false_alarms >= 20 && false_alarms <= 75);
}

/* Resampling by order statistics gives the same interval as the plain bootstrap. */
static void test_plain_bootstrap(size_t n)
{
    enum { PLAIN = 20000 };
    static double medians[PLAIN];
    double a[MOST];
    double again[MOST];
    const double one[] = {1.0, 1.0};
    struct comparison result;
    struct rng rng;
    ictusi_random_seed(&rng, 5, n);
    draw(&rng, a, n, 1.0, 0);
    for (int r = 0; r < PLAIN; r++) {
        for (size_t i = 0; i < n; i++) {
            again[i] = a[ictusi_random_below(&rng, n)];
        }
        compare_sort(again, n);
        medians[r] = 0.5 * (again[(n - 1) / 2] + again[n / 2]);
    }
    compare_sort(medians, PLAIN);
    compare(one, 2, a, n, PLAIN, 7, &result);
    CHECK_NEAR(result.low, medians[PLAIN / 40], 0.01);
    CHECK_NEAR(result.high, medians[PLAIN - PLAIN / 40], 0.01);
}

static void test_intervals(void)
{
    const double a[3] = {1.0, 0.9, 1.0 / 0.9};
    const double b[3] = {2.0, 1.8, 2.0 / 0.9};
    struct comparison result;
    compare_intervals(a, b, &result);
    CHECK_NEAR(result.ratio, 2.0, 1e-12);
    CHECK_NEAR(log(result.high / 2), sqrt(2) * log(1 / 0.9), 1e-9);
    CHECK_NEAR(log(result.low / 2), -sqrt(2) * log(1 / 0.9), 1e-9);
    CHECK(result.p < 1e-6);
    compare_intervals(a, a, &result);
    CHECK_NEAR(result.p, 1.0, 1e-12);
}

static void test_adjust(void)
{
    /* Benjamini and Hochberg's step-up by hand: p(i) n / i, made monotone from the largest. */
    const double p[] = {0.01, NAN, 0.04, 0.03, 0.005};
    double adjusted[5];
    compare_adjust(p, adjusted, 5);
    CHECK_NEAR(adjusted[4], 0.02, 1e-12);
    CHECK_NEAR(adjusted[0], 0.02, 1e-12);
    CHECK_NEAR(adjusted[3], 0.04, 1e-12);
    CHECK_NEAR(adjusted[2], 0.04, 1e-12);
    CHECK(isnan(adjusted[1]));
}

/* Student's test by hand, with the errors of the measurements where they are larger. */
static void test_differences(void)
{
    struct run_values a = {.n = 3, .mean = 10, .scatter = 2};
    struct run_values b = {.n = 3, .mean = 12, .scatter = 4};
    struct difference d;
    compare_differences(&a, &b, &d); /* an error of 1 with 4 degrees of freedom */
    CHECK_NEAR(d.value, 2, 1e-12);
    CHECK_NEAR(d.low, 2 - 2.7764451, 1e-6);
    CHECK_NEAR(d.high, 2 + 2.7764451, 1e-6);
    CHECK_NEAR(d.p, 0.1161165, 1e-6);
    a.variance = 4;
    b.variance = 5;
    compare_differences(&a, &b, &d); /* an error of 3 */
    CHECK_NEAR(d.low, 2 - 3 * 2.7764451, 1e-6);
    CHECK_NEAR(d.p, 0.5414702, 1e-6);
    /* Few runs, or none on one side, are judged by what the measurements may be wrong by. */
    static const size_t few[][2] = {{1, 1}, {2, 1}, {6, 0}, {0, 6}, {3, 0}};
    for (size_t i = 0; i < sizeof(few) / sizeof(few[0]); i++) {
        a.n = few[i][0];
        b.n = few[i][1];
        compare_differences(&a, &b, &d);
        CHECK(isnan(d.p));
        CHECK_NEAR(d.low, 2 - 3 * 1.96, 1e-9);
        CHECK_NEAR(d.high, 2 + 3 * 1.96, 1e-9);
    }
    /* Runs that are all alike: the same, or surely not. */
    a = b = (struct run_values){.n = 2, .mean = 5};
    compare_differences(&a, &b, &d);
    CHECK(d.p == 1 && d.low == 0 && d.high == 0);
    b.mean = 6;
    compare_differences(&a, &b, &d);
    CHECK(d.p == 0 && d.value == 1);
}

int main(void)
{
    test_differences();
    test_exact();
    test_equal();
    test_truth(31, 30, 0.05);
    test_truth(60, 55, 0.02);
    test_dependent();
    test_plain_bootstrap(9);
    test_plain_bootstrap(20);
    test_intervals();
    test_adjust();
    return check_result();
}

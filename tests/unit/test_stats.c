/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics against known values, and the coverage of the median's interval. */
#include "core/random.h"
#include "core/stats.h"

#include "../check.h"

static void known_values(void)
{
    const double v[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 100};
    double low = 0.0;
    double high = 0.0;
    double covered = 0.0;
    CHECK_NEAR(ictusi_stats_quantile(v, 10, 0.5), 5.5, 1e-12);
    CHECK_NEAR(ictusi_stats_quantile(v, 10, 0.9), 18.1, 1e-9);
    CHECK_NEAR(ictusi_stats_quantile(v, 1, 0.3), 1.0, 0);
    CHECK(ictusi_stats_tukey_outliers(v, 10) == 1);
    /* Fences at 1 - 3 and 3 + 3, within which a value on a fence lies. */
    CHECK(ictusi_stats_tukey_outliers((double[]){-2, 1, 2, 3, 6}, 5) == 0);
    CHECK(ictusi_stats_tukey_outliers((double[]){-2.1, 1, 2, 3, 6}, 5) == 1);
    CHECK(ictusi_stats_tukey_outliers((double[]){-2, 1, 2, 3, 6.1}, 5) == 1);
    /* Conover's table: n = 10 gives the 2nd and the 9th order statistic, level 0.9785. */
    ictusi_stats_median_interval(v, 10, 0.95, &low, &high, &covered);
    CHECK_NEAR(low, 2, 0);
    CHECK_NEAR(high, 9, 0);
    CHECK_NEAR(covered, 0.978515625, 1e-9);
    ictusi_stats_median_interval(v, 3, 0.95, &low, &high, &covered);
    CHECK_NEAR(low, 1, 0);
    CHECK_NEAR(high, 3, 0);
    CHECK_NEAR(covered, 0.75, 1e-12);
}

/* P(B <= most) for B ~ binomial(n, 1/2). */
static double binomial_tail(size_t n, size_t most)
{
    double p = pow(2.0, -(double)n);
    double sum = 0.0;
    for (size_t k = 0; k <= most; k++) {
        sum += p;
        p *= (double)(n - k) / (double)(k + 1);
    }
    return sum;
}

/* The ranks are symmetric, inside the sample, and the narrowest that cover. */
static void ranks_are_the_narrowest(void)
{
    enum { MOST = 1000 };
    static double values[MOST];
    for (size_t i = 0; i < MOST; i++) {
        values[i] = (double)i;
    }
    for (size_t n = 1; n <= MOST; n += n < 60 ? 1 : 47) {
        double low = -1.0;
        double high = -1.0;
        double covered = 0.0;
        ictusi_stats_median_interval(values, n, 0.95, &low, &high, &covered);
        CHECK(low >= 0.0 && low <= high);
        CHECK_NEAR(low + high, n - 1, 0);
        CHECK_NEAR(covered, 1.0 - 2.0 * binomial_tail(n, (size_t)low), 1e-9);
        CHECK(covered >= 0.95 || low == 0.0);
        CHECK(1.0 - 2.0 * binomial_tail(n, (size_t)low + 1) < 0.95);
    }
}

static void intervals_cover(size_t n, double least, double most)
{
    struct rng rng;
    double sample[2000];
    int inside = 0;
    const int rounds = 2000;
    ictusi_random_seed(&rng, 3, n);
    for (int r = 0; r < rounds; r++) {
        double low = 0.0;
        double high = 0.0;
        double covered = 0.0;
        for (size_t i = 0; i < n; i++) {
            sample[i] = ictusi_random_exponential(&rng);
        }
        ictusi_stats_sort(sample, n);
        ictusi_stats_median_interval(sample, n, 0.95, &low, &high, &covered);
        inside += low <= log(2.0) && log(2.0) <= high;
    }
    CHECK((double)inside / rounds >= least && (double)inside / rounds <= most);
}

/*
 * A machine alternates between two states that last `stay` repetitions on average; with 1,
 * repetitions are independent. How often the median's interval covers the true median, and how
 * often a drift is reported.
 */
static void states_cover(double stay, double plain_most, double least, double seen_least,
                         double seen_most)
{
    enum { VALUES = 1000, ROUNDS = 400 };
    static double sample[VALUES];
    static double sorted[VALUES];
    struct rng rng;
    int plain = 0;
    int wide = 0;
    int seen = 0;
    ictusi_random_seed(&rng, 5, (uint64_t)stay);
    for (int r = 0; r < ROUNDS; r++) {
        double low = 0.0;
        double high = 0.0;
        double covered = 0.0;
        int state = ictusi_random_uniform(&rng) < 0.5;
        for (size_t i = 0; i < VALUES; i++) {
            /*
             * With this probability the state is drawn again, so it changes in half of these draws.
             */
            if (ictusi_random_uniform(&rng) < 1.0 / stay) {
                state = ictusi_random_uniform(&rng) < 0.5;
            }
            sample[i] = ictusi_random_uniform(&rng) + 0.5 * state;
            sorted[i] = sample[i];
        }
        ictusi_stats_sort(sorted, VALUES);
        const double median = ictusi_stats_quantile(sorted, VALUES, 0.5);
        const double inflation = ictusi_stats_batch_inflation(sample, VALUES, median);
        ictusi_stats_median_interval(sorted, VALUES, 0.95, &low, &high, &covered);
        plain += low <= 0.75 && 0.75 <= high;
        ictusi_stats_median_widen(sorted, VALUES, inflation, &low, &high);
        wide += low <= 0.75 && 0.75 <= high;
        seen += inflation > 1.0;
    }
    CHECK((double)plain / ROUNDS <= plain_most);
    CHECK((double)wide / ROUNDS >= least);
    CHECK((double)seen / ROUNDS >= seen_least && (double)seen / ROUNDS <= seen_most);
}

/* Values that a coarse clock makes all, or nearly all, equal. */
static void ties_do_not_drift(void)
{
    double values[200];
    for (size_t i = 0; i < 200; i++) {
        values[i] = 3.0;
    }
    CHECK_NEAR(ictusi_stats_batch_inflation(values, 200, 3.0), 1.0, 0);
    values[7] = 4.0;
    CHECK_NEAR(ictusi_stats_batch_inflation(values, 200, 3.0), 1.0, 0);
    CHECK_NEAR(ictusi_stats_batch_inflation(values, 99, 3.0), 1.0, 0);
    for (size_t i = 0; i < 200; i++) {
        values[i] = (double)i;
    }
    CHECK(ictusi_stats_batch_inflation(values, 200, 99.5) > 10.0);
    double low = 90.0;
    double high = 110.0;
    ictusi_stats_median_widen(values, 200, 1e9, &low, &high);
    CHECK_NEAR(low, 0.0, 0);
    CHECK_NEAR(high, 199.0, 0);
}

/*
 * Ten batches of twenty, as many above the median as below it but for so many more in one and fewer
 * in another: the variance of ten shares over that of independent signs, unless chance explains it.
 */
static void batches_are_compared(void)
{
    static const struct {
        int more; /* of 20 */
        double inflation;
    } cases[] = {{10, 40.0 / 9}, {7, 2 * 0.49 * 20 / 9}, {6, 1}, {0, 1}};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (int first = 0; first < 10; first++) {
            double values[200];
            for (int i = 0; i < 200; i++) {
                const int batch = i / 20;
                const int above = 10 + (batch == first ? cases[c].more : 0) -
                                  (batch == (first + 3) % 10 ? cases[c].more : 0);
                values[i] = i % 20 < above ? 8.0 : 2.0;
            }
            CHECK_NEAR(ictusi_stats_batch_inflation(values, 200, 5.0), cases[c].inflation, 1e-12);
        }
    }
}

int main(void)
{
    states_cover(1, 0.98, 0.935, 0.0, 0.10);
    states_cover(20, 0.60, 0.90, 0.95, 1.0);
    states_cover(60, 0.40, 0.80, 0.99, 1.0);
    ties_do_not_drift();
    known_values();
    batches_are_compared();
    ranks_are_the_narrowest();
    intervals_cover(25, 0.94, 0.99);
    intervals_cover(200, 0.935, 0.975);
    intervals_cover(1500, 0.935, 0.97);
    const double far[] = {1e15 + 1, 1e15 + 2, 1e15 + 3};
    CHECK_NEAR(ictusi_stats_mean(far, 3), 1e15 + 2, 0);
    CHECK_NEAR(ictusi_stats_sd(far, 3), 1.0, 1e-9);
    return check_result();
}

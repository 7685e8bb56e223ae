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
    CHECK_NEAR(ictusi_quantile(v, 10, 0.5), 5.5, 1e-12);
    CHECK_NEAR(ictusi_quantile(v, 10, 0.9), 18.1, 1e-9);
    CHECK_NEAR(ictusi_quantile(v, 1, 0.3), 1.0, 0);
    CHECK(ictusi_tukey_outliers(v, 10) == 1);
    /* Conover's table: n = 10 gives the 2nd and 9th order statistic, level 0.9785. */
    ictusi_median_interval(v, 10, 0.95, &low, &high, &covered);
    CHECK_NEAR(low, 2, 0);
    CHECK_NEAR(high, 9, 0);
    CHECK_NEAR(covered, 0.978515625, 1e-9);
    ictusi_median_interval(v, 3, 0.95, &low, &high, &covered);
    CHECK_NEAR(low, 1, 0);
    CHECK_NEAR(high, 3, 0);
    CHECK_NEAR(covered, 0.75, 1e-12);
}

static void intervals_cover(size_t n, double least, double most)
{
    struct rng rng;
    double sample[2000];
    int inside = 0;
    const int rounds = 2000;
    ictusi_rng_seed(&rng, 3, n);
    for (int r = 0; r < rounds; r++) {
        double low = 0.0;
        double high = 0.0;
        double covered = 0.0;
        for (size_t i = 0; i < n; i++) {
            sample[i] = ictusi_rng_exponential(&rng);
        }
        ictusi_sort(sample, n);
        ictusi_median_interval(sample, n, 0.95, &low, &high, &covered);
        inside += low <= log(2.0) && log(2.0) <= high;
    }
    CHECK((double)inside / rounds >= least && (double)inside / rounds <= most);
}

int main(void)
{
    known_values();
    intervals_cover(25, 0.94, 0.99);
    intervals_cover(200, 0.935, 0.975);
    intervals_cover(1500, 0.935, 0.97);
    const double far[] = {1e15 + 1, 1e15 + 2, 1e15 + 3};
    CHECK_NEAR(ictusi_mean(far, 3), 1e15 + 2, 0);
    CHECK_NEAR(ictusi_sd(far, 3), 1.0, 1e-9);
    return check_result();
}

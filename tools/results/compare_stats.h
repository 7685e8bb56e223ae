/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of ictus compare, through GSL: ratio of medians, its interval, a rank test. */
#ifndef ICTUS_TOOLS_COMPARE_STATS_H
#define ICTUS_TOOLS_COMPARE_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct comparison {
    double ratio;     /* of medians, second over first */
    double low, high; /* 95 % bootstrap interval */
    double p;         /* two-sided Wilcoxon-Mann-Whitney */
};

/* Sort ascending, in place. */
void compare_sort(double *values, size_t n);

struct sample {
    const double *sorted; /* at least 2, positive */
    size_t n;
    double effective; /* the number of independent values that would say as much; n if the values
                         are independent */
};

/*
 * Compare two samples. Deterministic for a seed.
 *
 * Interval: percentile bootstrap (Efron 1979) of the ratio of medians. A resample of n has as its
 * k-th order statistic the original one at the Beta(k, n+1-k) quantile, so each costs two draws
 * instead of n, with the same distribution. Resamples of dependent values are of the effective
 * size.
 *
 * Test: exact (Mann and Whitney 1947) without ties, for independent values and up to 50 a side;
 * else the normal approximation with the corrections for ties and continuity.
 */
void compare_samples(const struct sample *a, const struct sample *b, size_t resamples,
                     uint64_t seed, struct comparison *result);

/*
 * Compare the launches of two sides, independent values of which there are few: the interval is
 * that of the test inverted, all ratios that it would not reject at 5 % (Hodges and Lehmann 1963),
 * so that the two never disagree.
 */
void compare_launches(const struct sample *a, const struct sample *b, struct comparison *result);

/* Compare two medians of which only the 95 % intervals are known: both taken as log-normal. */
void compare_intervals(const double a[3], const double b[3], struct comparison *result);

/* How much the results of two launches differ although nothing was changed. */
struct launch_spread {
    double share;   /* standard deviation of the logarithm, so a share: 0.1 is 10 % */
    double freedom; /* degrees of freedom of its estimate; 0 if it is not from launches */
    bool host;      /* no assumption: so much did the host change meanwhile */
};

/*
 * Widen what samples within launches say by the spread between launches: the logarithm of the
 * ratio has the variance of both, spread^2 (1 / launches_a + 1 / launches_b) for the latter, and is
 * Student's where that was estimated. p grows likewise, and never becomes less.
 */
void compare_widen(const struct launch_spread *spread, double launches_a, double launches_b,
                   struct comparison *result);

/* What the runs of one side say of a value that may be 0. */
struct run_values {
    size_t n;
    double mean, scatter; /* scatter: the sum of squared deviations from the mean */
    double variance;      /* of the mean by measurement errors alone; NaN: unknown */
};

struct difference {
    double value, low, high; /* second minus first; 95 % */
    double p;                /* NaN: too few runs to tell */
};

/* Runs of both sides together from which on their scatter is known well enough to judge by. */
enum { RUNS_JUDGED = 4 };

/*
 * Compare means by Student's test with the common variance of both sides, but no smaller one than
 * measurement errors have. With fewer runs than RUNS_JUDGED the interval is that of the errors
 * alone, and there is no p. Errors that are unknown are part of the scatter.
 */
void compare_differences(const struct run_values *a, const struct run_values *b,
                         struct difference *result);

/*
 * Adjust p values for being many (Benjamini and Hochberg 1995): the false discovery rate at which
 * each would be called a difference. NaN stays, and does not count.
 */
void compare_adjust(const double *p, double *adjusted, size_t n);

#endif

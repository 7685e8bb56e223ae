/* SPDX-License-Identifier: BSD-3-Clause */
/* Order statistics and moments. */
#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

/* Up to this number of values the binomial ranks are computed exactly. */
enum { EXACT_RANKS_MAX = 1000 };

static int stats_ascending(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

void ictusi_stats_sort(double *values, size_t n)
{
    if (n > 1) {
        qsort(values, n, sizeof(*values), stats_ascending);
    }
}

/* Linear between order statistics (Hyndman and Fan 1996, type 7), the default of R and numpy. */
double ictusi_stats_quantile(const double *sorted, size_t n, double q)
{
    const double position = q * (double)(n - 1);
    const size_t below = (size_t)position;
    if (below + 1 >= n) {
        return sorted[n - 1];
    }
    const double part = position - (double)below;
    return sorted[below] + part * (sorted[below + 1] - sorted[below]);
}

double ictusi_stats_mean(const double *values, size_t n)
{
    /* Shifted by the first value, so that a large common part does not cost digits. */
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += values[i] - values[0];
    }
    return n ? values[0] + sum / (double)n : 0.0;
}

double ictusi_stats_sd(const double *values, size_t n)
{
    if (n < 2) {
        return 0.0;
    }
    const double mean = ictusi_stats_mean(values, n);
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += (values[i] - mean) * (values[i] - mean);
    }
    return sqrt(sum / (double)(n - 1));
}

/*
 * Return the largest number r of values that can be cut from each end so that [r+1 .. n-r] still
 * covers `level`. The interval between the order statistics r+1 and n-r covers the median with the
 * probability 1 - 2 P(B <= r), B ~ binomial(n, 1/2), whatever the distribution of the values is
 * (David and Nagaraja, Order Statistics, 7.1). It assumes independent samples; see the inflation
 * below.
 */
static size_t stats_exact_cut(size_t n, double level, double *covered)
{
    /* P(B < r+1) for B ~ binomial(n, 1/2), summed from the bottom in logarithms. */
    const double tail_max = (1.0 - level) / 2.0;
    double tail = 0.0;
    double kept = 0.0;
    size_t cut = 0;
    int sign = 0; /* lgamma_r, because lgamma writes a global variable */
    for (size_t r = 0; r < n / 2; r++) {
        const double log_p = lgamma_r((double)n + 1, &sign) - lgamma_r((double)r + 1, &sign) -
                             lgamma_r((double)(n - r) + 1, &sign) - (double)n * log(2.0);
        if (tail + exp(log_p) > tail_max) {
            break;
        }
        tail += exp(log_p);
        kept = tail;
        cut = r + 1;
    }
    /* cut = 0 would extend to infinity. The extremes themselves cover 1 - 2^(1-n). */
    *covered = cut ? 1.0 - 2.0 * kept : 1.0 - pow(2.0, 1.0 - (double)n);
    return cut ? cut - 1 : 0;
}

/* Normal quantile of a two-sided level, by bisection of erf: exactness matters more than speed. */
static double stats_two_sided_normal(double level)
{
    double low = 0.0;
    double high = 40.0;
    for (int i = 0; i < 80; i++) {
        const double middle = (low + high) / 2.0;
        if (erf(middle / sqrt(2.0)) < level) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

void ictusi_stats_median_interval(const double *sorted, size_t n, double level, double *low,
                                  double *high, double *covered)
{
    size_t cut = 0;
    if (n <= EXACT_RANKS_MAX) {
        cut = stats_exact_cut(n, level, covered);
    } else {
        /* Ranks of the binomial distribution by the normal one: mean n/2, variance n/4. */
        const double half = stats_two_sided_normal(level) * sqrt((double)n) / 2.0;
        cut = (size_t)floor((double)n / 2.0 - half) - 1;
        *covered = level;
    }
    *low = sorted[cut];
    *high = sorted[n - 1 - cut];
}

/* The 95 % quantile of chi squared over its nine degrees of freedom, below which differing batches
 * prove nothing. */
#define BATCH_NOISE 1.880

/*
 * Return the factor by which the variance of the sign test exceeds that of independent samples, by
 * batch means: n/batches times the variance of the batches' shares, divided by that of one sign.
 * Samples that depend on each other for longer than a batch are not noticed.
 */
double ictusi_stats_batch_inflation(const double *values, size_t n, double median)
{
    if (n < ICTUSI_BATCHED) {
        return 1.0;
    }
    double share[ICTUSI_BATCHES];
    double square = 0.0;
    for (size_t b = 0; b < ICTUSI_BATCHES; b++) {
        const size_t begin = n * b / ICTUSI_BATCHES;
        const size_t end = n * (b + 1) / ICTUSI_BATCHES;
        double sum = 0.0;
        for (size_t i = begin; i < end; i++) {
            /* Clocks are coarse, so many values may equal the median. */
            const double sign = (double)(values[i] > median) - (double)(values[i] < median);
            sum += sign;
            square += sign * sign;
        }
        share[b] = sum / (double)(end - begin);
    }
    const double mean = ictusi_stats_mean(share, ICTUSI_BATCHES);
    const double one = square / (double)n - mean * mean;
    const double sd = ictusi_stats_sd(share, ICTUSI_BATCHES);
    const double inflation = one > 0.0 ? sd * sd * (double)n / ICTUSI_BATCHES / one : 1.0;
    return inflation > BATCH_NOISE ? inflation : 1.0;
}

void ictusi_stats_median_widen(const double *sorted, size_t n, double inflation, double *low,
                               double *high)
{
    if (inflation <= 1.0) {
        return;
    }
    const double half = ICTUSI_BATCH_T * sqrt((double)n * inflation) / 2.0;
    const double first = floor((double)n / 2.0 - half) - 1.0;
    const size_t cut = first > 0.0 ? (size_t)first : 0;
    *low = fmin(*low, sorted[cut]);
    *high = fmax(*high, sorted[n - 1 - cut]);
}

/*
 * Tukey (1977): more than 1.5 interquartile ranges outside the quartiles. For a normal distribution
 * this is 0.7 % of the values. The long tails of latencies have many more, so these are counted and
 * not dropped.
 */
size_t ictusi_stats_tukey_outliers(const double *sorted, size_t n)
{
    const double first = ictusi_stats_quantile(sorted, n, 0.25);
    const double third = ictusi_stats_quantile(sorted, n, 0.75);
    const double reach = 1.5 * (third - first);
    size_t count = 0;
    for (size_t i = 0; i < n; i++) {
        count += sorted[i] < first - reach || sorted[i] > third + reach;
    }
    return count;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of ictus compare, through GSL. */
#include "results/compare_stats.h"

#include <gsl/gsl_cdf.h>
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum { EXACT_MOST = 50 };

void compare_sort(double *values, size_t n)
{
    gsl_sort(values, 1, n);
}

/* The order statistic of a resample at a uniform quantile: the empirical quantile function. */
static double compare_stats_at_quantile(const double *sorted, size_t n, double u)
{
    const size_t i = (size_t)(u * (double)n);
    return sorted[i < n ? i : n - 1];
}

static double compare_stats_resampled_median(const gsl_rng *rng, const struct sample *sample)
{
    const size_t size = (size_t)fmax(2.0, round(sample->effective));
    const size_t pairs = size / 2;
    const double half = (double)pairs;
    const double *sorted = sample->sorted;
    const size_t n = sample->n;
    if (size % 2 == 1) {
        return compare_stats_at_quantile(sorted, n, gsl_ran_beta(rng, half + 1, half + 1));
    }
    /* the two middle order statistics of as many uniforms: the first, and the next one given it */
    const double lower = gsl_ran_beta(rng, half, half + 1);
    const double rest = 1 - pow(gsl_rng_uniform_pos(rng), 1 / half);
    const double upper = lower + (1 - lower) * rest;
    return 0.5 * (compare_stats_at_quantile(sorted, n, lower) +
                  compare_stats_at_quantile(sorted, n, upper));
}

static void stats_bootstrap(const struct sample *a, const struct sample *b, size_t resamples,
                            uint64_t seed, struct comparison *result)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    double *ratios = malloc(resamples * sizeof(*ratios));
    result->low = NAN;
    result->high = NAN;
    if (rng && ratios) {
        gsl_rng_set(rng, (unsigned long)seed);
        for (size_t i = 0; i < resamples; i++) {
            ratios[i] =
                compare_stats_resampled_median(rng, b) / compare_stats_resampled_median(rng, a);
        }
        gsl_sort(ratios, 1, resamples);
        result->low = gsl_stats_quantile_from_sorted_data(ratios, 1, resamples, 0.025);
        result->high = gsl_stats_quantile_from_sorted_data(ratios, 1, resamples, 0.975);
    }
    free(ratios);
    if (rng) {
        gsl_rng_free(rng);
    }
}

struct ranks {
    double u;    /* Mann-Whitney statistic of a: pairs that a wins, ties half */
    double ties; /* sum of t^3 - t over groups of equal values */
};

static struct ranks rank_sum(const struct sample *first, const struct sample *second)
{
    struct ranks ranks = {0.0, 0.0};
    const double *a = first->sorted;
    const double *b = second->sorted;
    const size_t n_a = first->n;
    const size_t n_b = second->n;
    size_t i = 0;
    size_t j = 0;
    while (i < n_a || j < n_b) {
        const double value = j >= n_b || (i < n_a && a[i] <= b[j]) ? a[i] : b[j];
        const size_t before = j;
        double mine = 0;
        double theirs = 0;
        for (; i < n_a && a[i] == value; i++) {
            mine++;
        }
        for (; j < n_b && b[j] == value; j++) {
            theirs++;
        }
        ranks.u += mine * ((double)before + 0.5 * theirs);
        const double t = mine + theirs;
        ranks.ties += t * t * t - t;
    }
    return ranks;
}

/*
 * P(U <= u) without ties: of all orders of n + m values, the share in which the pairs won are at
 * most u. ways[k] after stage i counts the subsets of size i with sum k, as coefficients of the
 * Gaussian binomial: multiply by (1 - q^(m+i)) and divide by (1 - q^i).
 */
static double compare_stats_exact_p(size_t n, size_t m, size_t u)
{
    const size_t top = n * m;
    double *ways = calloc(top + 1, sizeof(*ways));
    double below = 0.0;
    double all = 0.0;
    if (!ways) {
        return NAN;
    }
    ways[0] = 1.0;
    for (size_t i = 1; i <= n; i++) {
        for (size_t k = top + 1; k-- > m + i;) {
            ways[k] -= ways[k - m - i];
        }
        for (size_t k = i; k <= top; k++) {
            ways[k] += ways[k - i];
        }
    }
    for (size_t k = 0; k <= top; k++) {
        all += ways[k];
        below += k <= u ? ways[k] : 0.0;
    }
    free(ways);
    return below / all;
}

/* The normal approximation is of the share of pairs won, whose variance is that of the effective
 * sizes. */
static double mann_whitney(const struct sample *a, const struct sample *b)
{
    const struct ranks ranks = rank_sum(a, b);
    const double pairs = (double)a->n * (double)b->n;
    const double off = fabs(ranks.u - 0.5 * pairs);
    const bool small = a->n <= EXACT_MOST && b->n <= EXACT_MOST;
    const double n = a->effective;
    const double m = b->effective;
    const double all = (double)(a->n + b->n);
    if (small && ranks.ties == 0.0 && n + m >= all) {
        return fmin(1.0, 2 * compare_stats_exact_p(a->n, b->n, (size_t)(0.5 * pairs - off + 0.25)));
    }
    const double tied = ranks.ties / (all * (all - 1)) * (n + m) / all;
    const double variance = (n + m + 1 - tied) / (12 * n * m);
    if (!(variance > 0)) {
        return 1.0; /* all values are equal */
    }
    return fmin(1.0, 2 * gsl_cdf_ugaussian_Q(fmax(0.0, off - 0.5) / pairs / sqrt(variance)));
}

void compare_samples(const struct sample *a, const struct sample *b, size_t resamples,
                     uint64_t seed, struct comparison *result)
{
    result->ratio = gsl_stats_median_from_sorted_data(b->sorted, 1, b->n) /
                    gsl_stats_median_from_sorted_data(a->sorted, 1, a->n);
    stats_bootstrap(a, b, resamples, seed, result);
    result->p = mann_whitney(a, b);
}

/* How many pairs one side may win at most to be called different at 5 %, two-sided; -1: never. */
static double compare_stats_most_pairs(size_t n, size_t m)
{
    const double pairs = (double)n * (double)m;
    if (n > EXACT_MOST || m > EXACT_MOST) {
        const double sd = sqrt(pairs * (double)(n + m + 1) / 12);
        return floor(0.5 * pairs - 0.5 - gsl_cdf_ugaussian_Pinv(0.975) * sd);
    }
    size_t low = 0; /* of most + 1: bisection, as P(U <= u) grows with u */
    size_t high = n * m / 2 + 1;
    while (low < high) {
        const size_t between = (low + high) / 2;
        if (compare_stats_exact_p(n, m, between) <= 0.025) {
            low = between + 1;
        } else {
            high = between;
        }
    }
    return (double)low - 1;
}

void compare_launches(const struct sample *a, const struct sample *b, struct comparison *result)
{
    const size_t pairs = a->n * b->n;
    *result = (struct comparison){NAN, NAN, NAN, NAN};
    if (pairs == 0) {
        return;
    }
    const double most = compare_stats_most_pairs(a->n, b->n);
    double *ratios = malloc(pairs * sizeof(*ratios));
    result->p = mann_whitney(a, b);
    result->ratio = gsl_stats_median_from_sorted_data(b->sorted, 1, b->n) /
                    gsl_stats_median_from_sorted_data(a->sorted, 1, a->n);
    if (ratios) {
        for (size_t i = 0, k = 0; i < b->n; i++) {
            for (size_t j = 0; j < a->n; j++) {
                ratios[k++] = b->sorted[i] / a->sorted[j];
            }
        }
        gsl_sort(ratios, 1, pairs);
        const size_t cut = (size_t)fmax(0, most + 1);
        result->low = ratios[cut];
        result->high = ratios[pairs - 1 - cut];
    }
    free(ratios);
}

void compare_intervals(const double a[3], const double b[3], struct comparison *result)
{
    const double wide = gsl_cdf_ugaussian_Pinv(0.975);
    const double error_a = log(a[2] / a[1]) / (2 * wide);
    const double error_b = log(b[2] / b[1]) / (2 * wide);
    const double error = sqrt(error_a * error_a + error_b * error_b);
    const double shift = log(b[0] / a[0]);
    result->ratio = b[0] / a[0];
    result->low = exp(shift - wide * error);
    result->high = exp(shift + wide * error);
    if (error > 0) {
        result->p = 2 * gsl_cdf_ugaussian_Q(fabs(shift) / error);
    } else {
        result->p = shift == 0.0 ? 1.0 : 0.0;
    }
}

/* Two-sided: of the normal distribution where nothing was estimated. */
static double stats_tail(double deviations, double freedom)
{
    return 2 *
           (freedom > 0 ? gsl_cdf_tdist_Q(deviations, freedom) : gsl_cdf_ugaussian_Q(deviations));
}

void compare_widen(const struct launch_spread *spread, double launches_a, double launches_b,
                   struct comparison *result)
{
    const double within = log(result->high / result->low) / (2 * gsl_cdf_ugaussian_Pinv(0.975));
    const double between = spread->share * sqrt(1 / launches_a + 1 / launches_b);
    const double error = hypot(within, between);
    const double wide = spread->freedom > 0 ? gsl_cdf_tdist_Pinv(0.975, spread->freedom)
                                            : gsl_cdf_ugaussian_Pinv(0.975);
    const double shift = log(result->ratio);
    if (!(between > 0)) {
        return; /* launches that do not differ at all */
    }
    result->low = exp(shift - wide * error);
    result->high = exp(shift + wide * error);
    result->p = fmax(result->p, stats_tail(fabs(shift) / error, spread->freedom));
}

void compare_differences(const struct run_values *a, const struct run_values *b,
                         struct difference *result)
{
    const double na = (double)a->n;
    const double nb = (double)b->n;
    const double freedom = na + nb - 2;
    const double errors = a->variance + b->variance;
    const bool judged = a->n > 0 && b->n > 0 && a->n + b->n >= RUNS_JUDGED;
    const double scatter = judged ? (a->scatter + b->scatter) / freedom * (1 / na + 1 / nb) : 0;
    const double se = judged ? sqrt(fmax(scatter, errors)) : sqrt(errors);
    const double half = (judged ? gsl_cdf_tdist_Pinv(0.975, freedom) : 1.96) * se;
    const double value = b->mean - a->mean;
    *result = (struct difference){value, value - half, value + half, NAN};
    if (judged && se > 0) {
        result->p = 2 * gsl_cdf_tdist_Q(fabs(value) / se, freedom);
    } else if (judged) {
        result->p = value == 0 ? 1 : 0;
    }
}

void compare_adjust(const double *p, double *adjusted, size_t n)
{
    size_t *order = malloc((n + 1) * sizeof(*order));
    double *keys = calloc(n + 1, sizeof(*keys));
    size_t count = 0;
    double least = 1.0;
    for (size_t i = 0; i < n; i++) {
        adjusted[i] = p[i];
        count += isnan(p[i]) ? 0 : 1;
    }
    if (order && keys) {
        for (size_t i = 0; i < n; i++) {
            keys[i] = isnan(p[i]) ? 2.0 : p[i]; /* after all that count */
        }
        gsl_sort_index(order, keys, 1, n);
        for (size_t rank = count; rank > 0; rank--) {
            const size_t at = order[rank - 1];
            least = fmin(least, p[at] * (double)count / (double)rank);
            adjusted[at] = least;
        }
    }
    free(keys);
    free(order);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of a table of offsets. With x the offset of rank r in instance i, y = x - mean over
 * the ranks of i is its place among the others, independent of how early the very first one came.
 * The persistence is that of z, which is y, but in instances that are further apart than the median
 * one scaled so that they are as far apart as that: otherwise, one process that the system has
 * suspended for some milliseconds in a thousand calls would decide alone. Over the n instances, z
 * has mean m_r and variance s_r². The variance of m between ranks is
 *
 *     B = sum m_r² / (p - 1) - mean(s_r²) / n,     W = mean(s_r²)
 *
 * (one-way analysis of variance), and the persistence is B / (B + W).
 */
#include "core/stats.h"

#include <ictus/arrivals.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Work space of one summary: n values each. */
struct scratch {
    double *centre; /* the mean offset of each instance */
    double *share;  /* the factor from y to z of each instance; its spread before that is known */
    double *values;
    double *sorted;
};

static void summary_scratch_free(struct scratch *s)
{
    free(s->centre);
    free(s->share);
    free(s->values);
    free(s->sorted);
}

static void summary_sorted_quantiles(struct ictus_arrival_rank *rank, double *values, size_t n)
{
    ictusi_stats_sort(values, n);
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        rank->quantiles_ns[q] = ictusi_stats_quantile(values, n, ictus_arrival_levels[q]);
    }
}

/* How many sorted values are below a value, or up to and with it. */
static size_t summary_count_below(const double *sorted, size_t n, double value, bool with)
{
    size_t low = 0;
    size_t high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < value || (with && sorted[middle] == value)) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/*
 * Replace each value by its rank among all, from 1; equal values share the mean of their ranks. One
 * process that was suspended is then as far away as the latest but one, whatever the time.
 */
static void summary_rank_values(double *values, double *sorted, size_t n)
{
    memcpy(sorted, values, n * sizeof *values);
    ictusi_stats_sort(sorted, n);
    for (size_t i = 0; i < n; i++) {
        const size_t below = summary_count_below(sorted, n, values[i], false);
        const size_t with = summary_count_below(sorted, n, values[i], true);
        values[i] = 0.5 * (double)(below + 1 + with);
    }
}

/*
 * The correlation of consecutive calls: the sum of products over the sum of squares, scaled to all
 * n - 1 pairs. NaN if the values do not vary, or if there are fewer than two pairs.
 */
static double summary_lag_one(const double *y, size_t n, double mean, const int64_t *calls)
{
    double square = 0;
    double product = 0;
    double pairs = 0;
    for (size_t i = 0; i < n; i++) {
        square += (y[i] - mean) * (y[i] - mean);
        if (i > 0 && (!calls || calls[i] == calls[i - 1] + 1)) {
            product += (y[i] - mean) * (y[i - 1] - mean);
            pairs++;
        }
    }
    /*
     * If calls are missing between two recorded ones, there are fewer pairs than squares. Their
     * share scales the sum of products to n - 1 pairs.
     */
    const double share = pairs / (double)(n - 1);
    return pairs >= 2 && square > 0 ? fmax(-1, fmin(1, product / square / share)) : NAN;
}

/* y: a rank's place among the others in one instance. */
static double summary_place(const struct ictus_arrivals *a, const struct scratch *s, size_t i,
                            int r)
{
    return (double)a->offsets_ns[i * (size_t)a->ranks + (size_t)r] - s->centre[i];
}

/*
 * One rank's statistics. The correlation is that of the ranks of y, its place among the others, and
 * persistence that of z. Mean, standard deviation and quantiles are those of the offset x itself,
 * which a replay sets. Adds to the sums of squares from which the persistence is computed.
 */
static void summary_summarize_rank(struct ictus_arrivals *a, int r, struct scratch *s,
                                   double *between, double *within)
{
    struct ictus_arrival_rank *rank = &a->rank[r];
    const size_t n = (size_t)a->recorded;
    for (size_t i = 0; i < n; i++) {
        s->values[i] = summary_place(a, s, i, r);
    }
    summary_rank_values(s->values, s->sorted, n);
    rank->autocorrelation =
        summary_lag_one(s->values, n, ictusi_stats_mean(s->values, n), a->calls);
    for (size_t i = 0; i < n; i++) {
        s->values[i] = summary_place(a, s, i, r) * s->share[i];
    }
    const double mean = ictusi_stats_mean(s->values, n);
    const double sd = ictusi_stats_sd(s->values, n);
    *between += mean * mean;
    *within += sd * sd;
    for (size_t i = 0; i < n; i++) {
        s->values[i] = (double)a->offsets_ns[i * (size_t)a->ranks + (size_t)r];
    }
    rank->mean_ns = ictusi_stats_mean(s->values, n);
    rank->sd_ns = ictusi_stats_sd(s->values, n);
    summary_sorted_quantiles(rank, s->values, n);
}

/*
 * Count who was last; several ranks that arrive at the same instant share the count. Also finds the
 * spread, and fills in the centres and shares.
 */
static void summary_summarize_rows(struct ictus_arrivals *a, struct scratch *s)
{
    for (int r = 0; r < a->ranks; r++) {
        a->rank[r].last = 0;
    }
    for (int64_t i = 0; i < a->recorded; i++) {
        const int64_t *row = a->offsets_ns + i * a->ranks;
        int64_t most = row[0];
        int last = 0;
        double sum = 0;
        for (int r = 0; r < a->ranks; r++) {
            last = row[r] > most ? 1 : last + (row[r] == most);
            most = row[r] > most ? row[r] : most;
            sum += (double)row[r];
        }
        for (int r = 0; r < a->ranks; r++) {
            a->rank[r].last += row[r] == most ? 1.0 / last / (double)a->recorded : 0;
        }
        s->centre[i] = sum / a->ranks;
        s->share[i] = (double)most;
        s->values[i] = (double)most;
    }
    for (int r = 0; r < a->ranks; r++) {
        a->rank[r].last = fmin(1, a->rank[r].last);
    }
    ictusi_stats_sort(s->values, (size_t)a->recorded);
    a->spread_ns = ictusi_stats_quantile(s->values, (size_t)a->recorded, 0.5);
    for (int64_t i = 0; i < a->recorded; i++) {
        const bool beyond = a->spread_ns > 0 && s->share[i] > a->spread_ns;
        s->share[i] = beyond ? a->spread_ns / s->share[i] : 1;
    }
}

/* The median of the known values; NaN: none is known. */
static double summary_known_median(double *scratch, const double *values, size_t n)
{
    size_t known = 0;
    for (size_t i = 0; i < n; i++) {
        if (!isnan(values[i])) {
            scratch[known++] = values[i];
        }
    }
    ictusi_stats_sort(scratch, known);
    return known > 0 ? ictusi_stats_quantile(scratch, known, 0.5) : NAN;
}

int ictus_arrivals_summarize(struct ictus_arrivals *a)
{
    const size_t n = (size_t)a->recorded;
    if (n == 0) {
        return ICTUS_OK;
    }
    struct scratch s = {calloc(n, sizeof *s.centre), calloc(n, sizeof *s.share),
                        calloc(n, sizeof *s.values), calloc(n, sizeof *s.sorted)};
    if (!s.centre || !s.share || !s.values || !s.sorted) {
        summary_scratch_free(&s);
        return ICTUS_ERR_NOMEM;
    }
    double between = 0;
    double within = 0;
    summary_summarize_rows(a, &s);
    for (int r = 0; r < a->ranks; r++) {
        summary_summarize_rank(a, r, &s, &between, &within);
    }
    /*
     * The means of n noisy instances scatter by W / n even if all ranks are alike. Without
     * subtracting that, a few instances would look persistent.
     */
    within /= a->ranks;
    between = a->ranks > 1 ? fmax(0, between / (a->ranks - 1) - within / (double)n) : 0;
    a->persistence = n > 1 && between + within > 0 ? between / (between + within) : NAN;
    const double error = summary_known_median(s.values, a->errors_ns, n);
    a->error_ns = isnan(error) ? a->error_ns : error;
    const double duration = summary_known_median(s.values, a->durations_s, n);
    a->duration_s = isnan(duration) ? a->duration_s : duration;
    summary_scratch_free(&s);
    return ICTUS_OK;
}

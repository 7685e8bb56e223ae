/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The statistics of one sample. They are based on order statistics, because run times have long
 * tails.
 */
#include "core/stats.h"

#include <ictus/bench.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* With fewer values than this the batch means that show a drift are too noisy to use. */
enum { SETTLED_LEAST = 100 };

static void summary_fill(const double *sorted, size_t n, struct ictus_summary *s)
{
    s->n = n;
    s->median = ictusi_stats_quantile(sorted, n, 0.5);
    ictusi_stats_median_interval(sorted, n, 0.95, &s->ci95_low, &s->ci95_high, &s->covered);
    s->mean = ictusi_stats_mean(sorted, n);
    s->sd = ictusi_stats_sd(sorted, n);
    s->min = sorted[0];
    s->max = sorted[n - 1];
    s->p10 = ictusi_stats_quantile(sorted, n, 0.10);
    s->p25 = ictusi_stats_quantile(sorted, n, 0.25);
    s->p75 = ictusi_stats_quantile(sorted, n, 0.75);
    s->p90 = ictusi_stats_quantile(sorted, n, 0.90);
    s->p99 = ictusi_stats_quantile(sorted, n, 0.99);
    s->outliers = ictusi_stats_tukey_outliers(sorted, n);
}

static int summary_make(const double *values, size_t n, int in_order, struct ictus_summary *summary)
{
    if (!values || !summary || n == 0) {
        return ICTUS_ERR_ARG;
    }
    double *sorted = malloc(n * sizeof(*sorted));
    if (!sorted) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(sorted, values, n * sizeof(*sorted));
    ictusi_stats_sort(sorted, n);
    summary_fill(sorted, n, summary);
    const double inflation =
        in_order ? ictusi_stats_batch_inflation(values, n, summary->median) : 1.0;
    ictusi_stats_median_widen(sorted, n, inflation, &summary->ci95_low, &summary->ci95_high);
    summary->effective = (double)n / inflation;
    free(sorted);
    return ICTUS_OK;
}

int ictus_summarize(const double *values, size_t n, struct ictus_summary *summary)
{
    return summary_make(values, n, 0, summary);
}

int ictus_summarize_series(const double *values, size_t n, struct ictus_summary *summary)
{
    return summary_make(values, n, 1, summary);
}

double ictus_summary_drift(const struct ictus_summary *summary)
{
    static const double drifting = 3; /* this many times fewer effective values cannot be chance */
    const double half = 0.5 * log(summary->ci95_high / summary->ci95_low);
    const bool drifts = summary->effective * drifting < (double)summary->n;
    return drifts && isfinite(half) ? half / ICTUSI_BATCH_T * sqrt(ICTUSI_BATCHES) : 0.0;
}

int ictus_median_settled(const double *values, size_t n, double width)
{
    struct ictus_summary s;
    /*
     * The interval is that of the series, so a drift widens it and a median that drifts does not
     * settle early.
     */
    return width > 0.0 && n >= SETTLED_LEAST && !ictus_summarize_series(values, n, &s) &&
           s.ci95_high - s.ci95_low <= width * s.median;
}

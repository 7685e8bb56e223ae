/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of performance guidelines. */
#include "bench/guideline.h"

#include <ictus/bench.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const guideline_states[] = {"holds", "open", "violated"};

int guideline_series_init(struct guideline_series *series)
{
    *series = (struct guideline_series){0};
    series->ends = calloc(GUIDELINE_ROUNDS_MAX, sizeof(*series->ends));
    return series->ends ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void guideline_series_fini(struct guideline_series *series)
{
    free(series->values);
    free(series->ends);
    *series = (struct guideline_series){0};
}

int guideline_series_add(struct guideline_series *series, const double *values, size_t n)
{
    if (series->rounds == GUIDELINE_ROUNDS_MAX) {
        return ICTUS_ERR_ARG;
    }
    if (series->n + n > series->capacity) {
        const size_t capacity = 2 * (series->n + n);
        double *grown = realloc(series->values, capacity * sizeof(*grown));
        if (!grown) {
            return ICTUS_ERR_NOMEM;
        }
        series->values = grown;
        series->capacity = capacity;
    }
    if (n > 0) {
        memcpy(series->values + series->n, values, n * sizeof(*values));
    }
    series->n += n;
    series->ends[series->rounds++] = series->n;
    return ICTUS_OK;
}

static const double *round_of(const struct guideline_series *series, size_t round, size_t *n)
{
    const size_t begin = round ? series->ends[round - 1] : 0;
    *n = series->ends[round] - begin;
    return series->values ? series->values + begin : NULL;
}

struct tagged {
    double value;
    bool first; /* of the operation, not of what it is compared with */
};

static int by_value(const void *a, const void *b)
{
    const struct tagged *x = a;
    const struct tagged *y = b;
    return (x->value > y->value) - (x->value < y->value);
}

/* Add one round to the weighted sum of ranks, its expectation taken off, and to its variance. */
static void add_round(struct tagged *pool, size_t n, size_t m, double *sum, double *variance)
{
    const size_t all = n + m;
    const double total = (double)all;
    double ranks = 0.0;
    double ties = 0.0;
    qsort(pool, all, sizeof(*pool), by_value);
    for (size_t i = 0; i < all;) {
        size_t end = i;
        size_t firsts = 0;
        for (; end < all && pool[end].value == pool[i].value; end++) {
            firsts += pool[end].first;
        }
        const double same = (double)(end - i);
        ranks += (double)firsts * ((double)i + (same + 1.0) / 2.0);
        ties += same * same * same - same;
        i = end;
    }
    const double weight = 1.0 / (total + 1.0);
    *sum += weight * (ranks - (double)n * (total + 1.0) / 2.0);
    *variance += weight * weight * (double)n * (double)m / 12.0 *
                 (total + 1.0 - ties / (total * (total - 1.0)));
}

/* The ratio of a round's medians, and its part in the test. */
static int compare_round(const struct guideline_series *series,
                         const struct guideline_series *against, size_t round, double *moments,
                         double *ratio)
{
    size_t n = 0;
    size_t m = 0;
    struct ictus_summary one;
    struct ictus_summary other;
    const double *a = round_of(series, round, &n);
    const double *b = round_of(against, round, &m);
    if (n == 0 || m == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    struct tagged *pool = malloc((n + m) * sizeof(*pool));
    if (!pool || ictus_summarize(a, n, &one) || ictus_summarize(b, m, &other)) {
        free(pool);
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n + m; i++) {
        pool[i] = (struct tagged){i < n ? a[i] : b[i - n], i < n};
    }
    add_round(pool, n, m, &moments[0], &moments[1]);
    free(pool);
    *ratio = one.median / other.median;
    return ICTUS_OK;
}

static int medians(const struct guideline_series *series, const struct guideline_series *against,
                   struct guideline_result *result)
{
    struct ictus_summary one;
    struct ictus_summary other;
    const int err = ictus_summarize(series->values, series->n, &one);
    if (err || ictus_summarize(against->values, against->n, &other)) {
        return ICTUS_ERR_NOMEM;
    }
    result->median_s = one.median;
    result->against_s = other.median;
    return ICTUS_OK;
}

void guideline_judge(const struct guideline_limits *limits, struct guideline_result *result)
{
    const bool beyond = result->factor > 1.0 + limits->tolerance;
    result->p_adjusted = fmin(1.0, result->p * limits->comparisons);
    const bool sure = result->p_adjusted < limits->significance && result->low > 1.0;
    result->state = beyond ? (sure ? GUIDELINE_VIOLATED : GUIDELINE_OPEN) : GUIDELINE_HOLDS;
}

int guideline_compare(const struct guideline_series *series, const struct guideline_series *against,
                      const struct guideline_limits *limits, struct guideline_result *result)
{
    double moments[2] = {0.0, 0.0}; /* the statistic and its variance */
    struct ictus_summary summary;
    const size_t rounds = series->rounds < against->rounds ? series->rounds : against->rounds;
    double *ratios = malloc((rounds + 1) * sizeof(*ratios));
    int err = ratios ? ICTUS_OK : ICTUS_ERR_NOMEM;
    *result = (struct guideline_result){.p = 1.0};
    for (size_t round = 0; round < rounds && !err; round++) {
        err = compare_round(series, against, round, moments, &ratios[result->rounds]);
        result->rounds += !err;
        err = err == ICTUS_ERR_SAMPLES ? ICTUS_OK : err;
    }
    if (!err && result->rounds == 0) {
        err = ICTUS_ERR_SAMPLES;
    }
    if (!err) {
        err = medians(series, against, result);
    }
    if (!err) {
        err = ictus_summarize(ratios, result->rounds, &summary);
    }
    free(ratios);
    if (err) {
        return err;
    }
    result->factor = summary.median;
    result->low = summary.ci95_low;
    result->high = summary.ci95_high;
    if (moments[1] > 0.0) {
        result->p = 0.5 * erfc(moments[0] / sqrt(2.0 * moments[1]));
    }
    guideline_judge(limits, result);
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Comparing what was measured in turns. */
#include "bench/turns.h"

#include <ictus/bench.h>
#include <ictus/error.h>

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { DRIFT_LEAST = 8 }; /* rounds that show a drift */

/* Trips of one kind of host differ by a few per cent, those of two kinds by factors. */
static const double trips_alike = 1.25;

/* More than this would say that the rounds tell nothing at all. */
static const double correlation_most = 0.8;

int turns_init(struct turns *turns)
{
    *turns = (struct turns){0};
    turns->ends = calloc(TURNS_ROUNDS_MAX, sizeof(*turns->ends));
    turns->medians = calloc(TURNS_ROUNDS_MAX, sizeof(*turns->medians));
    turns->trips = calloc(TURNS_ROUNDS_MAX, sizeof(*turns->trips));
    return turns->ends && turns->medians && turns->trips ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void turns_fini(struct turns *turns)
{
    free(turns->values);
    free(turns->ends);
    free(turns->medians);
    free(turns->trips);
    *turns = (struct turns){0};
}

int turns_add(struct turns *turns, const double *values, size_t n)
{
    struct ictus_summary summary = {0};
    if (turns->rounds == TURNS_ROUNDS_MAX) {
        return ICTUS_ERR_ARG;
    }
    if (turns->n + n > turns->capacity) {
        const size_t capacity = 2 * (turns->n + n);
        double *grown = realloc(turns->values, capacity * sizeof(*grown));
        if (!grown) {
            return ICTUS_ERR_NOMEM;
        }
        turns->values = grown;
        turns->capacity = capacity;
    }
    if (n > 0) {
        if (ictus_summarize(values, n, &summary)) {
            return ICTUS_ERR_NOMEM;
        }
        memcpy(turns->values + turns->n, values, n * sizeof(*values));
    }
    turns->n += n;
    turns->medians[turns->rounds] = summary.median;
    turns->ends[turns->rounds++] = turns->n;
    return ICTUS_OK;
}

void turns_note_trip(struct turns *turns, double trip_s)
{
    if (turns->rounds > 0) {
        turns->trips[turns->rounds - 1] = trip_s;
    }
}

/* The normal deviation within which a share of all lie, by bisection. */
static double normal_width(double share)
{
    double low = 0.0;
    double high = 8.0;
    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);
        if (erf(middle / sqrt(2.0)) < share) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

/* By how much neighbouring rounds widen the standard error. */
static double drift_factor(const double *values, size_t n)
{
    double mean = 0.0;
    double square = 0.0;
    double product = 0.0;
    for (size_t i = 0; i < n; i++) {
        mean += values[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        square += (values[i] - mean) * (values[i] - mean);
        product += i > 0 ? (values[i] - mean) * (values[i - 1] - mean) : 0.0;
    }
    const double r = square > 0 && n >= DRIFT_LEAST ? product / square : 0.0;
    const double kept = fmin(fmax(r, 0.0), correlation_most);
    return sqrt((1 + kept) / (1 - kept));
}

static int turns_summarize_rounds(const double *logs, size_t n, struct turns_ratio *ratio)
{
    struct ictus_summary summary;
    if (n == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    if (ictus_summarize(logs, n, &summary)) {
        return ICTUS_ERR_NOMEM;
    }
    const double width = normal_width(summary.covered);
    ratio->rounds = n;
    ratio->factor = exp(summary.median);
    ratio->error =
        n < 2 ? INFINITY
              : (summary.ci95_high - summary.ci95_low) / (2 * width) * drift_factor(logs, n);
    return ICTUS_OK;
}

/* Whether both have samples in a round, and nothing says that the host changed in between. */
static bool turns_share_round(const struct turns *a, const struct turns *b, size_t round)
{
    /* 0: no samples, or shorter than the clock's resolution. */
    const bool both = a->medians[round] > 0 && b->medians[round] > 0;
    const double mine = a->trips[round];
    const double other = b->trips[round];
    return both &&
           (!(mine > 0 && other > 0) || fmax(mine, other) <= trips_alike * fmin(mine, other));
}

int turns_compare(const struct turns *turns, const struct turns *against, struct turns_ratio *ratio)
{
    const size_t rounds = turns->rounds < against->rounds ? turns->rounds : against->rounds;
    double *logs = malloc((rounds + 1) * sizeof(*logs));
    int err = logs ? ICTUS_OK : ICTUS_ERR_NOMEM;
    size_t n = 0;
    *ratio = (struct turns_ratio){.error = INFINITY};
    for (size_t round = 0; round < rounds && !err; round++) {
        if (turns_share_round(turns, against, round)) {
            logs[n++] = log(turns->medians[round] / against->medians[round]);
        }
    }
    err = err ? err : turns_summarize_rounds(logs, n, ratio);
    free(logs);
    return err;
}

/*
 * P(T > t) of Student's distribution, t >= 0, for whole degrees of freedom (Abramowitz and Stegun
 * 1964, 26.7.3 and 26.7.4); of the normal one for 0.
 */
static double student_tail(double t, size_t freedom)
{
    const double pi = acos(-1.0);
    if (freedom == 0) {
        return 0.5 * erfc(t / sqrt(2.0));
    }
    const double angle = atan2(t, sqrt((double)freedom));
    const double cosine = cos(angle);
    const bool odd = freedom % 2 == 1;
    double term = odd ? cosine : 1.0;
    double sum = freedom == 1 ? 0.0 : term;
    for (size_t k = odd ? 3 : 2; k + 1 < freedom; k += 2) {
        term *= cosine * cosine * ((double)k - 1) / (double)k;
        sum += term;
    }
    const double within = odd ? 2 / pi * (angle + sin(angle) * sum) : sin(angle) * sum;
    return fmax(0.0, 0.5 * (1 - within));
}

/* The t beyond which 2.5 % lie. */
static double student_width(size_t freedom)
{
    double low = 0.0;
    double high = 1e3;
    for (int i = 0; i < 80; i++) {
        const double middle = 0.5 * (low + high);
        if (student_tail(middle, freedom) > 0.025) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return high;
}

double turns_share(enum turns_before before)
{
    static const double shares[] = {
        [TURNS_UNKNOWN] = 1.0, [TURNS_NOT_SLOWER] = 1.5, [TURNS_SLOWER] = 0.5};
    return shares[before];
}

void turns_judge(const struct turns_launches *launches, struct turns_verdict *verdict)
{
    turns_judge_after(launches, TURNS_UNKNOWN, verdict);
}

void turns_judge_after(const struct turns_launches *launches, enum turns_before before,
                       struct turns_verdict *verdict)
{
    const double n = (double)launches->n;
    double mean = 0.0;
    double square = 0.0;
    double within = 0.0;
    for (size_t i = 0; i < launches->n; i++) {
        mean += launches->logs[i] / n;
        within += launches->errors[i] * launches->errors[i] / (n * n);
    }
    for (size_t i = 0; i < launches->n; i++) {
        square += (launches->logs[i] - mean) * (launches->logs[i] - mean);
    }
    const double own = launches->n > 1 ? sqrt(square / (n - 1)) : 0.0;
    const bool known = launches->n >= TURNS_LAUNCHES_LEAST;
    const size_t freedom = known ? launches->n - 1 : 0;
    const double spread = known ? own : fmax(own, launches->assumed);
    const double error = turns_share(before) * sqrt(spread * spread / n + (known ? 0.0 : within));
    const double wide = student_width(freedom) * error;
    verdict->factor = exp(mean);
    verdict->low = exp(mean - wide);
    verdict->high = exp(mean + wide);
    verdict->error = error;
    verdict->freedom = freedom;
    verdict->spread = spread;
    verdict->known = known;
    if (!(error > 0.0)) {
        verdict->p = mean > 0.0 ? 0.0 : 1.0; /* no round differs from another */
        return;
    }
    const double tail = student_tail(fabs(mean) / error, freedom);
    verdict->p = mean >= 0.0 ? tail : 1 - tail;
}

double turns_again(const struct turns_verdict *verdict, double limit)
{
    const double above = log(verdict->factor / limit);
    if (!(verdict->error > 0.0)) {
        return above > 0.0 ? 1.0 : 0.0;
    }
    const double tail = student_tail(fabs(above) / (sqrt(2.0) * verdict->error), verdict->freedom);
    return above >= 0.0 ? 1.0 - tail : tail;
}

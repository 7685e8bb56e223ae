/* SPDX-License-Identifier: BSD-3-Clause */
/* The conditions that a pattern must meet before it is used. */
#include "arrival/limits.h"

#include <ictus/arrivals.h>
#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>

/* Check what one rank did before it arrived in one instance, if that is known. */
static int time_check(const struct ictus_arrivals *a, const char *what, const int64_t *times_ns,
                      int64_t row, int r, struct ictus_why *why)
{
    const int64_t time = times_ns ? times_ns[row * a->ranks + r] : 0;
    if (time >= 0 && time <= ARRIVAL_OFFSET_MAX_NS) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_FORMAT,
                         "%s: instance %lld, rank %d: the %s is %lld ns, but %ss must lie "
                         "between 0 and %lld ns",
                         a->site, (long long)row, r, what, (long long)time, what,
                         (long long)ARRIVAL_OFFSET_MAX_NS);
}

/*
 * Check one instance. Offsets are relative to the first arrival, so one of them is 0. If none is,
 * they are absolute instants or belong to another row, and a replay would wait for nobody. The
 * limit of an hour keeps offsets and their differences exact as doubles (2^53 ns are 104 days).
 */
static int row_check(const struct ictus_arrivals *a, int64_t row, struct ictus_why *why)
{
    const int64_t *offsets = a->offsets_ns + row * a->ranks;
    int64_t least = offsets[0];
    for (int r = 0; r < a->ranks; r++) {
        if (offsets[r] < 0 || offsets[r] > ARRIVAL_OFFSET_MAX_NS) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%s: instance %lld, rank %d: the offset is %lld ns, but offsets "
                                 "count from the first arrival and must lie between 0 and %lld ns",
                                 a->site, (long long)row, r, (long long)offsets[r],
                                 (long long)ARRIVAL_OFFSET_MAX_NS);
        }
        least = offsets[r] < least ? offsets[r] : least;
        int err = time_check(a, "gap", a->gaps_ns, row, r, why);
        err = err ? err : time_check(a, "silence", a->silences_ns, row, r, why);
        if (err) {
            return err;
        }
    }
    if (least != 0) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: instance %lld: the smallest offset is %lld ns, but offsets count "
                             "from the first arrival, so it must be 0",
                             a->site, (long long)row, (long long)least);
    }
    return ICTUS_OK;
}

/*
 * NaN means unknown. It is accepted explicitly, because comparisons with NaN are false and would
 * reject it.
 */
static bool value_within(double value, double low, double high)
{
    return isnan(value) || (value >= low && value <= high);
}

/*
 * Check one rank's statistics. Either all quantiles are known or none, and they ascend, because
 * drawing interpolates between them. Without a table, mean and standard deviation must be known,
 * since nothing else is.
 */
static int rank_check(const struct ictus_arrivals *a, int r, struct ictus_why *why)
{
    const struct ictus_arrival_rank *rank = &a->rank[r];
    const double most = (double)ARRIVAL_OFFSET_MAX_NS;
    bool good = value_within(rank->mean_ns, 0, most) && value_within(rank->sd_ns, 0, most) &&
                value_within(rank->last, 0, 1) && value_within(rank->autocorrelation, -1, 1);
    for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
        const double value = rank->quantiles_ns[q];
        good = good && value_within(value, 0, most) &&
               (q == 0 || isnan(value) == isnan(rank->quantiles_ns[0])) &&
               (q == 0 || isnan(value) || value >= rank->quantiles_ns[q - 1]);
    }
    if (!good) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: the statistics of rank %d are out of range: mean, standard "
                             "deviation and quantiles lie between 0 and %lld ns, quantiles ascend, "
                             "shares lie between 0 and 1, correlations between -1 and 1",
                             a->site, r, (long long)ARRIVAL_OFFSET_MAX_NS);
    }
    if (a->recorded == 0 && (isnan(rank->mean_ns) || isnan(rank->sd_ns))) {
        return ictus_because(
            why, ICTUS_ERR_FORMAT,
            "%s: there is no table of instances (raw_offsets_ns), and rank %d has no mean "
            "or no standard deviation (mean_ns, sd_ns)",
            a->site, r);
    }
    return ICTUS_OK;
}

/*
 * Applied to patterns from files and to those that were just made. A pattern that passes can be
 * summarised, replayed and drawn from without further checks.
 */
int ictus_arrivals_check(const struct ictus_arrivals *a, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (!a->site[0]) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "a pattern must name its call site (site)");
    }
    if (!value_within(a->error_ns, 0, INFINITY) || !value_within(a->spread_ns, 0, INFINITY) ||
        !value_within(a->duration_s, 0, INFINITY) || !value_within(a->persistence, 0, 1) ||
        a->root >= a->ranks || a->instances < a->recorded) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: error, spread and duration must not be negative, persistence "
                             "must lie between 0 and 1, the root must be a rank, and instances "
                             "must not be fewer than the rows of the table",
                             a->site);
    }
    for (int r = 0; r < a->ranks && !err; r++) {
        err = rank_check(a, r, why);
    }
    for (int64_t i = 0; i < a->recorded && !err; i++) {
        err = row_check(a, i, why);
    }
    return err;
}

/*
 * Whether the pattern is a signal and not noise: the median of the largest offset must exceed half
 * the 95 % interval of one offset. Otherwise the order of arrival may come from the clocks as well
 * as from the program, and a benchmark with it would be a random experiment. An unknown error may
 * be of any size.
 *
 *     error_ns <= spread_ns,   both in ns: docs/arrivals.md, "What the numbers mean"
 */
int ictus_arrivals_signal(const struct ictus_arrivals *a, struct ictus_why *why)
{
    if (a->ranks < 2 || !(a->spread_ns > 0)) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: all offsets are 0, so there is no pattern to replay", a->site);
    }
    if (isnan(a->error_ns)) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: the error of the offsets is not known (error_ns), so the pattern "
                             "may be noise",
                             a->site);
    }
    if (a->error_ns > a->spread_ns) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: the offsets' error of %.0f ns is larger than the largest offset "
                             "of %.0f ns, so a replay would only replay noise",
                             a->site, a->error_ns, a->spread_ns);
    }
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pair estimator `adaptive`: offset and drift of one clock against another from many
 * exchanges, by whichever of several estimators the data themselves show to be best.
 */
#ifndef ICTUS_CORE_ADAPTIVE_H
#define ICTUS_CORE_ADAPTIVE_H

#include "core/line.h"
#include "core/stamp.h"

#include <stddef.h>

/* Which slope estimator won; told for reports and tests. */
enum adaptive_choice {
    ADAPTIVE_ENVELOPE,
    ADAPTIVE_BLOCKS_4,
    ADAPTIVE_BLOCKS_16,
    ADAPTIVE_BLOCKS_64,
    ADAPTIVE_WEIGHTED,
    ADAPTIVE_CHOICES
};

/* A slope that is known already: ns per s, and its variance. */
struct adaptive_slope {
    double ns_per_s, variance;
};

/*
 * Fit a line of offsets (remote minus local), anchored at the last exchange.
 *
 * 1. Guard: a few exchanges that stand off below all others on one side ("too fast": a stamp was
 *    taken wrongly) are left out.
 * 2. Slope: the envelope's, OLS through the middles of blocks of 4, 16 or 64 exchanges, or
 *    RTT-weighted least squares: the one whose estimates on interleaved folds scatter least.
 * 3. Offset: at that slope, the middle between the least delays of each side: of all, or what the
 *    least of m is on average (core/least_delay.h); m by Lepski's rule, the smallest standard error
 *    that contradicts none of the larger m.
 *
 * Assumes that the offset is a line over the exchanges' span and that both ways have the same
 * minimum delay; it cannot see a path's asymmetry. error->bound is rigorous: every line inside all
 * bounds with a drift within ICTUSI_DRIFT_MAX_NS_PER_S. O(n log n).
 *
 * known, if not NULL, replaces the second step. error and choice may be NULL. The error is least at
 * the mean instant of the delays that decided, whatever the slope errs by. Errors:
 * ICTUS_ERR_SAMPLES (n = 0), ICTUS_ERR_CLOCK, ICTUS_ERR_NOMEM.
 */
int ictusi_adaptive_fit(const struct stamp *stamps, size_t n, const struct adaptive_slope *known,
                        struct line *line, struct line_error *error, enum adaptive_choice *choice);

#endif

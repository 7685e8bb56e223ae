/* SPDX-License-Identifier: BSD-3-Clause */
/* The pair estimator `adaptive`: offset and drift of one clock relative to another from many
 * exchanges. It uses whichever of several estimators is best according to the data themselves. */
#ifndef ICTUS_CORE_ADAPTIVE_H
#define ICTUS_CORE_ADAPTIVE_H

#include "core/line.h"
#include "core/stamp.h"

#include <stddef.h>

/* The slope estimator that was chosen; returned for reports and tests. */
enum adaptive_choice {
    ADAPTIVE_ENVELOPE,
    ADAPTIVE_BLOCKS_4,
    ADAPTIVE_BLOCKS_16,
    ADAPTIVE_BLOCKS_64,
    ADAPTIVE_WEIGHTED,
    ADAPTIVE_CHOICES
};

/* A slope that is already known: ns per s, and its variance. */
struct adaptive_slope {
    double ns_per_s, variance;
};

/*
 * Fit a line to the offsets (remote minus local), anchored at the last exchange.
 *
 * 1. Guard: a few exchanges that are separated from all others, towards smaller delays ("too fast":
 *    a stamp was wrong), are left out.
 * 2. Slope: that of the envelope, of OLS through the middles of blocks of 4, 16 or 64 exchanges, or
 *    of RTT-weighted least squares: the one whose estimates on interleaved folds scatter least.
 * 3. Offset: at that slope, the middle between the smallest delays of both directions. Either the
 *    smallest of all delays is used, or the expected smallest of m (core/least_delay.h). Lepski's
 *    rule chooses m: the smallest standard error that does not contradict any larger m.
 *
 * The method assumes that the offset is linear over the span of the exchanges and that both
 * directions have the same minimum delay. It cannot see the asymmetry of a path. error->bound is
 * rigorous: it covers every line inside all bounds with a drift within ICTUSI_PARTING_MAX_NS_PER_S.
 * O(n log n).
 *
 * `known`, if not NULL, replaces the second step. error and choice may be NULL. The error is
 * smallest at the mean instant of the delays that decided, however wrong the slope is. Errors:
 * ICTUS_ERR_SAMPLES (n = 0), ICTUS_ERR_CLOCK, ICTUS_ERR_NOMEM.
 */
int ictusi_adaptive_fit(const struct stamp *stamps, size_t n, const struct adaptive_slope *known,
                        struct line *line, struct line_error *error, enum adaptive_choice *choice);

#endif

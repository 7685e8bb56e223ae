/* SPDX-License-Identifier: BSD-3-Clause */
/* A line through offsets, with the errors of both: what every drift-aware algorithm ends with. */
#ifndef ICTUS_CORE_FIT_H
#define ICTUS_CORE_FIT_H

#include "core/line.h"
#include "core/stamp.h"

#include <stddef.h>

/* The assumption under every hard bound: relative drifts stay within this, in ns per s. */
#define ICTUSI_DRIFT_MAX_NS_PER_S 200000.0

/*
 * Ordinary least squares of the offsets over their instants (H18 algorithm 2, FIT_LINEAR_MODEL),
 * anchored at the last instant. Instants and offsets are centred as integers before they become
 * doubles, so instants near 1.7e18 ns lose nothing. One point gives an offset without a slope; a
 * spread of instants below 1 ns likewise.
 *
 * The error comes from the residuals; with two points or fewer, from the half-widths (taken as
 * uniform). Its bound holds for relative drifts up to ICTUSI_DRIFT_MAX_NS_PER_S.
 * error may be NULL. Errors: ICTUS_ERR_SAMPLES for n = 0.
 */
int ictusi_fit_ols(const struct offset *points, size_t n, struct line *line,
                   struct line_error *error);

/* The same with a weight for each point (inverse variances up to a factor); NULL: all alike. */
int ictusi_fit_wls(const struct offset *points, const double *weights, size_t n, struct line *line,
                   struct line_error *error);

/*
 * An asymmetry that no estimator and no loop can see must still be admitted: this part of the
 * shortest round trip. 3 % is 23 ns of 800 ns, as measured between two cores.
 */
#define ICTUSI_ASYMMETRY_PER_RTT 0.03

/*
 * Add what residuals do not show of one path to an error: its asymmetry, which shifts all offsets
 * alike, and its wander over the points' span, which bends the slope; and the usual walk of two
 * clocks' drifts.
 */
void ictusi_fit_admit_path(const struct offset *points, size_t n, struct line_error *error);

/*
 * The hard bound of a line at its anchor, in ns: how far it is from the farthest value that some
 * single point and the largest drift leave possible, for the point that says most.
 */
double ictusi_fit_bound(const struct line *line, const struct offset *points, size_t n);

#endif

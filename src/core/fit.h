/* SPDX-License-Identifier: BSD-3-Clause */
/* A line through offsets, with the errors of both. Every drift-aware algorithm ends with it. */
#ifndef ICTUS_CORE_FIT_H
#define ICTUS_CORE_FIT_H

#include "core/line.h"
#include "core/stamp.h"

#include <stddef.h>

/* The assumption of every hard bound: each clock's drift stays within this, in ns per s. */
#define ICTUSI_DRIFT_MAX_NS_PER_S 200000.0
/* Two clocks may drift against each other, and part by twice as much. */
#define ICTUSI_PARTING_MAX_NS_PER_S (2.0 * ICTUSI_DRIFT_MAX_NS_PER_S)

/*
 * Ordinary least squares of the offsets over their instants (H18 algorithm 2, FIT_LINEAR_MODEL),
 * anchored at the last instant. Instants and offsets are centred as integers before they become
 * doubles, so that instants near 1.7e18 ns lose nothing. A single point, or instants that spread by
 * less than 1 ns, give an offset without a slope.
 *
 * The error follows from the residuals, or from the half-widths (as uniform distributions) with two
 * points or fewer. Its bound holds for relative drifts of up to ICTUSI_PARTING_MAX_NS_PER_S. error
 * may be NULL. Errors: ICTUS_ERR_SAMPLES for n = 0.
 */
int ictusi_fit_ols(const struct offset *points, size_t n, struct line *line,
                   struct line_error *error);

/* Weighted least squares: each point has a weight (inverse variance up to a factor). NULL: equal
 * weights. */
int ictusi_fit_wls(const struct offset *points, const double *weights, size_t n, struct line *line,
                   struct line_error *error);

/*
 * The asymmetry of a path, which no estimator and no loop can see, must still be included in the
 * error. It is taken as this part of the shortest round trip: 3 % is 23 ns of 800 ns, as measured
 * between two cores.
 */
#define ICTUSI_ASYMMETRY_PER_RTT 0.03

/*
 * Add to an error what the residuals of one path do not show: its asymmetry, which shifts all
 * offsets alike; its wander over the span of the points, which bends the slope; and the usual walk
 * of two clocks' drifts.
 */
void ictusi_fit_admit_path(const struct offset *points, size_t n, struct line_error *error);

/*
 * Return the hard bound of a line at its anchor, in ns. Each point, together with the largest
 * drift, gives the largest possible distance of the truth from the line. The smallest of these is
 * the bound.
 */
double ictusi_fit_bound(const struct line *line, const struct offset *points, size_t n);

#endif

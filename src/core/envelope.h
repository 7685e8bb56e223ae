/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-sided envelope: lines that lie between all lower and all upper bounds of an offset. Where
 * delays pile up at their minimum, the line with the largest margin to both convex hulls is an
 * estimator that no average reaches; in every case the set of all such lines is a hard bound.
 * Linear time after the hulls, which are built in one scan.
 */
#ifndef ICTUS_CORE_ENVELOPE_H
#define ICTUS_CORE_ENVELOPE_H

#include "core/bounds.h"

#include <stdbool.h>

/* Corners of the lower hull of the upper bounds and of the upper hull of the lower bounds. */
struct envelope {
    const struct bounds *bounds;
    size_t *upper; /* indices into bounds, ascending */
    size_t *lower;
    size_t upper_count, lower_count;
};

/* Room for the envelopes of up to n exchanges. Errors: ICTUS_ERR_NOMEM. */
int ictusi_envelope_reserve(size_t n, struct envelope *envelope);

/* Build the hulls; keeps a pointer to bounds. */
void ictusi_envelope_build(const struct bounds *bounds, struct envelope *envelope);

/* The line of largest margin with a slope within +-slope_max ns/s; margin may be NULL. */
struct trend ictusi_envelope_middle(const struct envelope *envelope, double slope_max,
                                    double *margin);

/*
 * The lowest and highest value at time t of all lines inside the envelope whose slope is within
 * +-slope_max. Says false where there is no such line: stamps are noisy, or a clock stepped.
 */
bool ictusi_envelope_range(const struct envelope *envelope, double slope_max, double t, double *low,
                           double *high);

/* Release; legal on a zeroed structure. */
void ictusi_envelope_free(struct envelope *envelope);

#endif

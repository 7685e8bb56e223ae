/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two-sided envelope: the lines between all lower and all upper bounds of an offset. If delays
 * accumulate at their minimum, the line with the largest margin to both convex hulls is more
 * accurate than any average. In every case the set of all such lines is a hard bound. The hulls are
 * built in one scan; everything else takes linear time.
 */
#ifndef ICTUS_CORE_ENVELOPE_H
#define ICTUS_CORE_ENVELOPE_H

#include "core/bounds.h"

#include <stdbool.h>

/* The corners of the lower hull of the upper bounds and of the upper hull of the lower bounds. */
struct envelope {
    const struct bounds *bounds;
    size_t *upper; /* indices into bounds, ascending */
    size_t *lower;
    size_t upper_count, lower_count;
};

/* Allocate envelopes of up to n exchanges. Errors: ICTUS_ERR_NOMEM. */
int ictusi_envelope_reserve(size_t n, struct envelope *envelope);

/* Build the hulls. A pointer to the bounds is kept. */
void ictusi_envelope_build(const struct bounds *bounds, struct envelope *envelope);

/* Return the line with the largest margin and a slope within +-slope_max ns/s. margin may be
 * NULL. */
struct trend ictusi_envelope_middle(const struct envelope *envelope, double slope_max,
                                    double *margin);

/*
 * Compute the lowest and the highest value at time t of all lines inside the envelope with a slope
 * within +-slope_max. Return false if there is no such line, because stamps are noisy or a clock
 * stepped.
 */
bool ictusi_envelope_range(const struct envelope *envelope, double slope_max, double t, double *low,
                           double *high);

/* Release the envelope. Allowed on a zeroed structure. */
void ictusi_envelope_free(struct envelope *envelope);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ramps that pass through sends. Where a ramp must pass below the limits of sends it gets as steep
 * as they leave it; but a send may be raised above its limit if those who receive from it are
 * raised as well. Where clocks drift by less than the slope, some shift of each that nowhere
 * changes faster satisfies all pairs (the negative of its error, beyond the least), and raising
 * sends to their ramps, then receives to what that demands, and so on, ends at the least one.
 */
#ifndef ICTUS_CAUSALITY_EASING_H
#define ICTUS_CAUSALITY_EASING_H

#include "causality/points.h"

/*
 * Of one location's points [first, end), after a forward pass and with limits: how many sends would
 * be raised above their limits by ramps of this slope.
 */
uint64_t ictusi_easing_above(const struct points *points, uint64_t first, uint64_t end,
                             double slope);

/* What those ramps raise each send to becomes the floor in its note, in place of the limit. */
void ictusi_easing_floors(struct points *points, uint64_t first, uint64_t end, double slope);

#endif

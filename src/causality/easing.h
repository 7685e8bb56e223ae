/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ramps that pass through sends. A ramp that must pass below the limits of sends becomes as steep
 * as they require. But a send may be raised above its limit if the events that receive from it are
 * raised as well. If clocks drift by less than the slope, some shift of each clock that nowhere
 * changes faster satisfies all pairs: the negative of its error, beyond the least. Raising sends to
 * their ramps, then receives to what that demands, and so on, converges to the least such shift.
 */
#ifndef ICTUS_CAUSALITY_EASING_H
#define ICTUS_CAUSALITY_EASING_H

#include "causality/points.h"

/*
 * For the points [first, end) of one location, after a forward pass and with limits: how many sends
 * would be raised above their limits by ramps of this slope.
 */
uint64_t ictusi_easing_above(const struct points *points, uint64_t first, uint64_t end,
                             double slope);

/* Replace the limit in each send's note by a floor: the value to which these ramps raise it. */
void ictusi_easing_floors(struct points *points, uint64_t first, uint64_t end, double slope);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phase of a clock whose frequency walks at random: a fixed function of time and seed, so that
 * every process of a simulated node sees the same clock and its truth is known at any moment.
 */
#ifndef ICTUS_CLOCK_WANDER_H
#define ICTUS_CLOCK_WANDER_H

#include <ictus/error.h>
#include <stdint.h>

struct wander;

/*
 * Make a walk: the frequency changes by `walk` (dimensionless, per square root of a second), drawn
 * from seed and stream. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_wander_create(double walk, uint64_t seed, uint64_t stream, struct wander **wander);

/*
 * Phase in ns, elapsed_ns after the origin; 0 before it. After WANDER_HORIZON_S the frequency
 * stays. Reentrant: the table behind it grows under a lock and is read without one.
 */
double ictusi_wander_phase(struct wander *wander, int64_t elapsed_ns);

/* NULL is legal. */
void ictusi_wander_free(struct wander *wander);

#endif

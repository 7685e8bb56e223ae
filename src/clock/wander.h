/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phase of a clock whose frequency performs a random walk. It is a fixed function of time and
 * seed, so every process of a simulated node sees the same clock, and its truth is known at any
 * moment.
 */
#ifndef ICTUS_CLOCK_WANDER_H
#define ICTUS_CLOCK_WANDER_H

#include <ictus/error.h>
#include <stdint.h>

struct wander;

/* Create a walk. Its frequency changes by `walk`, a dimensionless frequency per square root of a
 * second. Seed and stream select the random numbers. Errors: ICTUS_ERR_NOMEM. */
int ictusi_wander_create(double walk, uint64_t seed, uint64_t stream, struct wander **wander);

/*
 * Return the phase in ns at elapsed_ns after the origin, and 0 before the origin. After 3.6 h the
 * frequency stays constant. Reentrant: the table of cells grows under a lock and is read without
 * one.
 */
double ictusi_wander_phase(struct wander *wander, int64_t elapsed_ns);

/* Release the walk. NULL is allowed. */
void ictusi_wander_free(struct wander *wander);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finds out whether waits lean to one direction. An exchange that waits a on the way out and b on
 * the way back has a delay of a + b above the smallest and an offset error of (a - b)/2. If both
 * directions wait alike, the two are not correlated. If only one waits, the offset moves by half of
 * each nanosecond of delay, and this can be subtracted. Pure.
 */
#ifndef ICTUS_LOCK_LEAN_H
#define ICTUS_LOCK_LEAN_H

#include <stdint.h>

struct lean_point {
    int64_t local;     /* ns */
    int64_t offset_ns; /* remote minus local */
    double excess_ns;  /* of the delay above the smallest */
};

/* Sums of squares and products of contrasts. Older contrasts fade. */
struct lean {
    struct lean_point last[2];
    int points;
    double weight;     /* number of contrasts, faded */
    double dd, od, oo; /* ns^2 */
};

void ictusi_lean_reset(struct lean *lean);

/* Learn from the next exchange, which must be later than the last one. */
void ictusi_lean_add(struct lean *lean, const struct lean_point *point);

/* Return the share of the excess delay by which the offset is wrong, in [-0.5, 0.5], or 0 if the
 * correlation may be due to chance. share_sd: its standard deviation. */
double ictusi_lean_share(const struct lean *lean, double *share_sd);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Do the waits lean to one way? An exchange that waits a there and b on its way back has a delay
 * that is a + b above the smallest and an offset that is wrong by (a - b)/2. Where both ways wait
 * alike the two are not correlated; where only one does, the offset moves by half of each
 * nanosecond of delay, and that can be taken out of it. Pure.
 */
#ifndef ICTUS_LOCK_LEAN_H
#define ICTUS_LOCK_LEAN_H

#include <stdint.h>

struct lean_point {
    int64_t local;     /* ns */
    int64_t offset_ns; /* remote minus local */
    double excess_ns;  /* of the delay above the smallest */
};

/* Sums of squares and products of contrasts, older ones fading. */
struct lean {
    struct lean_point last[2];
    int points;
    double weight;     /* number of contrasts, faded */
    double dd, od, oo; /* ns^2 */
};

void ictusi_lean_reset(struct lean *lean);

/* Learn from the next exchange, which must be later than the last one. */
void ictusi_lean_add(struct lean *lean, const struct lean_point *point);

/*
 * What share of the excess delay the offset is wrong by, in [-0.5, 0.5], and 0 where the
 * correlation might be chance. share_sd: its standard deviation.
 */
double ictusi_lean_share(const struct lean *lean, double *share_sd);

#endif

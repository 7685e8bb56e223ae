/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchanges of one pair as bounds on the offset over time. The server stamped the request after
 * it was sent, so remote - sent is at least the offset at that instant. The reply arrived after it
 * was stamped, so remote - received is at most the offset when it arrived. The two instants are a
 * millisecond and more apart if one side kept the other waiting, and clocks drift in the meantime.
 * Times are in seconds from the anchor (the middle of the last exchange) and offsets in nanoseconds
 * from the base. These numbers are small, so doubles are exact.
 */
#ifndef ICTUS_CORE_BOUNDS_H
#define ICTUS_CORE_BOUNDS_H

#include "core/stamp.h"

#include <stddef.h>

struct bounds {
    size_t n;
    double *upper_t; /* s: when the request was sent, ascending */
    double *lower_t; /* s: when the reply arrived, ascending */
    double *upper;   /* ns: remote - sent - base */
    double *lower;   /* ns: remote - received - base; upper - lower is the round trip */
    int64_t anchor;  /* ns on the local clock */
    int64_t base;    /* ns */
};

/* A line of offsets in the units of bounds: value(t) = at_zero + slope t. */
struct trend {
    double at_zero; /* ns */
    double slope;   /* ns per s */
};

/* The middle of an exchange, s. Where both directions take as long, the offset is that of the
 * middle between both bounds. */
static inline double bounds_middle(const struct bounds *b, size_t i)
{
    return (b->upper_t[i] + b->lower_t[i]) / 2.0;
}

/* The request's delay above a line of this slope through 0, and the reply's below it, ns. */
static inline double bounds_above(const struct bounds *b, size_t i, double slope)
{
    return b->upper[i] - slope * b->upper_t[i];
}

static inline double bounds_below(const struct bounds *b, size_t i, double slope)
{
    return slope * b->lower_t[i] - b->lower[i];
}

/* Compute bounds from stamps that are ordered in time. Errors: ICTUS_ERR_SAMPLES,
 * ICTUS_ERR_NOMEM, and ICTUS_ERR_CLOCK if the local clock ran backwards. */
int ictusi_bounds_create(const struct stamp *stamps, size_t n, struct bounds *bounds);

/* Allocate empty bounds of up to n exchanges for ictusi_bounds_fold(). Errors: ICTUS_ERR_NOMEM. */
int ictusi_bounds_reserve(size_t n, struct bounds *bounds);

/* Copy every count-th exchange, beginning with number `index`. */
void ictusi_bounds_fold(const struct bounds *from, size_t index, size_t count, struct bounds *into);

/* Release the bounds. Allowed on a zeroed structure. */
void ictusi_bounds_free(struct bounds *bounds);

#endif

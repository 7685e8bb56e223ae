/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges of one pair as what they are: bounds on the offset over time. The request was stamped
 * by the server after it was sent, so remote - sent is at least the offset; the reply arrived after
 * it was stamped, so remote - received is at most the offset. Times are seconds from the anchor
 * (the last exchange's middle), offsets nanoseconds from the base: small numbers, so doubles are
 * exact.
 */
#ifndef ICTUS_CORE_BOUNDS_H
#define ICTUS_CORE_BOUNDS_H

#include "core/stamp.h"

#include <stddef.h>

struct bounds {
    size_t n;
    double *t;      /* s: the middle of each exchange, ascending */
    double *upper;  /* ns: remote - sent - base */
    double *lower;  /* ns: remote - received - base; upper - lower is the round trip */
    int64_t anchor; /* ns on the local clock */
    int64_t base;   /* ns */
};

/* A line of offsets in the units of bounds: value(t) = at_zero + slope t. */
struct trend {
    double at_zero; /* ns */
    double slope;   /* ns per s */
};

/*
 * Take stamps over, ordered in time. Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_NOMEM, and
 * ICTUS_ERR_CLOCK where the local clock ran backwards.
 */
int ictusi_bounds_create(const struct stamp *stamps, size_t n, struct bounds *bounds);

/* Room for up to n exchanges, empty: for ictusi_bounds_fold(). Errors: ICTUS_ERR_NOMEM. */
int ictusi_bounds_reserve(size_t n, struct bounds *bounds);

/* Every count-th exchange, beginning with the index-th. */
void ictusi_bounds_fold(const struct bounds *from, size_t index, size_t count, struct bounds *into);

/* Release; legal on a zeroed structure. */
void ictusi_bounds_free(struct bounds *bounds);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of ticks in records, and their conversion to nanoseconds of the local source. */
#ifndef ICTUS_TRACER_SCALE_H
#define ICTUS_TRACER_SCALE_H

#include <stdint.h>

enum tick_kind {
    TICKS_CLOCK,     /* nanoseconds of the clock's source, through the clock */
    TICKS_MONOTONIC, /* nanoseconds of CLOCK_MONOTONIC */
    TICKS_TSC        /* the bare counter */
};

/* The conversion of ticks: ns = anchor_ns + (ticks - anchor_ticks) * multiplier. */
struct tick_scale {
    enum tick_kind kind;
    uint64_t anchor_ticks;
    int64_t anchor_ns;
    uint64_t multiplier; /* in units of 2^-48; 0: ticks are nanoseconds */
};

enum { TICK_SHIFT = 48 };

/*
 * The local source's nanoseconds at a tick. The product needs 128 bits: in 64 it would overflow
 * after some microseconds.
 */
static inline int64_t ticks_to_ns(const struct tick_scale *scale, uint64_t ticks)
{
    if (scale->multiplier == 0) {
        return (int64_t)ticks;
    }
    __extension__ typedef unsigned __int128 wide;
    if (ticks >= scale->anchor_ticks) {
        const uint64_t since = ticks - scale->anchor_ticks;
        return (int64_t)((uint64_t)scale->anchor_ns +
                         (uint64_t)(((wide)since * scale->multiplier) >> TICK_SHIFT));
    }
    const uint64_t before = scale->anchor_ticks - ticks;
    return (int64_t)((uint64_t)scale->anchor_ns -
                     (uint64_t)(((wide)before * scale->multiplier) >> TICK_SHIFT));
}

#endif

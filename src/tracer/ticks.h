/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads the ticks for records: the local source, in the cheapest available way. A counter is read
 * directly, because its conversion to the source's nanoseconds is a multiplication that can be done
 * later. Other sources are read through the clock.
 */
#ifndef ICTUS_TRACER_TICKS_H
#define ICTUS_TRACER_TICKS_H

#include "tracer/scale.h"

#include <ictus/clock.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

static inline int64_t ticks_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline uint64_t ticks_read(enum tick_kind kind, const struct ictus_clock *clock)
{
#if defined(__x86_64__)
    if (__builtin_expect(kind == TICKS_TSC, 1)) {
        return __rdtsc();
    }
#endif
    if (kind == TICKS_MONOTONIC) {
        return (uint64_t)ticks_monotonic_ns();
    }
    return (uint64_t)ictus_clock_local(clock).ns;
}

#endif

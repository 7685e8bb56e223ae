/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * An instant on one clock: integer nanoseconds, never a double, and without special values.
 *
 * Threads: all functions are pure and reentrant.
 */
#ifndef ICTUS_TIME_H
#define ICTUS_TIME_H

#include <stdint.h>

/** Nanoseconds in one second. */
#define ICTUS_NS_PER_S INT64_C(1000000000)

/**
 * An instant on one particular clock, in nanoseconds since that clock's own origin. Any value is
 * valid, including negative ones. Two instants may only be compared if they are from the same
 * clock.
 */
struct ictus_time {
    int64_t ns; /**< nanoseconds */
};

/** @return the time from @p from to @p to in ns; exact below 2^53 ns (104 days). */
static inline double ictus_time_diff_ns(struct ictus_time to, struct ictus_time from)
{
    return (double)(to.ns - from.ns);
}

/** @return the instant @p ns nanoseconds after @p t. */
static inline struct ictus_time ictus_time_add(struct ictus_time t, int64_t ns)
{
    struct ictus_time sum = {t.ns + ns};
    return sum;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two clocks on which the network clock is built. The kernel stamps packets with
 * CLOCK_REALTIME, which others may steer or step. The software clock runs on CLOCK_MONOTONIC_RAW,
 * which nobody can change. A timebase is a pair of readings of both at one moment. It converts
 * stamps of the last milliseconds from one clock to the other, and detects steps of the system's
 * clock and suspended machines.
 */
#ifndef ICTUS_LOCK_TIMEBASE_H
#define ICTUS_LOCK_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

struct timebase {
    int64_t raw;
    int64_t real;
    double rate;      /* rate of raw against real, minus 1: others steer CLOCK_REALTIME */
    int64_t rate_raw; /* the pair from which the rate is measured */
    int64_t rate_real;
    double width_ns; /* distance of the two raw readings around the real one */
    int64_t real_minus_mono;
    int64_t boot_minus_mono;
    unsigned stepped, suspended; /* how often each event was seen */
    bool started;
};

enum timebase_event {
    TIMEBASE_STEPPED = 1,  /* CLOCK_REALTIME was stepped since the last reading */
    TIMEBASE_SUSPENDED = 2 /* the machine was suspended: CLOCK_MONOTONIC_RAW stood still */
};

int64_t ictusi_timebase_raw_now(void);
int64_t ictusi_timebase_real_now(void);

/*
 * Join seconds since 1970 and nanoseconds of the second, as other programs deliver them, to one
 * number of ns that leaves room for arithmetic. @return false, with *ns unset, if they are no
 * instant between 1970 and 2262
 */
bool ictusi_timebase_stamp_join(int64_t seconds, int64_t nanoseconds, int64_t *ns);

/* Read a new pair. @return a set of enum timebase_event */
unsigned ictusi_timebase_read(struct timebase *base);

/* Convert a CLOCK_REALTIME stamp, taken near the pair, to CLOCK_MONOTONIC_RAW. */
int64_t ictusi_timebase_raw(const struct timebase *base, int64_t real);

/* Convert a CLOCK_MONOTONIC_RAW reading, taken near the pair, to CLOCK_REALTIME. */
int64_t ictusi_timebase_real(const struct timebase *base, int64_t raw);

#endif

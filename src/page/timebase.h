/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The two clocks under the network clock. The kernel stamps packets with CLOCK_REALTIME, which
 * others may steer or step; the software clock runs on CLOCK_MONOTONIC_RAW, which nobody can. A
 * timebase is a pair of readings taken together, by which stamps of the last milliseconds are moved
 * from the one to the other; it notices steps of the system's clock and suspended machines.
 */
#ifndef ICTUS_LOCK_TIMEBASE_H
#define ICTUS_LOCK_TIMEBASE_H

#include <stdbool.h>
#include <stdint.h>

struct timebase {
    int64_t raw;
    int64_t real;
    double rate;      /* of raw against real, minus 1: what others steer by */
    int64_t rate_raw; /* the pair that the rate is measured from */
    int64_t rate_real;
    double width_ns; /* of the sandwich in which the pair was read */
    int64_t real_minus_mono;
    int64_t boot_minus_mono;
    unsigned stepped, suspended; /* how often each was noticed */
    bool started;
};

enum timebase_event {
    TIMEBASE_STEPPED = 1,  /* CLOCK_REALTIME was stepped since the last reading */
    TIMEBASE_SUSPENDED = 2 /* the machine slept: CLOCK_MONOTONIC_RAW stood still */
};

int64_t ictusi_timebase_raw_now(void);
int64_t ictusi_timebase_real_now(void);

/*
 * Seconds since 1970 and nanoseconds of the second, as others hand them over, as one number that
 * can be reckoned with. @return false, *ns unset: they are no stamp between 1970 and 2262
 */
bool ictusi_timebase_stamp_join(int64_t seconds, int64_t nanoseconds, int64_t *ns);

/* Read a new pair. @return a set of enum timebase_event */
unsigned ictusi_timebase_read(struct timebase *base);

/* A CLOCK_REALTIME stamp near the pair as CLOCK_MONOTONIC_RAW. */
int64_t ictusi_timebase_raw(const struct timebase *base, int64_t real);

/* And back. */
int64_t ictusi_timebase_real(const struct timebase *base, int64_t raw);

#endif

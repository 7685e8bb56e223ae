/* SPDX-License-Identifier: BSD-3-Clause */
/* ntpd's shared memory segment, as gpsd and others feed it. */
#ifndef ICTUS_LOCK_REFERENCE_SHM_H
#define ICTUS_LOCK_REFERENCE_SHM_H

#include "page/timebase.h"
#include "sample.h"

#include <stdint.h>
#include <time.h>

/* The segment's layout is fixed by its users (ntpd's refclock_shm). */
struct shm_segment {
    int mode; /* 1: count is odd or differs while the feeder writes */
    volatile int count;
    time_t reference_s;
    int reference_us;
    time_t local_s;
    int local_us;
    int leap;
    int precision; /* log2 seconds */
    int samples;
    volatile int valid;
    unsigned reference_ns;
    unsigned local_ns;
    int dummy[8];
};

/* Take the newest sample out. @return 1, or 0 when there is none or it was being written */
int ictusi_shm_take(struct shm_segment *segment, struct timebase *base, struct sample *sample);

#endif

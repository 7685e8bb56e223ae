/* SPDX-License-Identifier: BSD-3-Clause */
/* ntpd's shared memory segment, which gpsd and other programs feed. */
#ifndef ICTUS_LOCK_REFERENCE_SHM_H
#define ICTUS_LOCK_REFERENCE_SHM_H

#include "page/timebase.h"
#include "sample.h"

#include <stdint.h>
#include <time.h>

/* The layout of the segment is fixed by its users (ntpd's refclock_shm). */
struct shm_segment {
    int mode; /* 1: count changes while the feeder writes */
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

/* Take the newest sample. @return 1, or 0 if there is none or it was being written */
int ictusi_shm_take(struct shm_segment *segment, struct timebase *base, struct sample *sample);

#endif

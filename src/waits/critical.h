/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The critical path (Böhme and others 2012), walked back from the last event. At each wait it
 * continues at the location that was waited for, from the instant that ended the wait. Its segments
 * add up to the duration of the program.
 */
#ifndef ICTUS_WAITS_CRITICAL_H
#define ICTUS_WAITS_CRITICAL_H

#include "waits/times.h"

/* A segment of the critical path on one location. */
struct critical_segment {
    uint32_t location;
    int64_t from, to; /* ticks */
};

struct critical {
    int64_t *by_location;    /* ticks */
    struct time_map by_path; /* ticks, all locations */
    struct store segments;   /* struct critical_segment, from last to first */
    int64_t length;
    double *low, *high; /* by location: the 2nd and the 79th of its shares under the histories */
};

/* Call ictusi_critical_free() even after an error: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_critical_find(struct critical *critical, const struct times *times,
                         struct ictus_why *why);
void ictusi_critical_free(struct critical *critical);

#endif

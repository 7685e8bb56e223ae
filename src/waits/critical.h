/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The critical path (Böhme and others 2012): from the last event back, at each wait over to who was
 * waited for at the instant when it came. Its segments add up to the time the program took.
 */
#ifndef ICTUS_WAITS_CRITICAL_H
#define ICTUS_WAITS_CRITICAL_H

#include "waits/times.h"

/* A stretch of the critical path on one location. */
struct critical_segment {
    uint32_t location;
    int64_t from, to; /* ticks */
};

struct critical {
    int64_t *by_location;    /* ticks */
    struct time_map by_path; /* ticks, all locations */
    struct store segments;   /* struct critical_segment, the last one first */
    int64_t length;
    double *low, *high; /* by location: the 2nd and 79th of its shares under the histories */
};

/* Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. Released by ictusi_critical_free(), after errors too. */
int ictusi_critical_find(struct critical *critical, const struct times *times,
                         struct ictus_why *why);
void ictusi_critical_free(struct critical *critical);

#endif

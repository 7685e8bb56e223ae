/* SPDX-License-Identifier: BSD-3-Clause */
/* Detects steps of a source by comparing it with the kernel's monotonic clock. Local; all state
 * is in struct watch. */
#ifndef ICTUS_CLOCK_WATCH_H
#define ICTUS_CLOCK_WATCH_H

#include "clock/source.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    int64_t began_ns;        /* reading of CLOCK_MONOTONIC */
    int64_t low_ns, high_ns; /* bounds of source - CLOCK_MONOTONIC at that time */
};

/* Start watching the source. */
void ictusi_watch_begin(struct watch *watch, const struct source *source);

struct watch_look {
    int64_t source_ns;  /* the source now */
    int64_t elapsed_ns; /* the time since watching began, by the kernel's clock */
    bool stepped;       /* true only if the bounds then and now exclude each other */
};

/* Return whether the source has stepped since watching began. This reads one or two clocks, and
 * three more times only if a step is suspected. */
struct watch_look ictusi_watch_look(const struct watch *watch, const struct source *source);

#endif

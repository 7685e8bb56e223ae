/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeing that a source has stepped, by the kernel's monotonic clock. Local; no state but its own.
 */
#ifndef ICTUS_CLOCK_WATCH_H
#define ICTUS_CLOCK_WATCH_H

#include "clock/source.h"

#include <stdbool.h>
#include <stdint.h>

struct watch {
    int64_t began_ns;        /* CLOCK_MONOTONIC */
    int64_t low_ns, high_ns; /* the source less the kernel's clock then: between these */
};

/* From now on. */
void ictusi_watch_begin(struct watch *watch, const struct source *source);

struct watch_look {
    int64_t source_ns;  /* the source now */
    int64_t elapsed_ns; /* how long it has been watched, by the kernel's clock */
    bool stepped;       /* only where what it was and what it is exclude each other */
};

/* Whether the source has jumped since. One or two readings of clocks; three more where it seems so.
 */
struct watch_look ictusi_watch_look(const struct watch *watch, const struct source *source);

#endif

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

/* Whether the source has jumped since: only where what it was and what it is exclude each other. */
bool ictusi_watch_stepped(const struct watch *watch, const struct source *source);

/* How long it has been watched, by the kernel's clock. */
int64_t ictusi_watch_elapsed_ns(const struct watch *watch);

#endif

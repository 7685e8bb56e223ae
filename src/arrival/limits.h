/* SPDX-License-Identifier: BSD-3-Clause */
/* Limits for the values in a pattern. */
#ifndef ICTUS_ARRIVAL_LIMITS_H
#define ICTUS_ARRIVAL_LIMITS_H

#include <stdint.h>

/* One hour: a process that comes later than that came to another call. */
#define ARRIVAL_OFFSET_MAX_NS INT64_C(3600000000000)

enum {
    ARRIVAL_RANKS_MAX = 1 << 20,
    ARRIVAL_CELLS_MAX = 1 << 28 /* rows times ranks */
};

#endif

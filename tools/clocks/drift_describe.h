/* SPDX-License-Identifier: BSD-3-Clause */
/* What the offsets of one process say: the line through them, R² over growing windows, how long a
 * line holds. */
#ifndef ICTUS_TOOLS_DRIFT_DESCRIBE_H
#define ICTUS_TOOLS_DRIFT_DESCRIBE_H

#include <ictus/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One process's offsets to the reference; times and offsets count from the first point. */
struct drift_points {
    const double *times_s;
    const double *offsets_ns;
    size_t count;
    int64_t first_ns;     /* the first offset itself: reference minus process */
    double half_width_ns; /* how far one offset may be off, at most */
};

struct drift_picture {
    const char *clock;
    int rank;
    int reference;
    double fit_s;
    double tolerance_ns;
    bool text; /* list the windows below the row */
};

int drift_describe(struct ictus_output *out, const struct drift_picture *picture,
                   const struct drift_points *points);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock's offset between synchronisations, from all of them: forward over the points and backward
 * again (Rauch, Tung and Striebel 1965). The drift performs a random walk, by `walk` per square
 * root of a second. The most likely course between two points is then a cubic, which is determined
 * by offset and drift at both. (core/track.h looks at the same clock from the last point only.) How
 * far the drift walks, and how much the points err, is unknown. All likely values are used,
 * weighted by their likelihood.
 */
#ifndef ICTUS_CORE_SMOOTHER_H
#define ICTUS_CORE_SMOOTHER_H

#include <stddef.h>

/* Fewer points than this show too little about the walk of the drift. */
enum { SMOOTHER_POINTS_MIN = 12 };

struct smoother_point {
    double t_s;      /* increasing */
    double offset;   /* ns; in: as measured; out: most likely value */
    double sigma_ns; /* in: of the measured offset, an approximate upper limit */
    double drift;    /* out: ns per s */
};

/*
 * Smooth `count` points in place. *walk is the walk of the drift, in ns per s per square root of a
 * second. Errors: ICTUS_ERR_SAMPLES (fewer than SMOOTHER_POINTS_MIN; nothing is changed),
 * ICTUS_ERR_CORRUPT (offsets or sigmas that are not numbers), ICTUS_ERR_NOMEM. O(count).
 */
int ictusi_smoother_run(struct smoother_point *points, size_t count, double *walk);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a clock's offset was between synchronisations, seen from all of them: forward over the
 * points and backward again (Rauch, Tung and Striebel 1965). The drift walks at random by walk per
 * square root of a second; what is most likely between two points is then a cubic, which offset and
 * drift at both determine. (core/track.h looks at the same clock from the last point only.) How far
 * the drift walks, and what points err by, is not known: every likely answer counts, by its
 * likelihood.
 */
#ifndef ICTUS_CORE_SMOOTHER_H
#define ICTUS_CORE_SMOOTHER_H

#include <stddef.h>

/* Fewer points than this say too little of how far the drift walks. */
enum { SMOOTHER_POINTS_MIN = 12 };

struct smoother_point {
    double t_s;      /* increasing */
    double offset;   /* ns, in: as measured; out: as it most likely was */
    double sigma_ns; /* in: of the measured offset, at most about so much */
    double drift;    /* out: ns per s */
};

/*
 * Smooth count points in place. walk: how far the drift walks, ns per s per square root of a
 * second. Errors: ICTUS_ERR_SAMPLES (fewer than SMOOTHER_POINTS_MIN; nothing is changed),
 * ICTUS_ERR_CORRUPT (offsets or sigmas that are not numbers), ICTUS_ERR_NOMEM. O(count).
 */
int ictusi_smoother_run(struct smoother_point *points, size_t count, double *walk);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The local oscillator's stability from the measurements themselves: second differences of the
 * phase at one, two, four, ... polls (the Allan deviation, here for unequal spacing), with the part
 * subtracted that the measurements' white noise makes. Pure.
 */
#ifndef ICTUS_LOCK_STABILITY_H
#define ICTUS_LOCK_STABILITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { STABILITY_WINDOW = 256, STABILITY_LEVELS = 7 };

struct stability {
    int64_t at[STABILITY_WINDOW];
    double phase_ns[STABILITY_WINDOW];
    double variance_ns2[STABILITY_WINDOW];
    size_t count; /* ever added since the last reset */
};

struct stability_point {
    double tau_s;
    double sigma_y;     /* dimensionless, white phase noise removed; 0 when it is all noise */
    double sigma_y_raw; /* with it */
    int terms;
};

void ictusi_stability_reset(struct stability *s);

void ictusi_stability_add(struct stability *s, int64_t at, double phase_ns, double variance_ns2);

/* Fill up to STABILITY_LEVELS points of growing tau. @return how many */
size_t ictusi_stability_points(const struct stability *s, struct stability_point *points);

/*
 * The Allan deviation at an interval: from the nearest measured one, carried by the slope of a
 * random walk of frequency (sigma_y grows with the root of tau); fallback where nothing is known.
 */
double ictusi_stability_at(const struct stability *s, double tau_s, double walk_ns2_per_s3);

#endif

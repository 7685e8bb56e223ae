/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The stability of the local oscillator from the measurements themselves: second differences of the
 * phase over one, two, four, ... polls (the Allan deviation, here for unequal spacing), minus the
 * contribution of the measurements' white noise. Pure.
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
    size_t count; /* added since the last reset */
};

struct stability_point {
    double tau_s;
    double sigma_y;     /* dimensionless, without white phase noise; 0 if there is only noise */
    double sigma_y_raw; /* with white phase noise */
    int terms;
};

void ictusi_stability_reset(struct stability *s);

void ictusi_stability_add(struct stability *s, int64_t at, double phase_ns, double variance_ns2);

/* Compute up to STABILITY_LEVELS points of increasing tau. @return their number */
size_t ictusi_stability_points(const struct stability *s, struct stability_point *points);

/*
 * Return the Allan deviation at an interval. The nearest measured one is extrapolated as a random
 * walk of the frequency (sigma_y grows with the root of tau). If none is known, the given walk is
 * used.
 */
double ictusi_stability_at(const struct stability *s, double tau_s, double walk_ns2_per_s3);

#endif

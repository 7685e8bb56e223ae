/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock followed over sweeps: generalised least squares for its offset and drift now, when each
 * sweep's offset errs by
 *   - noise, anew in every sweep,
 *   - a bias that all sweeps over the same pairs share (the asymmetry of paths),
 *   - wander: a drift that walks at random by walk per square root of a second, so that a sweep of
 *     age s says less about now by walk^2 s^3 / 3.
 * All clocks share sweeps and variances, so one small matrix serves them all.
 */
#ifndef ICTUS_CORE_TRACK_H
#define ICTUS_CORE_TRACK_H

#include <stddef.h>

enum { TRACK_MAX = 32 };

struct track_sweep {
    double t_s;       /* middle of the sweep */
    double noise_ns2; /* variance of an offset of average quality */
    double bias_ns2;  /* likewise, of what the group shares */
    int group;        /* sweeps over the same pairs have the same number */
};

/* How offsets of the sweeps combine, and how the result errs. */
struct track {
    int count;
    double offset_row[TRACK_MAX]; /* offset now = sum of row times the sweeps' offsets */
    double drift_row[TRACK_MAX];  /* likewise, in ns per s */
    /* Variances of offset, offset and drift, drift: from noise and bias, and from wander. */
    double measured[3];
    double wander[3];
};

/* What the clocks' own history says of the assumptions. */
struct track_model {
    double walk;      /* ns per s per square root of a second */
    double inflation; /* sweeps' noise variance is this many times what pairs show, at least 1 */
};

/*
 * Combine count (1 to TRACK_MAX) sweeps into offset and drift at now_s. With a single sweep the
 * drift is 0 with the variance drift_prior_ns2_per_s2.
 * Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_CORRUPT (two sweeps at one instant).
 */
int ictusi_track_fit(const struct track_sweep *sweeps, int count, double now_s,
                     const struct track_model *model, double drift_prior_ns2_per_s2,
                     struct track *track);

/*
 * The walk and the noise that the clocks show, by restricted maximum likelihood over a grid, held
 * near a prior walk and an inflation of 1 where the sweeps say little (fewer than three say
 * nothing). Inflation is noise that all of a process's pairs share within a sweep, which their
 * residuals cannot show. moments[k * count + l]: mean over all clocks of the product of their
 * offsets in sweeps k and l, each less its own line.
 */
struct track_model ictusi_track_learn(const struct track_sweep *sweeps, int count,
                                      const double *moments, int clocks, double prior_walk);

#endif

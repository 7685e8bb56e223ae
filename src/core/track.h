/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock followed over sweeps: generalised least squares for its present offset and drift. The
 * offset of each sweep has these errors:
 *   - noise, new in every sweep, which differs from sweep to sweep;
 *   - a bias that all sweeps over the same pairs share (the asymmetry of paths);
 *   - wander of the paths: noise that residuals around loops do not show, with a memory;
 *   - wander of the clock: a drift that performs a random walk, by `walk` per square root of a
 *     second, so that a sweep of age s is less certain about the present by walk^2 s^3 / 3.
 * How large the last two are is unknown and hardly visible in one synchronisation. All likely
 * values are used, weighted by their likelihood and by what clocks and paths are usually like. All
 * clocks share sweeps and variances, so one small matrix for each hypothesis serves all of them.
 */
#ifndef ICTUS_CORE_TRACK_H
#define ICTUS_CORE_TRACK_H

#include <stddef.h>

enum {
    TRACK_MAX = 32,
    TRACK_LINE = 6 /* fewer offsets do not show a line that most of them are on */
};

struct track_sweep {
    double t_s;       /* middle of the sweep */
    double noise_ns2; /* variance of an offset of average quality */
    double bias_ns2;  /* likewise, of what the group shares */
    int group;        /* sweeps over the same pairs have the same number */
};

/* What is known in addition to the sweeps. */
struct track_prior {
    double walk;           /* usual walk, ns per s per square root of a second */
    double walk_log_scale; /* uncertainty of it: Student's scale of its logarithm, 3
                              degrees of freedom; below the usual walk at most 1.15 */
    double still;          /* probability that no clock walks, below 1; if it is not 0, nothing
                              but clocks and noise moves the offsets */
    double drift_var_ns2_per_s2; /* if one sweep shows none */
    double floor_ns;             /* unit of the wander of paths: the noise, but at least this */
    double horizon_s;            /* at which, besides now, the claimed 95 % must hold */
    const double *moments;       /* see ictusi_track_fit() */
    double clocks;               /* number of independent clocks in the moments */
};

/* How the offsets of the sweeps combine, and the error of the result. */
struct track {
    int count;
    double offset_row[TRACK_MAX]; /* offset now = sum of row times the offsets of the sweeps */
    double drift_row[TRACK_MAX];  /* likewise, in ns per s */
    /* Variances of the offset, of offset and drift, and of the drift, by their origin. */
    double noise[3]; /* includes the wander of paths */
    double bias[3];
    double wander[3]; /* of the clock, until now */
    double walk;      /* ns per s per square root of a second, from now on */
    double inflation; /* factor of wander on the variance of the noise */
};

/*
 * Combine `count` (1 to TRACK_MAX) sweeps to offset and drift at now_s. prior->moments[k * count +
 * l] is the mean over all clocks of the product of their offsets in sweeps k and l, each minus any
 * line of its own. With fewer than three sweeps they carry no information, and the usual walk is
 * assumed. With a single sweep the drift is 0. Variances are such that 1.96 standard deviations
 * contain at least 95 %, and at the horizon, if prior->clocks > 1 and prior->still is 0, 3.5 of
 * them at least 99.95 %. Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_CORRUPT (two sweeps at one instant),
 * ICTUS_ERR_NOMEM.
 */
int ictusi_track_fit(const struct track_sweep *sweeps, int count, double now_s,
                     const struct track_prior *prior, struct track *track);

/*
 * Compute how far each of `count` (TRACK_LINE to TRACK_MAX) offsets at different times is from the
 * line through most of them: the median slope, through the middle. Return the standard deviation
 * that corresponds to the median of these distances.
 */
double ictusi_track_rests(const double *t_s, int count, const double *offsets, double *rest);

/*
 * Return how far value k of `count` (TRACK_LINE to TRACK_MAX) is from the line through its two
 * nearest neighbours. A clock that wanders bends the line through all values, but then the
 * neighbours follow; after a bad burst they do not.
 */
double ictusi_track_apart(const double *t_s, const double *values, int count, int k);

/*
 * Compute the variance to add to each of `count` sweeps of one clock that deviates from the line
 * through most of them, and from the line through its neighbours, by more than its noise explains.
 * With fewer than TRACK_LINE sweeps it is 0.
 */
void ictusi_track_unusual(const struct track_sweep *sweeps, int count, const double *offsets,
                          double *variance);

#endif

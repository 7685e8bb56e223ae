/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock followed over sweeps: generalised least squares for its offset and drift now, when each
 * sweep's offset errs by
 *   - noise, anew in every sweep, which differs from sweep to sweep,
 *   - a bias that all sweeps over the same pairs share (the asymmetry of paths),
 *   - wander of the paths: noise that residuals around loops do not show, with a memory,
 *   - wander of the clock: a drift that walks at random by walk per square root of a second, so
 *     that a sweep of age s says less about now by walk^2 s^3 / 3.
 * How large the last two are is not known and hardly seen in one synchronisation: every likely
 * answer counts, by its likelihood and what clocks and paths are usually like. All clocks share
 * sweeps and variances, so one small matrix of each answer serves them all.
 */
#ifndef ICTUS_CORE_TRACK_H
#define ICTUS_CORE_TRACK_H

#include <stddef.h>

enum {
    TRACK_MAX = 32,
    TRACK_LINE = 6 /* fewer offsets show no line that most of them are on */
};

struct track_sweep {
    double t_s;       /* middle of the sweep */
    double noise_ns2; /* variance of an offset of average quality */
    double bias_ns2;  /* likewise, of what the group shares */
    int group;        /* sweeps over the same pairs have the same number */
};

/* What is known beside the sweeps. */
struct track_prior {
    double walk;                 /* usual, ns per s per square root of a second */
    double walk_log_scale;       /* how sure that is: Student's scale of its logarithm, 3 degrees;
                                    below the usual walk at most 0.6 */
    double drift_var_ns2_per_s2; /* where one sweep shows none */
    double floor_ns;             /* paths' wander is measured in noise, of at least this */
    double horizon_s;            /* at which, beside now, the claim's 95 % shall hold */
    const double *moments;       /* see ictusi_track_fit() */
    double clocks;               /* how many independent ones the moments are of */
};

/* How offsets of the sweeps combine, and how the result errs. */
struct track {
    int count;
    double offset_row[TRACK_MAX]; /* offset now = sum of row times the sweeps' offsets */
    double drift_row[TRACK_MAX];  /* likewise, in ns per s */
    /* Variances of offset, offset and drift, drift, by what they come from. */
    double noise[3]; /* the paths' wander, too */
    double bias[3];
    double wander[3]; /* of the clock, until now */
    double walk;      /* ns per s per square root of a second, from now on */
    double inflation; /* what wander makes of the noise's variance */
};

/*
 * Combine count (1 to TRACK_MAX) sweeps into offset and drift at now_s. prior->moments[k * count +
 * l] is the mean over all clocks of the product of their offsets in sweeps k and l, each less any
 * line of its own. With fewer than three sweeps, they say nothing and the usual walk is assumed.
 * With a single sweep the drift is 0. Variances are such that 1.96 standard deviations hold 95 %.
 * Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_CORRUPT (two sweeps at one instant),
 * ICTUS_ERR_NOMEM.
 */
int ictusi_track_fit(const struct track_sweep *sweeps, int count, double now_s,
                     const struct track_prior *prior, struct track *track);

/*
 * How far each of count (TRACK_LINE to TRACK_MAX) offsets at different times is off the line
 * through most of them: the median slope, through the middle. Returns the standard deviation that
 * the median of these distances stands for.
 */
double ictusi_track_rests(const double *t_s, int count, const double *offsets, double *rest);

/*
 * The variance to add to each of count sweeps (TRACK_LINE at least, else none) of one clock that is
 * off the line through most of them by more than its noise explains.
 */
void ictusi_track_unusual(const struct track_sweep *sweeps, int count, const double *offsets,
                          double *variance);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Autolock discipline (M00 5.1, after Levine 1998, 1999) as a pure numerical module. It takes
 * measurements and yields phase, frequency and their covariance. Three loops share the test of
 * predictions and the bookkeeping, and differ in their gains:
 *
 *   fll       M00's adaptive frequency-locked loop: y += D/(D + tconf) (yk - y), phase as measured
 *   pll       the same constant, taken as M00 words it: a phase-locked loop of time constant tconf
 *   adaptive  gains from the noise: a bank of two-state Kalman filters, one for each hypothesis
 *             about the oscillator's random walk and the measurements' noise, weighted by how well
 *             each one predicted the recent measurements (Magill 1965)
 *
 * The phase is the remote clock minus the local one in ns, relative to `origin`. The frequency is
 * in ns/s.
 */
#ifndef ICTUS_LOCK_DISCIPLINE_H
#define ICTUS_LOCK_DISCIPLINE_H

#include "group.h"
#include "stability.h"

#include <ictus/lock_daemon.h>
#include <stdbool.h>
#include <stdint.h>

enum { DISCIPLINE_WALKS = 10, DISCIPLINE_SCALES = 5 };

/* Phase, frequency, covariance. */
struct kalman {
    double phase, frequency;
    double pp, pf, ff;
};

struct hypothesis {
    struct kalman state;
    double walk_ns2_per_s3; /* variance of the frequency's random walk per second */
    double scale;           /* factor on the measurement variance */
    double log_likelihood;
};

enum { DISCIPLINE_HELD = 3 };

enum discipline_event {
    DISCIPLINE_ACCEPTED,
    DISCIPLINE_FIRST,   /* the first measurement: phase only */
    DISCIPLINE_GLITCH,  /* held back; ask again soon */
    DISCIPLINE_STEPPED, /* the third in a row, not on a line: the remote or the local clock was
                           set */
    DISCIPLINE_TURNED,  /* the third in a row, on a line: the clock now runs at another frequency */
};

/* A measurement that was held back, relative to the origin. */
struct held {
    int64_t at;
    double x, variance_ns2;
};

struct discipline {
    enum ictus_lock_loop loop;
    double sigma_ns; /* requested accuracy: innovations below it are never glitches */
    double tconf_s;
    double prior, prior_sd; /* of the frequency at the start (ns/s) */
    int64_t origin_ns;      /* remote minus local, to which phases are relative */
    int64_t at;             /* local instant of the state */
    int64_t first_at;
    bool started;
    bool warm; /* a classic loop now uses its own gains */
    struct kalman state;
    struct hypothesis bank[DISCIPLINE_WALKS * DISCIPLINE_SCALES];
    struct stability stability;
    double walk_ns2_per_s3; /* weighted mean over the bank */
    double scale;
    double noise_ns2;     /* running mean of measurement variance, scaled: M00's s^2 */
    double innovation_ns; /* of the last measurement */
    double measured_ns2;  /* running mean square of accepted innovations: the measured accuracy */
    double last_phase;
    int64_t last_at;
    double bias_ns, bias_ns2; /* running mean of innovations, and its expected variance */
    double common_ns;         /* error that no number of measurements reduces */
    struct held held[DISCIPLINE_HELD];
    int glitches; /* in a row */
    uint64_t accepted, rejected, steps, turns;
};

void ictusi_discipline_init(struct discipline *d, enum ictus_lock_loop loop, double sigma_ns,
                            double tconf_s);

/* Set the prior of the frequency (ns/s), as known from a drift file. */
void ictusi_discipline_expect(struct discipline *d, double frequency, double sd);

/* Process one measurement. */
enum discipline_event ictusi_discipline_update(struct discipline *d, const struct measurement *m);

/* Start again but keep what was learned about the noise, after the machine was suspended. */
void ictusi_discipline_restart(struct discipline *d);

/*
 * Return the state at a later instant. Innovations that lean to one side, or that are held back,
 * show that the loop is further off than its covariance says. The variance is increased
 * accordingly.
 */
struct kalman ictusi_discipline_predict(const struct discipline *d, int64_t local);

/* Return the standard deviation, in the long run and at the end of an interval, of polling every
 * interval_s with measurements of the present noise variance divided by `fewer`. */
double ictusi_discipline_steady_sigma(const struct discipline *d, double interval_s, double fewer);

/* Return whether phase and frequency are known well enough for interval_s. */
bool ictusi_discipline_locked(const struct discipline *d, double interval_s);

#endif

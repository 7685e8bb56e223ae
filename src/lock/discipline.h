/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Autolock discipline (M00 5.1, after Levine 1998, 1999) as a pure numerical module: it takes
 * measurements and gives phase, frequency and their covariance. Three loops share its prediction
 * test and its bookkeeping and differ in their gains:
 *
 *   fll       M00's adaptive frequency-locked loop: y += D/(D + tconf) (yk - y), phase as measured
 *   pll       the same constant read as M00 words it: a phase-locked loop of time constant tconf
 *   adaptive  gains from the noise: a bank of two-state Kalman filters, one for each hypothesis of
 *             the oscillator's random walk and of the measurements' noise, weighed by how well each
 *             predicted the recent measurements (Magill 1965)
 *
 * Phase is in ns of the remote clock minus the local one, relative to `origin`; frequency in ns/s.
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
    double scale;           /* of the measurement variance */
    double log_likelihood;
};

enum { DISCIPLINE_HELD = 3 };

enum discipline_event {
    DISCIPLINE_ACCEPTED,
    DISCIPLINE_FIRST,   /* the first measurement: phase only */
    DISCIPLINE_GLITCH,  /* held: ask again soon */
    DISCIPLINE_STEPPED, /* the third in a row, no line: the remote or local clock was set */
    DISCIPLINE_TURNED,  /* the third in a row, on a line: it runs at another frequency now */
};

/* A measurement that was held, relative to the origin. */
struct held {
    int64_t at;
    double x, variance_ns2;
};

struct discipline {
    enum ictus_lock_loop loop;
    double sigma_ns; /* what accuracy is asked: innovations below it are never glitches */
    double tconf_s;
    double prior, prior_sd; /* of the frequency at a start (ns/s) */
    int64_t origin_ns;      /* remote minus local to which phases are relative */
    int64_t at;             /* local instant of the state */
    int64_t first_at;
    bool started;
    bool warm; /* a classic loop that has taken its own gains */
    struct kalman state;
    struct hypothesis bank[DISCIPLINE_WALKS * DISCIPLINE_SCALES];
    struct stability stability;
    double walk_ns2_per_s3; /* as weighed from the bank */
    double scale;
    double noise_ns2;     /* running mean of measurement variance, scaled: M00's s^2 */
    double innovation_ns; /* of the last measurement */
    double measured_ns2;  /* running mean square of accepted innovations: measured accuracy */
    double last_phase;
    int64_t last_at;
    double bias_ns, bias_ns2; /* running mean of innovations, and what its variance should be */
    double common_ns;         /* error that no number of measurements averages away */
    struct held held[DISCIPLINE_HELD];
    int glitches; /* in a row */
    uint64_t accepted, rejected, steps, turns;
};

void ictusi_discipline_init(struct discipline *d, enum ictus_lock_loop loop, double sigma_ns,
                            double tconf_s);

/* What a drift file knows of the frequency. */
void ictusi_discipline_expect(struct discipline *d, double frequency, double sd);

/* Take one measurement in. */
enum discipline_event ictusi_discipline_update(struct discipline *d, const struct measurement *m);

/* Start over but keep what was learnt of the noise: after a suspended machine. */
void ictusi_discipline_restart(struct discipline *d);

/*
 * The state carried to a later instant. Innovations that lean to one side, or are held, say that
 * the loop is further off than it believes: its variance is told larger by that much.
 */
struct kalman ictusi_discipline_predict(const struct discipline *d, int64_t local);

/*
 * Standard deviation that polling each interval_s with measurements of the present noise, divided
 * by fewer, would have at the end of an interval, in the long run.
 */
double ictusi_discipline_steady_sigma(const struct discipline *d, double interval_s, double fewer);

/* Whether phase and frequency are known well enough to last interval_s. */
bool ictusi_discipline_locked(const struct discipline *d, double interval_s);

#endif

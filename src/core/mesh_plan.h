/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a mesh measures: what a burst shows, and how many sweeps of how many rounds and exchanges are
 * made over what time. Pure: everything is planned from the request and the results of a short
 * trial.
 */
#ifndef ICTUS_CORE_MESH_PLAN_H
#define ICTUS_CORE_MESH_PLAN_H

#include "core/adaptive.h"
#include "core/mesh.h"
#include "core/stamp.h"

#include <stdbool.h>

enum {
    MESH_SWEEPS_MAX = 16,
    MESH_TRIAL_BURSTS = 4,   /* of each process, to find the time and the scatter of an exchange */
    MESH_TRIAL_EXCHANGES = 9 /* the first is left out, because it opens connections */
};

/* How the offset of a pair is estimated. */
enum mesh_pair { MESH_PAIR_AUTO, MESH_PAIR_ADAPTIVE, MESH_PAIR_SKAMPI, MESH_PAIR_MIN_RTT };

/* The request; 0 leaves a number open. */
struct mesh_wish {
    int size;
    int factors;                       /* number of different pairings, up to rounds */
    int64_t rounds, exchanges, sweeps; /* exchanges of a round, if there are 100 rounds */
    double window_s, tolerance_s, horizon_s;
    double limit_s; /* longest window, unless a window was requested */
};

/* The results of a trial. */
struct mesh_trial {
    double exchange_s; /* typical time of an exchange on the slowest process */
    double scatter_ns; /* typical scatter of offsets from half a trial burst */
    double rtt_ns;     /* the shortest round trip */
    double excess_ns;  /* by how much usual round trips with the reference exceed the shortest */
    bool calibrated;   /* all processes share a counter, and compare their clocks by it */
};

struct mesh_plan {
    int sweeps;      /* of a first synchronisation */
    int rounds;      /* of a sweep */
    int exchanges;   /* of a round, according to the trial */
    int most;        /* of a round: how many are made if there turns out to be time */
    double burst_s;  /* after this time a round is cut off */
    double length_s; /* of a sweep */
    double window_s; /* from the start to the end of the last sweep */
};

/* Choose window and effort for the request and the results of the trial, reduced to what fits. */
struct mesh_plan ictusi_mesh_plan(const struct mesh_wish *wish, const struct mesh_trial *trial);

/* Return the start of sweep k, in s after the first: denser at the ends, where drifts show best. */
double ictusi_mesh_plan_start(const struct mesh_plan *plan, int k);

/*
 * Evaluate a trial burst of MESH_TRIAL_EXCHANGES: the median time of an exchange, the shortest
 * round trip and how much the median exceeds it, and the distance of the offsets of two interleaved
 * halves. Unusable bursts give an error, see ictusi_estimator_offset_skampi().
 */
int ictusi_mesh_trial(const struct stamp *stamps, struct mesh_trial *seen);

/* Compute how fast two clocks drift apart, from the first and the last of their bursts of n
 * exchanges each. This is far more accurate than a single burst. Return whether they show it. */
bool ictusi_mesh_slope(const struct stamp *first, const struct stamp *last, size_t n,
                       struct adaptive_slope *slope);

/*
 * Estimate the offset of a burst of n exchanges at the instant at which it is best known, and its
 * error. The caller sets client and server. slope: how fast the clocks drift apart; NULL: it is
 * estimated from the burst itself. Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_CLOCK, ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_burst(const struct stamp *stamps, size_t n, enum mesh_pair pair,
                      const struct adaptive_slope *slope, struct mesh_edge *edge);

#endif

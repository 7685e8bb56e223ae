/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How a mesh measures: what one burst says, how many sweeps of how many rounds and exchanges, over
 * which time. Pure: everything is planned from what was asked and what a short trial showed.
 */
#ifndef ICTUS_CORE_MESH_PLAN_H
#define ICTUS_CORE_MESH_PLAN_H

#include "core/adaptive.h"
#include "core/mesh.h"
#include "core/stamp.h"

#include <stdbool.h>

enum {
    MESH_SWEEPS_MAX = 16,
    MESH_TRIAL_BURSTS = 4,   /* of each process, to see what an exchange takes and says */
    MESH_TRIAL_EXCHANGES = 9 /* the first is left out: connections are made there */
};

/* How a pair's offset is estimated. */
enum mesh_pair { MESH_PAIR_AUTO, MESH_PAIR_ADAPTIVE, MESH_PAIR_SKAMPI, MESH_PAIR_MIN_RTT };

/* What was asked; 0 leaves a number open. */
struct mesh_wish {
    int size;
    int factors;                       /* pairings that the processes have, up to rounds */
    int64_t rounds, exchanges, sweeps; /* exchanges of a round, where there are 100 */
    double window_s, tolerance_s, horizon_s;
    double limit_s;  /* the window is not longer, unless it was asked */
    bool calibrated; /* half of some pairs' exchanges are stamped by a counter in common */
};

/* What a trial showed. */
struct mesh_trial {
    double exchange_s; /* what an exchange takes, typically, on the slowest process */
    double scatter_ns; /* of offsets from half a trial burst, typically */
    double rtt_ns;     /* the shortest round trip */
};

struct mesh_plan {
    int sweeps;      /* of a first synchronisation */
    int rounds;      /* of a sweep */
    int exchanges;   /* of a round, as far as the trial shows */
    int most;        /* of a round: how many are made where there is time for them after all */
    double burst_s;  /* after which a round is cut off */
    double length_s; /* of a sweep */
    double window_s; /* from the beginning to the last sweep's end */
};

/* A window and effort for what was asked, by what the trial showed; cut to what fits. */
struct mesh_plan ictusi_mesh_plan(const struct mesh_wish *wish, const struct mesh_trial *trial);

/* When the k-th sweep begins, in s after the first: denser at the ends, where drifts are seen. */
double ictusi_mesh_plan_start(const struct mesh_plan *plan, int k);

/*
 * What a trial burst of MESH_TRIAL_EXCHANGES shows: the median time of an exchange, the shortest
 * round trip, and how far the offsets of two interleaved halves are apart. Unusable bursts show
 * nothing: errors as of ictusi_estimator_offset_skampi().
 */
int ictusi_mesh_trial(const struct stamp *stamps, struct mesh_trial *seen);

/*
 * How fast two clocks drift apart, from the first and the last of their bursts, n exchanges each:
 * far better known than from one burst alone. Says whether they show it.
 */
bool ictusi_mesh_slope(const struct stamp *first, const struct stamp *last, size_t n,
                       struct adaptive_slope *slope);

/*
 * The offset at the instant of a burst of n exchanges at which it is best known, and what is known
 * of its error; client and server are the caller's. slope: how fast the clocks drift apart; NULL:
 * the burst itself must show it. Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_CLOCK, ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_burst(const struct stamp *stamps, size_t n, enum mesh_pair pair,
                      const struct adaptive_slope *slope, struct mesh_edge *edge);

/*
 * Take out of a burst's edge what its two ways differ by. known: n exchanges between the same two
 * processes, made in between those of the burst, stamped by a counter that both read, in ticks of
 * tick_ns. Their offset is 0: what shows instead is the difference. Where it cannot be, the edge
 * is left alone. Errors: ICTUS_ERR_SAMPLES, ICTUS_ERR_NOMEM.
 */
int ictusi_mesh_calibrate(const struct stamp *known, size_t n, double tick_ns, enum mesh_pair pair,
                          struct mesh_edge *edge);

#endif

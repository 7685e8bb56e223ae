/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published offset estimators, which compute one offset from one burst of exchanges of a pair.
 * Pure functions. Each returns ICTUS_ERR_SAMPLES for an empty burst and ICTUS_ERR_CLOCK for a reply
 * that arrived before its request was sent.
 */
#ifndef ICTUS_CORE_ESTIMATOR_H
#define ICTUS_CORE_ESTIMATOR_H

#include "core/stamp.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * H18 algorithm 7 (SKaMPI-Offset; Worsch, Reussner, Augustin 2002): the middle between the largest
 * lower and the smallest upper bound. The paper dates the result to the end of the burst, which
 * costs half the burst's drift (2 ns for 100 exchanges at 10 ppm). Here it is dated to the middle
 * of the two instants at which the decisive bounds hold: the reply of one and the request of the
 * other. If the bounds contradict each other (a clock drifted by more than the delays, or stepped),
 * the half-width is that of the exchange with the shortest round trip.
 */
int ictusi_estimator_offset_skampi(const struct stamp *stamps, size_t n, struct offset *out);

/*
 * Compute what a whole burst proves about the offset at the local instant `at`, minus `offset`: it
 * is between low and high if the drift of each clock stays within ICTUSI_DRIFT_MAX_NS_PER_S. A
 * process that lost its core only widens this interval. ICTUS_ERR_CLOCK if the local clock ran
 * backwards, or if the bounds exclude each other even then, so that one of the two stepped.
 */
int ictusi_estimator_offset_interval(const struct stamp *stamps, size_t n, int64_t at,
                                     int64_t offset, double *low_ns, double *high_ns);

/* H18 algorithm 8 (Mean-RTT-Offset; Jones and Koenig 2013): the median of remote + rtt / 2 -
 * received, with a mean round trip that was measured once for the pair. */
int ictusi_estimator_offset_mean_rtt(const struct stamp *stamps, size_t n, double rtt_ns,
                                     struct offset *out);

/* Return the mean round trip of a burst for ictusi_estimator_offset_mean_rtt(), or 0 for an
 * empty burst. */
double ictusi_estimator_rtt_mean(const struct stamp *stamps, size_t n);

/* H08 3.1: the offset of the exchange with the shortest round trip, or the first of several
 * equal ones. */
int ictusi_estimator_offset_min_rtt(const struct stamp *stamps, size_t n, struct offset *out);

/* H08 3.1: exchange until the minimum round trip has not fallen `patience` times in a row. */
struct netgauge {
    size_t patience;   /* the paper's N; 100 */
    size_t unimproved; /* exchanges since the minimum last fell */
    struct stamp best; /* the exchange with the minimum */
    bool any;          /* best is set */
};

/* Start a burst. */
struct netgauge ictusi_estimator_netgauge_begin(size_t patience);

/* Add an exchange. Return true if the burst is over. */
bool ictusi_estimator_netgauge_add(struct netgauge *state, const struct stamp *stamp);

/* Return the offset that the burst found. */
int ictusi_estimator_netgauge_offset(const struct netgauge *state, struct offset *out);

#endif

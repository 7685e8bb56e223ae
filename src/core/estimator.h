/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The published offset estimators: from one burst of exchanges of a pair to one offset. Pure
 * functions; each returns ICTUS_ERR_SAMPLES for an empty burst and ICTUS_ERR_CLOCK for a reply
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
 * costs half the burst's drift (2 ns for 100 exchanges at 10 ppm); here it is dated to the middle
 * of the instants at which the two bounds that won hold: the one's reply, the other's request. With
 * bounds that contradict each other (a clock drifted by more than the delays, or stepped) the
 * half-width is that of the exchange with the shortest round trip.
 */
int ictusi_estimator_offset_skampi(const struct stamp *stamps, size_t n, struct offset *out);

/*
 * What a whole burst proves of the offset at the local instant `at`, less `offset`: it is between
 * low and high, if relative drifts stay within ICTUSI_DRIFT_MAX_NS_PER_S. A process that was kept
 * from its core only widens it. ICTUS_ERR_CLOCK where the local clock ran backwards, or where
 * nothing is left between the bounds even if each clock drifts so much: one of the two stepped.
 */
int ictusi_estimator_offset_interval(const struct stamp *stamps, size_t n, int64_t at,
                                     int64_t offset, double *low_ns, double *high_ns);

/*
 * H18 algorithm 8 (Mean-RTT-Offset; Jones and Koenig 2013): the median of
 * remote + rtt / 2 - received, with a mean round trip that was measured once for the pair.
 */
int ictusi_estimator_offset_mean_rtt(const struct stamp *stamps, size_t n, double rtt_ns,
                                     struct offset *out);

/* The mean round trip of a burst, for ictusi_estimator_offset_mean_rtt(); 0 for an empty one. */
double ictusi_estimator_rtt_mean(const struct stamp *stamps, size_t n);

/* H08 3.1: the offset of the exchange with the shortest round trip, the first of equals. */
int ictusi_estimator_offset_min_rtt(const struct stamp *stamps, size_t n, struct offset *out);

/* H08 3.1: exchange until the minimum round trip has not fallen for `patience` in a row. */
struct netgauge {
    size_t patience;   /* the paper's N; 100 */
    size_t unimproved; /* exchanges since the minimum last fell */
    struct stamp best; /* the exchange with the minimum */
    bool any;          /* best is set */
};

/* Begin a burst. */
struct netgauge ictusi_estimator_netgauge_begin(size_t patience);

/* Take one more exchange in. Says true when the burst is over. */
bool ictusi_estimator_netgauge_add(struct netgauge *state, const struct stamp *stamp);

/* The offset that the burst found. */
int ictusi_estimator_netgauge_offset(const struct netgauge *state, struct offset *out);

#endif

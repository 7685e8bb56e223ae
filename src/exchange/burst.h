/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts under SimGrid. The simulator takes 10 to 50 us of a real processor for a message, and a
 * synchronisation of a thousand nodes is millions of them. What happens inside a burst follows from
 * its messages' delays alone: two processes that do nothing else, clocks that are known functions
 * of simulated time, links that nobody shares. So only a burst's first request and its last reply
 * are messages of SimGrid; the delays of those between are drawn by the same platform, and both
 * processes' stamps computed. Time, stamps and counts are what the messages would have given.
 */
#ifndef ICTUS_EXCHANGE_BURST_H
#define ICTUS_EXCHANGE_BURST_H

#include "exchange/exchange.h"

/* Whether bursts may be computed: the clock is a simulated one, and ictus simulate allows it. */
bool ictusi_burst_possible(const struct exchange *x, size_t n);

/* As ictusi_exchange_ping() and _pong(), of two or more pairs; both sides or none. MPI's codes. */
int ictusi_burst_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps);
int ictusi_burst_pong(struct exchange *x, int peer, size_t n, const struct line *line);

#endif

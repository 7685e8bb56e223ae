/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bursts under SimGrid. The simulator takes 10 to 50 us of real processor time for each message,
 * and the synchronisation of a thousand nodes takes millions of messages. What happens inside a
 * burst follows from the delays of its messages alone: both processes do nothing else, their clocks
 * are known functions of simulated time, and nobody shares their links. Therefore SimGrid sends
 * only the first request and the last reply of a burst. The same platform draws the delays of the
 * messages between them, and the stamps of both processes are computed. Simulated time, stamps and
 * counts are those that real messages would have given.
 */
#ifndef ICTUS_EXCHANGE_BURST_H
#define ICTUS_EXCHANGE_BURST_H

#include "exchange/exchange.h"

/* Return whether bursts may be computed: the clock is a simulated one and `ictus simulate`
 * allows it. */
bool ictusi_burst_possible(const struct exchange *x, size_t n);

/* Like ictusi_exchange_ping() and ictusi_exchange_pong(), for two or more pairs. Either both
 * sides of a burst call these functions, or neither does. They return MPI's error codes. */
int ictusi_burst_ping(struct exchange *x, int peer, size_t n, struct stamp *stamps);
int ictusi_burst_pong(struct exchange *x, int peer, size_t n, const struct line *line);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* From a history to the graph of its happened-before relation. */
#ifndef ICTUS_CAUSALITY_CONNECT_H
#define ICTUS_CAUSALITY_CONNECT_H

#include "causality/collectives.h"

/*
 * Connect all points of the history, in up to this many threads; the result does not depend on
 * their number. agreements: one per class and communicator (index class * comm_count + comm), or
 * NULL without MPI. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_connect_history(struct graph *graph, struct history *history, const struct share *share,
                           const struct agreement *agreements, int threads);

/* How much of one side of a channel can be counted. */
struct reach ictusi_connect_reach(const struct matching *matching, const struct channel *channel,
                                  bool send);

/* Leave out this many points of a chain. @return the next one, or NODE_NONE */
uint32_t ictusi_connect_skip(struct graph *graph, uint32_t from, uint32_t count);

/* Sort a channel of several threads by time. Errors: ICTUS_ERR_NOMEM. */
int ictusi_connect_order(struct graph *graph, struct channel *channel);

#endif

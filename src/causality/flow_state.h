/* SPDX-License-Identifier: BSD-3-Clause */
/* What the passes of a flow share. */
#ifndef ICTUS_CAUSALITY_FLOW_STATE_H
#define ICTUS_CAUSALITY_FLOW_STATE_H

#include "causality/flow.h"

/* Nothing arrived, and nothing will: no bound. */
#define NO_BOUND (INT64_MIN + 1)

/* How many points may be visited before their memory is let go. */
enum { VISITS = 1 << 21 };

/* How many points ahead the value at the other end is asked for: about a memory's latency. */
enum { AHEAD = 12 };

/* Bring a value to a node: a point here, a virtual node here, or any node elsewhere. */
int ictusi_flow_deliver(struct flow *flow, uint32_t node, const struct message *message);

/* A pair's first event, point i, is done: tell the second. */
int ictusi_flow_push(struct flow *flow, uint32_t location, uint64_t i, int64_t value);

/* FLOW_CHECK of all locations by several threads. Errors: ICTUS_ERR_NOMEM. */
int ictusi_flow_check_together(struct flow *flow);

/*
 * FLOW_CHECK of one location. Pairs within this rank are looked at from their second events, which
 * come in order: only the first one's value lies elsewhere. Those between ranks have been
 * exchanged.
 */
int ictusi_flow_check(struct flow *flow, uint32_t location);

/* FLOW_LIMIT of one location: limits within this rank. */
int ictusi_flow_limit(struct flow *flow, uint32_t location);

#endif

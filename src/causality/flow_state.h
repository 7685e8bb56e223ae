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

/* What a value is before anything has arrived: the neutral element of flow_is_better(). */
static inline int64_t flow_worst(const struct flow *flow)
{
    return flow->mode == FLOW_LIMIT ? INT64_MAX : NO_BOUND;
}

/* Forward the latest bound counts (LC is a maximum), backward the earliest limit. */
static inline bool flow_is_better(const struct flow *flow, int64_t a, int64_t b)
{
    return flow->mode == FLOW_LIMIT ? a < b : a > b;
}

/* The delay that a pair through a virtual node must have. */
static inline int64_t flow_node_delay(const struct flow *flow, uint8_t class)
{
    return class == POINT_THREAD ? flow->latency->thread : flow->latency->least;
}

/* Nothing has arrived at a node. */
void ictusi_node_clear(const struct flow *flow, struct vnode *v);

/* A node takes a message's values. */
void ictusi_node_take(const struct flow *flow, struct vnode *v, const struct message *message);

/*
 * FLOW_CHECK or FLOW_LIMIT of the virtual nodes from one number to another, without a team. Nodes
 * that depend on each other are not torn apart: those of a scan go with the one that begins it.
 */
void ictusi_flow_nodes(struct flow *flow, uint64_t from, uint64_t to);

/* Bring a value to a node: a point here, a virtual node here, or any node elsewhere. */
int ictusi_flow_deliver(struct flow *flow, uint32_t node, const struct message *message);

/* A pair's first event, point i, is done: tell the second. */
int ictusi_flow_push(struct flow *flow, uint32_t location, uint64_t i, int64_t value);

/* All of FLOW_CHECK or FLOW_LIMIT without a team, by flow->threads. Errors: ICTUS_ERR_NOMEM. */
int ictusi_flow_sweep(struct flow *flow);

/*
 * FLOW_CHECK of one location. Pairs within this rank are looked at from their second events, which
 * come in order: only the first one's value lies elsewhere. Those between ranks have been
 * exchanged.
 */
int ictusi_flow_check(struct flow *flow, uint32_t location);

/* FLOW_LIMIT of one location: limits within this rank. */
int ictusi_flow_limit(struct flow *flow, uint32_t location);

#endif

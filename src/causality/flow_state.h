/* SPDX-License-Identifier: BSD-3-Clause */
/* What the passes of a flow share. */
#ifndef ICTUS_CAUSALITY_FLOW_STATE_H
#define ICTUS_CAUSALITY_FLOW_STATE_H

#include "causality/flow.h"

/* Nothing has arrived and nothing will: no bound. */
#define NO_BOUND (INT64_MIN + 1)

/* The number of points visited before their memory is released. */
enum { VISITS = 1 << 21 };

/*
 * How many points ahead the value at the other end is prefetched, chosen to cover the memory
 * latency.
 */
enum { AHEAD = 12 };

/* The value before anything has arrived: the neutral element of flow_is_better(). */
static inline int64_t flow_worst(const struct flow *flow)
{
    return flow->mode == FLOW_LIMIT ? INT64_MAX : NO_BOUND;
}

/* Forward, the latest bound counts (LC is a maximum); backward, the earliest limit. */
static inline bool flow_is_better(const struct flow *flow, int64_t a, int64_t b)
{
    return flow->mode == FLOW_LIMIT ? a < b : a > b;
}

/* The minimum delay of a pair through a virtual node. */
static inline int64_t flow_node_delay(const struct flow *flow, uint8_t class)
{
    return class == POINT_THREAD ? flow->latency->thread : flow->latency->least;
}

/* Reset a node to the state in which nothing has arrived. */
void ictusi_node_clear(const struct flow *flow, struct vnode *v);

/* Merge a message's values into a node. */
void ictusi_node_take(const struct flow *flow, struct vnode *v, const struct message *message);

/*
 * Run FLOW_CHECK or FLOW_LIMIT over a range of virtual nodes, without a team. The range is shifted
 * so that nodes which depend on each other stay together: those of a scan go with the one that
 * begins it.
 */
void ictusi_flow_nodes(struct flow *flow, uint64_t from, uint64_t to);

/* Deliver a value to a node: a point here, a virtual node here, or any node elsewhere. */
int ictusi_flow_deliver(struct flow *flow, uint32_t node, const struct message *message);

/* The first event of a pair, point i, has its value: pass it to the second one. */
int ictusi_flow_push(struct flow *flow, uint32_t location, uint64_t i, int64_t value);

/*
 * Run all of FLOW_CHECK or FLOW_LIMIT without a team, on flow->threads threads. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_flow_sweep(struct flow *flow);

/*
 * Run FLOW_CHECK for one location. Pairs within this rank are found from their second events, which
 * come in order, so that only the value of the first one lies elsewhere in memory. Pairs between
 * ranks have been exchanged before.
 */
int ictusi_flow_check(struct flow *flow, uint32_t location);

/* Run FLOW_LIMIT for one location: limits that come from within this rank. */
int ictusi_flow_limit(struct flow *flow, uint32_t location);

#endif

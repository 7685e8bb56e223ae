/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several processes that work on one history, each with some of its locations. A process that works
 * alone has no team (a NULL pointer). The only table of a team's functions is filled in by
 * correct/replay.c.
 */
#ifndef ICTUS_CAUSALITY_TEAM_H
#define ICTUS_CAUSALITY_TEAM_H

#include "causality/graph.h"

/* What arrives at a node: the best value and its origin, and the best value from another origin. */
struct message {
    uint32_t node, who, other;
    int64_t first, second;
};

struct flow;

/* All functions return an ICTUS_ERR_ code. All are collective except send and poll. */
struct team {
    int rank, size;
    /* Returns the worst error of all ranks. */
    int (*agree)(struct team *team, int err);
    int (*sums)(struct team *team, uint64_t *values, uint64_t count);
    int (*maxima)(struct team *team, int64_t *values, uint64_t count);
    int (*minima)(struct team *team, int64_t *values, uint64_t count);
    /* From rank 0 to all. */
    int (*broadcast)(struct team *team, void *bytes, uint64_t count);
    /* Let all ranks write one archive, which is an OTF2_Archive. */
    int (*attach)(struct team *team, void *archive);
    /* Agree on the collectives, build the graph, connect messages across ranks. */
    int (*connect)(struct team *team, struct graph *graph, struct history *history,
                   const struct share *share);

    /* Send a message to another rank's node. It arrives before idle() finds the flow quiet. */
    int (*send)(struct team *team, uint32_t rank, const struct message *message);
    /* Pass what has arrived to ictusi_flow_receive(). */
    int (*poll)(struct team *team, struct flow *flow);
    /*
     * Called when no work is left. Sets *quiet if nothing is in transit anywhere, and *finished if
     * all ranks have finished. Returns at once when something has arrived.
     */
    int (*idle)(struct team *team, struct flow *flow, bool through, bool *quiet, bool *finished);
    /* Exchange all messages between ranks at once: see correct/rank_exchange.h. */
    int (*exchange)(struct team *team, struct flow *flow);
    /* The least (time, location) over all ranks; a rank without one passes INT64_MAX. */
    int (*least)(struct team *team, int64_t *time, uint32_t *location);
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Several processes that work on one history, each with some of its locations. Whoever works alone
 * has no team: a NULL pointer. There is one table of what a team does, filled in by
 * correct/replay.c.
 */
#ifndef ICTUS_CAUSALITY_TEAM_H
#define ICTUS_CAUSALITY_TEAM_H

#include "causality/graph.h"

/* What arrives at a node: the best value and where it comes from, and the best from elsewhere. */
struct message {
    uint32_t node, who, other;
    int64_t first, second;
};

struct flow;

/* All are collective but send and poll, and return an ICTUS_ERR_. */
struct team {
    int rank, size;
    /* The worst error of all ranks. */
    int (*agree)(struct team *team, int err);
    int (*sums)(struct team *team, uint64_t *values, uint64_t count);
    int (*maxima)(struct team *team, int64_t *values, uint64_t count);
    int (*minima)(struct team *team, int64_t *values, uint64_t count);
    /* From rank 0 to all. */
    int (*broadcast)(struct team *team, void *bytes, uint64_t count);
    /* Let all ranks write one archive: an OTF2_Archive. */
    int (*attach)(struct team *team, void *archive);
    /* Agree on the collectives, build the graph, connect messages across ranks. */
    int (*connect)(struct team *team, struct graph *graph, struct history *history,
                   const struct share *share);

    /* A message to another rank's node, at some time before idle() finds the flow quiet. */
    int (*send)(struct team *team, uint32_t rank, const struct message *message);
    /* Hand what has arrived to ictusi_flow_receive(). */
    int (*poll)(struct team *team, struct flow *flow);
    /*
     * Called without work left: sets *quiet when nothing is under way anywhere, *finished when all
     * ranks are through. Returns at once when something arrived.
     */
    int (*idle)(struct team *team, struct flow *flow, bool through, bool *quiet, bool *finished);
    /* All messages between ranks at once: see correct/rank_exchange.h. */
    int (*exchange)(struct team *team, struct flow *flow);
    /* The least (time, location) over all ranks; who has none gives INT64_MAX. */
    int (*least)(struct team *team, int64_t *time, uint32_t *location);
};

#endif

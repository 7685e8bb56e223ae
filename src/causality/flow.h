/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values that flow along the happened-before graph. They flow forward, with each location waiting
 * for what it receives (the controlled logical clock); forward, with all values known (counting
 * violations); and backward, with all values known (limits for the sends). The same code runs alone
 * and as one rank of a parallel replay; the team makes the difference.
 */
#ifndef ICTUS_CAUSALITY_FLOW_H
#define ICTUS_CAUSALITY_FLOW_H

#include "causality/latency.h"
#include "causality/team.h"

/* FLOW_RAISE is an internal part of FLOW_CLOCK over several ranks; callers do not use it. */
enum flow_mode { FLOW_CLOCK, FLOW_RAISE, FLOW_CHECK, FLOW_LIMIT };

/*
 * Called for each pair in FLOW_CHECK, with its second point, both locations, and how long it took.
 */
struct observer {
    void (*pair)(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                 int64_t delay);
    /*
     * Make another observer, for the pairs that a further thread finds; NULL if there is no memory.
     * At the end what it has seen is merged into this one, and it is freed. split may be NULL: then
     * one thread reports all pairs.
     */
    struct observer *(*split)(struct observer *observer);
    int (*join)(struct observer *observer, struct observer *other);
};

/* Messages from other ranks that are kept for the next wave. */
struct arrivals {
    struct message *list;
    uint64_t count, room;
};

struct flow {
    struct graph *graph;
    const struct latency *latency;
    struct team *team; /* NULL: this process works alone */
    struct observer *observer;
    int threads;          /* threads for FLOW_CHECK; always 1 with a team */
    double decay;         /* 1 - gamma */
    bool eased;           /* FLOW_CLOCK: first events have floors (causality/easing.h) */
    const int64_t *known; /* FLOW_CHECK: the values to examine */
    uint64_t broken;      /* dependencies that were dropped because they were cyclic */

    enum flow_mode mode;
    /* FLOW_CLOCK: do not wait for other ranks, but process what they report in the next wave */
    bool ahead;
    struct arrivals later; /* what they have reported */
    uint64_t walked;       /* points that were recomputed because of it */
    uint64_t *cursor;      /* by location: the next point; FLOW_RAISE: the first one raised */
    uint64_t *far;         /* by location: FLOW_RAISE: the last one raised */
    bool *blocked;         /* it can do nothing until something arrives */
    uint32_t *ready;       /* locations that can advance */
    uint64_t ready_count;
    uint64_t unfinished;
    uint64_t visited;
};

/* Run one mode to completion. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_flow_run(struct flow *flow, enum flow_mode mode);

/* Take a message from another rank. */
int ictusi_flow_receive(struct flow *flow, const struct message *message);

#endif

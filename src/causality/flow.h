/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Values flowing along the happened-before graph: forward with each location waiting for what it
 * receives (the controlled logical clock), forward with all values known (counting violations),
 * and backward with all values known (limits for the sends). The same code runs alone and as one
 * rank of a parallel replay; the team decides.
 */
#ifndef ICTUS_CAUSALITY_FLOW_H
#define ICTUS_CAUSALITY_FLOW_H

#include "causality/latency.h"
#include "causality/team.h"

/* FLOW_RAISE is a part of FLOW_CLOCK over several ranks, and not for callers. */
enum flow_mode { FLOW_CLOCK, FLOW_RAISE, FLOW_CHECK, FLOW_LIMIT };

/* Told about each pair in FLOW_CHECK: its second point, the locations, and how long it took. */
struct observer {
    void (*pair)(struct observer *observer, uint32_t point, uint32_t from, uint32_t to,
                 int64_t delay);
    /* Another one, which a thread tells of other pairs meanwhile; NULL: no memory. Then what it has
     * seen is put to what this one has, and it is let go of. NULL: one thread tells all. */
    struct observer *(*split)(struct observer *observer);
    int (*join)(struct observer *observer, struct observer *other);
};

/* Messages from other ranks that wait for the next wave. */
struct arrivals {
    struct message *list;
    uint64_t count, room;
};

struct flow {
    struct graph *graph;
    const struct latency *latency;
    struct team *team; /* NULL: alone */
    struct observer *observer;
    int threads;          /* that look at locations at a time in FLOW_CHECK; no team has several */
    double decay;         /* 1 - gamma */
    bool eased;           /* FLOW_CLOCK: first events have floors: see causality/easing.h */
    const int64_t *known; /* FLOW_CHECK: the values to look at */
    uint64_t broken;      /* dependencies given up because they were cyclic */

    enum flow_mode mode;
    bool ahead;            /* FLOW_CLOCK: what other ranks find is told after this wave */
    struct arrivals later; /* what they have told */
    uint64_t walked;       /* points that were looked at again because of it */
    uint64_t *cursor;      /* by location: the next point; FLOW_RAISE: the first one raised */
    uint64_t *far;         /* by location: FLOW_RAISE: the last one raised */
    bool *blocked;         /* nothing to do before something arrives */
    uint32_t *ready;       /* locations that can go on */
    uint64_t ready_count;
    uint64_t unfinished;
    uint64_t visited;
};

/* Run one mode to its end. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_flow_run(struct flow *flow, enum flow_mode mode);

/* A message from another rank. */
int ictusi_flow_receive(struct flow *flow, const struct message *message);

#endif

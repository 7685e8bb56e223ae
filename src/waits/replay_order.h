/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of the backward replay: from the end of the trace to its beginning, a call is passed
 * once all that waited for it have been.
 */
#ifndef ICTUS_WAITS_REPLAY_ORDER_H
#define ICTUS_WAITS_REPLAY_ORDER_H

#include "waits/analysis.h"

/* A call that waited, or that others waited for. All other calls are passed silently. */
struct replay_step {
    uint32_t location, call;
};

struct replay_walker {
    uint64_t cursor; /* one past the next call to pass */
    bool queued;
};

/* A location that is ready, and when its next call to pass was left. */
struct replay_ready {
    int64_t time;
    uint32_t location;
};

struct replay_order {
    _Alignas(CACHE_LINE) uint64_t passed; /* calls since memory was last released */
    const struct analysis *analysis;
    struct replay_walker *walkers; /* by location */
    struct store dependents;       /* uint32_t, by call: see order_dependents() */
    struct replay_ready *ready;    /* heap, the latest on top */
    uint32_t ready_count;
    uint64_t cyclic; /* waits that were given up because they form a circle */
};

/* Call ictusi_replay_order_free() even after an error: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_replay_order_init(struct replay_order *order, const struct analysis *analysis,
                             struct ictus_why *why);
void ictusi_replay_order_free(struct replay_order *order);

/* Go on with the replay: store up to `most` more steps. Returns how many; 0: all are passed. */
uint64_t ictusi_replay_order_pass(struct replay_order *order, struct replay_step *steps,
                                  uint64_t most);

#endif

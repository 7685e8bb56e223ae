/* SPDX-License-Identifier: BSD-3-Clause */
/* For every call the call that it had to wait for, if any: what kind of wait it could be. */
#ifndef ICTUS_WAITS_PARTNERS_H
#define ICTUS_WAITS_PARTNERS_H

#include "waits/histories.h"
#include "waits/waiting_calls.h"

enum wait_state {
    WAIT_NONE,
    WAIT_LATE_SENDER,
    WAIT_LATE_RECEIVER,
    WAIT_BARRIER,
    WAIT_NXN,
    WAIT_LATE_BROADCAST,
    WAIT_EARLY_REDUCE,
    WAIT_EARLY_SCAN,
    WAIT_FENCE,
    WAIT_RMA_SYNC,
    WAIT_LATE_POST,
    WAIT_EARLY_WAIT,
    WAIT_RMA_LOCK,
    WAIT_FILE,
    WAIT_TEAM_BARRIER,
    WAIT_LOCK,
    WAIT_JOIN,
    WAIT_STATES,
    /* Not waits: subsets of one, and what is told beside the total. */
    WAIT_WRONG_ORDER = WAIT_STATES,
    WAIT_POSSIBLE,
    WAIT_BARRIER_COMPLETION,
    WAIT_NXN_COMPLETION,
    WAIT_ROWS
};

/* "late-sender" and so on. */
const char *ictusi_wait_state_name(enum wait_state state);

/*
 * What is asked of the cause again and again is kept here, since the cause itself is far away. All
 * zero: there is none.
 */
struct partner {
    int64_t wait;      /* ticks, within the call */
    int64_t late;      /* ticks from the call's enter to the cause's; negative: it was earlier */
    uint32_t call;     /* the causing one: its enter is the instant waited for */
    uint32_t location; /* of the cause */
    uint32_t node; /* of a collective: what it listens to, if that is one chain of nodes; or none */
    uint8_t state; /* enum wait_state */
    bool wrong_order;
};

struct partners {
    struct store list; /* by call */
    uint64_t *lower;   /* by location: waits of pairs of locations whose lower one it is */
    uint64_t muted;    /* waits left out because recording was off */
    uint64_t open;     /* those of calls that never returned */
    /* Told about late receivers that were no certain block, and about completions. */
    void (*aside)(void *self, enum wait_state state, uint32_t call, int64_t ticks);
    void *self;
};

struct analysis; /* what all of it is about: see analysis.h */

/* Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_partners_find(struct partners *partners, const struct analysis *analysis,
                         struct ictus_why *why);
void ictusi_partners_free(struct partners *partners);

static inline struct partner *partner_at(const struct partners *partners, uint64_t call)
{
    return (struct partner *)partners->list.area + call;
}

#endif

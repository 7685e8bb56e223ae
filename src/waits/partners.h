/* SPDX-License-Identifier: BSD-3-Clause */
/* For every call, the call that it had to wait for, if any, and what kind of wait that is. */
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
    /* Not waits of their own: a subset of one, and what is reported beside the total. */
    WAIT_WRONG_ORDER = WAIT_STATES,
    WAIT_POSSIBLE,
    WAIT_BARRIER_COMPLETION,
    WAIT_NXN_COMPLETION,
    WAIT_ROWS
};

/* The name of a state, such as "late-sender". */
const char *ictusi_wait_state_name(enum wait_state state);

/*
 * The partner of a call. Properties of the cause that are needed again and again are copied here,
 * because the cause itself is far away in memory. All zero: the call has no partner.
 */
struct partner {
    int64_t wait; /* ticks, within the call */
    /* ticks from the call's enter to the cause's; negative: the cause was earlier */
    int64_t late;
    uint32_t call;     /* the cause: its enter is the instant waited for */
    uint32_t location; /* of the cause */
    /* of a collective: its node, if that depends on one chain of nodes, else NODE_NONE */
    uint32_t node;
    uint8_t state; /* enum wait_state */
    bool wrong_order;
};

struct partners {
    struct store list; /* by call */
    uint64_t *lower;   /* by location: number of waits in pairs in which it is the lower one */
    uint64_t muted;    /* waits that were left out because recording was off */
    /* Called for late receivers that did not certainly block, and for completions. */
    void (*aside)(void *self, enum wait_state state, uint32_t call, int64_t ticks);
    void *self;
};

struct analysis; /* the analysis itself: see analysis.h */

/* Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_partners_find(struct partners *partners, const struct analysis *analysis,
                         struct ictus_why *why);
void ictusi_partners_free(struct partners *partners);

static inline struct partner *partner_at(const struct partners *partners, uint64_t call)
{
    return (struct partner *)partners->list.area + call;
}

#endif

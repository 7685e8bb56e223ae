/* SPDX-License-Identifier: BSD-3-Clause */
/* For every call, the call that it had to wait for, if any, and what kind of wait that is. */
#ifndef ICTUS_WAITS_PARTNERS_H
#define ICTUS_WAITS_PARTNERS_H

#include "waits/histories.h"
#include "waits/wait_state.h"
#include "waits/waiting_calls.h"

/* When the wait of a call ends. Its length follows from that: see analysis_wait(). */
enum wait_end {
    WAIT_NOT, /* it does not wait */
    WAIT_UNTIL_CAUSE,
    WAIT_UNTIL_LEAVE /* it is left before the cause comes */
};

/*
 * The partner of a call. Properties of the cause that are needed again and again are copied here,
 * because the cause itself is far away in memory. All zero: the call has no partner.
 */
struct partner {
    /* ticks from the call's enter to the cause's; negative: the cause was earlier */
    int64_t late;
    uint32_t call;     /* the cause: its enter is the instant waited for */
    uint32_t location; /* of the cause */
    /* of a collective: its node, if that depends on one chain of nodes, else NODE_NONE */
    uint32_t node;
    uint8_t state; /* enum wait_state */
    uint8_t until; /* enum wait_end */
};

struct partners {
    struct store list;        /* by call */
    struct store wrong_order; /* bool, by call: the message came in the wrong order */
    uint64_t *lower; /* by location: number of waits in pairs in which it is the lower one */
    uint64_t muted;  /* waits that were left out because recording was off */
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

static inline bool *partner_wrong_order(const struct partners *partners, uint64_t call)
{
    return (bool *)partners->wrong_order.area + call;
}

#endif

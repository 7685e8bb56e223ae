/* SPDX-License-Identifier: BSD-3-Clause */
/* The kinds of waits: docs/waits.md defines them. */
#ifndef ICTUS_WAITS_WAIT_STATE_H
#define ICTUS_WAITS_WAIT_STATE_H

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

#endif

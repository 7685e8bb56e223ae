/* SPDX-License-Identifier: BSD-3-Clause */
#include "waits/wait_state.h"

static const char *const state_names[WAIT_ROWS] = {
    [WAIT_NONE] = "none",
    [WAIT_LATE_SENDER] = "late-sender",
    [WAIT_LATE_RECEIVER] = "late-receiver",
    [WAIT_BARRIER] = "barrier",
    [WAIT_NXN] = "nxn",
    [WAIT_LATE_BROADCAST] = "late-broadcast",
    [WAIT_EARLY_REDUCE] = "early-reduce",
    [WAIT_EARLY_SCAN] = "early-scan",
    [WAIT_FENCE] = "fence",
    [WAIT_RMA_SYNC] = "rma-sync",
    [WAIT_LATE_POST] = "late-post",
    [WAIT_EARLY_WAIT] = "early-wait",
    [WAIT_RMA_LOCK] = "rma-lock",
    [WAIT_FILE] = "file",
    [WAIT_TEAM_BARRIER] = "team-barrier",
    [WAIT_LOCK] = "lock",
    [WAIT_JOIN] = "join",
    [WAIT_WRONG_ORDER] = "wrong-order",
    [WAIT_POSSIBLE] = "late-receiver-possible",
    [WAIT_BARRIER_COMPLETION] = "barrier-completion",
    [WAIT_NXN_COMPLETION] = "nxn-completion",
};

const char *ictusi_wait_state_name(enum wait_state state)
{
    return state_names[state];
}

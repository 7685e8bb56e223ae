/* SPDX-License-Identifier: BSD-3-Clause */
/* When two locations were last in step: after a wait of one for the other, or a common meeting. */
#ifndef ICTUS_WAITS_SYNCS_H
#define ICTUS_WAITS_SYNCS_H

#include "waits/analysis.h"

/* A wait between two locations: their calls, that of the lower location first. */
struct sync_pair {
    uint64_t key; /* lower location, higher location */
    uint32_t low, high;
};

struct syncs {
    const struct analysis *analysis;
    struct sync_pair *pairs; /* sorted */
    uint64_t pair_count;
    uint32_t *place;   /* by call that waits: its own wait among them */
    uint32_t *meeting; /* by call: the virtual node through which all its members met, or none */
    uint32_t *earlier; /* by call: its location's last call before it that is a meeting, or none */
};

/* The calls that were the last common synchronisation; CALL_NONE twice: there was none. */
struct sync_point {
    uint32_t own, other;
};

/* Errors: ICTUS_ERR_NOMEM. Released by ictusi_syncs_free(), after errors too. */
int ictusi_syncs_make(struct syncs *syncs, const struct analysis *analysis);
void ictusi_syncs_free(struct syncs *syncs);

/* Of a call that waits and of the one it waits for, before both calls. */
struct sync_point ictusi_syncs_before(const struct syncs *syncs, uint32_t call);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* When two locations were last in step: after a wait of one for the other, or a common meeting. */
#ifndef ICTUS_WAITS_SYNCS_H
#define ICTUS_WAITS_SYNCS_H

#include "waits/analysis.h"

/* A location's call that left through a virtual node where it met all others. */
struct sync_meeting {
    uint32_t call, node;
};

/* A wait of a location of a pair; which one is the lower, it is known by. */
struct sync_pair {
    uint32_t higher; /* location */
    uint32_t waiter, cause;
};

struct syncs {
    struct call_pass pass; /* first member: collects the pairs */
    const struct analysis *analysis;
    struct sync_pair *pairs; /* until the end of it: those of each lower location together */
    uint64_t *place;         /* by that location: after the last one that is known */
    struct store before;     /* uint32_t, by call that waits: sync_before(), and one; 0: none */
    struct store meetings;   /* struct sync_meeting: of each location in order */
    uint64_t *first;         /* by location, its first meeting; one more than there are locations */
    uint64_t *near;          /* likewise: where the last search of it ended */
};

/* The calls that were the last common synchronisation; CALL_NONE twice: there was none. */
struct sync_point {
    uint32_t own, other;
};

/*
 * Before the pass over all calls, and after it. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. Released by
 * ictusi_syncs_free(), after errors too.
 */
int ictusi_syncs_begin(struct syncs *syncs, const struct analysis *analysis, struct ictus_why *why);
int ictusi_syncs_end(struct syncs *syncs, struct ictus_why *why);
void ictusi_syncs_free(struct syncs *syncs);

/* Release the memory of those parts of the lists that lie in files; the contents stay. */
void ictusi_syncs_relax(const struct syncs *syncs);

/*
 * Of a call that waits and of the one it waits for, before both calls. Fastest where the calls of a
 * location are asked for in their order, or in the reverse.
 */
struct sync_point ictusi_syncs_before(const struct syncs *syncs, uint32_t call);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When two locations were last synchronised: after a wait of one for the other, or after a common
 * meeting.
 */
#ifndef ICTUS_WAITS_SYNCS_H
#define ICTUS_WAITS_SYNCS_H

#include "waits/analysis.h"

/* A location's call that left through a virtual node where it met all other members. */
struct sync_meeting {
    uint32_t call, node;
};

/* A wait within a pair of locations. The list that it is in identifies the lower location. */
struct sync_pair {
    uint32_t higher; /* location */
    uint32_t waiter, cause;
};

struct syncs {
    struct call_pass pass; /* first member: collects the pairs */
    const struct analysis *analysis;
    struct sync_pair *pairs; /* until ictusi_syncs_end(): grouped by lower location */
    uint64_t *place;         /* by lower location: where its next pair goes */
    struct store before;     /* uint32_t, by waiting call: sync_before() plus one; 0: none */
    struct store meetings;   /* struct sync_meeting, in order within each location */
    uint64_t *first;         /* by location: its first meeting; location_count + 1 entries */
};

/* Where the last search of one thread ended, by location. */
struct sync_search {
    uint64_t *near;
};

/* The two calls of the last common synchronisation; both CALL_NONE: there was none. */
struct sync_point {
    uint32_t own, other;
};

/*
 * Call before and after the pass over all calls. Call ictusi_syncs_free() even after an error:
 * ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
 */
int ictusi_syncs_begin(struct syncs *syncs, const struct analysis *analysis, struct ictus_why *why);
void ictusi_syncs_end(struct syncs *syncs);

/*
 * List the calls of each location that left through a node where all members met, in order. Needs
 * nothing of the pass, so it may be called at the same time. Errors: as above.
 */
int ictusi_syncs_meet(struct syncs *syncs, struct ictus_why *why);
void ictusi_syncs_free(struct syncs *syncs);

/* Release the memory of the lists that lie in files; the contents stay. */
void ictusi_syncs_relax(const struct syncs *syncs);

/* Call after ictusi_syncs_meet(). Call ictusi_sync_search_free() even after an error. */
int ictusi_sync_search_init(struct sync_search *search, const struct syncs *syncs);
void ictusi_sync_search_free(struct sync_search *search);

/*
 * The last synchronisation of a waiting call and its cause, before both calls. It is fastest if the
 * calls of a location are looked up in order, or in reverse.
 */
struct sync_point ictusi_syncs_before(const struct syncs *syncs, const struct sync_search *search,
                                      uint32_t call);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of reading one location, shared by the callbacks for messages and for threads. */
#ifndef ICTUS_ARCHIVE_SCAN_STATE_H
#define ICTUS_ARCHIVE_SCAN_STATE_H

#include "archive/scan.h"
#include "causality/calls.h"

enum { STACK_MAX = 64 };

/* A parallel region that this location has forked and not yet joined. */
struct fork_state {
    uint32_t point;
    uint32_t comm; /* LAYOUT_NONE until the team is known */
    uint64_t sequence;
};

/* A team that this location is in. */
struct team_state {
    uint32_t comm;
    uint64_t sequence;
    uint64_t barriers;
    uint32_t barrier_depth;
};

/* Reading all of them. */
struct scan {
    struct trace *trace;
    struct history *history;
    struct scan_counts *counts;
    struct scan_tap *tap; /* or NULL */
    const bool *mine;     /* by location: whether to read it; NULL: all */
};

/* Reading one location. */
struct reading {
    struct scan *scan;
    uint32_t location;
    uint64_t last_position;
    int64_t last_time;
    bool comm_known;
    uint32_t comm_ref, comm; /* the communicator looked up last */
    uint32_t own;            /* the location's rank in it */
    struct calls calls;
    struct idmap sends;         /* request of a send that has not completed -> its point */
    uint32_t begins[STACK_MAX]; /* points of collectives that have begun */
    uint32_t begin_count;
    struct fork_state forks[STACK_MAX];
    uint32_t fork_count;
    struct team_state teams[STACK_MAX];
    uint32_t team_count;
    uint32_t neighbors; /* calls of neighbourhood collectives that have not returned */
    int err;
};

/* Read a block of locations, and put what is found after what there is. */
int ictusi_scan_locations(struct scan *scan, uint32_t from, uint32_t to);

/* Turn an error into the reader's callback code; the first one is kept. */
OTF2_CallbackCode ictusi_scan_verdict(struct reading *r, int err);

/* A new point at the current event; NODE_NONE, with r->err set, where there is no room. */
uint32_t ictusi_scan_point(struct reading *r, OTF2_TimeStamp stamp, uint64_t position,
                           uint8_t kind);

/* The communicator that an event names, or LAYOUT_NONE; most name that of the one before. */
uint32_t ictusi_scan_comm(struct reading *r, OTF2_CommRef ref);

/* Match all calls that are complete, in their order. */
OTF2_CallbackCode ictusi_scan_commit(struct reading *r);

/* A call that its request will complete. */
OTF2_CallbackCode ictusi_scan_post(struct reading *r, const struct call *call, uint64_t request);

void ictusi_scan_register_messages(OTF2_EvtReaderCallbacks *set);
void ictusi_scan_register_collectives(OTF2_EvtReaderCallbacks *set);

/* Register the callbacks for locks of windows, which a tap alone is told of. */
void ictusi_scan_register_locks(OTF2_EvtReaderCallbacks *set);

/* Register the callbacks for forks, teams, barriers, locks, threads and tasks. */
void ictusi_scan_register_threads(OTF2_EvtReaderCallbacks *set, bool regions);

/* Tell the tap of a request. */
static inline int scan_request(struct reading *r, OTF2_TimeStamp time, enum tap_request what,
                               uint64_t request, uint32_t point)
{
    struct scan_tap *tap = r->scan->tap;
    return tap ? tap->ops->request(tap, time, what, request, point) : ICTUS_OK;
}

#endif

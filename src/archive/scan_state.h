/* SPDX-License-Identifier: BSD-3-Clause */
/* The state of reading one location, which the callbacks for messages and for threads share. */
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

/* A team that this location belongs to at present. */
struct team_state {
    uint32_t comm;
    uint64_t sequence;
    uint64_t barriers;
    uint32_t barrier_depth;
};

/* The state of reading all locations. */
struct scan {
    struct trace *trace;
    struct history *history;
    struct scan_counts *counts;
    struct scan_tap *tap; /* or NULL */
    const bool *mine;     /* by location: whether to read it; NULL: all */
};

/* The state of reading one location. */
struct reading {
    struct scan *scan;
    uint32_t location;
    uint64_t last_position;
    int64_t last_time;
    bool comm_known;
    uint32_t comm_ref, comm; /* the last communicator that was looked up */
    uint32_t own;            /* the location's rank in it */
    struct calls calls;
    struct idmap sends;         /* request -> point of each send that has not completed */
    uint32_t begins[STACK_MAX]; /* points of collectives that have begun but not ended */
    uint32_t begin_count;
    struct fork_state forks[STACK_MAX];
    uint32_t fork_count;
    struct team_state teams[STACK_MAX];
    uint32_t team_count;
    uint32_t neighbors; /* neighbourhood collectives that have not returned */
    int err;
};

/* Read a block of locations and append what is found. */
int ictusi_scan_locations(struct scan *scan, uint32_t from, uint32_t to);

/* Turn an error into the reader's callback code; the first one is kept. */
OTF2_CallbackCode ictusi_scan_verdict(struct reading *r, int err);

/* Make a point at the current event. NODE_NONE: there is no room, and r->err is set. */
uint32_t ictusi_scan_point(struct reading *r, OTF2_TimeStamp stamp, uint64_t position,
                           uint8_t kind);

/* The communicator that an event refers to, or LAYOUT_NONE. The last one is cached. */
uint32_t ictusi_scan_comm(struct reading *r, OTF2_CommRef ref);

/* Match all calls that are complete, in order. */
OTF2_CallbackCode ictusi_scan_commit(struct reading *r);

/* Post a call that its request will complete. */
OTF2_CallbackCode ictusi_scan_post(struct reading *r, const struct call *call, uint64_t request);

void ictusi_scan_register_messages(OTF2_EvtReaderCallbacks *set);
void ictusi_scan_register_collectives(OTF2_EvtReaderCallbacks *set);

/* Register the callbacks for window locks, which only a tap receives. */
void ictusi_scan_register_locks(OTF2_EvtReaderCallbacks *set);

/* Register the callbacks for forks, teams, barriers, locks, threads and tasks. */
void ictusi_scan_register_threads(OTF2_EvtReaderCallbacks *set, bool regions);

/* Notify the tap of a request. */
static inline int scan_request(struct reading *r, OTF2_TimeStamp time, enum tap_request what,
                               uint64_t request, uint32_t point)
{
    struct scan_tap *tap = r->scan->tap;
    return tap ? tap->ops->request(tap, time, what, request, point) : ICTUS_OK;
}

#endif

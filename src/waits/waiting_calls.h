/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls of a program in which its processes meet, in the order of each location, with the time
 * that it spent by call path between them; and for every point of the causality graph the call that
 * it lies in.
 */
#ifndef ICTUS_WAITS_WAITING_CALLS_H
#define ICTUS_WAITS_WAITING_CALLS_H

#include "archive/scan_tap.h"
#include "causality/graph.h"
#include "causality/history.h"
#include "causality/store.h"
#include "waits/paths.h"

#define CALL_NONE UINT32_MAX
/* Up to so many calls, what is kept of each stays in memory: about 120 bytes. */
enum { CALLS_IN_MEMORY = 1 << 21 };
/* Where a location without events begins. */
#define NO_EVENTS INT64_MAX

enum call_flags {
    CALL_CUT = 1,   /* it had not returned when the trace ended */
    CALL_MUTED = 2, /* recording was switched off in it */
    CALL_END = 4,   /* no call: the last event of a location */
    CALL_BARE = 8   /* no region: the bare instant of an event */
};

/* Ticks as recorded, later presynchronised. delta_end: after the last share of time between the
 * call before and it.
 */
struct waiting_call {
    int64_t enter, leave;
    uint32_t path, delta_end;
    uint32_t flags, location;
};

/* Time that a location spent in a call path, itself only, by its own clock. */
struct share_of_time {
    int64_t ticks;
    uint32_t path;
};

/* A process's part in a collective; a location's in the order in which they ended. */
struct meeting {
    uint32_t call, end_call; /* that began it and that completed it: one, if it is blocking */
    uint32_t begin;          /* the point of a nonblocking one, in the order of calls; else 0 */
    uint32_t location, comm, root; /* index; as recorded */
    uint64_t sent, received;       /* bytes, as recorded */
    uint8_t op;                    /* enum collective_op */
};

enum notice_kind { NOTICE_GOT, NOTICE_GIVEN, NOTICE_POSTED };

/* A notification of a window that a call sends or gets, or that the window is exposed. */
struct notice {
    uint32_t call, location, peer, window; /* peer: the location at the other end */
    uint8_t kind;                          /* enum notice_kind */
};

/* An event of a window's lock, or of what is done under one. */
struct lock_note {
    struct tap_window_lock lock;
    uint32_t call, location;
};

struct waiting_calls {
    struct store calls, shares;
    struct store call_of; /* by point */
    /* By point: of a send the call that completes it, of a receive the one that posted it. */
    struct store other;
    struct store meetings; /* of all locations, one after the other */
    struct store notices;  /* likewise */
    struct store locks;    /* struct lock_note; likewise */
    uint64_t *first;       /* by location, its first call; one more than there are locations */
    uint64_t bare;         /* events of messages or collectives that lie in no region */
    uint64_t muted, cut;
    int64_t *begin;   /* by location: its first event */
    int64_t from, to; /* the first and the last event of all */
};

/* Room for the calls of an archive. Errors: ICTUS_ERR_NOMEM. Released by
 * ictusi_waiting_calls_free(), after errors too. */
int ictusi_waiting_calls_init(struct waiting_calls *calls, const struct layout *layout,
                              struct ictus_why *why);

/* Bring all instants to where a map of each location's stamps says; from and to are known then. */
void ictusi_waiting_calls_map(struct waiting_calls *calls, uint64_t locations,
                              int64_t (*map)(void *self, uint32_t location, int64_t stamp),
                              void *self);
void ictusi_waiting_calls_free(struct waiting_calls *calls);

/* Let go of the memory behind the calls; their contents stay. */
void ictusi_waiting_calls_relax(const struct waiting_calls *calls);

/*
 * Move the calls of a block of locations after those that are known, which are of locations before
 * them; paths: by number there, what they are here. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
 */
int ictusi_waiting_calls_append(struct waiting_calls *to, struct waiting_calls *from,
                                const struct tap_part *part, const uint32_t *paths,
                                struct ictus_why *why);

static inline struct waiting_call *call_at(const struct waiting_calls *calls, uint64_t i)
{
    return (struct waiting_call *)calls->calls.area + i;
}

static inline struct meeting *meeting_at(const struct waiting_calls *calls, uint64_t i)
{
    return (struct meeting *)calls->meetings.area + i;
}

static inline struct notice *call_notice_at(const struct waiting_calls *calls, uint64_t i)
{
    return (struct notice *)calls->notices.area + i;
}

static inline struct lock_note *lock_note_at(const struct waiting_calls *calls, uint64_t i)
{
    return (struct lock_note *)calls->locks.area + i;
}

static inline uint32_t call_of_point(const struct waiting_calls *calls, uint64_t point)
{
    return ((const uint32_t *)calls->call_of.area)[point];
}

static inline uint32_t call_of_other(const struct waiting_calls *calls, uint64_t point)
{
    return ((const uint32_t *)calls->other.area)[point];
}

/* The first share of time before a call. */
static inline uint32_t call_delta_begin(const struct waiting_calls *calls, uint64_t i)
{
    return i ? call_at(calls, i - 1)->delta_end : 0;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The calls in which the processes of a program wait for each other, in order within each location,
 * with the time spent by call path in between; and, for every point of the causality graph, the
 * call that it lies in.
 */
#ifndef ICTUS_WAITS_WAITING_CALLS_H
#define ICTUS_WAITS_WAITING_CALLS_H

#include "archive/scan_tap.h"
#include "causality/graph.h"
#include "causality/history.h"
#include "causality/store.h"
#include "waits/paths.h"

#define CALL_NONE UINT32_MAX
/* Up to this many calls, their data stays in memory: about 110 bytes each. */
enum { CALLS_IN_MEMORY = 1 << 21 };
/* The beginning of a location without events. */
#define NO_EVENTS INT64_MAX

enum call_flags {
    CALL_CUT = 1,   /* it had not returned at the end of the trace */
    CALL_MUTED = 2, /* recording was switched during it */
    CALL_END = 4,   /* not a call, but the last event of a location */
    CALL_BARE = 8   /* not in a region, but just the instant of an event */
};

/*
 * A call. Instants are ticks as recorded, later presynchronised. delta_end is one past the last
 * share of time between the preceding call and this one.
 */
struct waiting_call {
    int64_t enter, leave;
    uint32_t path, delta_end;
    uint32_t flags, location;
};

/* Exclusive time that a location spent in a call path, by its own clock. */
struct share_of_time {
    int64_t ticks;
    uint32_t path;
};

/*
 * Shares are stored in 64 bits: the path, a bit, and ticks. A longer share takes two entries, of
 * which the one whose bit is set counts in units of 2^SHARE_TICKS.
 */
enum { SHARE_TICKS = 63 - PATH_BITS, SHARES_WIDE = 2 };

/* A process's part in a collective. Those of a location are in the order of their ends. */
struct meeting {
    uint32_t call, end_call; /* the calls that began and completed it; the same if it is blocking */
    /* the point of its begin if it is nonblocking, in call order; else 0 */
    uint32_t begin;
    uint32_t location, comm, root; /* index; as recorded */
    uint64_t sent, received;       /* bytes, as recorded */
    uint32_t operands;             /* as in core/operands.h */
    uint8_t op;                    /* enum collective_op */
};

enum notice_kind { NOTICE_GOT, NOTICE_GIVEN, NOTICE_POSTED };

/* A notification of a window that a call sends or receives, or the exposure of the window. */
struct notice {
    uint32_t call, location, peer, window; /* peer: the location at the other end */
    uint8_t kind;                          /* enum notice_kind */
};

/* An event of a window's lock, or of an access under one. */
struct lock_note {
    struct tap_window_lock lock;
    uint32_t call, location;
};

struct waiting_calls {
    struct store calls;
    struct store shares;  /* see call_share() */
    struct store call_of; /* by point */
    /* By point: for a send the call that completes it, for a receive the call that posted it. */
    struct store other;
    struct store meetings; /* of all locations, in order of locations */
    struct store notices;  /* the same */
    struct store locks;    /* struct lock_note; the same */
    uint64_t *first;       /* by location: its first call; location_count + 1 entries */
    uint64_t bare;         /* events of messages or collectives outside any region */
    uint64_t muted, cut;
    int64_t *begin;   /* by location: its first event */
    int64_t from, to; /* the first and the last event of all locations */
};

/*
 * Reserve room for the calls of an archive. Call ictusi_waiting_calls_free() even after an error:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_waiting_calls_init(struct waiting_calls *calls, const struct layout *layout,
                              struct ictus_why *why);

/* Where a map found the last instant of a location: at first, and if it does not use it, 0. */
struct map_hints {
    uint32_t local, unit, off;
};

/* Maps a location's stamp. Those of one location come in order, but for few. */
typedef int64_t calls_map(void *self, uint32_t location, int64_t stamp, struct map_hints *hints);

/*
 * Map all instants with a function of each location's stamps, several locations at a time. from and
 * to are known afterwards.
 */
void ictusi_waiting_calls_map(struct waiting_calls *calls, uint32_t locations, int threads,
                              calls_map *map, void *self);
void ictusi_waiting_calls_free(struct waiting_calls *calls);

/* Release the memory behind the calls; their contents stay in the files. */
void ictusi_waiting_calls_relax(const struct waiting_calls *calls);

/*
 * Append the calls of a block of locations to those of the preceding locations. paths: by path
 * number in the block, the number here. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
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

/* Store a share at its place, with room for SHARES_WIDE entries. Returns how many it took. */
static inline uint64_t call_put_share(const struct waiting_calls *calls, uint64_t i,
                                      struct share_of_time share)
{
    uint64_t *list = (uint64_t *)calls->shares.area + i;
    const uint64_t ticks = (uint64_t)share.ticks;
    const uint64_t low = ticks & ((UINT64_C(1) << SHARE_TICKS) - 1);
    const uint64_t path = (uint64_t)share.path << (SHARE_TICKS + 1);
    list[0] = path | low;
    if (ticks != low) {
        list[1] = path | UINT64_C(1) << SHARE_TICKS | ticks >> SHARE_TICKS;
    }
    return ticks != low ? 2 : 1;
}

static inline struct share_of_time call_share(const struct waiting_calls *calls, uint64_t i)
{
    const uint64_t entry = ((const uint64_t *)calls->shares.area)[i];
    const uint64_t ticks = entry & ((UINT64_C(1) << SHARE_TICKS) - 1);
    const bool wide = entry >> SHARE_TICKS & 1;
    return (struct share_of_time){(int64_t)(wide ? ticks << SHARE_TICKS : ticks),
                                  (uint32_t)(entry >> (SHARE_TICKS + 1))};
}

/* The index of the first share of time before a call. */
static inline uint32_t call_delta_begin(const struct waiting_calls *calls, uint64_t i)
{
    return i ? call_at(calls, i - 1)->delta_end : 0;
}

#endif

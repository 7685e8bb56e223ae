/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Following each location through its events while the archive is scanned: regions, the open call,
 * time by call path.
 */
#ifndef ICTUS_WAITS_FOLLOW_H
#define ICTUS_WAITS_FOLLOW_H

#include "archive/scan_tap.h"
#include "waits/waiting_calls.h"

struct frame {
    uint32_t path;
    uint32_t region;
};

/* Until when an open call lasts: the end of its region, or of the collective without one. */
#define UNTIL_END UINT32_MAX

struct follower {
    struct scan_tap tap; /* first member */
    struct waiting_calls *calls;
    struct paths *paths;
    const struct history *history;
    struct ictus_why *why;
    int64_t site;      /* the attribute that names the place of a call, or IDMAP_NONE */
    uint32_t location; /* the present one */
    struct frame *stack;
    uint32_t depth, room;
    uint32_t path;        /* the present one */
    int64_t last;         /* time is accounted for up to here */
    bool open, used;      /* a call is; it has a point or a request */
    bool muted, began;    /* recording is off; there has been an event */
    bool locks, released; /* windows have been locked; the open call releases a lock */
    uint32_t open_depth;
    struct waiting_call call;
    struct idmap slots;           /* path -> its place among the shares since the last call */
    struct idmap sends, receives; /* request -> point of the send, call that posted */
    struct share_of_time *shares;
    uint64_t share_count, share_room;
    int err;
};

/* The tap of a scan that fills in calls and paths, which stay the caller's. */
void ictusi_follow_init(struct follower *follower, struct waiting_calls *calls, struct paths *paths,
                        const struct trace *trace);
void ictusi_follow_fini(struct follower *follower);

#endif

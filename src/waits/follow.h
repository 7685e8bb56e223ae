/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Follows each location through its events while the archive is scanned: regions, the open call,
 * and the time by call path.
 */
#ifndef ICTUS_WAITS_FOLLOW_H
#define ICTUS_WAITS_FOLLOW_H

#include "archive/scan_tap.h"
#include "waits/waiting_calls.h"

/* The depth of an open call that ends with a collective instead of with a region. */
#define UNTIL_END UINT32_MAX

struct follower {
    struct scan_tap tap; /* first member */
    struct waiting_calls *calls;
    struct paths *paths;
    const struct history *history;
    struct ictus_why *why;
    int64_t site;      /* the attribute with the call site, or IDMAP_NONE */
    uint32_t location; /* the present one */
    uint32_t depth;
    uint32_t path;        /* the present one */
    int64_t last;         /* time up to here is accounted for */
    bool open, used;      /* a call is open; it has a point or a request */
    bool muted, began;    /* recording is off; there has been an event */
    bool locks, released; /* windows have been locked; the open call releases a lock */
    uint32_t open_depth;
    struct waiting_call call;
    struct idmap slots;           /* path -> index among the shares since the last call */
    struct idmap sends, receives; /* request -> point of the send, call that posted */
    struct share_of_time *shares;
    uint64_t share_count, share_room;
    int err;
};

/* Initialise the tap of a scan, which fills calls and paths; the caller keeps both. */
void ictusi_follow_init(struct follower *follower, struct waiting_calls *calls, struct paths *paths,
                        const struct trace *trace);
void ictusi_follow_fini(struct follower *follower);

#endif

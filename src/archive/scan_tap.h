/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who listens to a scan: told of the regions around its points and of the requests that join them,
 * in the order of each location's events, so that nobody has to read an archive twice.
 */
#ifndef ICTUS_ARCHIVE_SCAN_TAP_H
#define ICTUS_ARCHIVE_SCAN_TAP_H

#include "causality/history.h"

#include <otf2/otf2.h>

enum tap_request {
    TAP_SEND_BEGUN,     /* point: the send */
    TAP_SEND_DONE,      /* no point */
    TAP_RECEIVE_POSTED, /* no point */
    TAP_RECEIVED,       /* point: the receive; NODE_NONE: it names nobody */
    TAP_CANCELLED       /* no point */
};

enum tap_lock {
    TAP_LOCK_REQUESTED, /* it may be acquired later, in another call */
    TAP_LOCK_ACQUIRED,
    TAP_LOCK_ACCESS, /* an operation on the window, or its completion: of any target */
    TAP_LOCK_RELEASED
};

/* All targets of a window. */
#define TAP_LOCK_ALL UINT32_MAX

/* One event of a window's lock; window and target (a rank there) as recorded. */
struct tap_window_lock {
    enum tap_lock what;
    uint32_t window, target;
    uint64_t id;    /* where a window has several at each target */
    bool exclusive; /* of one that is requested or acquired */
};

struct scan_tap;

/* A block of locations that another tap was told of, and where its points begin. */
struct tap_part {
    uint32_t from, to;
    uint64_t point;
};

/* Stamps are as they were recorded. Errors are those of ictusi_scan_read(), and end it. */
struct scan_tap_ops {
    /* A location's events begin, and have ended. */
    int (*begin)(struct scan_tap *tap, uint32_t location, const struct history *history);
    int (*finish)(struct scan_tap *tap);
    /* Before the points that lie at an enter, and after those at a leave. */
    int (*enter)(struct scan_tap *tap, OTF2_TimeStamp stamp, OTF2_RegionRef region,
                 const OTF2_AttributeList *attributes);
    int (*leave)(struct scan_tap *tap, OTF2_TimeStamp stamp);
    int (*switched)(struct scan_tap *tap, OTF2_TimeStamp stamp, bool off);
    int (*point)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point);
    /* A blocking collective: before its first point, and after its last one; call: NULL where it
     * synchronised nobody and has no points, its communicator LAYOUT_NONE where that is unknown. */
    int (*collective_begun)(struct scan_tap *tap, OTF2_TimeStamp stamp);
    int (*collective_ended)(struct scan_tap *tap, OTF2_TimeStamp stamp,
                            const struct collective_call *call);
    int (*request)(struct scan_tap *tap, OTF2_TimeStamp stamp, enum tap_request what,
                   uint64_t request, uint32_t point);
    /* After the point of a notification of a window, to or from a location. */
    int (*notified)(struct scan_tap *tap, uint32_t point, uint32_t peer, uint32_t window);
    /* A window is exposed to the processes of a location from now on. */
    int (*exposed)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t peer, uint32_t window);
    /* A lock was acquired; point: NODE_NONE where nobody had it before. */
    int (*acquired)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point);
    int (*window_lock)(struct scan_tap *tap, OTF2_TimeStamp stamp,
                       const struct tap_window_lock *lock);
    /* Another tap of this kind, which a thread tells of other locations meanwhile; NULL: no memory.
     * What it knows is put after what this one knows, before it is released. */
    struct scan_tap *(*split)(struct scan_tap *tap);
    int (*join)(struct scan_tap *tap, struct scan_tap *other, const struct tap_part *part);
    void (*release)(struct scan_tap *other);
};

struct scan_tap {
    const struct scan_tap_ops *ops;
};

#endif

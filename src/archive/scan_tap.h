/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A listener to a scan. It is notified of the regions around the points and of the requests that
 * connect them, in the order of each location's events, so that an archive is read only once.
 */
#ifndef ICTUS_ARCHIVE_SCAN_TAP_H
#define ICTUS_ARCHIVE_SCAN_TAP_H

#include "causality/history.h"

#include <otf2/otf2.h>

enum tap_request {
    TAP_SEND_BEGUN,     /* point: the send */
    TAP_SEND_DONE,      /* no point */
    TAP_RECEIVE_POSTED, /* no point */
    TAP_RECEIVED,       /* point: the receive; NODE_NONE: its peer is unknown */
    TAP_CANCELLED       /* no point */
};

enum tap_lock {
    TAP_LOCK_REQUESTED, /* it may be acquired later, in another call */
    TAP_LOCK_ACQUIRED,
    TAP_LOCK_ACCESS, /* an operation on the window, or its completion, for any target */
    TAP_LOCK_RELEASED
};

/* All targets of a window. */
#define TAP_LOCK_ALL UINT32_MAX

/* One event of a window lock. The window and the target, which is a rank there, are as recorded. */
struct tap_window_lock {
    enum tap_lock what;
    uint32_t window, target;
    uint64_t id;    /* distinguishes several locks of a window at one target */
    bool exclusive; /* for a requested or acquired lock */
};

struct scan_tap;

/* A block of locations that another tap has listened to, and where its points begin. */
struct tap_part {
    uint32_t from, to;
    uint64_t point;
};

/*
 * Stamps are as recorded. The functions return the errors of ictusi_scan_read(), which end the
 * scan.
 */
struct scan_tap_ops {
    /* Before and after the events of a location. */
    int (*begin)(struct scan_tap *tap, uint32_t location, const struct history *history);
    int (*finish)(struct scan_tap *tap);
    /* Before the points at an enter, and after those at a leave. */
    int (*enter)(struct scan_tap *tap, OTF2_TimeStamp stamp, OTF2_RegionRef region,
                 const OTF2_AttributeList *attributes);
    int (*leave)(struct scan_tap *tap, OTF2_TimeStamp stamp);
    int (*switched)(struct scan_tap *tap, OTF2_TimeStamp stamp, bool off);
    int (*point)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point);
    /*
     * A blocking collective, before its first point and after its last one. call is NULL if it
     * synchronised nobody and has no points. Its communicator is LAYOUT_NONE if that is unknown.
     */
    int (*collective_begun)(struct scan_tap *tap, OTF2_TimeStamp stamp);
    int (*collective_ended)(struct scan_tap *tap, OTF2_TimeStamp stamp,
                            const struct collective_call *call);
    int (*request)(struct scan_tap *tap, OTF2_TimeStamp stamp, enum tap_request what,
                   uint64_t request, uint32_t point);
    /* After the point of a window notification, with the location at the other end. */
    int (*notified)(struct scan_tap *tap, uint32_t point, uint32_t peer, uint32_t window);
    /* A window is exposed to the process of a location from now on. */
    int (*exposed)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t peer, uint32_t window);
    /* A lock was acquired. point: NODE_NONE if nobody held it before. */
    int (*acquired)(struct scan_tap *tap, OTF2_TimeStamp stamp, uint32_t point);
    int (*window_lock)(struct scan_tap *tap, OTF2_TimeStamp stamp,
                       const struct tap_window_lock *lock);
    /*
     * Make another tap of the same kind, for locations that a thread reads. NULL: no memory. join
     * appends what it has learned to this tap's data before it is released.
     */
    struct scan_tap *(*split)(struct scan_tap *tap);
    int (*join)(struct scan_tap *tap, struct scan_tap *other, const struct tap_part *part);
    void (*release)(struct scan_tap *other);
};

struct scan_tap {
    const struct scan_tap_ops *ops;
};

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The events that take part in the happened-before relation between locations: in order within each
 * location, one location after the other, one array per property. Large arrays live in an unlinked
 * file, so that only the part in use occupies memory.
 */
#ifndef ICTUS_CAUSALITY_POINTS_H
#define ICTUS_CAUSALITY_POINTS_H

#include "causality/store.h"

#include <ictus/error.h>
#include <stdbool.h>
#include <stdint.h>

/* Node numbers: a point, a virtual node (one half of a collective), or a point on another rank. */
#define NODE_NONE UINT32_MAX
#define NODE_VIRTUAL UINT32_C(0x80000000)
#define NODE_REMOTE UINT32_C(0xc0000000)
#define NODE_TYPE UINT32_C(0xc0000000)
#define NODE_INDEX UINT32_C(0x3fffffff)
#define POINTS_MAX UINT64_C(0x7ffffff0)

/* A value that has not been set yet. */
#define VALUE_UNSET INT64_MIN
/* The limit of a send that nothing limits. */
#define LIMIT_NONE INT64_MAX

enum point_class { POINT_P2P, POINT_COLLECTIVE, POINT_THREAD, POINT_RMA, POINT_CLASSES };

enum {
    POINT_CLASS = 0x0f,
    POINT_IN = 0x10,   /* the second event of pairs: a receive */
    POINT_OUT = 0x20,  /* the first event of pairs: a send */
    POINT_LIVE = 0x40, /* of a collective: this member moves data */
    POINT_CANCELLED = 0x80
};

enum points_array {
    POINTS_TIME,
    POINTS_VALUE,
    POINTS_NOTE,
    POINTS_LINK,
    POINTS_GAP,
    POINTS_PEER,
    POINTS_KIND,
    POINTS_ARRAYS
};

/* An additional value of a point. The point's kind says which one it is. */
union point_note {
    int64_t limit;   /* of a first event: the latest value that its second events permit */
    int64_t floor;   /* of a first event, while ramps are eased: its least value */
    int64_t arrived; /* of a message from another rank: the value that arrived */
    int64_t op;      /* of a collective's exit: enum collective_op */
    int64_t bytes;   /* of a message that needs none of the above: its length */
    int64_t lock;    /* of a thread event that needs none of the above: a lock was acquired */
};

struct points {
    uint64_t count;
    struct store stores[POINTS_ARRAYS]; /* storage of the arrays, which grow together */

    int64_t *time;  /* input stamp, later presynchronised: C in B07 */
    int64_t *value; /* LC in B07; at a receive, before it is processed, the value that arrived */
    union point_note *note;
    uint32_t *link; /* the node at the other end, or the next point of a chain */
    uint32_t *gap;  /* events since the previous point of the location */
    uint32_t *peer; /* location at the other end, or rank in the collective */
    uint8_t *kind;
};

/* Reserve room. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_points_init(struct points *points, uint64_t room, struct ictus_why *why);
void ictusi_points_fini(struct points *points);

/*
 * Make storage for one more point. Errors: ICTUS_ERR_IO (disk full), ICTUS_ERR_CORRUPT (no room).
 */
int ictusi_points_grow(struct points *points, struct ictus_why *why);

/*
 * Append other points, which are freed. Their links are shifted to their new places; their values
 * are not copied. Errors: as above.
 */
int ictusi_points_append(struct points *points, struct points *other, struct ictus_why *why);

/* Whether this many more points stay in memory. */
static inline bool points_stay(const struct points *points, uint64_t more)
{
    return points->count + more <= points->stores[POINTS_TIME].memory;
}

/* Release all memory of points that will not be used again, in several threads. */
void ictusi_points_drop(struct points *points, int threads);

/* Release the memory behind the arrays; their contents stay in the file. */
void ictusi_points_relax(const struct points *points);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of points: one array a property. */
#include "causality/points.h"

#include <ictus/error.h>
#include <string.h>

/*
 * Up to this many points stay in plain memory, 390 MB. The kernel writes the pages of a file to the
 * disk in the background, and each page causes a fault after its memory was released.
 */
enum { POINTS_IN_MEMORY = 80 << 17 };

/* The element size of each array in bytes, in the order of the enumeration: 37 bytes per point. */
static const size_t sizes[POINTS_ARRAYS] = {8, 8, 8, 4, 4, 4, 1};

int ictusi_points_init(struct points *points, uint64_t room, struct ictus_why *why)
{
    *points = (struct points){.count = 0};
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        const int err =
            ictusi_store_init(&points->stores[i], sizes[i], room, POINTS_IN_MEMORY * sizes[i], why);
        if (err) {
            return err;
        }
    }
    points->time = points->stores[POINTS_TIME].area;
    points->value = points->stores[POINTS_VALUE].area;
    points->note = points->stores[POINTS_NOTE].area;
    points->link = points->stores[POINTS_LINK].area;
    points->gap = points->stores[POINTS_GAP].area;
    points->peer = points->stores[POINTS_PEER].area;
    points->kind = points->stores[POINTS_KIND].area;
    return ICTUS_OK;
}

void ictusi_points_fini(struct points *points)
{
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        ictusi_store_fini(&points->stores[i]);
    }
    *points = (struct points){.count = 0};
}

void ictusi_points_drop(struct points *points, int threads)
{
    struct store *stores[POINTS_ARRAYS];
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        stores[i] = &points->stores[i];
    }
    ictusi_stores_drop(stores, POINTS_ARRAYS, threads);
}

/* The number of points for which every array has storage. */
static uint64_t points_ready(const struct points *points)
{
    return points->stores[POINTS_ARRAYS - 1].ready;
}

int ictusi_points_grow(struct points *points, struct ictus_why *why)
{
    if (points->count < points_ready(points)) {
        return ICTUS_OK;
    }
    int err = ICTUS_OK;
    /* The arrays grow in order, so the size of the last one is a lower bound for all. */
    for (int i = 0; i < POINTS_ARRAYS && !err; i++) {
        points->stores[i].count = points->count;
        err = ictusi_store_grow(&points->stores[i], 1, why);
    }
    return err;
}

void ictusi_points_relax(const struct points *points)
{
    for (int i = 0; i < POINTS_ARRAYS; i++) {
        ictusi_store_relax(&points->stores[i]);
    }
}

/*
 * Some archives have few notes, so destination memory for notes that are all zero is not touched.
 */
static void points_take_notes(union point_note *to, const union point_note *from, uint64_t count)
{
    enum { TOGETHER = 512 };
    for (uint64_t i = 0; i < count; i += TOGETHER) {
        const uint64_t n = count - i < TOGETHER ? count - i : TOGETHER;
        int64_t any = 0;
        for (uint64_t k = i; k < i + n; k++) {
            any |= from[k].limit;
        }
        if (any) {
            memcpy(to + i, from + i, n * sizeof *to);
        }
    }
}

/* Notes are copied piece by piece, and each piece is dropped once it is copied. */
static int points_append_notes(struct points *points, struct points *other, struct ictus_why *why)
{
    enum { PIECE = 1 << 17 };
    struct store *notes = &points->stores[POINTS_NOTE];
    int err = ICTUS_OK;
    for (uint64_t done = 0, n = 0; done < other->count && !err; done += n) {
        n = other->count - done < PIECE ? other->count - done : PIECE;
        err = ictusi_store_grow(notes, n, why);
        if (!err) {
            points_take_notes(points->note + notes->count, other->note + done, n);
            notes->count += n;
            ictusi_store_drop(&other->stores[POINTS_NOTE], done, n);
        }
    }
    return err;
}

static void points_leave(const void *self, void *elements, uint64_t count)
{
    (void)self;
    (void)elements;
    (void)count;
}

static void points_shift_links(const void *self, void *elements, uint64_t count)
{
    const uint32_t offset = *(const uint32_t *)self;
    uint32_t *link = elements;
    for (uint64_t i = 0; i < count; i++) {
        link[i] = link[i] == NODE_NONE ? NODE_NONE : link[i] + offset;
    }
}

/* Append array by array, so that the two copies are never in memory as a whole. */
int ictusi_points_append(struct points *points, struct points *other, struct ictus_why *why)
{
    const uint32_t offset = (uint32_t)points->count;
    const uint64_t count = points->count + other->count;
    int err = ICTUS_OK;
    for (int i = 0; i < POINTS_ARRAYS && !err; i++) {
        struct store *to = &points->stores[i];
        struct store *from = &other->stores[i];
        to->count = points->count;
        from->count = other->count;
        if (i == POINTS_NOTE) {
            err = points_append_notes(points, other, why);
        } else if (i != POINTS_VALUE) {
            err = ictusi_store_take(to, from, i == POINTS_LINK ? points_shift_links : points_leave,
                                    &offset, why);
        }
        to->count = count;
    }
    points->count = count;
    /* The last array tells how many points have storage. */
    const uint64_t ready = points_ready(points);
    for (int i = 0; i < POINTS_ARRAYS && !err; i++) {
        err = ictusi_store_grow(&points->stores[i], ready - count, why);
    }
    ictusi_points_relax(points);
    return err;
}

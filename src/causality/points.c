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

/*
 * Copy piece by piece and drop each piece once it is copied, so that the two copies are never in
 * memory as a whole.
 */
int ictusi_points_append(struct points *points, struct points *other, struct ictus_why *why)
{
    const uint32_t offset = (uint32_t)points->count;
    int err = ICTUS_OK;
    for (uint64_t done = 0, n = 0; done < other->count && !err; done += n) {
        err = ictusi_points_grow(points, why);
        const uint64_t at = points->count;
        n = other->count - done;
        const uint64_t fits = points_ready(points) - at;
        n = n < fits ? n : fits;
        if (err) {
            break;
        }
        memcpy(points->time + at, other->time + done, n * sizeof *points->time);
        memcpy(points->gap + at, other->gap + done, n * sizeof *points->gap);
        memcpy(points->peer + at, other->peer + done, n * sizeof *points->peer);
        memcpy(points->kind + at, other->kind + done, n * sizeof *points->kind);
        points_take_notes(points->note + at, other->note + done, n);
        for (uint64_t i = 0; i < n; i++) {
            const uint32_t link = other->link[done + i];
            points->link[at + i] = link == NODE_NONE ? NODE_NONE : link + offset;
        }
        points->count += n;
        for (int i = 0; i < POINTS_ARRAYS; i++) {
            ictusi_store_drop(&other->stores[i], done, n);
        }
    }
    ictusi_points_relax(points);
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Presynchronisation (B07 5.1): for each location, one piecewise linear map from its stamps to the
 * master's clock, made from the clock offsets in the archive.
 */
#ifndef ICTUS_CORRECT_PRESYNC_H
#define ICTUS_CORRECT_PRESYNC_H

#include "causality/layout.h"

enum presync {
    PRESYNC_AUTO,
    PRESYNC_NONE,
    PRESYNC_OFFSET,
    PRESYNC_LINEAR,
    PRESYNC_ARCHIVE,
    PRESYNC_MESSAGES
};

/*
 * Maps stamps from `from` on: stamp + offset + slope * (stamp - from), rounded. The offset is in
 * whole ticks, and frac, from 0 to less than 1, is its fraction.
 */
struct piece {
    int64_t from, offset;
    double frac; /* the fraction of the offset */
    double slope;
};

/* A map has at least one piece. The first piece also applies to earlier stamps. */
struct clock_map {
    struct piece *pieces;
    uint32_t count;
};

/*
 * Make one map per location. Errors: ICTUS_ERR_NOMEM. The array is freed by ictusi_presync_free().
 */
int ictusi_presync_make(const struct layout *layout, enum presync mode, struct clock_map **maps);
void ictusi_presync_free(struct clock_map *maps, uint64_t count);

/* Whether no map changes any stamp. */
bool ictusi_presync_is_identity(const struct clock_map *maps, uint64_t count);

/*
 * A map through knots with these times and offsets; with one knot it is a constant. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_clock_map_knots(struct clock_map *map, const int64_t *times, const double *offsets,
                           uint32_t count);

/* The largest slope of any piece: the relative change of the interval between close events. */
double ictusi_clock_maps_bend(const struct clock_map *maps, uint64_t count);

/* Add a constant to the results of all maps. */
void ictusi_clock_maps_raise(struct clock_map *maps, uint64_t count, int64_t ticks);

/*
 * Broken offsets may exceed the range of integers. The result is then limited to its edge, and sums
 * wrap around instead of trapping.
 */
static inline int64_t piece_at(const struct piece *piece, int64_t time)
{
    const double edge = 0x1p62;
    const int64_t since = (int64_t)((uint64_t)time - (uint64_t)piece->from);
    double rest = piece->frac + piece->slope * (double)since;
    rest += rest < 0 ? -0.5 : 0.5;
    if (!(rest > -edge && rest < edge)) {
        rest = rest < 0 ? -edge : edge;
    }
    return (int64_t)((uint64_t)time + (uint64_t)piece->offset + (uint64_t)(int64_t)rest);
}

/* Map a stamp. *hint speeds up ascending look-ups and must be 0 at first. */
static inline int64_t clock_map_at(const struct clock_map *map, int64_t time, uint32_t *hint)
{
    /*
     * The hint is only where the search begins. With both loops, the piece that is found does not
     * depend on it.
     */
    uint32_t i = *hint;
    while (i + 1 < map->count && time >= map->pieces[i + 1].from) {
        i++;
    }
    while (i > 0 && time < map->pieces[i].from) {
        i--;
    }
    *hint = i;
    return piece_at(&map->pieces[i], time);
}

#endif

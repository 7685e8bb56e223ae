/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Presynchronisation (B07 5.1): one piecewise linear map of each location's stamps onto the
 * master's clock, from the clock offsets that the archive holds.
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
 * From a stamp on: stamp + offset + slope * (stamp - from), rounded. The offset is whole ticks, and
 * frac, from 0 to less than 1, what is left of it.
 */
struct piece {
    int64_t from, offset;
    double frac; /* of the offset */
    double slope;
};

/* At least one piece; the first holds for earlier stamps too. */
struct clock_map {
    struct piece *pieces;
    uint32_t count;
};

/* One map per location. Errors: ICTUS_ERR_NOMEM. The array is ended by ictusi_presync_free(). */
int ictusi_presync_make(const struct layout *layout, enum presync mode, struct clock_map **maps);
void ictusi_presync_free(struct clock_map *maps, uint64_t count);

/* Whether every map leaves every stamp as it is. */
bool ictusi_presync_is_identity(const struct clock_map *maps, uint64_t count);

/* A map through knots (at times, with offsets); one knot is a constant. Errors: ICTUS_ERR_NOMEM. */
int ictusi_clock_map_knots(struct clock_map *map, const int64_t *times, const double *offsets,
                           uint32_t count);

/* The largest slope of any piece, by which neighbouring events come closer or move apart. */
double ictusi_clock_maps_bend(const struct clock_map *maps, uint64_t count);

/* Make every image later. */
void ictusi_clock_maps_raise(struct clock_map *maps, uint64_t count, int64_t ticks);

/* What broken offsets send beyond all numbers ends at their edge, and wraps instead of trapping. */
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

/* The image of a stamp; *hint speeds up ascending look-ups and starts as 0. */
static inline int64_t clock_map_at(const struct clock_map *map, int64_t time, uint32_t *hint)
{
    /*
     * The hint only says where to begin: with both loops the piece that is found does not depend on
     * it.
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

/* SPDX-License-Identifier: BSD-3-Clause */
/* From the stamps of one location's events, in order, to the corrected ones. */
#ifndef ICTUS_CORRECT_WARP_H
#define ICTUS_CORRECT_WARP_H

#include "causality/points.h"
#include "correct/forced.h"
#include "correct/presync.h"

enum { WARP_BINS = 12 };

/* How a location's events were moved relative to the presynchronised input. */
struct warp_stats {
    uint64_t events, moved, decreasing;
    int64_t largest_shift;        /* ticks */
    int64_t largest_stretch;      /* of an interval between neighbouring events, ticks */
    double largest_ratio;         /* |new - old| / old of an interval */
    uint64_t stretched;           /* intervals that changed */
    uint64_t absolute[WARP_BINS]; /* by decades of ticks: < 10, < 100, ... */
    uint64_t relative[WARP_BINS]; /* by decades: < 1e-9, < 1e-8, ..., more than 100 */
    int64_t first, last;          /* corrected stamps; last is only set in sums */
    uint64_t first_raw, last_raw;
};

struct warp {
    const struct clock_map *local; /* of the location; NULL: none */
    const struct clock_map *unit;  /* of its process or node, applied next; NULL: none */
    const struct points *points;   /* NULL: presynchronise only */
    uint64_t next, end, start;     /* points of the location */
    bool by_time;                  /* the points are another location's: go by time, not by order */
    double decay, slope;           /* 1 - gamma; slope of the backward amortisation */
    uint32_t local_hint, unit_hint;
    /*
     * Stamps in [same_from, same_to) are presynchronised by same_shift. reach: how far ahead to
     * try.
     */
    int64_t same_from, same_to, same_shift, reach;
    uint64_t since; /* events since the last point */
    uint64_t ahead; /* events from the last point to the next one */
    bool calm;      /* neither of the two points moves */
    bool bent;      /* the unit's map alone may change intervals by more than the limit */
    /*
     * Cached data of the neighbouring points, valid for the gap before point around - 1; 0:
     * invalid.
     */
    uint64_t around;
    int64_t lead, lead_time; /* shift of the preceding point, 0: none; and its time */
    int64_t rise, rise_time; /* shift of the next point, 0: none; and its time */
    double rise_slope;
    uint64_t raw;          /* last input stamp */
    uint64_t bits;         /* all bits that are set in any input stamp */
    int64_t input, output; /* last presynchronised and corrected stamps */
    struct warp_stats stats;
    struct forced *forced; /* NULL: not requested */
    uint32_t location;
};

/* The presynchronised stamp. */
int64_t ictusi_warp_presync(struct warp *warp, uint64_t stamp);

/* The corrected stamp of the next event. It is never less than the preceding one. */
uint64_t ictusi_warp_event(struct warp *warp, uint64_t stamp);

/*
 * The corrected stamp of another instant near the current event, such as the end of a flush or a
 * marker.
 */
uint64_t ictusi_warp_other(const struct warp *warp, uint64_t stamp);

/* Add the statistics of a location's warp, after its last event. */
void ictusi_warp_add_stats(struct warp_stats *sum, const struct warp *warp);

#endif

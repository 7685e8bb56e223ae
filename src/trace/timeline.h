/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From a process's local clock to the global one: between the points of its synchronisations what
 * is most likely by all of them (core/smoother.h), straight lines where there are only a few, and
 * the fitted lines beyond the first and the last. A burst before and one after a measurement,
 * interpolated, beat any line fitted before it (H18 V-C).
 */
#ifndef ICTUS_TRACE_TIMELINE_H
#define ICTUS_TRACE_TIMELINE_H

#include <stdint.h>

/* What the clock said at one synchronisation. */
struct timeline_point {
    int64_t local, global;
    double slope;    /* of the global clock against the local one, minus one */
    double sigma_ns; /* at the point */
    double bound_ns;
    double later_sigma_ns; /* a second later */
    /* made by ictusi_timeline_make() */
    int stepped;  /* no drift explains the way to here */
    int smoothed; /* global is what all points make likely, and so is drift */
    double drift; /* of the global clock against the local one, ns per s */
    double walk;  /* that the drift shows, ns per s per square root of a second */
};

struct timeline {
    struct timeline_point *points;
    int count;
    int last;       /* the piece that the last instant fell into */
    double jump_ns; /* the largest step of the clock between two points; 0: none */
};

/*
 * Take points in order of time; those that do not advance are left out. Where a point lies farther
 * from the line of the one before than bounds and any oscillator's drift allow, the clock has
 * stepped between them: that line holds until the later point, and instants between are as
 * uncertain as the step is large. From SMOOTHER_POINTS_MIN points without a step on they are
 * smoothed. Takes the array over. At least one point is needed.
 */
struct timeline ictusi_timeline_make(struct timeline_point *points, int count);

/* The global instant. Remembers the piece, so that a run of rising instants costs no search. */
int64_t ictusi_timeline_map(struct timeline *timeline, int64_t local);

/* The largest sigma and bound of the error between two local instants. */
void ictusi_timeline_error(const struct timeline *timeline, int64_t from, int64_t to,
                           double *sigma_ns, double *bound_ns);

/*
 * The standard deviation of the error at a local instant; between two points that of a line through
 * them, and of a drift that walks where they are smoothed.
 */
double ictusi_timeline_sigma(const struct timeline *timeline, int64_t local);

void ictusi_timeline_free(struct timeline *timeline);

/* A sum that wraps: times of a damaged trace may be anything. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

#endif

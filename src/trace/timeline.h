/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The map from a process's local clock to the global one. Between its synchronisations it is the
 * most likely curve through all of them (core/smoother.h), or straight lines if there are only a
 * few. Before the first and after the last one it is the fitted line. A burst before and one after
 * a measurement, interpolated, are more accurate than any line fitted before it (H18 V-C).
 */
#ifndef ICTUS_TRACE_TIMELINE_H
#define ICTUS_TRACE_TIMELINE_H

#include <stdint.h>

/* The state of the clock at one synchronisation. */
struct timeline_point {
    int64_t local, global;
    double slope;    /* of the global clock relative to the local one, minus 1 */
    double sigma_ns; /* at the point */
    double bound_ns;
    double later_sigma_ns; /* one second later */
    /* set by ictusi_timeline_make() */
    int stepped;  /* no drift explains the distance from the previous point */
    int smoothed; /* global and drift are smoothed values */
    double drift; /* of the global clock relative to the local one, ns/s */
    double walk;  /* of the drift, ns/s per square root of a second */
};

struct timeline {
    struct timeline_point *points;
    int count;
    int last;       /* the piece of the last instant */
    double jump_ns; /* the largest step of the clock between two points; 0: none */
};

/*
 * Make a timeline from points in the order of time; those that do not advance are left out. If a
 * point is farther from the line of its predecessor than bounds and the drift of any oscillator
 * allow, the clock has stepped between them. Then that line holds until the later point, and
 * instants in between are as uncertain as the step is large. Runs of at least SMOOTHER_POINTS_MIN
 * points without a step are smoothed. Takes ownership of the array, which must have at least one
 * point.
 */
struct timeline ictusi_timeline_make(struct timeline_point *points, int count);

/*
 * The global instant of a local one. Caches the piece, so that ascending instants need no search.
 */
int64_t ictusi_timeline_map(struct timeline *timeline, int64_t local);

/* The largest sigma and bound of the error between two local instants. */
void ictusi_timeline_error(const struct timeline *timeline, int64_t from, int64_t to,
                           double *sigma_ns, double *bound_ns);

/*
 * The standard deviation of the error at a local instant. Between two points it is that of a line
 * through them, plus the random walk of the drift if they are smoothed.
 */
double ictusi_timeline_sigma(const struct timeline *timeline, int64_t local);

void ictusi_timeline_free(struct timeline *timeline);

/* A sum that wraps around, because times of a damaged trace may have any value. */
static inline int64_t time_add(int64_t a, int64_t b)
{
    return (int64_t)((uint64_t)a + (uint64_t)b);
}

#endif

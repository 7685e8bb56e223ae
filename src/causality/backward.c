/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Let phi = value - time be a location's shift, which the forward pass left with upward jumps at
 * receives. Going back from a jump, phi may fall by `slope` per tick. Where that line passes above
 * a send's limit, it is broken there (B07, figure 1). Of all lines below the limits and above the
 * forward values, the one whose steepest part is least steep is the lower convex hull of the jump
 * and the limits: its slopes grow towards the receive. All jumps share one line, so that ramps that
 * overlap do not add up their slopes, as they would if each were treated separately.
 */
#include "causality/backward.h"

#include <math.h>
#include <stdlib.h>

/* A ramp that has not met the forward values after this many points is settled up to there. */
enum { REACH = 1 << 16 };

/* The line under construction: its vertices, from the jump backwards. */
struct ramp {
    struct points *points;
    double slope;
    uint64_t *vertex; /* point indices; REACH + 2 entries */
    int64_t *phi;
    uint64_t count;
    struct backward_stats *stats;
};

static bool backward_is_limited(const struct points *points, uint64_t i)
{
    return (points->kind[i] & POINT_OUT) && points->note[i].limit != LIMIT_NONE;
}

static int64_t ramp_lead(const struct points *points, uint64_t i)
{
    return points->value[i] - points->time[i];
}

/*
 * The slope of the line from a vertex back to (time, phi). A rise within one instant has no finite
 * slope and counts as infinite.
 */
static double slope_to(const struct ramp *ramp, uint64_t v, int64_t time, int64_t phi)
{
    const double passed = (double)(ramp->points->time[ramp->vertex[v]] - time);
    const double risen = (double)(ramp->phi[v] - phi);
    return passed > 0 ? risen / passed : (risen > 0 ? INFINITY : 0);
}

/*
 * The value, at an earlier time, of the line that leaves a vertex with the given slope. It is
 * rounded down, so that rounding never lifts a point above a limit. ramp_measure() subtracts the
 * tick that this may cost.
 */
static int64_t line_at(const struct ramp *ramp, uint64_t v, double slope, int64_t time)
{
    const double passed = (double)(ramp->points->time[ramp->vertex[v]] - time);
    return passed > 0 ? ramp->phi[v] - (int64_t)ceil(slope * passed) : ramp->phi[v];
}

/*
 * Add a limit as the last vertex of the hull. Going back, slopes decrease strictly from vertex to
 * vertex. Vertices that would violate this lie above the line to the new one and are dropped. Each
 * point is added and dropped at most once, so a ramp takes time proportional to its points.
 */
static void backward_add_limit(struct ramp *ramp, uint64_t i, int64_t limit)
{
    const int64_t time = ramp->points->time[i];
    while (ramp->count >= 2) {
        const uint64_t top = ramp->count - 1;
        const double inner =
            slope_to(ramp, top - 1, ramp->points->time[ramp->vertex[top]], ramp->phi[top]);
        if (slope_to(ramp, top, time, limit) < inner) {
            break;
        }
        ramp->count--;
    }
    ramp->vertex[ramp->count] = i;
    ramp->phi[ramp->count] = limit;
    ramp->count++;
}

/*
 * Write the line to the points (low, from), from the jump backwards along the vertices. Stops at
 * the first point whose forward value lies above the line, which is the next jump. Returns that
 * point, or low.
 */
static uint64_t ramp_settle(struct ramp *ramp, uint64_t low)
{
    struct points *points = ramp->points;
    uint64_t v = 0;
    double slope = 0.0;
    for (uint64_t i = ramp->vertex[0]; i-- > low;) {
        while (v + 1 < ramp->count && i < ramp->vertex[v + 1]) {
            v++;
        }
        if (v + 1 < ramp->count) {
            const uint64_t next = ramp->vertex[v + 1];
            slope = slope_to(ramp, v, points->time[next], ramp->phi[v + 1]);
        } else {
            slope = ramp->slope;
        }
        /* NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign): vertices up to count are set */
        int64_t phi = isinf(slope) ? ramp->phi[v + 1] : line_at(ramp, v, slope, points->time[i]);
        if (v + 1 < ramp->count && i == ramp->vertex[v + 1]) {
            phi = ramp->phi[v + 1];
        }
        const int64_t room =
            backward_is_limited(points, i) ? points->note[i].limit - points->time[i] : INT64_MAX;
        phi = phi < room ? phi : room;
        if (phi <= ramp_lead(points, i)) {
            return i;
        }
        points->value[i] = points->time[i] + phi;
    }
    return low;
}

/* Call only after the ramp is settled, when all points down to low have their values. */
static void ramp_measure(struct ramp *ramp, uint64_t low, uint64_t high)
{
    const struct points *points = ramp->points;
    for (uint64_t i = low; i < high; i++) {
        const int64_t passed = points->time[i + 1] - points->time[i];
        const int64_t risen = ramp_lead(points, i + 1) - ramp_lead(points, i) - 1; /* 1: rounding */
        const double slope = (double)risen / (double)(passed > 0 ? passed : 1);
        if (risen > 0 && slope > ramp->slope) {
            ramp->stats->steep++;
        }
        if (risen > 0 && slope > ramp->stats->largest_slope) {
            ramp->stats->largest_slope = slope;
        }
    }
}

/*
 * Build one ramp back from point `from`, and return where the next one starts. The ramp ends where
 * its line meets the forward values, after REACH points, or at the first point. Whatever is left of
 * it then starts again at its last point, as if that were a jump.
 */
static uint64_t ramp_back(struct ramp *ramp, uint64_t first, uint64_t from)
{
    const struct points *points = ramp->points;
    ramp->count = 1;
    ramp->vertex[0] = from;
    ramp->phi[0] = ramp_lead(points, from);
    bool limited = false;
    uint64_t i = from;
    while (i > first && from - i < REACH) {
        const uint64_t top = ramp->count - 1;
        const int64_t line = line_at(ramp, top, ramp->slope, points->time[i - 1]);
        if (line <= ramp_lead(points, i - 1)) {
            break;
        }
        i--;
        if (backward_is_limited(points, i)) {
            const int64_t limit = points->note[i].limit - points->time[i];
            if (limit < line) {
                backward_add_limit(ramp, i, limit);
                limited = true;
            }
        }
    }
    if (i == from) {
        return from > first ? from - 1 : first;
    }
    ramp->stats->jumps++;
    ramp->stats->limited += limited;
    const uint64_t stop = ramp_settle(ramp, i);
    ramp_measure(ramp, stop > first ? stop - (stop == i && i > first) : stop, from);
    return stop < from ? stop : from - 1;
}

int ictusi_backward(struct points *points, uint64_t first, uint64_t end, double slope,
                    struct backward_stats *stats)
{
    if (end - first < 2) {
        return 0;
    }
    const uint64_t room = end - first < REACH ? end - first : REACH;
    struct ramp ramp = {.points = points, .slope = slope, .stats = stats};
    ramp.vertex = malloc((room + 2) * sizeof *ramp.vertex);
    ramp.phi = malloc((room + 2) * sizeof *ramp.phi);
    if (!ramp.vertex || !ramp.phi) {
        free(ramp.vertex);
        free(ramp.phi);
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t from = end - 1; from > first;) {
        const uint64_t next = ramp_back(&ramp, first, from);
        from = next < from ? next : from - 1;
    }
    free(ramp.vertex);
    free(ramp.phi);
    return 0;
}

void ictusi_backward_add(struct backward_stats *sum, const struct backward_stats *more)
{
    sum->jumps += more->jumps;
    sum->limited += more->limited;
    sum->steep += more->steep;
    sum->largest_slope =
        more->largest_slope > sum->largest_slope ? more->largest_slope : sum->largest_slope;
}

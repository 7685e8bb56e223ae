/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolates between synchronisations. */
#include "trace/timeline.h"

#include "core/smoother.h"
#include "core/stats.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* How fast a bound grows away from a point: a drift that no oscillator exceeds. */
static const double bound_slope = 200e-6;

/* A synchronisation whose error is larger is not worth correcting. */
static const double most_moved_ns = 1e15;

/*
 * The limit for a bend, in medians of all bends. Of normally distributed bends, one in 10^10
 * exceeds it.
 */
static const double usual_bends = 9.5;

/*
 * By this factor the variance between regular points grows if the drifts are not known separately.
 */
static const double walk_seen = 2.4;

/* Computed in unsigned arithmetic, because the times of a damaged trace may have any value. */
static int64_t point_along(const struct timeline_point *point, double slope, int64_t local)
{
    const int64_t distance = (int64_t)((uint64_t)local - (uint64_t)point->local);
    const double gained = slope * (double)distance;
    const int64_t more = fabs(gained) < 4e18 ? (int64_t)llround(gained) : 0;
    return (int64_t)((uint64_t)point->global + (uint64_t)distance + (uint64_t)more);
}

/*
 * The part of the distance between two points that no drift explains; 0: all of it is explained.
 *
 *     |global_b - line_a(local_b)| > bound_a + bound_b + 200 ppm * (local_b - local_a)      (ns)
 *
 * Both bounds hold with certainty if no clock stepped, so more than this is a step and not an
 * error.
 */
static double timeline_jump_between(const struct timeline_point *a, const struct timeline_point *b)
{
    const double away_s = fabs((double)b->local - (double)a->local) * 1e-9;
    const double jump = fabs((double)b->global - (double)point_along(a, a->slope, b->local));
    return jump > a->bound_ns + b->bound_ns + bound_slope * away_s * 1e9 ? jump : 0.0;
}

/*
 * How far the global clock gained on the local one between two points, ns. It is the difference of
 * two integer differences, which are small although instants since 1970 are not. The double is
 * exact to a nanosecond up to 104 days of gain.
 */
static double timeline_gained_between(const struct timeline_point *a,
                                      const struct timeline_point *b)
{
    const uint64_t ahead[2] = {(uint64_t)a->global - (uint64_t)a->local,
                               (uint64_t)b->global - (uint64_t)b->local};
    return (double)(int64_t)(ahead[1] - ahead[0]);
}

/* Whether all points may be moved like this: each by no more than its own bound. */
static bool points_allow(const struct timeline_point *points, int count,
                         const struct smoother_point *moved)
{
    bool allowed = true;
    for (int i = 0; i < count; i++) {
        const double by = moved[i].offset - timeline_gained_between(&points[0], &points[i]);
        allowed = allowed && fabs(by) <= points[i].bound_ns && fabs(by) < most_moved_ns;
    }
    return allowed;
}

/*
 * Smooth points without a step among them. If the result is not acceptable, they stay as they are.
 * A bound is relative to the measured value, so it grows by the amount that its point is moved.
 */
static void points_smooth(struct timeline_point *points, int count)
{
    double walk = 0.0;
    struct smoother_point *p = calloc((size_t)count, sizeof(*p));
    for (int i = 0; p && i < count; i++) {
        p[i].t_s = (double)(points[i].local - points[0].local) * 1e-9;
        p[i].offset = timeline_gained_between(&points[0], &points[i]);
        p[i].sigma_ns = points[i].sigma_ns;
    }
    const bool smoothed = p && !ictusi_smoother_run(p, (size_t)count, &walk);
    if (smoothed && points_allow(points, count, p)) {
        const struct timeline_point first = points[0];
        for (int i = 0; i < count; i++) {
            const int64_t by =
                (int64_t)llround(p[i].offset - timeline_gained_between(&first, &points[i]));
            points[i].bound_ns += fabs((double)by);
            points[i].global = time_add(points[i].global, by);
            points[i].drift = p[i].drift;
            points[i].walk = walk;
            points[i].smoothed = 1;
        }
    }
    free(p);
}

/*
 * How much the drift differs before and after a point, ns/s; 0 at an end or a step:
 *
 *     bend = gain after / time after - gain before / time before
 */
static double point_bend(const struct timeline *t, int i)
{
    const struct timeline_point *p = &t->points[i];
    if (i == 0 || i + 1 == t->count || p->stepped || p[1].stepped) {
        return 0.0;
    }
    return timeline_gained_between(p, p + 1) / ((double)(p[1].local - p->local) * 1e-9) -
           timeline_gained_between(p - 1, p) / ((double)(p->local - p[-1].local) * 1e-9);
}

/*
 * Smooth each run of points that has no step and no bend far beyond the usual ones: a bad
 * synchronisation or a sudden change of temperature would distort its surroundings. The scale is
 * the median of the bends, which a few bad points do not affect. The smoother leaves runs of one or
 * two points unchanged.
 */
static void timeline_smooth(struct timeline *t)
{
    double *bends = t->count > 0 ? malloc(2 * (size_t)t->count * sizeof(*bends)) : NULL;
    if (!bends) {
        return;
    }
    double *sorted = bends + t->count;
    for (int i = 0; i < t->count; i++) {
        sorted[i] = bends[i] = fabs(point_bend(t, i));
    }
    ictusi_stats_sort(sorted, (size_t)t->count);
    const double most = usual_bends * ictusi_stats_quantile(sorted, (size_t)t->count, 0.5);
    int first = 0;
    for (int i = 1; i <= t->count; i++) {
        if (i == t->count || t->points[i].stepped || bends[i - 1] > most || bends[i] > most) {
            points_smooth(&t->points[first], i - first);
            first = i;
        }
    }
    free(bends);
}

struct timeline ictusi_timeline_make(struct timeline_point *points, int count)
{
    struct timeline t = {points, count > 0, 0, 0.0};
    for (int i = 1; i < count; i++) {
        const struct timeline_point *before = &points[t.count - 1];
        const double jump = timeline_jump_between(before, &points[i]);
        t.jump_ns = fmax(t.jump_ns, jump);
        if (points[i].local > before->local) {
            points[t.count] = points[i];
            points[t.count++].stepped = jump > 0.0;
        }
    }
    timeline_smooth(&t);
    return t;
}

/*
 * The distance in ns between the cubic through two smoothed points and the straight line between
 * them. The cubic has the drifts of both points as its end slopes. `leaves` and `comes` are these
 * drifts minus the line's slope (ns/s), u is the share of the way, and h its length in s:
 *
 *     bend(u) = h u (1 - u) ((1 - u) leaves - u comes)
 *
 * This is the difference of the Hermite cubic and its chord: 0 at both ends, with the given slopes
 * there.
 */
static double piece_bend(const struct timeline_point *a, const struct timeline_point *b,
                         double slope, int64_t local)
{
    if (!a->smoothed || !b->smoothed) {
        return 0.0;
    }
    const double span_s = (double)(b->local - a->local) * 1e-9;
    const double u = (double)(local - a->local) * 1e-9 / span_s;
    const double leaves = a->drift - 1e9 * slope;
    const double comes = b->drift - 1e9 * slope;
    return span_s * u * (1.0 - u) * (leaves * (1.0 - u) - comes * u);
}

/*
 * `last` caches the piece: instants mostly ascend, and the search starts where the last one ended.
 * Hence each thread needs a timeline of its own.
 */
int64_t ictusi_timeline_map(struct timeline *t, int64_t local)
{
    int i = t->last;
    while (i > 0 && local < t->points[i].local) {
        i--;
    }
    while (i + 1 < t->count && local >= t->points[i + 1].local) {
        i++;
    }
    t->last = i;
    const struct timeline_point *a = &t->points[i];
    if (local < a->local || i + 1 == t->count) {
        return point_along(a, a->slope, local);
    }
    const struct timeline_point *b = &t->points[i + 1];
    if (b->stepped) {
        return point_along(a, a->slope, local);
    }
    const double slope = timeline_gained_between(a, b) / (double)(b->local - a->local);
    const double bend = piece_bend(a, b, slope, local);
    return time_add(point_along(a, slope, local),
                    fabs(bend) < most_moved_ns ? (int64_t)llround(bend) : 0);
}

/*
 * The standard deviation from the random walk of the drift between two points. If offset and drift
 * were known at both, its variance at a share u of the distance h would be q^2 h^3 (u (1 - u))^3 /
 * 3. If the drifts are known from the points alone, it is walk_seen times as large.
 */
static double piece_walked(const struct timeline_point *a, const struct timeline_point *b, double u)
{
    const double way = (double)(b->local - a->local) * 1e-9 * u * (1.0 - u);
    return a->smoothed && b->smoothed ? a->walk * sqrt(walk_seen * way * way * way / 3.0) : 0.0;
}

/*
 * The growth of a bound. The reference, and every process that reads the reference's own source, is
 * exact, because no drift can lead it away from itself. The bounds of others grow by 200 ppm.
 */
static double bound_growth(const struct timeline_point *point)
{
    const bool drifts = point->slope > 0.0 || point->slope < 0.0;
    return drifts || point->sigma_ns > 0.0 || point->bound_ns > 0.0 ? bound_slope : 0.0;
}

/*
 * The error at an instant: beyond the ends by extrapolation of the fit, between two points from the
 * nearer one.
 */
static void error_at(const struct timeline *t, int64_t local, double *sigma, double *bound)
{
    const struct timeline_point *first = &t->points[0];
    const struct timeline_point *last = &t->points[t->count - 1];
    const struct timeline_point *end = local < first->local ? first : last;
    const double away_s = fabs((double)local - (double)end->local) * 1e-9;
    if (local >= first->local && local <= last->local) {
        *sigma = fmax(first->sigma_ns, last->sigma_ns);
        *bound = fmax(first->bound_ns, last->bound_ns);
        return;
    }
    const double growth = end->later_sigma_ns > end->sigma_ns ? end->later_sigma_ns : 0.0;
    *sigma = hypot(end->sigma_ns, growth * away_s);
    *bound = end->bound_ns + bound_growth(end) * away_s * 1e9;
}

void ictusi_timeline_error(const struct timeline *t, int64_t from, int64_t to, double *sigma_ns,
                           double *bound_ns)
{
    *sigma_ns = 0.0;
    *bound_ns = 0.0;
    for (int i = 0; i < t->count; i++) {
        *sigma_ns = fmax(*sigma_ns, t->points[i].sigma_ns);
        *bound_ns = fmax(*bound_ns, t->points[i].bound_ns);
        if (i > 0) {
            /* Halfway between two points, drift may have led farthest from the line. */
            const double half = (double)(t->points[i].local - t->points[i - 1].local) / 2.0;
            const double growth =
                fmax(bound_growth(&t->points[i - 1]), bound_growth(&t->points[i]));
            *bound_ns = fmax(*bound_ns, t->points[i].bound_ns + growth * half);
            const double walked = piece_walked(&t->points[i - 1], &t->points[i], 0.5);
            *sigma_ns = fmax(*sigma_ns, hypot(t->points[i].sigma_ns, walked));
        }
    }
    const int64_t ends[2] = {from, to};
    for (int i = 0; i < 2; i++) {
        double sigma = 0.0;
        double bound = 0.0;
        error_at(t, ends[i], &sigma, &bound);
        *sigma_ns = fmax(*sigma_ns, sigma);
        *bound_ns = fmax(*bound_ns, bound);
    }
    *sigma_ns = fmax(*sigma_ns, t->jump_ns);
    *bound_ns += t->jump_ns;
}

/*
 * The errors of points on a fitted line are mostly common to all of them. Half of the variance is
 * one draw per clock, and half is each point's own (as in docs/waits.md).
 */
double ictusi_timeline_sigma(const struct timeline *t, int64_t local)
{
    double sigma = 0.0;
    double bound = 0.0;
    int i = 0;
    while (i + 1 < t->count && local >= t->points[i + 1].local) {
        i++;
    }
    if (local < t->points[0].local || i + 1 == t->count) {
        error_at(t, local, &sigma, &bound);
        return sigma;
    }
    const struct timeline_point *p = &t->points[i];
    const double share = (double)(local - p->local) / (double)(p[1].local - p->local);
    const double a = p->sigma_ns * (1.0 - share);
    const double b = p[1].sigma_ns * share;
    const double walked = piece_walked(p, &p[1], share);
    return sqrt(((a + b) * (a + b) + a * a + b * b) / 2.0 + walked * walked);
}

void ictusi_timeline_free(struct timeline *t)
{
    free(t->points);
    *t = (struct timeline){NULL, 0, 0, 0.0};
}

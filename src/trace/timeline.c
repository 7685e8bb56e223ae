/* SPDX-License-Identifier: BSD-3-Clause */
/* Interpolating between synchronisations. */
#include "trace/timeline.h"

#include <math.h>
#include <stdlib.h>

/* How fast a bound grows away from a point: the drift that no oscillator exceeds. */
static const double bound_slope = 200e-6;

/* In unsigned arithmetic: the times of a damaged trace may be anything. */
static int64_t point_along(const struct timeline_point *point, double slope, int64_t local)
{
    const int64_t distance = (int64_t)((uint64_t)local - (uint64_t)point->local);
    const double gained = slope * (double)distance;
    const int64_t more = fabs(gained) < 4e18 ? (int64_t)llround(gained) : 0;
    return (int64_t)((uint64_t)point->global + (uint64_t)distance + (uint64_t)more);
}

/* What no drift explains of the way from one point to the next; 0: all of it is explained. */
static double jump_between(const struct timeline_point *a, const struct timeline_point *b)
{
    const double away_s = fabs((double)b->local - (double)a->local) * 1e-9;
    const double jump = fabs((double)b->global - (double)point_along(a, a->slope, b->local));
    return jump > a->bound_ns + b->bound_ns + bound_slope * away_s * 1e9 ? jump : 0.0;
}

struct timeline ictusi_timeline_make(struct timeline_point *points, int count)
{
    struct timeline t = {points, count > 0, 0, 0.0};
    for (int i = 1; i < count; i++) {
        const struct timeline_point *before = &points[t.count - 1];
        const double jump = jump_between(before, &points[i]);
        t.jump_ns = fmax(t.jump_ns, jump);
        if (points[i].local > before->local) {
            points[t.count] = points[i];
            points[t.count++].stepped = jump > 0.0;
        }
    }
    return t;
}

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
    const double span = (double)(b->local - a->local);
    const double gained = (double)((b->global - a->global) - (b->local - a->local));
    return point_along(a, gained / span, local);
}

/* At an instant: beyond the ends as the fit says, between two points by the nearer ones. */
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
    *bound = end->bound_ns + bound_slope * away_s * 1e9;
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
            /* Half way between two points the drift may have led away from the line. */
            const double half = (double)(t->points[i].local - t->points[i - 1].local) / 2.0;
            *bound_ns = fmax(*bound_ns, t->points[i].bound_ns + bound_slope * half);
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
 * Errors of points that a line was put through are mostly common to all of them: half of the
 * variance is one draw for the clock, half is each point's own (as in docs/waits.md).
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
    return sqrt(((a + b) * (a + b) + a * a + b * b) / 2.0);
}

void ictusi_timeline_free(struct timeline *t)
{
    free(t->points);
    *t = (struct timeline){NULL, 0, 0, 0.0};
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A line is given by its values (p, q) at the beginning and at the end of a stretch. Each bound
 * that it must satisfy is a half plane,
 *
 *     -back <= (1 - s) p + s q <= forth      at a share s of the stretch,
 *
 * so the lines that satisfy all bounds form a convex polygon. Its centre and its second moments are
 * what is known of the line. Near the ends of a stretch, where few messages were sent, and wherever
 * there were few at all, more lines are possible than in its middle.
 */
#include "waits/error_lines.h"

#include <ictus/error.h>
#include <math.h>

int ictusi_error_lines_init(struct error_lines *lines, uint32_t cells)
{
    *lines = (struct error_lines){.drift = 0};
    const int err = ictusi_bounds_reserve(cells, &lines->bounds);
    return err ? err : ictusi_envelope_reserve(cells, &lines->envelope);
}

void ictusi_error_lines_fini(struct error_lines *lines)
{
    ictusi_bounds_free(&lines->bounds);
    ictusi_envelope_free(&lines->envelope);
}

double ictusi_error_lines_margin(struct error_lines *lines, const struct delay_cells *c)
{
    double margin = 0;
    const double length = (double)(c->to - c->from);
    lines->drift = c->drift;
    lines->bounds.n = 0;
    for (uint32_t i = c->from; i < c->to; i++) {
        const double middle = (double)i + 0.5;
        const double wider = c->apart * fabs(middle - c->near);
        const size_t n = lines->bounds.n++;
        lines->bounds.upper_t[n] = lines->bounds.lower_t[n] = (middle - (double)c->from) / length;
        lines->bounds.upper[n] = (double)c->forth[i] + wider;
        lines->bounds.lower[n] = -(double)c->back[i] - wider;
    }
    ictusi_envelope_build(&lines->bounds, &lines->envelope);
    (void)ictusi_envelope_middle(&lines->envelope, c->drift, &margin);
    return margin;
}

/*
 * Cutting a convex polygon by a half plane adds at most one corner, and a stretch has at most 256
 * cells with two bounds each.
 */
enum { CORNERS = 1024 };

struct polygon {
    double at[CORNERS][2]; /* p, q: the corners in counterclockwise order */
    uint32_t n;
};

static void polygon_add(struct polygon *p, double x, double y)
{
    if (p->n < CORNERS) {
        p->at[p->n][0] = x;
        p->at[p->n++][1] = y;
    }
}

/* Clip a polygon to the half plane a p + b q <= c. */
static void polygon_clip(const struct polygon *p, double a, double b, double c,
                         struct polygon *kept)
{
    kept->n = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const double *one = p->at[i];
        const double *next = p->at[i + 1 < p->n ? i + 1 : 0];
        const double here = a * one[0] + b * one[1] - c;
        const double there = a * next[0] + b * next[1] - c;
        if (here <= 0) {
            polygon_add(kept, one[0], one[1]);
        }
        if ((here < 0 && there > 0) || (here > 0 && there < 0)) {
            const double share = here / (here - there);
            polygon_add(kept, one[0] + share * (next[0] - one[0]),
                        one[1] + share * (next[1] - one[1]));
        }
    }
}

/*
 * The mean and second moments of a polygon's area, summed over the triangles from its first corner.
 * With corners u, v relative to that corner and m = u + v, a triangle of area A contributes A m / 3
 * to the integral of x, and A (u u' + v v' + m m') / 12 to that of x x'.
 */
static struct line_spread polygon_moments(const struct polygon *p)
{
    struct line_spread s = {{0, 0}, {0, 0}, 0};
    double area = 0;
    const double *base = p->at[0];
    for (uint32_t i = 1; i + 1 < p->n; i++) {
        const double u[2] = {p->at[i][0] - base[0], p->at[i][1] - base[1]};
        const double v[2] = {p->at[i + 1][0] - base[0], p->at[i + 1][1] - base[1]};
        const double m[2] = {u[0] + v[0], u[1] + v[1]};
        const double piece = (u[0] * v[1] - u[1] * v[0]) / 2;
        area += piece;
        for (int k = 0; k < 2; k++) {
            s.mean[k] += piece * m[k] / 3;
            s.square[k] += piece * (u[k] * u[k] + v[k] * v[k] + m[k] * m[k]) / 12;
        }
        s.product += piece * (u[0] * u[1] + v[0] * v[1] + m[0] * m[1]) / 12;
    }
    if (!(area > 0)) { /* only one line is left */
        return (struct line_spread){{base[0], base[1]}, {0, 0}, 0};
    }
    for (int k = 0; k < 2; k++) {
        s.mean[k] /= area;
        s.square[k] = fmax(0, s.square[k] / area - s.mean[k] * s.mean[k]);
    }
    s.product = s.product / area - s.mean[0] * s.mean[1];
    s.mean[0] += base[0];
    s.mean[1] += base[1];
    return s;
}

/*
 * All lines that rise or fall by at most the drift of the clocks, with a range far beyond all
 * bounds. In the plane of (p, q) they form a parallelogram along the diagonal.
 */
static void lines_all(const struct error_lines *lines, double shrink, struct polygon *p)
{
    double most = fabs(shrink) + lines->drift + 1;
    for (size_t i = 0; i < lines->bounds.n; i++) {
        most = fmax(most, fabs(lines->bounds.upper[i]) + fabs(shrink) + lines->drift + 1);
        most = fmax(most, fabs(lines->bounds.lower[i]) + fabs(shrink) + lines->drift + 1);
    }
    p->n = 0;
    polygon_add(p, -most, -most - lines->drift);
    polygon_add(p, most, most - lines->drift);
    polygon_add(p, most, most + lines->drift);
    polygon_add(p, -most, -most + lines->drift);
}

struct line_spread ictusi_error_lines_spread(const struct error_lines *lines, double shrink)
{
    /* the hulls hold all bounds that a line can touch */
    const struct envelope *hulls = &lines->envelope;
    struct polygon sides[2];
    int at = 0;
    lines_all(lines, shrink, &sides[at]);
    for (size_t i = 0; i < hulls->upper_count; i++, at = !at) {
        const double s = lines->bounds.upper_t[hulls->upper[i]];
        polygon_clip(&sides[at], 1 - s, s, lines->bounds.upper[hulls->upper[i]] - shrink,
                     &sides[!at]);
    }
    for (size_t i = 0; i < hulls->lower_count; i++, at = !at) {
        const double s = lines->bounds.lower_t[hulls->lower[i]];
        polygon_clip(&sides[at], s - 1, -s, -lines->bounds.lower[hulls->lower[i]] - shrink,
                     &sides[!at]);
    }
    return polygon_moments(&sides[at]);
}

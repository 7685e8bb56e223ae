/* SPDX-License-Identifier: BSD-3-Clause */
/* Convex hulls of offset bounds, and the lines between them. */
#include "core/envelope.h"

#include <ictus/error.h>
#include <stdlib.h>

/* Number of bisections, which is far more than a resolution of 1e-6 ns/s over hours needs. */
enum { BISECTIONS = 60 };

int ictusi_envelope_reserve(size_t n, struct envelope *envelope)
{
    *envelope = (struct envelope){0};
    size_t *room = malloc(2 * (n ? n : 1) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    envelope->upper = room;
    envelope->lower = room + n;
    return ICTUS_OK;
}

void ictusi_envelope_free(struct envelope *envelope)
{
    free(envelope->upper);
    *envelope = (struct envelope){0};
}

/* Andrew's scan: the lower hull of sign * y over ascending t. Only corners of the hulls can
 * touch a line between the bounds, so everything else considers few points. */
static size_t envelope_scan(const double *t, const double *y, size_t n, double sign,
                            size_t *corners)
{
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        while (k >= 2) {
            const size_t a = corners[k - 2];
            const size_t b = corners[k - 1];
            /* The cross product of a->b and a->i. The middle one of three points on a line is
             * also dropped, because no line can touch it alone. */
            const double turn =
                (t[b] - t[a]) * sign * (y[i] - y[a]) - sign * (y[b] - y[a]) * (t[i] - t[a]);
            if (turn > 0.0) {
                break;
            }
            k--;
        }
        corners[k++] = i;
    }
    return k;
}

void ictusi_envelope_build(const struct bounds *bounds, struct envelope *envelope)
{
    envelope->bounds = bounds;
    envelope->upper_count =
        envelope_scan(bounds->upper_t, bounds->upper, bounds->n, 1.0, envelope->upper);
    envelope->lower_count =
        envelope_scan(bounds->lower_t, bounds->lower, bounds->n, -1.0, envelope->lower);
}

/* Return the corner that a line of the given slope touches first from below (sign 1) or above
 * (-1). */
static size_t envelope_touched(const double *t, const double *y, const size_t *corners,
                               size_t count, double sign, double slope)
{
    size_t best = corners[0];
    double least = sign * (y[best] - slope * t[best]);
    for (size_t k = 1; k < count; k++) {
        const size_t i = corners[k];
        const double value = sign * (y[i] - slope * t[i]);
        if (value < least) {
            least = value;
            best = i;
        }
    }
    return best;
}

static size_t envelope_touch_upper(const struct envelope *e, double slope)
{
    return envelope_touched(e->bounds->upper_t, e->bounds->upper, e->upper, e->upper_count, 1.0,
                            slope);
}

static size_t envelope_touch_lower(const struct envelope *e, double slope)
{
    return envelope_touched(e->bounds->lower_t, e->bounds->lower, e->lower, e->lower_count, -1.0,
                            slope);
}

/* Return the height at t = 0 of the highest line of this slope below all upper bounds. */
static double ceiling_at(const struct envelope *e, double slope)
{
    const size_t i = envelope_touch_upper(e, slope);
    return bounds_above(e->bounds, i, slope);
}

static double floor_at(const struct envelope *e, double slope)
{
    const size_t i = envelope_touch_lower(e, slope);
    return -bounds_below(e->bounds, i, slope);
}

static double margin_at(const struct envelope *e, double slope)
{
    return ceiling_at(e, slope) - floor_at(e, slope);
}

/*
 * Return the line with the largest margin to both hulls and a slope within +-slope_max. A negative
 * margin means that no line fits: the clock stepped, or its rate changed by more than the width of
 * the bounds.
 */
struct trend ictusi_envelope_middle(const struct envelope *envelope, double slope_max,
                                    double *margin)
{
    /* The margin is concave in the slope. Its derivative is t(lower touch) - t(upper touch). */
    double low = -slope_max;
    double high = slope_max;
    for (int i = 0; i < BISECTIONS; i++) {
        const double slope = (low + high) / 2.0;
        const struct bounds *b = envelope->bounds;
        const double rise = b->lower_t[envelope_touch_lower(envelope, slope)] -
                            b->upper_t[envelope_touch_upper(envelope, slope)];
        if (rise > 0.0) {
            low = slope;
        } else if (rise < 0.0) {
            high = slope;
        } else {
            low = high = slope;
        }
    }
    const double slope = (low + high) / 2.0;
    const double top = ceiling_at(envelope, slope);
    const double bottom = floor_at(envelope, slope);
    if (margin) {
        *margin = top - bottom;
    }
    return (struct trend){(top + bottom) / 2.0, slope};
}

/*
 * Return the end of the range of slopes for which a line fits, between one that does (inside) and
 * one that may not (outside). The feasible slopes form an interval, because the margin is concave.
 * The outer end of the last bisection is returned: the range that follows from it must contain
 * every possible line, so rounding may widen but not narrow it.
 */
static double envelope_feasible_end(const struct envelope *e, double inside, double outside)
{
    if (margin_at(e, outside) >= 0.0) {
        return outside;
    }
    for (int i = 0; i < BISECTIONS; i++) {
        const double slope = (inside + outside) / 2.0;
        if (margin_at(e, slope) >= 0.0) {
            inside = slope;
        } else {
            outside = slope;
        }
    }
    return outside;
}

/*
 * Consider all lines between the hulls at the instant t. If the clocks kept a constant rate, they
 * give a hard interval for the offset. Outside the time of the bounds it widens by the possible
 * slopes.
 */
bool ictusi_envelope_range(const struct envelope *envelope, double slope_max, double t, double *low,
                           double *high)
{
    double margin = 0.0;
    const struct trend middle = ictusi_envelope_middle(envelope, slope_max, &margin);
    if (margin < 0.0) {
        return false;
    }
    const double least = envelope_feasible_end(envelope, middle.slope, -slope_max);
    const double most = envelope_feasible_end(envelope, middle.slope, slope_max);
    const struct bounds *bounds = envelope->bounds;
    /* ceiling(slope) + slope t is concave with the derivative t - t(touch). The floor is convex. */
    double a = least;
    double b = most;
    for (int i = 0; i < BISECTIONS; i++) {
        const double slope = (a + b) / 2.0;
        if (t > bounds->upper_t[envelope_touch_upper(envelope, slope)]) {
            a = slope;
        } else {
            b = slope;
        }
    }
    *high = ceiling_at(envelope, b) + b * t;
    a = least;
    b = most;
    for (int i = 0; i < BISECTIONS; i++) {
        const double slope = (a + b) / 2.0;
        if (t < bounds->lower_t[envelope_touch_lower(envelope, slope)]) {
            a = slope;
        } else {
            b = slope;
        }
    }
    *low = floor_at(envelope, a) + a * t;
    return true;
}

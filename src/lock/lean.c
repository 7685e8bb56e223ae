/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlation of offsets with delays. */
#include "lean.h"

#include <math.h>
#include <string.h>

/* Contrasts count for so many exchanges, and are believed from so many on. */
static const double memory = 512.0;
static const double enough = 32.0;

/* Neighbouring contrasts share two exchanges of three, which the standard error must not ignore. */
static const double shared_points = 1.5;

/* A slope below so many standard errors may be chance. */
static const double significant = 4.0;

/* Rounding of stamps, beside the waits. */
static const double grain_ns = 15.0;

void ictusi_lean_reset(struct lean *lean)
{
    memset(lean, 0, sizeof(*lean));
}

/*
 * Three exchanges in a row: the middle one against the line through its neighbours. That removes
 * the offset and the frequency, whatever they are, and needs no clock that was estimated before.
 */
static void lean_contrast(struct lean *lean, const struct lean_point *p, const struct lean_point *q,
                          const struct lean_point *r)
{
    const double before = (double)(q->local - p->local);
    const double after = (double)(r->local - q->local);
    const double first = after / (before + after);
    const double last = 1.0 - first;
    const double d = q->excess_ns - first * p->excess_ns - last * r->excess_ns;
    const double o = -first * (double)(p->offset_ns - q->offset_ns) -
                     last * (double)(r->offset_ns - q->offset_ns);
    /* Waits cannot move it further than this: a clock was set, or the route changed. */
    const double most =
        (q->excess_ns + first * p->excess_ns + last * r->excess_ns) / 2.0 + 2.0 * grain_ns;
    if (fabs(o) > most) {
        return;
    }
    const double fade = 1.0 - 1.0 / memory;
    lean->weight = fade * lean->weight + 1.0;
    lean->dd = fade * lean->dd + d * d;
    /*
     * Sums of a regression of offset contrasts on delay contrasts, through the origin: a contrast
     * of neither has no constant.
     */
    lean->od = fade * lean->od + o * d;
    lean->oo = fade * lean->oo + o * o;
}

void ictusi_lean_add(struct lean *lean, const struct lean_point *point)
{
    if (lean->points > 0 && point->local <= lean->last[1].local) {
        return;
    }
    if (lean->points == 2) {
        lean_contrast(lean, &lean->last[0], &lean->last[1], point);
    }
    lean->last[0] = lean->last[1];
    lean->last[1] = *point;
    lean->points += lean->points < 2;
}

/*
 * For exponential waits of means a and b the slope of offset on delay is (a^2 - b^2) / 2(a^2 +
 * b^2), and the share that the means differ by is (a - b) / 2(a + b): with r = a/b, one from the
 * other.
 */
static double lean_share_of_slope(double slope)
{
    const double within = fmin(0.5, fmax(-0.5, slope));
    const double a = sqrt(0.5 + within), b = sqrt(0.5 - within);
    return 0.5 * (a - b) / (a + b);
}

double ictusi_lean_share(const struct lean *lean, double *share_sd)
{
    *share_sd = 0.0;
    /* Delays that vary by no more than the stamps' rounding show nothing of where messages wait. */
    if (lean->weight < enough || lean->dd <= grain_ns * grain_ns * lean->weight) {
        return 0.0;
    }
    const double slope = lean->od / lean->dd;
    const double residual = fmax(0.0, lean->oo - slope * lean->od) / lean->weight;
    const double error = shared_points * sqrt(residual / lean->dd);
    const double z = fabs(slope) / fmax(error, 1e-9);
    if (z <= significant) {
        return 0.0;
    }
    *share_sd = error;
    /*
     * Shrunk towards 0, and 0 at the limit of significance: the clock does not jump when the limit
     * is passed.
     */
    return (1.0 - pow(significant / z, 2.0)) * lean_share_of_slope(slope);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The correlation of offsets with delays. */
#include "lean.h"

#include <math.h>
#include <string.h>

/* Contrasts are remembered for about this many exchanges, and used from this many on. */
static const double memory = 512.0;
static const double enough = 32.0;

/* Neighbouring contrasts share two of their three exchanges, which the standard error must allow
 * for. */
static const double shared_points = 1.5;

/* A slope of fewer than this many standard errors may be due to chance. */
static const double significant = 4.0;

/* Rounding error of stamps, in ns. */
static const double grain_ns = 15.0;

void ictusi_lean_reset(struct lean *lean)
{
    memset(lean, 0, sizeof(*lean));
}

/*
 * Compare the middle one of three consecutive exchanges with the line through its neighbours. This
 * removes offset and frequency, whatever they are, so that no clock needs to be estimated first.
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
    /* Waits cannot cause more than this. Otherwise a clock was set or the route changed. */
    const double most =
        (q->excess_ns + first * p->excess_ns + last * r->excess_ns) / 2.0 + 2.0 * grain_ns;
    if (fabs(o) > most) {
        return;
    }
    const double fade = 1.0 - 1.0 / memory;
    lean->weight = fade * lean->weight + 1.0;
    lean->dd = fade * lean->dd + d * d;
    /* Sums of a regression of offset contrasts on delay contrasts. It goes through the origin,
     * because contrasts have no constant part. */
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
 * For exponential waits with means a and b, the slope of offset on delay is (a^2 - b^2) / 2(a^2 +
 * b^2), and the share is (a - b) / 2(a + b). Both depend only on a/b, so the share follows from the
 * slope.
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
    /* Delays that vary by no more than the rounding of stamps do not show where messages wait. */
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
    /* The share shrinks towards 0 and is 0 at the limit of significance, so that the clock does
     * not jump when the limit is passed. */
    return (1.0 - pow(significant / z, 2.0)) * lean_share_of_slope(slope);
}

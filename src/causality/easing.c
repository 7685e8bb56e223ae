/* SPDX-License-Identifier: BSD-3-Clause */
#include "causality/easing.h"

#include <math.h>

/* The start of the ramp that is being followed backwards in time. */
struct easing {
    int64_t shift, time;
    double slope;
};

/*
 * The shift of point i: that of the forward pass, or that of the ramp if it is larger. Going
 * backwards, shifts fall by at most `slope` per tick. So an event that was moved takes earlier ones
 * along, and an interval shrinks by at most that share (backward amortisation, B07). The line is
 * rounded down, so that no interval shrinks by more. At the end of the location no ramp exists yet;
 * one with shift 0, which every lead reaches, stands in for it.
 */
static int64_t easing_shift(struct easing *ramp, const struct points *points, uint64_t i)
{
    const int64_t time = points->time[i];
    const int64_t lead = points->value[i] - time;
    const double passed = ramp->time > time ? (double)(ramp->time - time) : 0;
    const int64_t line = ramp->shift - (int64_t)ceil(ramp->slope * passed);
    if (lead < line) {
        return line;
    }
    ramp->shift = lead;
    ramp->time = time;
    return lead;
}

/*
 * How many sends would be moved beyond what their receives allow. If there are none, this slope can
 * be used as it is. One pass that changes nothing, so that several slopes can be tried.
 */
uint64_t ictusi_easing_above(const struct points *points, uint64_t first, uint64_t end,
                             double slope)
{
    struct easing ramp = {.slope = slope};
    uint64_t above = 0;
    for (uint64_t i = end; i-- > first;) {
        const int64_t shift = easing_shift(&ramp, points, i);
        if ((points->kind[i] & POINT_OUT) && points->note[i].limit != LIMIT_NONE) {
            above += shift > points->note[i].limit - points->time[i];
        }
    }
    return above;
}

/*
 * No floor lies below the present value, so repeated rounds can only raise values and cannot cycle.
 */
void ictusi_easing_floors(struct points *points, uint64_t first, uint64_t end, double slope)
{
    struct easing ramp = {.slope = slope};
    for (uint64_t i = end; i-- > first;) {
        const int64_t shift = easing_shift(&ramp, points, i);
        if (points->kind[i] & POINT_OUT) {
            points->note[i].floor = points->time[i] + shift;
        }
    }
}

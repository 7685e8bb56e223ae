/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The state of a clock at a point is x = (offset, drift)'. From one point to the next, h seconds
 * later, x -> F x + w with F = (1 h; 0 1) and cov(w) = q^2 (h^3/3 h^2/2; h^2/2 h): a drift that
 * walks by q per square root of a second. A point shows the offset with variance r. Forward:
 * Kalman's filter, starting with the line through the first two points, before which nothing is
 * known. Backward: x_k from all points is x_k from those so far plus G (x_{k+1} from all points
 * minus its forecast), with G = P_k F' (F P_k F' + Q)^-1. Times are in s, offsets in ns and drifts
 * in ns/s.
 */
#include "core/smoother.h"

#include <ictus/error.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    WALKS = 11, /* the usual one times 10^-2 to 10^3, in half decades */
    LEVELS = 8, /* of the error of the points: as claimed times 2 to 2^-6 */
    ANSWERS = WALKS * LEVELS
};

/* Of one clock relative to another, 1e-9 each: ns per s per square root of a second. */
static const double usual_walk = 1.4142135623730951;
/* How far the walks of oscillators are from it: Student's scale of the logarithm, 3 degrees of
 * freedom. */
static const double walk_log_scale = 2.3;
/* Points are whole nanoseconds. */
static const double least_sd_ns = 0.3;
/* Hypotheses that are less likely than the best one by this factor are not used. */
static const double negligible = 1e-4;

/* Offset and drift, and their covariance. */
struct state {
    double offset, drift;
    double oo, od, dd;
};

/* One hypothesis about the unknown walk and error level. */
struct answer {
    double walk2; /* q^2 */
    double level; /* factor on the standard deviations of the points */
    double weight;
};

static double point_variance(const struct smoother_point *p, const struct answer *a)
{
    const double sd = a->level * p->sigma_ns;
    return sd * sd + least_sd_ns * least_sd_ns;
}

/* The line through the first two points, at the second. */
static struct state state_first(const struct smoother_point *p, const struct answer *a)
{
    const double h = p[1].t_s - p[0].t_s;
    const double r = point_variance(&p[1], a);
    const double before = point_variance(&p[0], a) + a->walk2 * h * h * h / 3.0;
    return (struct state){p[1].offset, (p[1].offset - p[0].offset) / h, r, r / h,
                          (r + before) / (h * h)};
}

static struct state state_foresee(const struct state *s, double h, double walk2)
{
    return (struct state){s->offset + h * s->drift, s->drift,
                          s->oo + 2.0 * h * s->od + h * h * s->dd + walk2 * h * h * h / 3.0,
                          s->od + h * s->dd + walk2 * h * h / 2.0, s->dd + walk2 * h};
}

static struct state state_correct(const struct state *s, double offset, double variance)
{
    const double all = s->oo + variance;
    const double off = offset - s->offset;
    return (struct state){s->offset + s->oo / all * off, s->drift + s->od / all * off,
                          s->oo * variance / all, s->od * variance / all,
                          s->dd - s->od * s->od / all};
}

/* Return -2 log likelihood of the points from the third on; the first two are always fitted.
 * states, if not NULL, receives what is known at each point from the second on. */
static double smoother_forward(const struct smoother_point *p, size_t count, const struct answer *a,
                               struct state *states)
{
    struct state now = state_first(p, a);
    double unlikely = 0.0;
    for (size_t k = 1; k < count; k++) {
        if (k > 1) {
            const double r = point_variance(&p[k], a);
            now = state_foresee(&now, p[k].t_s - p[k - 1].t_s, a->walk2);
            const double off = p[k].offset - now.offset;
            unlikely += log(now.oo + r) + off * off / (now.oo + r);
            now = state_correct(&now, p[k].offset, r);
        }
        if (states) {
            states[k] = now;
        }
    }
    return unlikely;
}

/* Combine what is known about a point from earlier points with what later points show. */
static struct state state_look_back(const struct state *here, const struct state *next, double h,
                                    double walk2)
{
    /*
     * to_offset and to_drift are the rows of P_k F'. pull is (F P_k F' + Q)^-1 times the difference
     * of the future to the forecast. Only means are needed, so no covariances are carried back.
     */
    const struct state seen = state_foresee(here, h, walk2);
    const double det = seen.oo * seen.dd - seen.od * seen.od;
    const double to_offset[2] = {here->oo + h * here->od, here->od};
    const double to_drift[2] = {here->od + h * here->dd, here->dd};
    const double off[2] = {next->offset - seen.offset, next->drift - seen.drift};
    const double pull[2] = {(seen.dd * off[0] - seen.od * off[1]) / det,
                            (seen.oo * off[1] - seen.od * off[0]) / det};
    return (struct state){here->offset + to_offset[0] * pull[0] + to_offset[1] * pull[1],
                          here->drift + to_drift[0] * pull[0] + to_drift[1] * pull[1], 0.0, 0.0,
                          0.0};
}

/* The first point, about which nothing was known before the second: go back to it from there. */
static struct state state_zeroth(const struct smoother_point *p, const struct state *next,
                                 const struct answer *a)
{
    const double h = p[1].t_s - p[0].t_s;
    const struct state back = {next->offset - h * next->drift, next->drift,
                               a->walk2 * h * h * h / 3.0, -a->walk2 * h * h / 2.0, a->walk2 * h};
    return state_correct(&back, p[0].offset, point_variance(&p[0], a));
}

/* Add the offsets and drifts of a hypothesis, times its weight. */
static void smoother_backward(const struct smoother_point *p, size_t count, const struct answer *a,
                              const struct state *states, struct smoother_point *sum)
{
    struct state now = states[count - 1];
    for (size_t k = count; k-- > 0;) {
        if (k == 0) {
            now = state_zeroth(p, &now, a);
        } else if (k + 1 < count) {
            now = state_look_back(&states[k], &now, p[k + 1].t_s - p[k].t_s, a->walk2);
        }
        sum[k].offset += a->weight * now.offset;
        sum[k].drift += a->weight * now.drift;
    }
}

/* Weight all hypotheses by prior and likelihood. @return whether any is possible */
static bool smoother_weigh(const struct smoother_point *p, size_t count, struct answer *answers)
{
    double least = INFINITY;
    double sum = 0.0;
    for (int i = 0; i < ANSWERS; i++) {
        struct answer *a = &answers[i];
        const double decades = 0.5 * (i % WALKS) - 2.0;
        const double walk = usual_walk * pow(10.0, decades);
        const double z = decades * log(10.0) / walk_log_scale;
        *a = (struct answer){.walk2 = walk * walk, .level = ldexp(2.0, -(i / WALKS))};
        /* -2 log of likelihood times prior. The prior of log walk is Student's with 3 degrees of
         * freedom, with the density ~ (1 + z^2 / 3)^-2, so -2 log of it is 4 log(1 + z^2 / 3). */
        a->weight = smoother_forward(p, count, a, NULL) + 4.0 * log1p(z * z / 3.0);
        least = fmin(least, a->weight);
    }
    for (int i = 0; i < ANSWERS; i++) {
        const double likely = exp(-0.5 * (answers[i].weight - least));
        answers[i].weight = likely > negligible ? likely : 0.0;
        sum += answers[i].weight;
    }
    for (int i = 0; i < ANSWERS; i++) {
        answers[i].weight /= sum;
    }
    return sum > 0.0;
}

/* Make the offsets relative to the line through the ends, so that no digits are lost. */
static void smoother_tilt(struct smoother_point *p, size_t count, double at, double offset,
                          double drift)
{
    for (size_t k = 0; k < count; k++) {
        p[k].offset -= offset + drift * (p[k].t_s - at);
    }
}

/* Compute offsets by all hypotheses, from points relative to their ends. Errors:
 * ICTUS_ERR_CORRUPT. */
static int smoother_sum(const struct smoother_point *points, size_t count, struct state *states,
                        struct smoother_point *sum, double *walk)
{
    struct answer answers[ANSWERS];
    double walk2 = 0.0;
    if (!smoother_weigh(points, count, answers)) {
        return ICTUS_ERR_CORRUPT;
    }
    for (int i = 0; i < ANSWERS; i++) {
        if (answers[i].weight > 0.0) {
            (void)smoother_forward(points, count, &answers[i], states);
            smoother_backward(points, count, &answers[i], states, sum);
            walk2 += answers[i].weight * answers[i].walk2;
        }
    }
    *walk = sqrt(walk2);
    return ICTUS_OK;
}

int ictusi_smoother_run(struct smoother_point *points, size_t count, double *walk)
{
    if (count < SMOOTHER_POINTS_MIN) {
        return ICTUS_ERR_SAMPLES;
    }
    struct state *states = malloc(count * sizeof(*states));
    struct smoother_point *sum = calloc(count, sizeof(*sum));
    int err = states && sum ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err) {
        const double at = points[0].t_s;
        const double offset = points[0].offset;
        const double drift = (points[count - 1].offset - offset) / (points[count - 1].t_s - at);
        smoother_tilt(points, count, at, offset, drift);
        err = smoother_sum(points, count, states, sum, walk);
        for (size_t k = 0; k < count && !err; k++) {
            points[k].offset = sum[k].offset;
            points[k].drift = sum[k].drift + drift;
        }
        smoother_tilt(points, count, at, -offset, -drift);
    }
    free(states);
    free(sum);
    return err;
}

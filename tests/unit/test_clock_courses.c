/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock followed over sweeps, and one smoothed by all its points, against the model that both
 * state, solved as a whole: each hypothesis by generalised least squares, all of them weighted by
 * restricted likelihood and prior.
 */
#include "core/random.h"
#include "core/smoother.h"
#include "core/track.h"

#include "../check.h"
#include "dense.h"

#include <ictus/error.h>

#include <stdbool.h>

enum { SWEEPS = 7, POINTS = 13, TRACKED = 7 * 22, SMOOTHED = 11 * 8 };

/* -2 log of Student's density with 3 degrees of freedom, up to a constant. */
static double unusual(double z)
{
    return 4.0 * log(1.0 + z * z / 3.0);
}

/* What a walk of 1 did to two offsets, `a` and `b` seconds away in the same direction. */
static double walked(double a, double b)
{
    return a < b ? a * a * (3.0 * b - a) / 6.0 : b * b * (3.0 * a - b) / 6.0;
}

struct answer {
    double row[2][DENSE_MAX];
    double noise[3], bias[3], away[3];
    double walk, wander, weight;
};

struct scene {
    int count; /* odd */
    struct track_sweep sweeps[SWEEPS];
    double moments[SWEEPS * SWEEPS];
    struct track_prior prior;
};

static void scene_make(struct scene *s, int count, int clocks, double scatter_ns, double horizon_s,
                       double floor_ns)
{
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    *s = (struct scene){.count = count,
                        .prior = {.walk = 3.0,
                                  .walk_log_scale = 2.0,
                                  .floor_ns = floor_ns,
                                  .horizon_s = horizon_s,
                                  .clocks = clocks}};
    for (int k = 0; k < s->count; k++) {
        s->sweeps[k] = (struct track_sweep){0.7 * k + 0.4 * ictusi_random_uniform(&rng) - 30.0,
                                            20.0 + 30.0 * ictusi_random_uniform(&rng), 90.0 + k,
                                            k < 4 ? 0 : k};
    }
    for (int clock = 0; clock < 5; clock++) {
        double x[SWEEPS] = {0.0};
        for (int k = 0; k < s->count; k++) {
            x[k] = scatter_ns * ictusi_random_normal(&rng);
        }
        for (int k = 0; k < s->count * s->count; k++) {
            s->moments[k] += x[k / s->count] * x[k % s->count] / 5.0;
        }
    }
    s->prior.moments = s->moments;
}

/* Solves one hypothesis. Returns its restricted log likelihood. */
static double answer_fill(const struct scene *s, double now, double memory_s, struct answer *a)
{
    dense_matrix v, part[3];
    double ages[SWEEPS], trace = 0.0;
    struct dense d;
    for (int k = 0; k < s->count; k++) {
        ages[k] = s->sweeps[k].t_s - now;
        for (int l = 0; l < s->count; l++) {
            const struct track_sweep *x = &s->sweeps[k], *y = &s->sweeps[l];
            const double lag = fabs(x->t_s - y->t_s);
            const double alike = memory_s > 0.0 ? exp(-lag / memory_s) : k == l;
            part[0][k][l] = (k == l ? x->noise_ns2 : 0.0) + a->wander * a->wander * alike;
            part[1][k][l] = x->group == y->group ? sqrt(x->bias_ns2 * y->bias_ns2) : 0.0;
            part[2][k][l] = a->walk * a->walk * walked(now - x->t_s, now - y->t_s);
            v[k][l] = part[0][k][l] + part[1][k][l] + part[2][k][l] + (k == l ? 1e-4 : 0.0);
        }
    }
    dense_solve(v, ages, s->count, &d);
    for (int k = 0; k < s->count; k++) {
        a->row[0][k] = d.row[0][k];
        a->row[1][k] = d.row[1][k];
        for (int l = 0; l < s->count; l++) {
            trace += d.unexplained[k][l] * s->moments[k * s->count + l];
            for (int z = 0; z < 3; z++) {
                const double both = d.row[z / 2][k] * d.row[(z + 1) / 2][l];
                a->noise[z] += part[0][k][l] * both;
                a->bias[z] += part[1][k][l] * both;
                a->away[z] += part[2][k][l] * both;
            }
        }
    }
    return -0.5 * s->prior.clocks * (d.log_det + trace);
}

static double wander_prior(int level, int memory, bool many)
{
    static const double few_memories[3] = {1.0 / 3, 1.0 / 3, 1.0 / 3},
                        many_memories[3] = {0.6, 0.3, 0.1};
    double sum = 0.0;
    for (int v = 0; v < 7; v++) {
        sum += exp(-pow(v * log(2.0) / 1.5, 2.0) / 2.0);
    }
    return (many ? 0.5 : 0.7) * (many ? many_memories : few_memories)[memory] *
           exp(-pow(level * log(2.0) / 1.5, 2.0) / 2.0) / sum;
}

/* Walks from a tenth of the usual one to a hundred times as much, each without wander and with
 * half the noise to 32 times as much, of no memory, 0.3 of the sweeps' span, or twice it. Three
 * sweeps do not prove a walk below the usual one. */
static void answers_make(const struct scene *s, double now, struct answer *list)
{
    static const double memories[3] = {0.0, 0.3, 2.0};
    const bool many = s->prior.clocks > 6.5;
    double noise[SWEEPS], likely[TRACKED], most = -INFINITY, sum = 0.0;
    for (int k = 0; k < s->count; k++) {
        int rank = 0;
        for (int l = 0; l < s->count; l++) {
            rank += s->sweeps[l].noise_ns2 < s->sweeps[k].noise_ns2;
        }
        noise[rank] = s->sweeps[k].noise_ns2;
    }
    const double unit = fmax(sqrt(noise[s->count / 2]), s->prior.floor_ns);
    for (int i = 0; i < TRACKED; i++) {
        const double ratio = pow(10.0, i / 22 / 2.0 - 1.0);
        const double scale = ratio < 1.0 ? 1.15 : s->prior.walk_log_scale;
        const int level = (i % 22 - 1) / 3, memory = (i % 22 + 2) % 3;
        const double possible = s->count > 3 || i / 22 >= 2 ? 1.0 : 0.0;
        struct answer *a = &list[i];
        *a = (struct answer){.walk = ratio * s->prior.walk,
                             .wander = i % 22 ? unit * pow(2.0, level - 1) : 0.0};
        const double span = s->sweeps[s->count - 1].t_s - s->sweeps[0].t_s;
        likely[i] = answer_fill(s, now, memories[memory] * span, a);
        a->weight = possible * exp(-unusual(log(ratio) / scale) / 2.0) *
                    (i % 22 ? wander_prior(level, memory, many)
                     : many ? 0.5
                            : 0.3);
        most = fmax(most, likely[i]);
    }
    for (int i = 0; i < TRACKED; i++) {
        list[i].weight *= exp(likely[i] - most);
        sum += list[i].weight;
    }
    for (int i = 0; i < TRACKED; i++) {
        list[i].weight /= sum;
    }
}

static double answer_variance(const struct answer *a, double d)
{
    double sum = a->walk * a->walk * d * d * d / 3.0;
    for (int z = 0; z < 3; z++) {
        sum += (z == 1 ? 2.0 : 1.0) * pow(d, z) * (a->noise[z] + a->bias[z] + a->away[z]);
    }
    return sum;
}

/* The part of the mixture that is more than `width` away from its mean, at d s from now. */
static double mixture_beyond(const struct scene *s, const struct answer *list,
                             const struct track *t, double d, double width)
{
    double outside = 0.0;
    for (int i = 0; i < TRACKED; i++) {
        double apart[SWEEPS], square = 0.0;
        for (int k = 0; k < s->count; k++) {
            apart[k] =
                list[i].row[0][k] - t->offset_row[k] + d * (list[i].row[1][k] - t->drift_row[k]);
        }
        for (int k = 0; k < s->count * s->count; k++) {
            square += apart[k / s->count] * apart[k % s->count] * s->moments[k];
        }
        outside +=
            list[i].weight * erfc(width / sqrt(2.0 * (answer_variance(&list[i], d) + square)));
    }
    return outside;
}

/* The variance of which 1.96 standard deviations leave 5 % outside, and 3.5 of them a part of 2150.
 */
static double mixture_claim(const struct scene *s, const struct answer *list, const struct track *t,
                            double d)
{
    const bool tail = d > 0.0 && s->prior.clocks > 1.0;
    double least = 1e-6, most = 1e9;
    while (most > least * (1.0 + 1e-10)) {
        const double sigma = sqrt(least * most);
        const bool enough = mixture_beyond(s, list, t, d, 1.959964 * sigma) <= 0.05 &&
                            (!tail || mixture_beyond(s, list, t, d, 3.5 * sigma) <= 4.6526e-4);
        *(enough ? &most : &least) = sigma;
    }
    return most * most;
}

static void check_track(const struct scene *s, double now)
{
    static struct answer list[TRACKED];
    struct track t, wanted = {0};
    double mean[2] = {0.0, 0.0}, factor[3];
    REQUIRE(!ictusi_track_fit(s->sweeps, s->count, now, &s->prior, &t));
    answers_make(s, now, list);
    for (int i = 0; i < TRACKED; i++) {
        const struct answer *a = &list[i];
        for (int k = 0; k < s->count; k++) {
            wanted.offset_row[k] += a->weight * a->row[0][k];
            wanted.drift_row[k] += a->weight * a->row[1][k];
        }
        for (int z = 0; z < 3; z++) {
            wanted.noise[z] += a->weight * a->noise[z];
            wanted.bias[z] += a->weight * a->bias[z];
            wanted.wander[z] += a->weight * a->away[z];
        }
        wanted.walk += a->weight * a->walk * a->walk;
        wanted.inflation += a->weight * a->wander * a->wander / s->sweeps[s->count - 1].noise_ns2;
        mean[0] += a->weight * answer_variance(a, 0.0);
        mean[1] += a->weight * answer_variance(a, s->prior.horizon_s);
    }
    factor[0] = mixture_claim(s, list, &wanted, 0.0) / mean[0];
    factor[2] = mixture_claim(s, list, &wanted, s->prior.horizon_s) / mean[1];
    factor[1] = sqrt(factor[0] * factor[2]);
    for (int k = 0; k < s->count; k++) {
        CHECK_NEAR(t.offset_row[k], wanted.offset_row[k], 1e-6);
        CHECK_NEAR(t.drift_row[k], wanted.drift_row[k], 1e-6);
    }
    for (int z = 0; z < 3; z++) {
        CHECK_NEAR(t.noise[z], factor[z] * wanted.noise[z], 1e-6 * fabs(t.noise[z]));
        CHECK_NEAR(t.bias[z], factor[z] * wanted.bias[z], 1e-6 * fabs(t.bias[z]));
        CHECK_NEAR(t.wander[z], factor[z] * wanted.wander[z], 1e-6 * fabs(t.wander[z]));
    }
    CHECK_NEAR(t.walk, sqrt(factor[2] * wanted.walk), 1e-6 * t.walk);
    CHECK_NEAR(t.inflation, 1.0 + wanted.inflation, 1e-6 * t.inflation);
}

/* Many clocks and few, quiet ones and ones that wander, just after the sweeps and later. */
static void tracks_are_those_of_the_model(void)
{
    static const int clocks[] = {1, 2, 6, 7};
    static const double scatters_ns[] = {2.0, 8.0, 60.0};
    for (int i = 0; i < 12; i++) {
        struct scene s;
        scene_make(&s, i % 5 ? SWEEPS : 3, clocks[i % 4], scatters_ns[i / 4], i % 3 ? 10.0 : 0.5,
                   i % 2 ? 0.0 : 40.0);
        check_track(&s, i % 3 == 1 ? -20.0 : -25.0);
    }
}

/* One sweep shows the offset, and nothing of the drift but what no clock exceeds. */
static void one_sweep_knows_no_drift(void)
{
    const struct track_sweep sweep = {-3.0, 500.0, 400.0, 0};
    const struct track_prior prior = {.walk = 20.0, .drift_var_ns2_per_s2 = 100.0};
    struct track t;
    REQUIRE(!ictusi_track_fit(&sweep, 1, 2.0, &prior, &t));
    CHECK(t.count == 1 && t.offset_row[0] == 1.0 && t.drift_row[0] == 0.0);
    CHECK(t.walk == 20.0 && t.inflation == 1.0);
    CHECK(t.noise[0] == 500.0 && t.noise[1] == 0.0 && t.noise[2] == 0.0);
    CHECK(t.bias[0] == 400.0 && t.bias[1] == 0.0 && t.bias[2] == 0.0);
    CHECK(t.wander[0] == 2500.0 && t.wander[1] == 500.0 && t.wander[2] == 100.0);
}

/* Sweeps at one instant show no drift. */
static void instants_must_differ(void)
{
    const struct track_sweep sweeps[2] = {{-3.0, 500.0, 400.0, 0}, {-3.0, 400.0, 300.0, 1}};
    const struct track_prior prior = {.walk = 20.0};
    struct track t;
    CHECK(ictusi_track_fit(sweeps, 2, -1.0, &prior, &t) == ICTUS_ERR_CORRUPT);
}

/* Values on a parabola: how far each is from the line through its neighbours, at both ends too. */
static void values_are_judged_by_their_neighbours(void)
{
    static const double t[TRACK_LINE] = {0.0, 1.0, 3.0, 4.0, 6.0, 7.0};
    double values[TRACK_LINE];
    for (int k = 0; k < TRACK_LINE; k++) {
        values[k] = 5.0 - 7.0 * t[k] + t[k] * t[k];
    }
    /* The parabola minus its chord from a to b is (t - a)(t - b). */
    static const double wanted[TRACK_LINE] = {3.0, 2.0, 2.0, 2.0, 2.0, 3.0};
    for (int k = 0; k < TRACK_LINE; k++) {
        CHECK_NEAR(ictusi_track_apart(t, values, TRACK_LINE, k), wanted[k], 1e-12);
    }
}

/*
 * One offset of eight is off a line from which the others are 1 ns on either side: what is beyond
 * 2.5 standard deviations is added to its variance. Not with fewer than six.
 */
static void offsets_off_the_line_count_less(void)
{
    enum { N = 8 };
    struct track_sweep sweeps[N];
    double offsets[N], variance[N], rest[N], t[N];
    for (int k = 0; k < N; k++) {
        t[k] = 10.0 + k;
        sweeps[k] = (struct track_sweep){t[k], k == 4 ? 16.0 : 0.5, 0.0, 0};
        offsets[k] = 1e6 - 300.0 * t[k] + (k % 2 ? 1.0 : -1.0);
    }
    for (int high = 0; high < 2; high++) {
        const double limit = 2.5 * (high ? 4.0 : 1.4826); /* the claim; the others' distances */
        const int odd = high ? 4 : 2;
        double moved[N];
        memcpy(moved, offsets, sizeof(moved));
        moved[odd] += 1000.0;
        CHECK_NEAR(ictusi_track_rests(t, N, moved, rest), 1.4826, 0.5);
        ictusi_track_unusual(sweeps, N, moved, variance);
        for (int k = 0; k < N; k++) {
            const double wanted = k == odd ? rest[k] * rest[k] - limit * limit : 0.0;
            CHECK_NEAR(variance[k], wanted, k == odd ? 20.0 : 0.0);
            CHECK_NEAR(rest[k], k == odd ? 999.0 : k % 2 ? 1.0 : -1.0, 1.5);
        }
        ictusi_track_unusual(sweeps, TRACK_LINE - 1, moved, variance);
        CHECK(variance[odd] == 0.0 && variance[0] == 0.0);
        ictusi_track_unusual(sweeps, TRACK_LINE, moved, variance);
        CHECK(variance[odd] > 9e5 && variance[0] == 0.0);
    }
}

/* Where the neighbours follow, it is the clock that bends. */
static void clocks_that_bend_are_no_bad_sweeps(void)
{
    enum { N = 8 };
    struct track_sweep sweeps[N];
    double offsets[N], variance[N];
    for (int k = 0; k < N; k++) {
        sweeps[k] = (struct track_sweep){10.0 + k, 0.5, 0.0, 0};
        offsets[k] = 1e6 - 300.0 * sweeps[k].t_s + (k % 2 ? 1.0 : -1.0);
    }
    for (int k = 5; k < N; k++) { /* from there on the clock runs faster */
        offsets[k] += 400.0 * (k - 4);
    }
    ictusi_track_unusual(sweeps, N, offsets, variance);
    for (int k = 0; k < N; k++) {
        CHECK(variance[k] == 0.0);
    }
}

/* The smoothed offset and drift of one hypothesis, and -2 log of its restricted likelihood. */
static double smooth_once(const struct smoother_point *p, double walk2, double level,
                          double *offset, double *drift)
{
    dense_matrix v;
    double t[POINTS], line[2] = {0.0, 0.0}, unlikely;
    struct dense d;
    for (int k = 0; k < POINTS; k++) {
        t[k] = p[k].t_s - p[0].t_s;
    }
    for (int k = 0; k < POINTS; k++) {
        for (int l = 0; l < POINTS; l++) {
            const double own = level * level * p[k].sigma_ns * p[k].sigma_ns + 0.09;
            v[k][l] = walk2 * walked(t[k], t[l]) + (k == l ? own : 0.0);
        }
    }
    dense_solve(v, t, POINTS, &d);
    unlikely = d.log_det;
    for (int k = 0; k < POINTS; k++) {
        line[0] += d.row[0][k] * p[k].offset;
        line[1] += d.row[1][k] * p[k].offset;
        for (int l = 0; l < POINTS; l++) {
            unlikely += p[k].offset * d.unexplained[k][l] * p[l].offset;
        }
    }
    for (int k = 0; k < POINTS; k++) {
        offset[k] = line[0] + line[1] * t[k];
        drift[k] = line[1];
        for (int l = 0; l < POINTS; l++) {
            double pull = 0.0; /* of point l, on the walk since the first one */
            for (int m = 0; m < POINTS; m++) {
                pull += d.unexplained[l][m] * p[m].offset;
            }
            const double near = fmin(t[k], t[l]);
            offset[k] += walk2 * walked(t[k], t[l]) * pull;
            drift[k] += walk2 * near * (t[l] - near / 2.0) * pull;
        }
    }
    return unlikely;
}

/* Walks from a hundredth of the usual one to a thousand times as much, errors from twice the claim
 * to a 64th of it; hypotheses less likely than the best by a factor of 10 000 do not count. */
static void smooth_all(const struct smoother_point *p, double *offset, double *drift, double *walk)
{
    double offsets[SMOOTHED][POINTS], drifts[SMOOTHED][POINTS], weight[SMOOTHED], least = INFINITY,
                                                                                  sum = 0.0;
    for (int i = 0; i < SMOOTHED; i++) {
        const double ratio = pow(10.0, i % 11 / 2.0 - 2.0);
        weight[i] =
            smooth_once(p, 2.0 * ratio * ratio, pow(2.0, 1 - i / 11), offsets[i], drifts[i]) +
            unusual(log(ratio) / 2.3);
        least = fmin(least, weight[i]);
    }
    memset(offset, 0, POINTS * sizeof(*offset));
    memset(drift, 0, POINTS * sizeof(*drift));
    *walk = 0.0;
    for (int i = 0; i < SMOOTHED; i++) {
        weight[i] = exp((least - weight[i]) / 2.0);
        weight[i] = weight[i] > 1e-4 ? weight[i] : 0.0;
        sum += weight[i];
    }
    for (int i = 0; i < SMOOTHED; i++) {
        for (int k = 0; k < POINTS; k++) {
            offset[k] += weight[i] / sum * offsets[i][k];
            drift[k] += weight[i] / sum * drifts[i][k];
        }
        *walk += weight[i] / sum * 2.0 * pow(10.0, i % 11 - 4.0);
    }
    *walk = sqrt(*walk);
}

/* Clocks that walk little and much, seen with errors of all sizes. */
static void courses_are_those_of_the_model(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 8, 0);
    for (int trial = 0; trial < 12; trial++) {
        struct smoother_point p[POINTS];
        double offset[POINTS], drift[POINTS], walk, found;
        double t = -7.0, at = 0.0, rate = 0.0;
        for (int k = 0; k < POINTS; k++) {
            const double h = 0.1 + ictusi_random_uniform(&rng);
            t += h;
            rate += pow(10.0, trial % 4 - 1) * ictusi_random_normal(&rng);
            at += rate * h;
            p[k] = (struct smoother_point){t, at + (trial / 4) * ictusi_random_normal(&rng),
                                           1.0 + 2.0 * ictusi_random_uniform(&rng), 0.0};
        }
        smooth_all(p, offset, drift, &walk);
        REQUIRE(!ictusi_smoother_run(p, POINTS, &found));
        CHECK_NEAR(found, walk, 1e-5 * walk);
        for (int k = 0; k < POINTS; k++) {
            CHECK_NEAR(p[k].offset, offset[k], 1e-5 * fmax(1.0, fabs(offset[k])));
            CHECK_NEAR(p[k].drift, drift[k], 1e-5 * fmax(1.0, fabs(drift[k])));
        }
    }
}

int main(void)
{
    tracks_are_those_of_the_model();
    one_sweep_knows_no_drift();
    instants_must_differ();
    values_are_judged_by_their_neighbours();
    offsets_off_the_line_count_less();
    clocks_that_bend_are_no_bad_sweeps();
    courses_are_those_of_the_model();
    return check_result();
}

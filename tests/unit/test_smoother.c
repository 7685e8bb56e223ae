/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Offsets smoothed by all points: exact lines, known walks, noise, too few points. A clock followed
 * over sweeps: lines stay lines, variances follow from the errors of the rows, and units do not
 * matter.
 */
#include "core/random.h"
#include "core/smoother.h"
#include "core/track.h"

#include "../check.h"

#include <ictus/error.h>

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum { COUNT = 60, TRIALS = CHECK_SANITIZED ? 5 : 20 };

/* Differences between points and the truth. */
struct off {
    double measured, smoothed, drift; /* root mean squares, ns, ns, ns per s */
    double walk;
};

/* Clocks with a drift that walks, seen with errors that are the true ones or larger or smaller. */
static struct off smoothed(double walk, double every_s, double noise_ns, double claim)
{
    struct rng rng;
    struct off sum = {0.0, 0.0, 0.0, 0.0};
    ictusi_random_seed(&rng, 3, 0);
    for (int trial = 0; trial < TRIALS; trial++) {
        struct smoother_point p[COUNT];
        double offset[COUNT];
        double drift[COUNT];
        double seen[COUNT];
        double found = 0.0;
        double at = 5e6;
        double d = 12000.0;
        for (int k = 0; k < COUNT; k++) {
            const double a = ictusi_random_normal(&rng);
            const double b = ictusi_random_normal(&rng);
            offset[k] = at;
            drift[k] = d;
            seen[k] = at + noise_ns * ictusi_random_normal(&rng);
            p[k] = (struct smoother_point){every_s * k, seen[k], claim * noise_ns, 0.0};
            at += d * every_s + walk * every_s * sqrt(every_s) * (a / 2.0 + b / sqrt(12.0));
            d += walk * sqrt(every_s) * a;
        }
        REQUIRE(!ictusi_smoother_run(p, COUNT, &found));
        sum.walk += found / TRIALS;
        for (int k = 0; k < COUNT; k++) {
            const double weight = 1.0 / (TRIALS * COUNT);
            sum.measured += (seen[k] - offset[k]) * (seen[k] - offset[k]) * weight;
            sum.smoothed += (p[k].offset - offset[k]) * (p[k].offset - offset[k]) * weight;
            sum.drift += (p[k].drift - drift[k]) * (p[k].drift - drift[k]) * weight;
        }
    }
    return (struct off){sqrt(sum.measured), sqrt(sum.smoothed), sqrt(sum.drift), sum.walk};
}

static void lines_stay_lines(void)
{
    struct smoother_point p[SMOOTHER_POINTS_MIN];
    double walk = 1.0;
    for (int k = 0; k < SMOOTHER_POINTS_MIN; k++) {
        const double t = k * k; /* at uneven distances */
        p[k] = (struct smoother_point){t, 1e12 - 2e5 * t, 10.0, 0.0};
    }
    REQUIRE(!ictusi_smoother_run(p, SMOOTHER_POINTS_MIN, &walk));
    for (int k = 0; k < SMOOTHER_POINTS_MIN; k++) {
        CHECK_NEAR(p[k].offset, 1e12 - 2e5 * p[k].t_s, 0.01);
        CHECK_NEAR(p[k].drift, -2e5, 0.01);
    }
    CHECK(walk < 1.0);
}

static void walks_are_followed(void)
{
    static const double walks[] = {0.14, 1.4, 14.0};
    for (int w = 0; w < 3; w++) {
        const struct off o = smoothed(walks[w], 10.0, 5.0, 1.0);
        CHECK(o.walk > 0.5 * walks[w] && o.walk < 2.0 * walks[w]);
        CHECK(o.smoothed <= o.measured);
        /* From the difference of two points: 0.7, and the walk. */
        CHECK(o.drift < 3.0 * walks[w] + 0.5);
    }
}

/* Only its size distinguishes noise from a walk; the claims are too large or too small. */
static void noise_is_averaged(void)
{
    static const double claims[] = {1.0, 5.0, 0.6};
    for (int c = 0; c < 3; c++) {
        const struct off o = smoothed(0.0, 1.0, 50.0, claims[c]);
        CHECK(o.smoothed < 0.35 * o.measured);
        const struct off both = smoothed(14.0, 1.0, 50.0, claims[c]);
        CHECK(both.smoothed < 0.7 * both.measured);
    }
}

/* The most likely path does not depend on the direction of time, at instants of any distance. */
static void time_runs_either_way(void)
{
    struct smoother_point p[COUNT], back[COUNT];
    struct rng rng;
    double t = 0.0, at = 0.0, drift = 40.0, walk = 0.0, walk_back = 0.0;
    ictusi_random_seed(&rng, 6, 0);
    for (int k = 0; k < COUNT; k++) {
        const double h = 0.2 + 3.0 * ictusi_random_uniform(&rng);
        t += h;
        at += drift * h;
        drift += 1.4 * sqrt(h) * ictusi_random_normal(&rng);
        p[k] = (struct smoother_point){t, at + 8.0 * ictusi_random_normal(&rng),
                                       4.0 + 8.0 * ictusi_random_uniform(&rng), 0.0};
    }
    for (int k = 0; k < COUNT; k++) {
        back[COUNT - 1 - k] = p[k];
        back[COUNT - 1 - k].t_s = 5.0 - p[k].t_s;
    }
    REQUIRE(!ictusi_smoother_run(p, COUNT, &walk) && !ictusi_smoother_run(back, COUNT, &walk_back));
    CHECK_NEAR(walk_back, walk, 1e-6 * walk);
    for (int k = 0; k < COUNT; k++) {
        CHECK_NEAR(back[COUNT - 1 - k].offset, p[k].offset, 1e-5);
        CHECK_NEAR(back[COUNT - 1 - k].drift, -p[k].drift, 1e-5);
    }
}

/*
 * Nothing depends on when clocks were started, nor on how far apart: whole nanoseconds and quarters
 * of seconds are exact in doubles up to these distances.
 */
static void clocks_start_at_any_time(void)
{
    enum { N = 33 };
    static const double aheads_ns[] = {0x1p50, -0x1p50};
    struct smoother_point p[N];
    struct rng rng;
    double walk = 0.0;
    ictusi_random_seed(&rng, 21, 0);
    for (int k = 0; k < N; k++) {
        const double t = k + 0.25 * (k % 3);
        const double noise = k == 0 || k == N - 1 ? 0.0 : round(9.0 * ictusi_random_normal(&rng));
        p[k] = (struct smoother_point){t, 0x1p17 * t + noise, 4.0, 0.0};
    }
    const double starts_s[] = {0x1p30, -p[N - 1].t_s / 2.0};
    for (int i = 0; i < 4; i++) {
        struct smoother_point far[N], near[N];
        double walk_far = 0.0;
        for (int k = 0; k < N; k++) {
            near[k] = far[k] = p[k];
            far[k].t_s += starts_s[i / 2];
            far[k].offset += aheads_ns[i % 2];
        }
        REQUIRE(!ictusi_smoother_run(near, N, &walk) && !ictusi_smoother_run(far, N, &walk_far));
        CHECK_NEAR(walk_far, walk, 1e-6 * walk);
        for (int k = 0; k < N; k++) {
            CHECK_NEAR(far[k].offset - aheads_ns[i % 2], near[k].offset, 0.25);
            CHECK_NEAR(far[k].drift, near[k].drift, 1e-5);
        }
    }
}

static void few_points_are_refused(void)
{
    struct smoother_point p[SMOOTHER_POINTS_MIN] = {{0}};
    double walk = -1.0;
    CHECK(ictusi_smoother_run(p, SMOOTHER_POINTS_MIN - 1, &walk) == ICTUS_ERR_SAMPLES);
    CHECK(walk == -1.0);
}

/* Points from a damaged file. */
static void nonsense_is_refused(void)
{
    struct smoother_point p[SMOOTHER_POINTS_MIN];
    double walk = -1.0;
    for (int k = 0; k < SMOOTHER_POINTS_MIN; k++) {
        p[k] = (struct smoother_point){k, 5.0 * k, NAN, 0.0};
    }
    CHECK(ictusi_smoother_run(p, SMOOTHER_POINTS_MIN, &walk) == ICTUS_ERR_CORRUPT);
    CHECK(walk == -1.0);
}

enum { SWEEPS = 8, PROBES = 12 };

/*
 * Sweeps at uneven instants with unequal noise; the first three share pairs, and others two by two.
 */
struct scene {
    struct track_sweep sweeps[SWEEPS];
    double moments[SWEEPS * SWEEPS];
    struct track_prior prior;
};

/* The same scene in other units of time and of offsets, and later. */
static void scene_make(struct scene *s, int count, double seconds, double ns, double later)
{
    struct rng rng;
    ictusi_random_seed(&rng, 12, 0);
    for (int k = 0; k < SWEEPS; k++) {
        const double t = k + 0.3 * ictusi_random_uniform(&rng);
        const double noise = 400.0 * (1.0 + ictusi_random_uniform(&rng));
        s->sweeps[k] = (struct track_sweep){later + t * seconds, noise * ns * ns, 900.0 * ns * ns,
                                            k < 3 ? 0 : 1 + k / 2};
    }
    memset(s->moments, 0, sizeof s->moments);
    for (int probe = 0; probe < PROBES; probe++) {
        double x[SWEEPS];
        for (int k = 0; k < SWEEPS; k++) {
            x[k] = 60.0 * ns * ictusi_random_normal(&rng);
        }
        for (int k = 0; k < count * count; k++) {
            s->moments[k] += x[k / count] * x[k % count] / PROBES;
        }
    }
    s->prior = (struct track_prior){.walk = 30.0 * ns / seconds / sqrt(seconds),
                                    .walk_log_scale = 1.0,
                                    .drift_var_ns2_per_s2 = 1e4 * ns * ns / seconds / seconds,
                                    .floor_ns = 5.0 * ns,
                                    .horizon_s = 10.0 * seconds,
                                    .moments = s->moments,
                                    .clocks = PROBES};
}

/* For a clock with a constant rate, exact sweeps give exact results at any instant. */
static void sweeps_keep_lines(void)
{
    struct scene s;
    struct track track;
    for (int count = 2; count <= SWEEPS; count++) {
        scene_make(&s, count, 1.0, 1.0, 100.0);
        for (double now = 109.0; now < 130.0; now += 9.7) {
            double offset = 0.0;
            double drift = 0.0;
            REQUIRE(!ictusi_track_fit(s.sweeps, count, now, &s.prior, &track));
            for (int k = 0; k < count; k++) {
                const double shown = 5e4 - 2e3 * (s.sweeps[k].t_s - now);
                offset += track.offset_row[k] * shown;
                drift += track.drift_row[k] * shown;
            }
            CHECK(track.count == count);
            CHECK_NEAR(offset, 5e4, 1e-4);
            CHECK_NEAR(drift, -2e3, 1e-4);
        }
    }
    CHECK(ictusi_track_fit(s.sweeps, 0, 1.0, &s.prior, &track) == ICTUS_ERR_SAMPLES);
    CHECK(ictusi_track_fit(s.sweeps, TRACK_MAX + 1, 1.0, &s.prior, &track) == ICTUS_ERR_SAMPLES);
}

/* Nothing depends on the unit of time or offset, nor on when the clocks were started. */
static void sweeps_have_no_unit(void)
{
    struct scene a, b;
    struct track u, v;
    for (int count = 1; count <= SWEEPS; count++) {
        scene_make(&a, count, 1.0, 1.0, 0.0);
        scene_make(&b, count, 4.0, 50.0, 3000.0);
        REQUIRE(!ictusi_track_fit(a.sweeps, count, 9.0, &a.prior, &u));
        REQUIRE(!ictusi_track_fit(b.sweeps, count, 3036.0, &b.prior, &v));
        for (int k = 0; k < count; k++) {
            CHECK_NEAR(v.offset_row[k], u.offset_row[k], 1e-4);
            CHECK_NEAR(v.drift_row[k] * 4.0, u.drift_row[k], 1e-4);
        }
        for (int z = 0; z < 3; z++) {
            const double unit = 2500.0 / pow(4.0, z);
            CHECK_NEAR(v.noise[z] / unit, u.noise[z], 1e-3 * fabs(u.noise[z]) + 1e-9);
            CHECK_NEAR(v.bias[z] / unit, u.bias[z], 1e-3 * fabs(u.bias[z]) + 1e-6);
            CHECK_NEAR(v.wander[z] / unit, u.wander[z], 1e-3 * fabs(u.wander[z]) + 1e-9);
        }
        CHECK_NEAR(v.walk * 8.0 / 50.0, u.walk, 1e-3 * u.walk);
        CHECK_NEAR(v.inflation, u.inflation, 1e-3 * u.inflation);
        CHECK(u.inflation >= 1.0);
    }
}

/*
 * Two sweeps, one and three seconds old, by hand: the line through both, and the effect of noise,
 * of a path's asymmetry, which both share or not, and of a walk since then, w^2 s^3 / 3.
 */
static void two_sweeps_are_by_hand(void)
{
    for (int shared = 0; shared < 2; shared++) {
        const struct track_sweep sweeps[2] = {{-3.0, 500.0, 400.0, 0},
                                              {-1.0, 300.0, 900.0, shared ? 0 : 1}};
        const struct track_prior prior = {.walk = 20.0, .walk_log_scale = 1.0, .horizon_s = 10.0};
        static const double offset[2] = {-0.5, 1.5};
        static const double drift[2] = {-0.5, 0.5};
        const double own[2] = {500.0, 300.0};
        const double bias[2][2] = {{400.0, shared ? 600.0 : 0.0}, {shared ? 600.0 : 0.0, 900.0}};
        const double walked[2][2] = {{9.0, 4.0 / 3.0}, {4.0 / 3.0, 1.0 / 3.0}}; /* for -3, -1 */
        double noise[3] = {0.0}, paths[3] = {0.0}, clock[3] = {0.0};
        struct track track;
        REQUIRE(!ictusi_track_fit(sweeps, 2, 0.0, &prior, &track));
        for (int k = 0; k < 2; k++) {
            for (int l = 0; l < 2; l++) {
                const double both[3] = {offset[k] * offset[l], offset[k] * drift[l],
                                        drift[k] * drift[l]};
                for (int z = 0; z < 3; z++) {
                    noise[z] += k == l ? own[k] * both[z] : 0.0;
                    paths[z] += bias[k][l] * both[z];
                    clock[z] += 400.0 * walked[k][l] * both[z];
                }
            }
            CHECK_NEAR(track.offset_row[k], offset[k], 1e-6);
            CHECK_NEAR(track.drift_row[k], drift[k], 1e-6);
        }
        for (int z = 0; z < 3; z++) {
            CHECK_NEAR(track.noise[z], noise[z], 1e-4 * fabs(noise[z]));
            CHECK_NEAR(track.bias[z], paths[z], 1e-4 * fabs(paths[z]) + 1e-6);
            CHECK_NEAR(track.wander[z], clock[z], 1e-4 * fabs(clock[z]));
        }
        CHECK_NEAR(track.walk, 20.0, 1e-3);
        CHECK_NEAR(track.inflation, 1.0, 1e-9);
    }
}

/*
 * Offsets of a thousand clocks minus a line each: what a covariance leaves besides straight lines.
 */
static void moments_beside_lines(struct scene *s, int count, double v[SWEEPS][SWEEPS])
{
    double beside[SWEEPS][SWEEPS];
    double mean = 0.0, square = 0.0;
    for (int k = 0; k < count; k++) {
        mean += s->sweeps[k].t_s / count;
    }
    for (int k = 0; k < count; k++) {
        square += (s->sweeps[k].t_s - mean) * (s->sweeps[k].t_s - mean);
    }
    for (int k = 0; k < count; k++) {
        for (int l = 0; l < count; l++) {
            beside[k][l] = (k == l) - 1.0 / count -
                           (s->sweeps[k].t_s - mean) * (s->sweeps[l].t_s - mean) / square;
        }
    }
    memset(s->moments, 0, sizeof s->moments);
    for (int i = 0; i < count * count * count * count; i++) {
        const int k = i % count, a = i / count % count, b = i / count / count % count;
        const int l = i / count / count / count;
        s->moments[k * count + l] += beside[k][a] * v[a][b] * beside[b][l];
    }
    s->prior.clocks = 1000.0;
}

/* The covariance of two sweeps due to a clock that walks, up to the last sweep, by hand. */
static double walked_together(const struct scene *s, int last, int k, int l)
{
    const double a = s->sweeps[last].t_s - s->sweeps[k < l ? l : k].t_s;
    const double b = s->sweeps[last].t_s - s->sweeps[k < l ? k : l].t_s;
    return a * a * a / 3.0 + a * a * (b - a) / 2.0;
}

/*
 * What many clocks show is found: paths that wander by four times the noise, anew in each sweep or
 * with a memory; a clock that walks three times as far as usual; or neither.
 */
static void wander_and_walk_are_found(void)
{
    static const double memory_spans[] = {0.0, 0.0, 2.0, 0.0};
    for (int count = 4; count <= SWEEPS; count += 2) {
        for (int what = 0; what < 4; what++) {
            struct scene s;
            struct track track;
            double v[SWEEPS][SWEEPS];
            scene_make(&s, count, 1.0, 1.0, 0.0);
            const double span = s.sweeps[count - 1].t_s - s.sweeps[0].t_s;
            const double walk = what == 3 ? s.prior.walk * sqrt(10.0) : s.prior.walk / 10.0;
            double noise[SWEEPS] = {0.0};
            for (int k = 0; k < count; k++) {
                s.sweeps[k].noise_ns2 = 400.0 + 100.0 * ((k * 5 + 2) % count); /* not in order */
                noise[k] = 400.0 + 100.0 * k;
            }
            const double wander = 16.0 * (noise[count / 2 - 1] + noise[count / 2]) / 2.0;
            for (int k = 0; k < count; k++) {
                for (int l = 0; l < count; l++) {
                    const double lag = fabs(s.sweeps[k].t_s - s.sweeps[l].t_s);
                    const double alike = memory_spans[what] > 0.0
                                             ? exp(-lag / (memory_spans[what] * span))
                                             : (double)(k == l);
                    v[k][l] = (k == l ? s.sweeps[k].noise_ns2 : 0.0) +
                              (s.sweeps[k].group == s.sweeps[l].group ? 900.0 : 0.0) +
                              walk * walk * walked_together(&s, count - 1, k, l) +
                              (what == 1 || what == 2 ? wander * alike : 0.0);
                }
            }
            moments_beside_lines(&s, count, v);
            REQUIRE(!ictusi_track_fit(s.sweeps, count, s.sweeps[count - 1].t_s, &s.prior, &track));
            const double more = (track.inflation - 1.0) * s.sweeps[count - 1].noise_ns2 / wander;
            const bool wanders = what == 1 || what == 2;
            CHECK_NEAR(more, wanders ? 1.0 : 0.0, 0.01);
            CHECK(what == 3 ? fabs(track.walk / walk - 1.0) < 0.01 : track.walk < s.prior.walk);
        }
    }
}

/* One sweep shows no drift, so the usual drifts and walks determine the rest. */
static void one_sweep_is_by_hand(void)
{
    const struct track_sweep sweep = {2.0, 500.0, 400.0, 0};
    const struct track_prior prior = {.walk = 20.0, .drift_var_ns2_per_s2 = 1e6, .horizon_s = 10.0};
    struct track track;
    REQUIRE(!ictusi_track_fit(&sweep, 1, 5.0, &prior, &track));
    CHECK(track.offset_row[0] == 1.0 && track.drift_row[0] == 0.0);
    CHECK(track.noise[0] == 500.0 && track.noise[1] == 0.0 && track.noise[2] == 0.0);
    CHECK(track.bias[0] == 400.0 && track.bias[1] == 0.0 && track.bias[2] == 0.0);
    CHECK(track.wander[0] == 9e6 && track.wander[1] == 3e6 && track.wander[2] == 1e6);
    CHECK(track.walk == 20.0 && track.inflation == 1.0);
}

/*
 * One of eight offsets is off the line of the others: it alone is detected, with its size,
 * anywhere.
 */
static void strays_are_seen(void)
{
    static const double off_ns = 900.0, noise_ns2 = 400.0;
    for (int stray = 0; stray < SWEEPS; stray++) {
        struct track_sweep sweeps[SWEEPS];
        double t_s[SWEEPS], offsets[SWEEPS], rest[SWEEPS], variance[SWEEPS];
        for (int k = 0; k < SWEEPS; k++) {
            t_s[k] = 3.0 + k * k;
            sweeps[k] = (struct track_sweep){t_s[k], noise_ns2, 0.0, k};
            offsets[k] = 7e4 - 50.0 * t_s[k] + (k == stray ? off_ns : 0.0);
        }
        CHECK_NEAR(ictusi_track_rests(t_s, SWEEPS, offsets, rest), 0.0, 1e-6);
        ictusi_track_unusual(sweeps, SWEEPS, offsets, variance);
        for (int k = 0; k < SWEEPS; k++) {
            const double wanted = k == stray ? off_ns : 0.0;
            CHECK_NEAR(rest[k], wanted, 1e-6);
            CHECK_NEAR(variance[k], fmax(wanted * wanted - 6.25 * noise_ns2, 0.0), 1e-3);
        }
        ictusi_track_unusual(sweeps, TRACK_LINE - 1, offsets, variance);
        for (int k = 0; k < TRACK_LINE - 1; k++) {
            CHECK(variance[k] == 0.0); /* too few points show no line */
        }
    }
}

/*
 * A clock whose drift changes steadily is far off the line through most of its offsets, but each of
 * them agrees with its neighbours: none is a stray.
 */
static void bends_are_no_strays(void)
{
    static const double bend_ns_per_s2 = 30.0, noise_ns2 = 400.0;
    struct track_sweep sweeps[SWEEPS];
    double t_s[SWEEPS], offsets[SWEEPS], rest[SWEEPS], variance[SWEEPS], furthest = 0.0;
    for (int k = 0; k < SWEEPS; k++) {
        t_s[k] = 1.0 + 0.6 * k;
        sweeps[k] = (struct track_sweep){t_s[k], noise_ns2, 0.0, k};
        offsets[k] = 100.0 * t_s[k] + bend_ns_per_s2 * t_s[k] * t_s[k];
    }
    (void)ictusi_track_rests(t_s, SWEEPS, offsets, rest);
    ictusi_track_unusual(sweeps, SWEEPS, offsets, variance);
    for (int k = 0; k < SWEEPS; k++) {
        const double ends = k == 0 || k == SWEEPS - 1 ? 2.0 : 1.0;
        CHECK_NEAR(ictusi_track_apart(t_s, offsets, SWEEPS, k), ends * bend_ns_per_s2 * 0.36, 1e-9);
        CHECK(variance[k] == 0.0);
        furthest = fmax(furthest, fabs(rest[k]));
    }
    CHECK(furthest > 4.0 * sqrt(noise_ns2));
}

/*
 * Where the walk is uncertain, the errors of several clocks are claimed with the tail that they
 * share: 3.5 sigma contain 99.95 %. A single clock claims 95 % alone, and all claim the same now.
 */
static void clocks_share_a_tail(void)
{
    struct track one, several;
    struct scene s;
    double v[SWEEPS][SWEEPS] = {{0.0}};
    scene_make(&s, SWEEPS, 1.0, 1.0, 0.0);
    for (int k = 0; k < SWEEPS; k++) {
        v[k][k] = s.sweeps[k].noise_ns2;
    }
    moments_beside_lines(&s, SWEEPS, v);
    s.prior.clocks = 1.0;
    REQUIRE(!ictusi_track_fit(s.sweeps, SWEEPS, s.sweeps[SWEEPS - 1].t_s, &s.prior, &one));
    s.prior.clocks = 1.0 + 1e-9;
    REQUIRE(!ictusi_track_fit(s.sweeps, SWEEPS, s.sweeps[SWEEPS - 1].t_s, &s.prior, &several));
    const double ratio = several.walk / one.walk;
    CHECK(ratio > 1.1 && ratio < 3.0);
    CHECK_NEAR(several.wander[2] / one.wander[2], ratio * ratio, 1e-6);
    CHECK_NEAR(several.noise[0] / one.noise[0], 1.0, 1e-6);
    for (int k = 0; k < SWEEPS; k++) {
        CHECK_NEAR(several.offset_row[k], one.offset_row[k], 1e-6);
    }
}

/*
 * Clocks that most likely stand still claim no walk if they show none, and far less than others. If
 * they do walk, that is found all the same, and not explained by a path that remembers.
 */
static void clocks_may_stand_still(void)
{
    for (int walks = 0; walks < 2; walks++) {
        struct track usual, still;
        struct scene s;
        double v[SWEEPS][SWEEPS] = {{0.0}};
        scene_make(&s, SWEEPS, 1.0, 1.0, 0.0);
        const double walk = walks ? s.prior.walk : 0.0;
        for (int k = 0; k < SWEEPS * SWEEPS; k++) {
            const int l = k % SWEEPS;
            v[k / SWEEPS][l] = (k / SWEEPS == l ? s.sweeps[l].noise_ns2 : 0.0) +
                               walk * walk * walked_together(&s, SWEEPS - 1, k / SWEEPS, l);
        }
        moments_beside_lines(&s, SWEEPS, v);
        s.prior.clocks = walks ? 30.0 : 1.0;
        REQUIRE(!ictusi_track_fit(s.sweeps, SWEEPS, s.sweeps[SWEEPS - 1].t_s, &s.prior, &usual));
        s.prior.still = 0.95;
        REQUIRE(!ictusi_track_fit(s.sweeps, SWEEPS, s.sweeps[SWEEPS - 1].t_s, &s.prior, &still));
        if (walks) {
            CHECK_NEAR(still.walk / walk, 1.0, 0.2);
        } else {
            CHECK(still.walk < 0.5 * usual.walk);
            CHECK(still.wander[2] < 0.25 * usual.wander[2]);
        }
        REQUIRE(!ictusi_track_fit(s.sweeps, 2, s.sweeps[1].t_s, &s.prior, &still));
        CHECK_NEAR(still.walk / s.prior.walk, sqrt(0.05), 1e-6); /* in mean square */
    }
}

int main(void)
{
    clocks_may_stand_still();
    strays_are_seen();
    bends_are_no_strays();
    clocks_share_a_tail();
    sweeps_keep_lines();
    sweeps_have_no_unit();
    two_sweeps_are_by_hand();
    one_sweep_is_by_hand();
    wander_and_walk_are_found();
    lines_stay_lines();
    walks_are_followed();
    noise_is_averaged();
    time_runs_either_way();
    clocks_start_at_any_time();
    few_points_are_refused();
    nonsense_is_refused();
    return check_result();
}

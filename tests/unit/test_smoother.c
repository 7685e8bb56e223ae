/* SPDX-License-Identifier: BSD-3-Clause */
/* Offsets smoothed by all points: exact lines, known walks, noise, too few points. */
#include "core/random.h"
#include "core/smoother.h"

#include "../check.h"

#include <ictus/error.h>

#include <math.h>

enum { COUNT = 60, TRIALS = CHECK_SANITIZED ? 5 : 20 };

/* What points are off the truth. */
struct off {
    double measured, smoothed, drift; /* root mean squares, ns, ns, ns per s */
    double walk;
};

/* Clocks with a drift that walks, seen with errors, claimed times what they are. */
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
        const double t = k * k; /* not evenly */
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
        CHECK(o.drift < 3.0 * walks[w] + 0.5); /* a difference of two points: 0.7 and the walk's */
    }
}

/* Noise that nothing but its size tells from a walk; claims that are too large or too small. */
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

int main(void)
{
    lines_stay_lines();
    walks_are_followed();
    noise_is_averaged();
    few_points_are_refused();
    nonsense_is_refused();
    return check_result();
}

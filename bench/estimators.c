/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The pair estimator `adaptive` against those of other suites (SKaMPI offsets of blocks of equal
 * size, with ordinary least squares) on the same exchanges, over ten delay models, against known
 * truth.
 *
 *     bench_estimators [exchanges [trials [window in s]]]
 *
 * Prints the median error at the end of the exchanges and 10 s later, and the ratios.
 */
#include "core/adaptive.h"
#include "core/estimator.h"
#include "core/fit.h"
#include "core/random.h"
#include "core/stats.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MODELS = 10, POINTS_MAX = 100 };

/* The delay of one message beyond its minimum, in ns, for a given mean. */
typedef double (*delay_fn)(struct rng *rng, double mean);

static double exponential(struct rng *rng, double mean)
{
    return mean * ictusi_random_exponential(rng);
}

static double pareto(struct rng *rng, double mean)
{
    return mean / 2.0 * (pow(ictusi_random_uniform(rng), -1.0 / 1.5) - 1.0);
}

static double erlang(struct rng *rng, double mean)
{
    return mean / 3.0 *
           (ictusi_random_exponential(rng) + ictusi_random_exponential(rng) +
            ictusi_random_exponential(rng));
}

static double spiky(struct rng *rng, double mean)
{
    const double spike = ictusi_random_uniform(rng) < 0.02 ? 1000.0 * mean : 0.0;
    return mean * ictusi_random_exponential(rng) + spike * ictusi_random_uniform(rng);
}

static double lognormal(struct rng *rng, double mean)
{
    return mean * exp(ictusi_random_normal(rng) - 0.5);
}

static double gaussian(struct rng *rng, double mean)
{
    return fmax(4.0 * mean + mean * ictusi_random_normal(rng), 0.0);
}

static double two_paths(struct rng *rng, double mean)
{
    const double longer = ictusi_random_uniform(rng) < 0.3 ? 4.0 * mean : 0.0;
    return longer + mean * ictusi_random_exponential(rng);
}

struct model {
    const char *name;
    delay_fn delay;
    double there_ns, back_ns; /* mean delays beyond the minimum */
    double stamp_noise_ns;    /* standard deviation of each stamp */
    double too_fast;          /* share of messages that appear 1 us too fast */
};

static const struct model models[MODELS] = {
    {"exponential", exponential, 300, 300, 0, 0},
    {"Pareto tail 1.5", pareto, 300, 300, 0, 0},
    {"Erlang-3 (smooth foot)", erlang, 300, 300, 0, 0},
    {"exponential, 2 % spikes", spiky, 300, 300, 0, 0},
    {"exponential, noisy stamps", exponential, 300, 300, 20, 0},
    {"exponential, unequal ways", exponential, 200, 600, 0, 0},
    {"log-normal", lognormal, 300, 300, 0, 0},
    {"Gaussian", gaussian, 300, 300, 0, 0},
    {"two paths", two_paths, 300, 300, 0, 0},
    {"exponential, 0.2 % too fast", exponential, 300, 300, 0, 0.002},
};

static const double minimum_delay_ns = 1500.0;
/* Random walk of the frequency: 1e-9 per square root of a second. */
static const double walk_ns_per_s = 1.0;

/* The true offset of the remote clock, whose drift is a random walk. */
struct truth {
    double t, phase, rate;
};

static void advance(struct truth *c, struct rng *rng, double t)
{
    const double dt = t - c->t;
    if (dt > 0.0) {
        const double a = ictusi_random_normal(rng);
        const double b = ictusi_random_normal(rng);
        c->phase += c->rate * dt + walk_ns_per_s * pow(dt, 1.5) * (a / 2.0 + b / sqrt(12.0));
        c->rate += walk_ns_per_s * sqrt(dt) * a;
        c->t = t;
    }
}

static double message(const struct model *m, struct rng *rng, double mean)
{
    const double delay = minimum_delay_ns + m->delay(rng, mean);
    return ictusi_random_uniform(rng) < m->too_fast ? delay - 1000.0 : delay;
}

static int64_t stamped(const struct model *m, struct rng *rng, double ns)
{
    return (int64_t)nearbyint(ns + m->stamp_noise_ns * ictusi_random_normal(rng));
}

static const int64_t origin = 1700000000000000000;
static const int64_t apart = -3200000000;

static void simulate(const struct model *m, struct rng *rng, struct truth *clock, double window,
                     struct stamp *stamps, int n)
{
    for (int i = 0; i < n; i++) {
        const double t = window * i / n;
        advance(clock, rng, t);
        const double there = t * 1e9 + message(m, rng, m->there_ns);
        const double back = there + message(m, rng, m->back_ns);
        const double offset = clock->phase + clock->rate * (there * 1e-9 - t);
        stamps[i].sent = origin + stamped(m, rng, t * 1e9);
        stamps[i].remote = origin + apart + stamped(m, rng, there + offset);
        stamps[i].received = origin + stamped(m, rng, back);
    }
}

static void peer(const struct stamp *stamps, int n, struct line *line)
{
    struct offset points[POINTS_MAX];
    const int count = n >= 10000 ? 100 : n >= 1000 ? 50 : 10;
    for (int k = 0; k < count; k++) {
        if (ictusi_estimator_offset_skampi(stamps + k * (n / count), (size_t)(n / count),
                                           &points[k])) {
            exit(1);
        }
    }
    if (ictusi_fit_ols(points, (size_t)count, line, NULL)) {
        exit(1);
    }
}

static double error_of(const struct line *line, const struct truth *clock)
{
    const int64_t at = origin + (int64_t)(clock->t * 1e9);
    const double value =
        (double)(line->offset - apart) + line->frac + line->slope * (double)(at - line->anchor);
    return fabs(value - clock->phase);
}

struct outcome {
    double *errors[2][2]; /* [other suites, adaptive][at the end, 10 s later] */
    int covered, within;
    int chosen[ADAPTIVE_CHOICES];
};

static void trial(const struct model *m, struct rng *rng, int n, double window,
                  struct stamp *stamps, struct outcome *out, int index)
{
    struct truth clock = {0.0, 1000.0 * ictusi_random_normal(rng),
                          (ictusi_random_uniform(rng) - 0.5) * 1e5};
    struct line lines[2];
    struct line_error error;
    enum adaptive_choice choice = ADAPTIVE_CHOICES;
    simulate(m, rng, &clock, window, stamps, n);
    peer(stamps, n, &lines[0]);
    if (ictusi_adaptive_fit(stamps, (size_t)n, NULL, &lines[1], &error, &choice)) {
        exit(1);
    }
    out->chosen[choice]++;
    for (int z = 0; z < 2; z++) {
        advance(&clock, rng, window + 10.0 * z);
        for (int e = 0; e < 2; e++) {
            out->errors[e][z][index] = error_of(&lines[e], &clock);
        }
        if (!z) {
            out->covered += out->errors[1][0][index] <= 1.96 * ictusi_line_error_sigma(&error, 0.0);
            out->within += out->errors[1][0][index] <= error.bound_ns + 1.0;
        }
    }
}

int main(int argc, char **argv)
{
    const int n = argc > 1 ? atoi(argv[1]) : 1000;
    const int trials = argc > 2 ? atoi(argv[2]) : 1000;
    const double window = argc > 3 ? atof(argv[3]) : 1.0;
    if (n < 100 || trials < 10 || !(window > 0.0)) {
        (void)fprintf(stderr,
                      "usage: bench_estimators [exchanges >= 100 [trials >= 10 [window]]]\n");
        return 2;
    }
    struct stamp *stamps = malloc((size_t)n * sizeof(*stamps));
    double *room = malloc(4 * (size_t)trials * sizeof(*room));
    double log_sum[2] = {0.0, 0.0};
    double worst[2] = {0.0, 0.0};
    if (!stamps || !room) {
        return 1;
    }
    printf("%d exchanges over %g s, %d trials; median errors in ns: skampi+OLS, adaptive, ratio\n",
           n, window, trials);
    printf("%-28s %27s %31s  95%% bound   slope from\n", "delays", "at the end", "10 s later");
    for (int k = 0; k < MODELS; k++) {
        struct rng rng;
        struct outcome out = {.covered = 0};
        ictusi_random_seed(&rng, 2026, (uint64_t)k);
        for (int c = 0; c < 4; c++) {
            out.errors[c / 2][c % 2] = room + (size_t)c * (size_t)trials;
        }
        for (int i = 0; i < trials; i++) {
            trial(&models[k], &rng, n, window, stamps, &out, i);
        }
        printf("%-28s", models[k].name);
        for (int z = 0; z < 2; z++) {
            double p50[2];
            for (int e = 0; e < 2; e++) {
                ictusi_stats_sort(out.errors[e][z], (size_t)trials);
                p50[e] = ictusi_stats_quantile(out.errors[e][z], (size_t)trials, 0.5);
            }
            const double ratio = p50[1] / p50[0];
            log_sum[z] += log(ratio) / MODELS;
            worst[z] = fmax(worst[z], ratio);
            printf(" %9.2f %9.2f  x%5.3f ", p50[0], p50[1], ratio);
        }
        printf(" %4.1f %5.1f%% ", 100.0 * out.covered / trials, 100.0 * out.within / trials);
        for (int c = 0; c < ADAPTIVE_CHOICES; c++) {
            printf(" %d", out.chosen[c]);
        }
        printf("\n");
    }
    printf("geometric mean of the ratios: end %.3f, 10 s later %.3f; worst: %.3f, %.3f\n",
           exp(log_sum[0]), exp(log_sum[1]), worst[0], worst[1]);
    free(room);
    free(stamps);
    return 0;
}

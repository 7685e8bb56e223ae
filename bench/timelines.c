/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of a trace between its synchronisations: the smoothed timeline against straight lines
 * through the same points, judged by known truth.
 *
 *     bench_timelines [TRACES [SEED]]
 *
 * The drift of the clocks walks at random, changes suddenly (temperature), or does neither. The
 * errors of the points are larger or smaller than claimed, and some of them are tenfold. Prints one
 * line for each kind: the root mean square errors of the lines and of the timeline, their ratio,
 * and how often the claimed 95 % interval holds in between. Then it prints how many kinds are
 * worse, which is the worst, and the geometric mean of all ratios.
 */
#include "core/random.h"
#include "trace/timeline.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { BETWEEN = 8, POINTS_MAX = 128 };

struct kind {
    double walk, turn, turn_every_s; /* walk per square root of a second; sudden changes and the
                                        mean time between them */
    double every_s;
    int points;
    double noise_ns, claim; /* true noise of a point, and the claimed one as a factor of it */
    double bad;             /* share of points with a tenfold error */
};

/* Sums over the traces of one kind. */
struct sums {
    double line, smooth;
    double covered;
    long count;
};

struct clock {
    double offset, drift; /* ns, ns per s */
};

/*
 * Advance a clock by h seconds: the exact distribution of a drift that walks, and then a sudden
 * change.
 */
static void clock_go(struct clock *c, const struct kind *k, double h, struct rng *rng)
{
    const double walk = sqrt(2.0) * 1e9 * k->walk;
    const double a = ictusi_random_normal(rng);
    const double b = ictusi_random_normal(rng);
    c->offset += c->drift * h + walk * h * sqrt(h) * (a / 2.0 + b / sqrt(12.0));
    c->drift += walk * sqrt(h) * a;
    if (k->turn_every_s > 0.0 && ictusi_random_uniform(rng) * k->turn_every_s < h) {
        c->drift += 1e9 * k->turn * ictusi_random_normal(rng);
    }
}

static double straight(const struct timeline_point *a, const struct timeline_point *b,
                       int64_t local)
{
    const double share = (double)(local - a->local) / (double)(b->local - a->local);
    return share * (double)((b->global - a->global) - (b->local - a->local));
}

/* One trace: its points, and the errors of lines and timeline at known instants in between. */
static void trace_try(const struct kind *k, struct rng *rng, struct sums *sums)
{
    static struct timeline_point raw[POINTS_MAX];
    static double truth[POINTS_MAX * BETWEEN]; /* global minus local, ns */
    struct clock clock = {0.0, 10000.0 * ictusi_random_normal(rng)};
    const double step_s = k->every_s / BETWEEN;
    for (int i = 0; i < (k->points - 1) * BETWEEN + 1; i++) {
        truth[i] = clock.offset;
        if (i % BETWEEN == 0) {
            const double times = ictusi_random_uniform(rng) < k->bad ? 10.0 : 1.0;
            const double err = times * k->noise_ns * ictusi_random_normal(rng);
            const int64_t local = (int64_t)llround(1e9 * step_s * i);
            raw[i / BETWEEN] =
                (struct timeline_point){.local = local,
                                        .global = local + (int64_t)llround(clock.offset + err),
                                        .sigma_ns = k->claim * k->noise_ns,
                                        .bound_ns = 100.0 * k->noise_ns + 1000.0};
        }
        clock_go(&clock, k, step_s, rng);
    }
    struct timeline_point *points = malloc(sizeof(raw));
    if (!points) {
        abort();
    }
    for (int i = 0; i < k->points; i++) {
        points[i] = raw[i];
    }
    struct timeline t = ictusi_timeline_make(points, k->points);
    for (int i = 0; i < (k->points - 1) * BETWEEN; i++) {
        const struct timeline_point *a = &raw[i / BETWEEN];
        const int64_t local = (int64_t)llround(1e9 * step_s * i);
        const double line = (double)(a->global - a->local) + straight(a, a + 1, local) - truth[i];
        const double smooth = (double)(ictusi_timeline_map(&t, local) - local) - truth[i];
        sums->line += line * line;
        sums->smooth += smooth * smooth;
        sums->covered += fabs(smooth) <= 1.96 * ictusi_timeline_sigma(&t, local);
        sums->count++;
    }
    ictusi_timeline_free(&t);
}

struct verdict {
    int kinds, worse;
    double worst, logs;
    struct kind worst_kind;
};

static void kind_try(const struct kind *k, int traces, uint64_t seed, struct verdict *v)
{
    struct rng rng;
    struct sums s = {0.0, 0.0, 0.0, 0};
    ictusi_random_seed(&rng, seed, 0);
    for (int i = 0; i < traces; i++) {
        trace_try(k, &rng, &s);
    }
    const double ratio = sqrt(s.smooth / s.line);
    printf("walk %5.0e turn %5.0e/%3.0f s, %3d points %2.0f s apart, %3.0f ns claimed %3.1f of "
           "that, bad "
           "%2.0f %%: line %8.2f smooth %8.2f ns, ratio %.3f, 95 %% hold %5.1f %%\n",
           k->walk, k->turn, k->turn_every_s, k->points, k->every_s, k->noise_ns, k->claim,
           100.0 * k->bad, sqrt(s.line / (double)s.count), sqrt(s.smooth / (double)s.count), ratio,
           100.0 * s.covered / (double)s.count);
    v->kinds++;
    v->worse += ratio > 1.02;
    v->logs += log(ratio);
    if (ratio > v->worst) {
        v->worst = ratio;
        v->worst_kind = *k;
    }
}

int main(int argc, char **argv)
{
    static const double ways[][3] = {{0, 0, 0},      {1e-10, 0, 0},  {1e-9, 0, 0},
                                     {1e-8, 0, 0},   {0, 1e-8, 100}, {1e-9, 1e-7, 300},
                                     {0, 1e-6, 1000}};
    static const double every[] = {1, 10, 60};
    static const int points[] = {4, 12, 20, 100};
    static const double noises[][3] = {{2, 1, 0},    {20, 1, 0},  {20, 3, 0},
                                       {20, 0.5, 0}, {200, 1, 0}, {20, 1, 0.05}};
    const int traces = argc > 1 ? atoi(argv[1]) : 100;
    const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct verdict v = {.worst = 0.0};
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]); w++) {
        for (size_t e = 0; e < sizeof(every) / sizeof(every[0]); e++) {
            for (size_t p = 0; p < sizeof(points) / sizeof(points[0]); p++) {
                for (size_t n = 0; n < sizeof(noises) / sizeof(noises[0]); n++) {
                    const struct kind k = {ways[w][0], ways[w][1],   ways[w][2],   every[e],
                                           points[p],  noises[n][0], noises[n][1], noises[n][2]};
                    kind_try(&k, traces, seed, &v);
                }
            }
        }
    }
    const struct kind *k = &v.worst_kind;
    printf("%d kinds, %d above 1.02, worst %.3f (walk %g, turn %g, %d points %g s apart, %g ns), "
           "geometric mean %.3f\n",
           v.kinds, v.worse, v.worst, k->walk, k->turn, k->points, k->every_s, k->noise_ns,
           exp(v.logs / v.kinds));
    return 0;
}

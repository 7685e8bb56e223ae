/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole daemon in the simulated world of tests/lock over paths of several kinds: root mean
 * square of the errors of the page's clock and of CLOCK_REALTIME, which --steer keeps, each second
 * from 600 s to 20 000 s. bench/lock/steered puts chronyd beside it. lock-paths [SEEDS]
 */
#include "../../tests/lock/world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct path {
    const char *name;
    double there_ns, back_ns, pareto_ns, shape; /* waits: exponential ones there and back */
    double loss, back_base_ns;
} paths[] = {
    {"exponential-20us", 2e4, 2e4, 0, 0, 0, 1e5},
    {"exponential-200us", 2e5, 2e5, 0, 0, 0, 1e5},
    {"pareto-1.5-lossy", 1e4, 1e4, 1e5, 1.5, 0.1, 1e5},
    {"back-100us-there-10us", 1e4, 1e5, 0, 0, 0.05, 1e5},
    {"back-100us-there-50us", 5e4, 1e5, 0, 0, 0.05, 1e5},
    {"there-20us-back-none", 2e4, 0, 0, 0, 0, 1e5},
    {"asymmetric-500us-lossy", 1e5, 1e5, 0, 0, 0.05, 6e5},
};

struct figures {
    double page, real; /* mean squares, ns^2 */
    double chi2, share;
    long outside;
};

static void path_run(const struct path *path, uint64_t seed, const char *directory, double poll_s,
                     int exchanges, struct figures *sum)
{
    static struct world world;
    world_init(&world, seed, directory);
    struct world_server *s = world_add(&world);
    s->loss = path->loss;
    s->there.wait_ns = path->there_ns;
    s->back.wait_ns = path->back_ns;
    s->there.pareto_ns = s->back.pareto_ns = path->pareto_ns;
    s->there.shape = s->back.shape = path->shape;
    s->back.base_ns = path->back_base_ns;
    world.judge_from_s = 600.0;
    struct ictus_lock_options o = world_options(&world, poll_s);
    o.exchanges = exchanges;
    o.keep_first = exchanges == 1;
    o.steer = true;
    (void)world_run(&world, &o, 20000.0);
    const struct world_verdict *v = &world.verdict;
    sum->page += pow(world_rms(&world), 2.0);
    sum->real += pow(world_real_rms(&world), 2.0);
    sum->chi2 += v->sigma_squares / (double)v->seconds;
    sum->share = fmax(sum->share, v->worst_share);
    sum->outside += v->outside;
}

static long path_report(const struct path *path, int seeds, const char *directory)
{
    static const double polls[] = {1.0, 64.0};
    long outside = 0;
    for (int i = 0; i < 4; i++) {
        struct figures sum = {0.0, 0.0, 0.0, 0.0, 0};
        const double poll_s = polls[i / 2];
        const int exchanges = i % 2 ? 5 : 1;
        for (int seed = 0; seed < seeds; seed++) {
            path_run(path, (uint64_t)seed, directory, poll_s, exchanges, &sum);
        }
        printf("%s\tpoll %.0f s\texchanges %d\tpage %.0f ns\tsteered %.0f ns\tchi2 %.2f\t"
               "outside %ld\tof the bound %.2f\n",
               path->name, poll_s, exchanges, sqrt(sum.page / seeds), sqrt(sum.real / seeds),
               sum.chi2 / seeds, sum.outside, sum.share);
        outside += sum.outside;
    }
    return outside;
}

int main(int argc, char **argv)
{
    char directory[] = "/tmp/ictus-paths-XXXXXX";
    const int seeds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 3;
    long outside = 0;
    if (seeds < 1 || argc > 2 || !mkdtemp(directory)) {
        (void)fprintf(stderr, "usage: lock-paths [SEEDS]\n");
        return 2;
    }
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        outside += path_report(&paths[i], seeds, directory);
    }
    char command[64];
    (void)snprintf(command, sizeof(command), "rm -r %s", directory);
    return system(command) != 0 || outside > 0;
}

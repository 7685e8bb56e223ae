/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The discipline over hours of simulated drift: 20 ppm, a random walk of 1e-9 per root second, 100
 * us + exponential 20 us each way, root mean square of the clock's error over 20 000 s, each
 * second. simulate [SEEDS] chronyd's figures are those of its own simulator (clknetsim) in the same
 * setting.
 */
#include "../../tests/unit/lock_sim.h"

#include <stdio.h>
#include <stdlib.h>

static const double until_s = 20000.0;

struct score {
    double all, late, chi2;
    long outside; /* readings that the bound did not hold */
};

/* As `ictus lock` polls, from its quick start on. */
static struct score run(uint64_t seed, enum ictus_lock_loop loop, double interval, int count)
{
    static struct discipline d;
    static struct delays delays;
    static struct bound bound;
    struct sim s;
    struct score score = {0.0, 0.0, 0.0, 0};
    double next = 0.0;
    long n = 0, n_late = 0;
    int polled = 0;
    sim_init(&s, seed);
    ictusi_discipline_init(&d, loop, 0.0, 300.0);
    ictusi_lock_delays_reset(&delays);
    ictusi_bound_init(&bound, 1e-6);
    for (double tick = 0.0; tick < until_s; tick += 1.0) {
        if (tick >= next) {
            struct sample samples[GROUP_MAX];
            struct measurement m;
            const size_t got = sim_group(&s, count, samples);
            (void)ictusi_bound_add(&bound, samples, got);
            if (ictusi_group_combine(samples, got, count > 1, &delays, &m)) {
                (void)ictusi_discipline_update(&d, &m);
            }
            next = tick + ictusi_interval_start(interval, polled++);
        }
        sim_advance(&s, tick + 1.0 - s.now_s);
        double low = 0.0, high = 0.0;
        const struct kalman k = ictusi_discipline_predict(&d, sim_local(&s));
        const double e = (double)d.origin_ns + k.phase - s.phase_ns;
        ictusi_bound_at(&bound, sim_local(&s), &low, &high);
        const double truth = s.phase_ns - (double)bound.origin_ns;
        score.outside += truth < low || truth > high;
        if (tick >= 10.0) { /* before it has not claimed to be locked */
            score.all += e * e;
            n++;
        }
        if (tick >= 1000.0) {
            score.late += e * e;
            score.chi2 += e * e / k.pp;
            n_late++;
        }
    }
    score.all /= (double)n;
    score.late /= (double)n_late;
    score.chi2 /= (double)n_late;
    return score;
}

static void report(const char *name, int seeds, enum ictus_lock_loop loop, double interval,
                   int count, double chronyd_us)
{
    struct score sum = {0.0, 0.0, 0.0, 0};
    for (int seed = 0; seed < seeds; seed++) {
        const struct score one = run((uint64_t)seed, loop, interval, count);
        sum.all += one.all / seeds;
        sum.late += one.late / seeds;
        sum.chi2 += one.chi2 / seeds;
        sum.outside += one.outside;
    }
    printf(
        "%-9s poll %2.0f s, %d exchange%s: RMS %6.3f us, after 1000 s %6.3f us; chronyd %.2f us, "
        "ratio %.2f; error^2/sigma^2 %.2f; outside the bound %ld\n",
        name, interval, count, count > 1 ? "s" : " ", sqrt(sum.all) / 1e3, sqrt(sum.late) / 1e3,
        chronyd_us, sqrt(sum.all) / 1e3 / chronyd_us, sum.chi2, sum.outside);
}

int main(int argc, char **argv)
{
    const int seeds = argc > 1 ? (int)strtol(argv[1], NULL, 10) : 10;
    if (seeds < 1) {
        (void)fprintf(stderr, "usage: simulate [SEEDS]\n");
        return 2;
    }
    for (int count = 1; count <= 5; count += 4) {
        report("adaptive", seeds, ICTUS_LOCK_ADAPTIVE, 1.0, count, 2.20);
        report("adaptive", seeds, ICTUS_LOCK_ADAPTIVE, 64.0, count, 8.74);
    }
    report("pll", seeds, ICTUS_LOCK_PLL, 1.0, 5, 2.20);
    report("pll", seeds, ICTUS_LOCK_PLL, 64.0, 5, 8.74);
    report("fll", seeds, ICTUS_LOCK_FLL, 1.0, 5, 2.20);
    report("fll", seeds, ICTUS_LOCK_FLL, 64.0, 5, 8.74);
    return 0;
}

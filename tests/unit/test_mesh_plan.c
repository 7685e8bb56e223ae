/* SPDX-License-Identifier: BSD-3-Clause */
/* How a mesh plans its sweeps: time and effort from what was requested and what a trial showed. */
#include "core/mesh_plan.h"

#include "core/estimator.h"

#include "../check.h"

#include <ictus/error.h>
#include <math.h>

static struct mesh_wish usual_wish(int size)
{
    const int factors = size - 1 + size % 2;
    return (struct mesh_wish){.size = size,
                              .factors = factors < 100 ? factors : 100,
                              .rounds = 100,
                              .exchanges = 25,
                              .horizon_s = 10.0,
                              .limit_s = 3.0};
}

/* Time and effort follow the request, round trips and noise. */
static void plans_follow_noise(void)
{
    const struct mesh_trial quick = {.exchange_s = 3.6e-6, .scatter_ns = 40.0, .rtt_ns = 3000.0};
    const struct mesh_trial slow = {.exchange_s = 250e-6, .scatter_ns = 8e3, .rtt_ns = 50e3};
    for (int size = 2; size <= 1000; size = size * 3 / 2 + 1) {
        struct mesh_wish wish = usual_wish(size);
        const struct mesh_plan usual = ictusi_mesh_plan(&wish, &quick);
        const struct mesh_plan long_one = ictusi_mesh_plan(&wish, &slow);
        CHECK(usual.window_s < 1.6 && long_one.window_s <= 3.0);
        CHECK(long_one.window_s >= usual.window_s);
        CHECK(usual.sweeps >= 2 && usual.exchanges >= 1 && usual.rounds >= 1);
        /*
         * Sweeps keep processes busy for at most seven tenths of the window, or for the shortest
         * possible time.
         */
        CHECK(usual.length_s * usual.sweeps <= 0.7 * usual.window_s + 1e-9);
        CHECK(long_one.length_s * long_one.sweeps <= 0.7 * long_one.window_s + 1e-9 ||
              long_one.exchanges == 4);
        CHECK(ictusi_mesh_plan_start(&usual, 0) == 0.0);
        CHECK(ictusi_mesh_plan_start(&usual, usual.sweeps - 1) <= usual.window_s);
        wish.window_s = 0.05;
        CHECK(ictusi_mesh_plan(&wish, &slow).window_s == 0.05);
    }
    struct mesh_wish hasty = usual_wish(2);
    hasty.tolerance_s = 10e-6;
    CHECK(ictusi_mesh_plan(&hasty, &quick).window_s == 0.1);
    hasty.tolerance_s = 10e-9;
    CHECK(ictusi_mesh_plan(&hasty, &quick).window_s == 3.0);
}

/*
 * The default window is 1.5 s for up to 32 processes and 1 s for more. Requesting what is
 * sufficient anyway, 150 ns or 3 % of a round trip, changes nothing. Noise decreases with the root
 * of time and the error of a drift with time itself, so the window grows with the 2/3rd power of
 * the required precision.
 */
static void windows_follow_tolerance(void)
{
    const struct mesh_trial quick = {.exchange_s = 3.6e-6, .scatter_ns = 40.0, .rtt_ns = 3000.0};
    const struct mesh_trial noisy = {.exchange_s = 20e-6, .scatter_ns = 2e4, .rtt_ns = 6e3};
    for (int size = 2; size <= 64; size++) {
        struct mesh_wish wish = usual_wish(size);
        CHECK(ictusi_mesh_plan(&wish, &quick).window_s == (size <= 32 ? 1.5 : 1.0));
        wish.limit_s = 1e9;
        const double usual = ictusi_mesh_plan(&wish, &noisy).window_s;
        wish.tolerance_s = 0.03 * noisy.rtt_ns * 1e-9;
        const double asked = ictusi_mesh_plan(&wish, &noisy).window_s;
        CHECK(usual > 1.5 && fabs(asked / usual - 1.0) < 1e-9);
        wish.tolerance_s /= 1e3;
        const double finer = ictusi_mesh_plan(&wish, &noisy).window_s;
        wish.tolerance_s /= 8.0;
        const double finest = ictusi_mesh_plan(&wish, &noisy).window_s;
        CHECK(finest / finer > 3.99 && finest / finer < 8.01); /* noise: 4; a path's wander: 8 */
        wish.limit_s = 2.0;
        CHECK(ictusi_mesh_plan(&wish, &noisy).window_s == 2.0);
        /* Slow exchanges: there is time for eight in each round, in seven tenths of the window. */
        const struct mesh_trial slow = {.exchange_s = 5e-3, .scatter_ns = 0.0, .rtt_ns = 5e6};
        struct mesh_wish patient = usual_wish(size);
        patient.limit_s = 1e9;
        const struct mesh_plan plan = ictusi_mesh_plan(&patient, &slow);
        const double needed = plan.sweeps * patient.factors * 8 * slow.exchange_s / 0.7;
        CHECK_NEAR(plan.window_s, fmax(needed, size <= 32 ? 1.5 : 1.0), 1e-9);
    }
}

/*
 * Sweeps fill the window symmetrically from both ends. A sweep without time for all rounds has as
 * many as fit, but at least eight, and a burst is cut off after twice its time.
 */
static void sweeps_fill_the_window(void)
{
    for (double exchange_s = 1e-6; exchange_s < 1e-2; exchange_s *= 3.0) {
        for (int size = 5; size <= 200; size += 39) {
            const struct mesh_trial trial = {
                .exchange_s = exchange_s, .scatter_ns = 40.0, .rtt_ns = 900.0};
            struct mesh_wish wish = usual_wish(size);
            wish.sweeps = 5;
            const struct mesh_plan plan = ictusi_mesh_plan(&wish, &trial);
            const int last = plan.sweeps - 1;
            const double gap_s = plan.window_s - plan.length_s;
            CHECK(plan.sweeps == 5);
            CHECK_NEAR(ictusi_mesh_plan_start(&plan, last), fmax(gap_s, 0.0), 1e-12);
            for (int k = 1; k < last && ictusi_mesh_plan_start(&plan, 1) > 0.0; k++) {
                CHECK_NEAR(ictusi_mesh_plan_start(&plan, k) + plan.length_s +
                               ictusi_mesh_plan_start(&plan, last - k) + plan.length_s,
                           plan.window_s, 1e-12);
            }
            CHECK_NEAR(plan.burst_s * plan.rounds, 2.0 * plan.length_s, 1e-12);
            CHECK(plan.rounds == wish.factors || (plan.rounds >= 8 && plan.rounds < wish.factors));
            const double room = 0.7 * plan.window_s / plan.sweeps / exchange_s;
            CHECK(plan.rounds <= 8 || plan.rounds == wish.factors ||
                  (plan.rounds * 4 <= room && (plan.rounds + 1) * 4 > room));
        }
    }
}

/*
 * A trial burst shows the median and the minimum time of an exchange, and the difference between
 * its halves. The first exchange, which connects the two, is ignored.
 */
static void trials_are_read(void)
{
    static const int64_t took[MESH_TRIAL_EXCHANGES] = {9000000, 700, 300, 800, 400,
                                                       600,     500, 900, 200};
    struct stamp stamps[MESH_TRIAL_EXCHANGES];
    struct mesh_trial seen;
    for (int apart = 0; apart <= 100; apart += 50) {
        for (int i = 0; i < MESH_TRIAL_EXCHANGES; i++) {
            const int64_t sent = 10000000 + 10000 * i;
            stamps[i].sent = sent;
            stamps[i].received = sent + took[i];
            stamps[i].remote = sent + took[i] / 2 + 5000 + (i % 2 ? apart : 0);
        }
        REQUIRE(!ictusi_mesh_trial(stamps, &seen));
        CHECK_NEAR(seen.exchange_s, 550e-9, 1e-15);
        CHECK_NEAR(seen.rtt_ns, 200.0, 0.0);
        CHECK_NEAR(seen.excess_ns, 350.0, 1e-9);
        CHECK_NEAR(seen.scatter_ns, apart / sqrt(2.0), 1e-9);
    }
}

/* A few processes whose trial met a busy machine make as many exchanges as there is time for. */
static void a_busy_trial_does_not_decide(void)
{
    const struct mesh_trial quick = {.exchange_s = 1e-6, .scatter_ns = 40.0, .rtt_ns = 900.0};
    const struct mesh_trial busy = {.exchange_s = 4e-3, .scatter_ns = 1e6, .rtt_ns = 900.0};
    for (int size = 2; size <= 16; size++) {
        const struct mesh_wish wish = usual_wish(size);
        const struct mesh_plan calm = ictusi_mesh_plan(&wish, &quick);
        const struct mesh_plan plan = ictusi_mesh_plan(&wish, &busy);
        CHECK(calm.most == calm.exchanges);
        CHECK(plan.exchanges < 100 && plan.burst_s > 0.0);
        CHECK(size <= 4 ? plan.most >= calm.most : plan.most == plan.exchanges);
        if (size <= 4) {
            CHECK(plan.burst_s * plan.rounds * plan.sweeps <= 0.7 * plan.window_s + 1e-9);
        }
    }
}

static void trials_show_exchanges(void)
{
    struct stamp stamps[MESH_TRIAL_EXCHANGES];
    struct mesh_trial seen;
    for (int i = 0; i < MESH_TRIAL_EXCHANGES; i++) {
        const int64_t sent = 1000000 + 10000 * (int64_t)i;
        stamps[i] = (struct stamp){sent, sent + 777 + 400, sent + 800 + (i == 0 ? 90000 : 0)};
    }
    REQUIRE(!ictusi_mesh_trial(stamps, &seen));
    CHECK_NEAR(seen.exchange_s, 800e-9, 1e-12);
    CHECK_NEAR(seen.rtt_ns, 800.0, 1e-9);
    CHECK_NEAR(seen.scatter_ns, 0.0, 1.0);
    stamps[3].received = stamps[3].sent - 1;
    CHECK(ictusi_mesh_trial(stamps, &seen) == ICTUS_ERR_CLOCK);
}

/* No path is involved where clocks are compared by a counter, and what was asked takes no longer
 * than that needs, however noisy messages are. Without a request the time stays the usual one. */
static void counters_need_less_time(void)
{
    struct mesh_trial noisy = {.exchange_s = 20e-6, .scatter_ns = 2e4, .rtt_ns = 6e3};
    for (int size = 2; size <= 32; size++) {
        struct mesh_wish wish = usual_wish(size);
        wish.tolerance_s = 100e-9;
        noisy.calibrated = false;
        CHECK(ictusi_mesh_plan(&wish, &noisy).window_s == 3.0);
        noisy.calibrated = true;
        const struct mesh_plan asked = ictusi_mesh_plan(&wish, &noisy);
        CHECK(asked.window_s < 0.5 && asked.length_s * asked.sweeps <= 0.7 * asked.window_s + 1e-9);
        wish.tolerance_s = 0.0;
        CHECK(ictusi_mesh_plan(&wish, &noisy).window_s >= 1.5);
    }
}

/*
 * A third sweep shows whether clocks walk, unless noise is larger than even strong walks are, time
 * is too short, or somebody wants two. A single slow or noisy node does not hide the walks of all
 * others, unless it is the reference.
 */
static void a_third_sweep_shows_walks(void)
{
    const struct mesh_trial quick = {.exchange_s = 3.6e-6, .scatter_ns = 40.0, .rtt_ns = 3000.0};
    const struct mesh_trial slow = {.exchange_s = 250e-6, .scatter_ns = 8e3, .rtt_ns = 50e3};
    const struct mesh_trial one_slow = {.exchange_s = 400e-6, .scatter_ns = 40.0, .rtt_ns = 10e3};
    struct mesh_trial noisy_root = one_slow;
    noisy_root.excess_ns = 50e3;
    for (int size = 33; size <= 1000; size += 100) {
        struct mesh_wish wish = usual_wish(size);
        wish.exchanges = 0;
        CHECK(ictusi_mesh_plan(&wish, &quick).sweeps == 3);
        CHECK(ictusi_mesh_plan(&wish, &slow).sweeps == 2);
        CHECK(ictusi_mesh_plan(&wish, &one_slow).sweeps == 3);
        CHECK(ictusi_mesh_plan(&wish, &noisy_root).sweeps == 2);
        wish.window_s = 0.22;
        CHECK(ictusi_mesh_plan(&wish, &quick).sweeps == 2);
        wish.window_s = 0.0;
        wish.sweeps = 2;
        CHECK(ictusi_mesh_plan(&wish, &quick).sweeps == 2);
        wish.sweeps = 3;
        CHECK(ictusi_mesh_plan(&wish, &slow).sweeps == 3);
    }
}

/* A burst in which both bounds of the offset come from slow exchanges, and the fastest one says
 * something else: what the user asked for decides which of them counts. */
static void the_named_estimator_is_used(void)
{
    enum { FEW = 8, MANY = 240, QUICK = 3 };
    static const size_t lengths[] = {FEW, MANY};
    for (size_t l = 0; l < 2; l++) {
        struct stamp stamps[MANY];
        struct mesh_edge edge = {.client = 1};
        struct offset least;
        struct offset middle;
        const int n = (int)lengths[l];
        for (int i = 0; i < n; i++) {
            const int64_t sent = 1000000 + 10000 * (int64_t)i;
            /* 100 ns there and 5000 ns back, or the other way round; 2000 each for one of them */
            const int64_t there = i == QUICK ? 1000 : i % 2 ? 100 : 5000;
            stamps[i] = (struct stamp){sent, sent + there + 70000,
                                       sent + (i == QUICK ? 2400 : 5100 + 37 * i % 101)};
        }
        REQUIRE(!ictusi_estimator_offset_min_rtt(stamps, (size_t)n, &least));
        REQUIRE(!ictusi_estimator_offset_skampi(stamps, (size_t)n, &middle));
        REQUIRE(least.offset != middle.offset);
        REQUIRE(!ictusi_mesh_burst(stamps, (size_t)n, MESH_PAIR_MIN_RTT, NULL, &edge));
        CHECK(edge.at == least.at && edge.offset == least.offset && edge.frac == least.frac);
        CHECK(edge.sigma_ns == 0.0 && edge.client == 1 && edge.server == 0);
        REQUIRE(!ictusi_mesh_burst(stamps, (size_t)n, MESH_PAIR_SKAMPI, NULL, &edge));
        CHECK(edge.at == middle.at && edge.offset == middle.offset && edge.frac == middle.frac);
        CHECK(edge.sigma_ns == 0.0);
        REQUIRE(!ictusi_mesh_burst(stamps, (size_t)n, MESH_PAIR_AUTO, NULL, &edge));
        CHECK((edge.sigma_ns > 0.0) == (n == MANY)); /* few exchanges show no error of their own */
        edge.sigma_ns = 0.0;
        CHECK(n < MANY || !ictusi_mesh_burst(stamps, MANY, MESH_PAIR_ADAPTIVE, NULL, &edge));
        CHECK((edge.sigma_ns > 0.0) == (n == MANY));
        stamps[1].received = stamps[1].sent - 1;
        for (enum mesh_pair pair = MESH_PAIR_AUTO; pair <= MESH_PAIR_MIN_RTT; pair++) {
            CHECK(ictusi_mesh_burst(stamps, (size_t)n, pair, NULL, &edge) == ICTUS_ERR_CLOCK);
            CHECK(ictusi_mesh_burst(stamps, 0, pair, NULL, &edge) == ICTUS_ERR_SAMPLES);
        }
    }
}

int main(void)
{
    the_named_estimator_is_used();
    a_third_sweep_shows_walks();
    counters_need_less_time();
    plans_follow_noise();
    windows_follow_tolerance();
    sweeps_fill_the_window();
    trials_are_read();
    a_busy_trial_does_not_decide();
    trials_show_exchanges();
    return check_result();
}

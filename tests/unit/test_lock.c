/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The discipline, the bound, the intervals and the selection, against a simulation's known truth.
 */
#include "../check.h"
#include "lock_sim.h"

#include "lock/select.h"

struct run {
    struct discipline d;
    struct bound bound;
    struct delays delays;
    double rms_ns, chi2; /* of the error; of error / sigma */
    int violations;      /* of the bound */
    double widest_ns;
};

/* Poll at each interval for a while, and judge every second after `from`. */
static void run_sim(struct sim *s, struct run *r, enum ictus_lock_loop loop, double interval,
                    int count, double from, double until)
{
    double next = s->now_s, squares = 0.0, chi = 0.0;
    long n = 0;
    ictusi_discipline_init(&r->d, loop, 0.0, 120.0);
    ictusi_bound_init(&r->bound, 1e-6);
    ictusi_lock_delays_reset(&r->delays);
    r->violations = 0;
    r->widest_ns = 0.0;
    int polled = 0;
    while (s->now_s < until) {
        if (s->now_s >= next) {
            struct sample samples[GROUP_MAX];
            struct measurement m;
            const size_t got = sim_group(s, count, samples);
            (void)ictusi_bound_add(&r->bound, samples, got);
            if (ictusi_group_combine(samples, got, count > 1, &r->delays, &m)) {
                (void)ictusi_discipline_update(&r->d, &m);
            }
            next = s->now_s + ictusi_interval_start(interval, polled++);
        }
        sim_advance(s, fmin(1.0, interval / 4));
        double low = 0.0, high = 0.0;
        const struct kalman k = ictusi_discipline_predict(&r->d, sim_local(s));
        const double e = (double)r->d.origin_ns + k.phase - s->phase_ns;
        ictusi_bound_at(&r->bound, sim_local(s), &low, &high);
        const double truth = s->phase_ns - (double)r->bound.origin_ns;
        r->violations += truth < low || truth > high;
        if (s->now_s > from) {
            squares += e * e;
            chi += e * e / k.pp;
            r->widest_ns = fmax(r->widest_ns, high - low);
            n++;
        }
    }
    r->rms_ns = sqrt(squares / (double)n);
    r->chi2 = chi / (double)n;
}

static void test_accuracy(void)
{
    static struct run r;
    struct sim s;
    double squares = 0.0, chi = 0.0;
    enum { SEEDS = 10 };
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sim_init(&s, seed);
        run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 16.0, 5, 600.0, 4000.0);
        squares += r.rms_ns * r.rms_ns / SEEDS;
        chi += r.chi2 / SEEDS;
        CHECK(r.violations == 0);
        CHECK(r.d.steps == 0);
    }
    /* The mean of four exchanges alone would leave 7 us; and the clock knows its own accuracy. */
    CHECK(sqrt(squares) < 2500.0);
    CHECK(chi > 0.5 && chi < 2.0);
}

/* M00's own loops lock too, but less accurately. */
static void test_classic_loops(void)
{
    static struct run r;
    struct sim s;
    for (int loop = ICTUS_LOCK_FLL; loop <= ICTUS_LOCK_PLL; loop++) {
        sim_init(&s, 3);
        run_sim(&s, &r, (enum ictus_lock_loop)loop, 16.0, 5, 1000.0, 4000.0);
        CHECK(r.rms_ns < 8000.0);
        CHECK(r.chi2 > 0.2 && r.chi2 < 3.0);
        CHECK(r.violations == 0);
    }
}

/* The bound holds on any path: 300 us of asymmetry, heavy waits, losses. */
static void test_bound_on_bad_paths(void)
{
    static struct run r;
    struct sim s;
    for (uint64_t seed = 0; seed < 8; seed++) {
        sim_init(&s, 100 + seed);
        s.base_ns[0] = 4e5;
        s.wait_ns[1] = seed % 2 ? 5e5 : 1e4;
        s.loss = 0.3;
        s.walk = seed < 4 ? 0.1 : 3.0;
        run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 8.0, 5, 200.0, 2000.0);
        CHECK(r.violations == 0);
        CHECK(r.widest_ns < 3e6);
        CHECK(r.bound.broken == 0);
    }
}

/* A reply that is off by one second is held; the third in a row is believed. */
static void test_steps(void)
{
    static struct run r;
    struct sim s;
    struct sample samples[GROUP_MAX];
    struct measurement m;
    sim_init(&s, 9);
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 4.0, 5, 100.0, 400.0);
    const double before = r.d.state.frequency;
    for (int i = 0; i < 3; i++) {
        sim_advance(&s, 4.0);
        const size_t n = sim_group(&s, 5, samples);
        for (size_t k = 0; k < n; k++) {
            samples[k].offset_ns += 1000000000;
        }
        REQUIRE(ictusi_group_combine(samples, n, true, &r.delays, &m));
        const enum discipline_event event = ictusi_discipline_update(&r.d, &m);
        CHECK(event == (i < 2 ? DISCIPLINE_GLITCH : DISCIPLINE_STEPPED));
    }
    const struct kalman k = ictusi_discipline_predict(&r.d, sim_local(&s));
    CHECK_NEAR((double)r.d.origin_ns + k.phase - s.phase_ns, 1e9, 1e5);
    CHECK_NEAR(k.frequency, before, 200.0);
    /* A measurement that is not later than the last one is refused. */
    CHECK(ictusi_discipline_update(&r.d, &m) == DISCIPLINE_GLITCH);
    /*
     * Its exchanges contradict the bound, which then covers both values, and adopts the third one.
     */
    double low = 0.0, high = 0.0;
    CHECK(!ictusi_bound_add(&r.bound, samples, 1) && r.bound.broken == 1);
    ictusi_bound_at(&r.bound, samples[0].local, &low, &high);
    CHECK(low < 1e8 && high > 0.999e9);
    CHECK(!ictusi_bound_add(&r.bound, samples, 1) && !ictusi_bound_add(&r.bound, samples, 1));
    ictusi_bound_at(&r.bound, samples[0].local, &low, &high);
    CHECK(low > 0.999e9 && high - low < 1e6);
}

/* No frequency beyond the limit of a kernel's steering is ever believed. */
static void test_clamp(void)
{
    for (int loop = ICTUS_LOCK_ADAPTIVE; loop <= ICTUS_LOCK_PLL; loop++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            struct discipline d;
            ictusi_discipline_init(&d, (enum ictus_lock_loop)loop, 0.0, 30.0);
            for (int i = 0; i < 200; i++) {
                const struct measurement m = {.local = INT64_C(4000000000) * i,
                                              .offset_ns = INT64_C(3600000) * i * sign,
                                              .variance_ns2 = 1e4};
                (void)ictusi_discipline_update(&d, &m);
                CHECK(fabs(d.state.frequency) <= 5e5);
                for (int h = 0; h < DISCIPLINE_WALKS * DISCIPLINE_SCALES; h++) {
                    CHECK(fabs(d.bank[h].state.frequency) <= 5e5);
                }
            }
        }
    }
}

static void test_holdover(void)
{
    static struct run r;
    struct sim s;
    sim_init(&s, 21);
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 4.0, 5, 100.0, 1000.0);
    double last_sigma = 0.0, last_width = 0.0;
    for (int i = 0; i < 20; i++) {
        double low = 0.0, high = 0.0;
        sim_advance(&s, 60.0);
        const struct kalman k = ictusi_discipline_predict(&r.d, sim_local(&s));
        ictusi_bound_at(&r.bound, sim_local(&s), &low, &high);
        const double truth = s.phase_ns - (double)r.bound.origin_ns;
        const double e = (double)r.d.origin_ns + k.phase - s.phase_ns;
        CHECK(truth >= low && truth <= high);
        CHECK(fabs(e) < 5.0 * sqrt(k.pp));
        CHECK(sqrt(k.pp) > last_sigma && high - low > last_width);
        last_sigma = sqrt(k.pp);
        last_width = high - low;
    }
}

/* What may happen to a clock during a day, by the hour. */
static void day(struct sim *s, bool asymmetric)
{
    const double hour = s->now_s / 3600.0;
    const double detour = hour >= 3.0 && hour < 4.0 ? 4e5 : 0.0; /* another route */
    s->base_ns[0] = 1e5 + detour;
    s->base_ns[1] = 1e5 + (asymmetric ? 0.0 : detour);
    s->wait_ns[0] = hour >= 6.0 && hour < 7.0 ? 1e6 : 2e4; /* a congested network, one way */
    s->loss = hour >= 8.0 && hour < 9.0 ? 1.0 : 0.05;      /* the server is unreachable */
    s->warm = 300.0;                                       /* +-0.3 ppm */
    s->warm_period_s = 6.0 * 3600.0;
}

struct tally {
    long seconds, violations, doubtful; /* judged; outside the bound; beyond five sigma */
    double worst_ns;
    int steps;
};

static void live_a_day(struct sim *s, bool asymmetric, const struct interval_options *o,
                       struct tally *tally)
{
    static struct run r;
    double interval = o->tmin_s, next = 0.0;
    int polled = 0;
    ictusi_discipline_init(&r.d, ICTUS_LOCK_ADAPTIVE, 0.0, 120.0);
    ictusi_bound_init(&r.bound, 1e-6);
    ictusi_lock_delays_reset(&r.delays);
    memset(tally, 0, sizeof(*tally));
    while (s->now_s < 12 * 3600.0) {
        day(s, asymmetric);
        if (s->now_s >= next) {
            struct sample samples[GROUP_MAX];
            struct measurement m;
            const size_t got = sim_group(s, 5, samples);
            if (ictusi_group_combine(samples, got, true, &r.delays, &m)) {
                const enum discipline_event event = ictusi_discipline_update(&r.d, &m);
                tally->steps += event == DISCIPLINE_STEPPED;
                (void)ictusi_bound_add(&r.bound, samples, got);
                interval = ictusi_interval_next(o, &r.d, interval).interval_s;
            }
            next = s->now_s + fmin(interval, ictusi_interval_start(o->tmin_s, polled++));
        }
        sim_advance(s, 4.0);
        if (s->now_s < 600.0) {
            continue;
        }
        double low = 0.0, high = 0.0;
        const struct kalman k = ictusi_discipline_predict(&r.d, sim_local(s));
        const double e = (double)r.d.origin_ns + k.phase - s->phase_ns;
        ictusi_bound_at(&r.bound, sim_local(s), &low, &high);
        const double truth = s->phase_ns - (double)r.bound.origin_ns;
        tally->seconds++;
        tally->violations += truth < low || truth > high;
        tally->doubtful += fabs(e) > 5.0 * sqrt(k.pp);
        tally->worst_ns = fmax(tally->worst_ns, fabs(e));
    }
}

/*
 * Half a day: the temperature varies, routes change, the network is congested, the server is away
 * for an hour. The bound always holds, and sigma is right unless the path was asymmetric.
 */
static void test_hours(void)
{
    static const struct interval_options quick = {.tmin_s = 16.0,
                                                  .tmax_s = 16.0,
                                                  .exchanges = 5,
                                                  .exchanges_max = 32,
                                                  .policy = ICTUS_LOCK_FIXED},
                                         best = {.tmin_s = 8.0,
                                                 .tmax_s = 1024.0,
                                                 .exchanges = 5,
                                                 .exchanges_max = 32,
                                                 .policy = ICTUS_LOCK_BEST};
    struct sim s;
    struct tally tally;
    for (uint64_t seed = 0; seed < 4; seed++) {
        const bool asymmetric = seed % 2;
        sim_init(&s, 500 + seed);
        live_a_day(&s, asymmetric, seed < 2 ? &quick : &best, &tally);
        CHECK(tally.violations == 0);
        CHECK(tally.worst_ns < 1e6);
        CHECK(asymmetric || tally.doubtful < tally.seconds / 20);
        CHECK(tally.steps < 6);
    }
}

static void test_intervals(void)
{
    static struct run r;
    struct sim s;
    struct interval_options o = {.tmin_s = 1.0,
                                 .tmax_s = 1024.0,
                                 .exchanges = 5,
                                 .exchanges_max = 32,
                                 .policy = ICTUS_LOCK_BEST};
    sim_init(&s, 5);
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 16.0, 5, 100.0, 6000.0);
    double interval = 16.0;
    for (int i = 0; i < 12; i++) {
        const double next = ictusi_interval_next(&o, &r.d, interval).interval_s;
        CHECK(next <= 2.0 * interval && next >= interval / 2.0);
        interval = next;
    }
    /* Noise of 4 us equals a walk of 1e-9 where T^1.5 / sqrt(3) ns is 4 us: at 360 s. */
    CHECK(interval >= 64.0 && interval <= 1024.0);
    /* Without a requirement it still counts as locked when polls are far apart. */
    CHECK(ictusi_discipline_locked(&r.d, 16.0) && ictusi_discipline_locked(&r.d, 4096.0));
    o.policy = ICTUS_LOCK_TARGET;
    o.sigma_ns = 3000.0;
    const double loose = ictusi_interval_next(&o, &r.d, 64.0).interval_s;
    CHECK(ictusi_discipline_steady_sigma(&r.d, loose, 1.0) <= 3000.0);
    o.sigma_ns = 100.0;
    const struct interval_choice hard = ictusi_interval_next(&o, &r.d, 2.0);
    CHECK(hard.interval_s == 1.0 && hard.exchanges > 5 && hard.exchanges <= 32);
    o.policy = ICTUS_LOCK_FIXED;
    CHECK(ictusi_interval_next(&o, &r.d, 1.0).interval_s == 1.0);
    o.policy = ICTUS_LOCK_CHEAPEST;
    const double cheap = ictusi_interval_next(&o, &r.d, 64.0).interval_s;
    CHECK(cheap >= 32.0 && cheap <= 128.0);
}

static void test_stability(void)
{
    static struct run r;
    struct sim s;
    struct stability_point points[STABILITY_LEVELS];
    sim_init(&s, 6);
    s.walk = 30.0;
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 16.0, 5, 100.0, 5000.0);
    const size_t count = ictusi_stability_points(&r.d.stability, points);
    REQUIRE(count >= 4);
    /* A random walk of 3e-8 gives 3e-8 sqrt(tau/3). */
    const double wanted = 3e-8 * sqrt(points[2].tau_s / 3.0);
    CHECK(points[2].sigma_y > wanted / 2 && points[2].sigma_y < wanted * 2);
    CHECK(r.d.walk_ns2_per_s3 > 100.0 && r.d.walk_ns2_per_s3 < 9000.0);
}

static void test_selection(void)
{
    struct consensus out;
    struct candidate c[4];
    memset(c, 0, sizeof(c));
    for (int i = 0; i < 4; i++) {
        c[i].votes = c[i].counts = true;
        c[i].rate_low = -1000.0;
        c[i].rate_high = 1000.0 + i;
        c[i].offset_ns = 100.0 * i;
        c[i].low_ns = c[i].offset_ns - 1000.0;
        c[i].high_ns = c[i].offset_ns + 1000.0;
        c[i].pp = 100.0;
    }
    c[3].offset_ns = 1e9;
    c[3].low_ns = 1e9 - 500.0;
    c[3].high_ns = 1e9 + 500.0;
    REQUIRE(ictusi_select(c, 4, &out));
    CHECK(c[3].selection == ICTUS_SOURCE_FALSETICKER);
    CHECK(c[0].selection == ICTUS_SOURCE_SELECTED || c[1].selection == ICTUS_SOURCE_SELECTED ||
          c[2].selection == ICTUS_SOURCE_SELECTED);
    CHECK_NEAR(out.offset_ns, 100.0, 1.0);
    CHECK_NEAR(out.low_ns, -800.0, 1e-9);
    CHECK_NEAR(out.high_ns, 1000.0, 1e-9);
    CHECK(out.voters == 4 && out.agreeing == 3 && out.liars == 1);
    /* One against one is not a majority, nor are no votes. */
    c[0].votes = c[1].votes = false;
    CHECK(!ictusi_select(c, 4, &out));
    CHECK(!ictusi_select(c, 0, &out));
    c[3].votes = false;
    CHECK(ictusi_select(c, 4, &out) && out.selected == 2);
}

static void test_group(void)
{
    static struct delays delays;
    struct sample samples[5];
    struct measurement m;
    memset(samples, 0, sizeof(samples));
    ictusi_lock_delays_reset(&delays);
    for (int i = 0; i < 5; i++) {
        samples[i].local = i * INT64_C(1000000);
        samples[i].offset_ns = 1000 + i;
        samples[i].delay_ns = 5000.0;
        samples[i].bound_ns = 2500.0;
    }
    samples[0].offset_ns = 99999; /* the cold one */
    samples[3].delay_ns = 500000.0;
    samples[3].offset_ns = -200000;
    REQUIRE(ictusi_group_combine(samples, 5, true, &delays, &m));
    CHECK(m.count == 5 && m.used == 3);
    CHECK_NEAR((double)m.offset_ns + m.offset_frac, 1002.3, 1.0);
    CHECK(!ictusi_group_combine(samples, 0, true, &delays, &m));
    CHECK(ictusi_group_combine(samples, 1, true, &delays, &m) && m.used == 1);
}

/* Waits in one direction are detected and subtracted; even waits, and rare large ones, are not. */
static double lean_after(uint64_t seed, double there_ns, double back_ns, double step_ns)
{
    struct sim s;
    struct lean lean;
    struct sample sample;
    double share_sd = 0.0;
    sim_init(&s, seed);
    s.wait_ns[0] = there_ns;
    s.wait_ns[1] = back_ns;
    ictusi_lean_reset(&lean);
    for (int i = 0; i < 2000; i++) {
        if (sim_exchange(&s, &sample)) {
            const struct lean_point point = {.local = sample.local,
                                             .offset_ns = sample.offset_ns +
                                                          (i % 100 == 50 ? llround(step_ns) : 0),
                                             .excess_ns = sample.delay_ns - 2e5};
            ictusi_lean_add(&lean, &point);
        }
        sim_advance(&s, i % 5 ? 0.001 : 4.0);
    }
    return ictusi_lean_share(&lean, &share_sd);
}

static void test_lean(void)
{
    for (uint64_t seed = 1; seed <= 5; seed++) {
        CHECK(fabs(lean_after(seed, 2e4, 2e4, 0.0)) < 0.03);
        CHECK_NEAR(lean_after(seed, 2e4, 0.0, 0.0), 0.5, 0.01);
        CHECK_NEAR(lean_after(seed, 0.0, 2e4, 0.0), -0.5, 0.01);
        /* Means of 1 and 3: (1 - 3) / 2 (1 + 3). */
        CHECK_NEAR(lean_after(seed, 1e4, 3e4, 0.0), -0.25, 0.08);
        /* Nothing is learned from what no wait explains. */
        CHECK_NEAR(lean_after(seed, 2e4, 0.0, 5e6), 0.5, 0.02);
    }
}

/*
 * With even waits the correction costs nothing; with waits in one direction it removes their mean.
 */
static void test_one_way(void)
{
    static struct run r;
    struct sim s;
    sim_init(&s, 3);
    s.wait_ns[1] = 0.0;
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 4.0, 5, 600.0, 6000.0);
    CHECK(r.rms_ns < 500.0 && r.violations == 0);
    sim_init(&s, 3);
    s.wait_ns[0] = 0.0;
    run_sim(&s, &r, ICTUS_LOCK_ADAPTIVE, 4.0, 1, 600.0, 6000.0);
    CHECK(r.rms_ns < 500.0 && r.violations == 0);
}

int main(void)
{
    test_lean();
    test_one_way();
    test_accuracy();
    test_classic_loops();
    test_bound_on_bad_paths();
    test_steps();
    test_clamp();
    test_holdover();
    test_hours();
    test_intervals();
    test_stability();
    test_selection();
    test_group();
    return check_result();
}

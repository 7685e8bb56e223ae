/* SPDX-License-Identifier: BSD-3-Clause */
/* The numerical parts of the lock, with inputs whose results can be computed by hand. */
#include "lock/discipline.h"
#include "lock/interval.h"
#include "lock/select.h"

#include <string.h>

#include "../check.h"

static const int64_t second = 1000000000;

/*
 * A frequency that grows by 2 ns/s per second: the mean frequencies of neighbouring intervals
 * differ by twice half their length, for any length. Known noise of 1 ns is subtracted.
 */
static void stability_is_of_second_differences(void)
{
    for (int count = 20; count <= 300; count += 1 + count / 8) {
        struct stability s;
        struct stability_point p[STABILITY_LEVELS];
        ictusi_stability_reset(&s);
        for (int i = 0; i < count; i++) {
            const double t = 3.0 * i;
            ictusi_stability_add(&s, 3L * i * second, t * t, 1.0);
        }
        const int kept = count < STABILITY_WINDOW ? count : STABILITY_WINDOW;
        const size_t levels = ictusi_stability_points(&s, p);
        for (size_t k = 0; k < levels; k++) {
            const int lag = 1 << k;
            const double tau = 3.0 * lag;
            CHECK(p[k].terms == kept - 2 * lag && p[k].terms >= 4);
            CHECK_NEAR(p[k].tau_s, tau, 1e-9);
            CHECK_NEAR(p[k].sigma_y_raw, 2e-9 * tau / sqrt(2.0), 1e-18);
            CHECK_NEAR(p[k].sigma_y, 1e-9 * sqrt((4 * tau * tau - 6.0 / (tau * tau)) / 2), 1e-18);
        }
        CHECK(levels == STABILITY_LEVELS || kept - (2 << levels) < 4);
    }
}

/* Intervals of 1 and 3 s in turn; equal instants say nothing. */
static void stability_knows_uneven_spans(void)
{
    struct stability s;
    struct stability_point p[STABILITY_LEVELS];
    int64_t at = 0;
    ictusi_stability_reset(&s);
    for (int i = 0; i < 12; i++) {
        const double t = (double)at / 1e9;
        ictusi_stability_add(&s, at, t * t, i % 2 ? 2.0 : 1.0);
        at += (i % 2 ? 3 : 1) * second;
    }
    REQUIRE(ictusi_stability_points(&s, p) >= 1);
    CHECK_NEAR(p[0].tau_s, 2.0, 1e-9);
    CHECK_NEAR(p[0].sigma_y_raw, 1e-9 * 4.0 / sqrt(2.0), 1e-18);
    /* Ends with variance v and middles with w, in turn: v (1 + 1/9) + w (1 + 1/3)^2. */
    const double noise = 1.5 * 10.0 / 9.0 + 1.5 * 16.0 / 9.0;
    CHECK_NEAR(p[0].sigma_y, 1e-9 * sqrt((16.0 - noise) / 2), 1e-18);
    ictusi_stability_reset(&s);
    for (int i = 0; i < 12; i++) {
        ictusi_stability_add(&s, second, i, 1.0);
    }
    CHECK(ictusi_stability_points(&s, p) == 0);
    ictusi_stability_reset(&s);
    for (int i = 0; i < 24; i++) {        /* every third instant twice */
        const double t = i - (i + 1) / 3; /* NOLINT(bugprone-integer-division): whole seconds */
        ictusi_stability_add(&s, (int64_t)t * second, t * t, 0.0);
    }
    REQUIRE(ictusi_stability_points(&s, p) >= 1);
    CHECK_NEAR(p[0].sigma_y_raw, 2e-9 / sqrt(2.0), 1e-18);
    CHECK_NEAR(p[0].tau_s, 1.0, 1e-9);
}

/* The nearest measured interval counts, unless it may be noise only. */
static void stability_is_carried(void)
{
    struct stability s;
    struct stability_point p[STABILITY_LEVELS];
    ictusi_stability_reset(&s);
    CHECK_NEAR(ictusi_stability_at(&s, 12.0, 9.0), 6e-9, 1e-18);
    for (int i = 0; i < 64; i++) {
        ictusi_stability_add(&s, i * second, (double)i * i, 0.0);
    }
    REQUIRE(ictusi_stability_points(&s, p) == 5);
    CHECK_NEAR(ictusi_stability_at(&s, 0.25, 9.0), p[0].sigma_y / 2, 1e-18);
    CHECK_NEAR(ictusi_stability_at(&s, 5.0, 9.0), p[2].sigma_y * sqrt(5.0 / 4.0), 1e-18);
    CHECK_NEAR(ictusi_stability_at(&s, 6.0, 9.0), p[3].sigma_y * sqrt(6.0 / 8.0), 1e-18);
    CHECK_NEAR(ictusi_stability_at(&s, 1600.0, 9.0), 10 * p[4].sigma_y, 1e-18);
    for (int i = 0; i < 64; i++) {
        s.variance_ns2[i] = 0.5; /* 3 of the 4 of the shortest interval, and little of others */
    }
    CHECK_NEAR(ictusi_stability_at(&s, 1.0, 9.0), p[1].sigma_y / sqrt(2.0), 0.1 * p[1].sigma_y);
    ictusi_stability_reset(&s);
    for (int i = 0; i < 64; i++) {
        ictusi_stability_add(&s, i * second, 7.0, 0.0);
    }
    CHECK_NEAR(ictusi_stability_at(&s, 3.0, 9.0), 3e-9, 1e-18); /* nothing was measured */
    for (int i = 0; i < 64; i++) {
        s.variance_ns2[i] = 1e6;
    }
    REQUIRE(ictusi_stability_points(&s, p) == 5);
    CHECK(p[0].sigma_y == 0.0 && p[4].sigma_y == 0.0);
}

static void polls_begin_soon(void)
{
    static const double intervals[] = {2, 2, 2, 2, 2, 2, 4, 8, 16, 32, 64, 100, 100};
    for (int i = 0; i < 13; i++) {
        CHECK(ictusi_interval_start(100.0, i) == intervals[i]);
        CHECK(ictusi_interval_start(1.0, i) == 1.0);
    }
    CHECK(ictusi_interval_start(1e9, 31) == 134217728.0);
    CHECK(ictusi_interval_start(1e9, 40) == 1e9 && ictusi_interval_start(1e9, 1000) == 1e9);
}

/* A running discipline: noise of 1 us, and a frequency that walks by sqrt(3) ns/s. */
static struct discipline running(void)
{
    struct discipline d;
    ictusi_discipline_init(&d, ICTUS_LOCK_ADAPTIVE, 0.0, 120.0);
    d.started = true;
    d.accepted = 10;
    d.noise_ns2 = 1e6;
    d.walk_ns2_per_s3 = 3.0;
    return d;
}

static struct interval_options options_of(enum ictus_lock_policy policy)
{
    return (struct interval_options){
        .policy = policy, .tmin_s = 1.0, .tmax_s = 512.0, .exchanges = 5, .exchanges_max = 32};
}

static double next_of(const struct interval_options *o, const struct discipline *d, double last)
{
    return ictusi_interval_next(o, d, last).interval_s;
}

/* The clock wanders by t^1.5 ns in t s: by as much as the noise in 100 s. */
static void best_intervals_end_where_wander_begins(void)
{
    struct discipline d = running();
    struct interval_options o = options_of(ICTUS_LOCK_BEST);
    CHECK(next_of(&o, &d, 64.0) == 64.0 && next_of(&o, &d, 33.0) == 64.0);
    CHECK(next_of(&o, &d, 8.0) == 16.0 && next_of(&o, &d, 200.0) == 100.0);
    o.tmax_s = 50.0;
    CHECK(next_of(&o, &d, 64.0) == 50.0);
    o.tmin_s = 80.0;
    o.tmax_s = 512.0;
    CHECK(next_of(&o, &d, 80.0) == 80.0 && next_of(&o, &d, 8.0) == 80.0);
    d.noise_ns2 = 0.5;
    o.tmin_s = 1.0;
    CHECK(next_of(&o, &d, 1.0) == 1.0);
    d = running();
    d.accepted = 3;
    CHECK(next_of(&o, &d, 64.0) == 1.0);
    d.accepted = 4;
    CHECK(next_of(&o, &d, 64.0) == 64.0);
    d.glitches = 1;
    CHECK(next_of(&o, &d, 64.0) == 1.0);
}

static void cheapest_intervals_cost_least(void)
{
    const struct interval_options o = options_of(ICTUS_LOCK_CHEAPEST);
    struct discipline d = running();
    for (d.noise_ns2 = 1.0; d.noise_ns2 < 1e9; d.noise_ns2 *= 30.0) {
        double best = 1.0;
        double least = INFINITY;
        for (double t = 1.0; t <= 512.0; t *= 2.0) {
            const double sigma = ictusi_discipline_steady_sigma(&d, t, 1.0);
            best = sigma * sigma / t < least ? t : best;
            least = fmin(least, sigma * sigma / t);
        }
        CHECK(next_of(&o, &d, best) == best);
    }
}

static void targets_are_met(void)
{
    struct interval_options o = options_of(ICTUS_LOCK_TARGET);
    const struct discipline d = running();
    o.sigma_ns = (ictusi_discipline_steady_sigma(&d, 16.0, 1.0) +
                  ictusi_discipline_steady_sigma(&d, 32.0, 1.0)) /
                 2;
    CHECK(next_of(&o, &d, 16.0) == 16.0);
    CHECK(ictusi_interval_next(&o, &d, 16.0).exchanges == 5);
    o.sigma_ns = 1e9;
    CHECK(next_of(&o, &d, 512.0) == 512.0);
    o.sigma_ns = (ictusi_discipline_steady_sigma(&d, 1.0, 1.0) +
                  ictusi_discipline_steady_sigma(&d, 2.0, 1.0)) /
                 2;
    CHECK(next_of(&o, &d, 1.0) == 1.0 && ictusi_interval_next(&o, &d, 1.0).exchanges == 5);
    o.tmin_s = 0.5;
    CHECK(next_of(&o, &d, 1.0) == 1.0);
    o.tmin_s = 1.0;
    o.sigma_ns = (ictusi_discipline_steady_sigma(&d, 1.0, 2.0) +
                  ictusi_discipline_steady_sigma(&d, 1.0, 4.0)) /
                 2;
    o.exchanges_max = 400;
    CHECK(ictusi_interval_next(&o, &d, 1.0).exchanges == 20 && next_of(&o, &d, 1.0) == 1.0);
    o.exchanges_max = 32;
    o.sigma_ns = 1e-3;
    CHECK(ictusi_interval_next(&o, &d, 1.0).exchanges == 20);
    o.exchanges_max = 40;
    CHECK(ictusi_interval_next(&o, &d, 1.0).exchanges == 40);
    o.policy = ICTUS_LOCK_FIXED;
    CHECK(next_of(&o, &d, 1.0) == 1.0 && next_of(&o, &d, 64.0) == 32.0);
}

/* Covariances as matrices: F P F' + Q, then (I - K H) P (I - K H)' + K R K'. */
struct matrix {
    double a[2][2];
};

static struct matrix matrix_times(struct matrix x, struct matrix y)
{
    struct matrix z = {{{0}}};
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) {
            z.a[i][k] = x.a[i][0] * y.a[0][k] + x.a[i][1] * y.a[1][k];
        }
    }
    return z;
}

static struct matrix matrix_around(struct matrix x, struct matrix p)
{
    const struct matrix turned = {{{x.a[0][0], x.a[1][0]}, {x.a[0][1], x.a[1][1]}}};
    return matrix_times(matrix_times(x, p), turned);
}

static struct matrix matrix_carry(struct matrix p, double dt, double walk)
{
    const struct matrix f = {{{1.0, dt}, {0.0, 1.0}}};
    struct matrix next = matrix_around(f, p);
    next.a[0][0] += walk * dt * dt * dt / 3.0 + 1e-4 * dt;
    next.a[0][1] += walk * dt * dt / 2.0;
    next.a[1][0] += walk * dt * dt / 2.0;
    next.a[1][1] += walk * dt;
    return next;
}

static struct matrix matrix_correct(struct matrix p, double noise, double gp, double gf)
{
    const struct matrix rest = {{{1.0 - gp, 0.0}, {-gf, 1.0}}};
    struct matrix next = matrix_around(rest, p);
    next.a[0][0] += gp * gp * noise;
    next.a[0][1] += gp * gf * noise;
    next.a[1][0] += gp * gf * noise;
    next.a[1][1] += gf * gf * noise;
    return next;
}

static double steady(const struct discipline *d, double dt, double fewer)
{
    struct matrix p = {{{d->noise_ns2, 0.0}, {0.0, 1e4}}};
    const double noise = fmax(1.0, d->noise_ns2 / fewer);
    for (int i = 0; i <= 200; i++) {
        p = matrix_carry(p, dt, d->walk_ns2_per_s3);
        const double s = p.a[0][0] + noise;
        double gp = p.a[0][0] / s;
        double gf = p.a[1][0] / s;
        if (d->loop == ICTUS_LOCK_FLL) {
            gp = 1.0;
            gf = 1.0 / (dt + d->tconf_s);
        } else if (d->loop == ICTUS_LOCK_PLL) {
            gp = 1.0 - exp(-2.0 * dt / d->tconf_s);
            gf = gp * gp / (4.0 * dt);
        }
        if (i < 200) {
            p = matrix_correct(p, noise, gp, gf);
        }
    }
    return sqrt(p.a[0][0]);
}

static void steady_error_solves_riccati(enum ictus_lock_loop loop)
{
    struct discipline d = running();
    d.loop = loop;
    for (double dt = 1.0; dt < 300.0; dt *= 7.0) {
        const double one = steady(&d, dt, 1.0);
        const double four = steady(&d, dt, 4.0);
        CHECK_NEAR(ictusi_discipline_steady_sigma(&d, dt, 1.0), one, 1e-6 * one);
        CHECK_NEAR(ictusi_discipline_steady_sigma(&d, dt, 4.0), four, 1e-6 * four);
    }
    d.noise_ns2 = 0.5; /* no measurement is better than a nanosecond */
    CHECK_NEAR(ictusi_discipline_steady_sigma(&d, 1.0, 1.0), steady(&d, 1.0, 1.0), 1e-6);
}

/*
 * Errors that the covariance does not cover are added: held measurements, asymmetric waits, the
 * path.
 */
static void doubts_are_told(void)
{
    struct discipline d = running();
    d.at = 5 * second;
    d.state = (struct kalman){.phase = 1000, .frequency = 2, .pp = 400, .pf = 3, .ff = 0.5};
    struct kalman k = ictusi_discipline_predict(&d, 9 * second);
    CHECK_NEAR(k.phase, 1008, 1e-9);
    CHECK_NEAR(k.pp, 400 + 24 + 8 + 64 + 4e-4, 1e-9);
    CHECK_NEAR(k.pf, 3 + 2 + 24, 1e-9);
    CHECK_NEAR(k.ff, 0.5 + 12, 1e-9);
    k = ictusi_discipline_predict(&d, 2 * second); /* the past is as the state */
    CHECK(k.phase == 1000 && k.pp == 400);
    d.common_ns = 10;
    CHECK_NEAR(ictusi_discipline_predict(&d, 5 * second).pp, 500, 1e-9);
    d.innovation_ns = 20;
    CHECK_NEAR(ictusi_discipline_predict(&d, 5 * second).pp, 500, 1e-9);
    d.glitches = 1;
    CHECK_NEAR(ictusi_discipline_predict(&d, 5 * second).pp, 900, 1e-9);
    d.bias_ns = 10;
    d.bias_ns2 = 40;
    CHECK_NEAR(ictusi_discipline_predict(&d, 5 * second).pp, 940, 1e-9);
    d.bias_ns2 = 70;
    CHECK_NEAR(ictusi_discipline_predict(&d, 5 * second).pp, 900, 1e-9);
}

static bool is_held(double sd_ns, double asked_ns, double innovation_ns, uint64_t accepted)
{
    struct discipline d = running();
    const struct measurement m = {.local = 1, .offset_ns = 0, .offset_frac = innovation_ns};
    d.accepted = accepted;
    d.sigma_ns = asked_ns;
    d.state.pp = sd_ns * sd_ns;
    const bool held = ictusi_discipline_update(&d, &m) == DISCIPLINE_GLITCH;
    CHECK(d.accepted == accepted + !held && d.rejected == held && d.glitches == held);
    CHECK_NEAR(d.innovation_ns, innovation_ns, 1e-9);
    return held;
}

/*
 * Measurements beyond three deviations and the requirement are held, but not while nothing is
 * known.
 */
static void glitches_are_held(void)
{
    CHECK(!is_held(10, 0, 29.9, 10) && is_held(10, 0, 30.1, 10));
    CHECK(!is_held(10, 0, -29.9, 10) && is_held(10, 0, -30.1, 10));
    CHECK(!is_held(10, 50, 49.9, 10) && is_held(10, 50, 50.1, 10));
    CHECK(is_held(10, 0, 31, 4) && !is_held(10, 0, 31, 3));
    struct discipline d = running();
    d.at = 7;
    const struct measurement old = {.local = 7, .offset_ns = 3};
    CHECK(ictusi_discipline_update(&d, &old) == DISCIPLINE_GLITCH && d.rejected == 0);
}

static void locks_are_declared(void)
{
    struct discipline d = running();
    d.walk_ns2_per_s3 = 0;
    d.noise_ns2 = 100;
    d.state.pp = 39.9 * 39.9;
    CHECK(ictusi_discipline_locked(&d, 1e-6));
    d.state.pp = 40.2 * 40.2;
    CHECK(!ictusi_discipline_locked(&d, 1e-6));
    d.sigma_ns = 41;
    CHECK(ictusi_discipline_locked(&d, 1e-6));
    d.state.ff = 4; /* off by 2 ns more after a second, and by 7200 after an hour */
    CHECK(ictusi_discipline_locked(&d, 1.0) && !ictusi_discipline_locked(&d, 3600.0));
    d.accepted = 3;
    CHECK(ictusi_discipline_locked(&d, 1.0));
    d.accepted = 2;
    CHECK(!ictusi_discipline_locked(&d, 1.0));
    d = running();
    d.walk_ns2_per_s3 = 1e8; /* no better than possible with such rare polls */
    const double steady_ns = ictusi_discipline_steady_sigma(&d, 16.0, 1.0);
    const double later_ns2 = 1e8 * 4096.0 / 3.0 + 16e-4;
    d.state.pp = 3.9 * steady_ns * steady_ns - later_ns2;
    CHECK(ictusi_discipline_locked(&d, 16.0));
    d.state.pp = 4.1 * steady_ns * steady_ns - later_ns2;
    CHECK(!ictusi_discipline_locked(&d, 16.0));
}

static void starts_use_what_is_known(void)
{
    struct discipline d;
    struct measurement m = {
        .local = 3 * second, .offset_ns = 77, .offset_frac = 0.25, .variance_ns2 = 400};
    ictusi_discipline_init(&d, ICTUS_LOCK_FLL, 5.0, 120.0);
    ictusi_discipline_expect(&d, 1500.0, 20.0);
    CHECK(ictusi_discipline_update(&d, &m) == DISCIPLINE_FIRST);
    CHECK(d.origin_ns == 77 && d.state.phase == 0.25 && d.state.frequency == 1500.0);
    CHECK(d.state.pp == 400.0 && d.state.ff == 400.0 && d.state.pf == 0.0 && d.noise_ns2 == 400.0);
    CHECK(d.at == 3 * second && d.accepted == 1 && d.stability.count == 1);
    for (int i = 0; i < DISCIPLINE_WALKS * DISCIPLINE_SCALES; i++) {
        const int walk = i / DISCIPLINE_SCALES;
        CHECK_NEAR(d.bank[i].state.pp, 400.0 * d.bank[i].scale, 1e-9);
        CHECK_NEAR(d.bank[i].walk_ns2_per_s3, 1e-4 * pow(10, walk),
                   1e-9 * d.bank[i].walk_ns2_per_s3);
        CHECK_NEAR(d.bank[i].scale, pow(4, i % DISCIPLINE_SCALES - 2), 1e-12);
    }
    ictusi_discipline_restart(&d);
    CHECK(!d.started && d.accepted == 0 && d.glitches == 0 && d.steps == 1);
    ictusi_discipline_expect(&d, 0.0, 1e9);
    CHECK(d.prior_sd == 1e5);
}

/* A source that reports: within half_ns of this, with noise of variance pp. */
static struct candidate says(double offset_ns, double half_ns, double pp)
{
    return (struct candidate){.votes = true,
                              .counts = true,
                              .offset_ns = offset_ns,
                              .frequency = offset_ns / 10,
                              .low_ns = offset_ns - half_ns,
                              .high_ns = offset_ns + half_ns,
                              .rate_low = offset_ns - 5,
                              .rate_high = offset_ns + 6,
                              .pp = pp,
                              .pf = pp / 2,
                              .ff = pp / 4,
                              .selection = ICTUS_SOURCE_UNREACHABLE};
}

/* The weight is the inverse of the noise plus a twelfth of the interval's squared width. */
static void sources_are_weighed(void)
{
    struct candidate c[3] = {says(100, 60, 400), says(130, 60, 1600), says(110, 600, 100)};
    const double w[2] = {1.0 / (400 + 1200), 1.0 / (1600 + 1200)};
    const double sum = w[0] + w[1];
    struct consensus out;
    REQUIRE(ictusi_select(c, 3, &out));
    CHECK(out.selected == 0 && out.voters == 3 && out.agreeing == 3 && out.liars == 1);
    CHECK(c[0].selection == ICTUS_SOURCE_SELECTED && c[1].selection == ICTUS_SOURCE_COMBINED);
    CHECK(c[2].selection == ICTUS_SOURCE_TRUECHIMER); /* too vague for the mean */
    CHECK_NEAR(out.offset_ns, (100 * w[0] + 130 * w[1]) / sum, 1e-9);
    CHECK_NEAR(out.frequency, (10 * w[0] + 13 * w[1]) / sum, 1e-9);
    const double pp = (400 * w[0] * w[0] + 1600 * w[1] * w[1]) / (sum * sum);
    CHECK_NEAR(out.pp, pp, 1e-9);
    CHECK_NEAR(out.pf, pp / 2, 1e-9);
    CHECK_NEAR(out.ff, pp / 4, 1e-9);
    /* What two of three share begins and ends with the two narrow intervals. */
    CHECK(out.low_ns == 40 && out.high_ns == 190 && out.rate_low == 105 && out.rate_high == 106);
    c[0].counts = c[1].counts = false;
    REQUIRE(ictusi_select(c, 3, &out));
    CHECK(out.selected == 2 && out.offset_ns == 110);
    c[2].counts = false;
    REQUIRE(ictusi_select(c, 3, &out));
    CHECK(out.selected == -1 && out.low_ns == 40 && out.high_ns == 190 && out.agreeing == 3);
    c[2].votes = false;
    c[2].selection = ICTUS_SOURCE_UNREACHABLE;
    REQUIRE(ictusi_select(c, 3, &out));
    CHECK(out.voters == 2 && out.liars == 0 && out.low_ns == 70 && out.high_ns == 160);
    CHECK(c[2].selection == ICTUS_SOURCE_UNREACHABLE);
}

/* The limit for the mean is three standard deviations. */
static void noisy_sources_are_left_out(void)
{
    for (int over = 0; over < 2; over++) {
        struct candidate c[2] = {says(100, 0, 100), says(100, 0, 900 + over)};
        struct consensus out;
        REQUIRE(ictusi_select(c, 2, &out));
        CHECK(c[1].selection == (over ? ICTUS_SOURCE_TRUECHIMER : ICTUS_SOURCE_COMBINED));
    }
}

/* Of n sources, at most (n - 1) / 2 may be wrong; intervals that touch share a point. */
static void some_lie(int n, int lying)
{
    struct candidate c[8];
    struct consensus out;
    const bool possible = 2 * lying < n;
    for (int i = 0; i <= n; i++) { /* the last one is nobody's */
        c[i] = says(i < lying ? 1e6 * (i + 1) : i % 2 ? 50 : -50, i < n ? 50 : 1e9, 1);
    }
    CHECK(ictusi_select(c, n, &out) == possible);
    CHECK(out.voters == n && out.liars == (n - 1) / 2 && (possible || out.selected == -1));
    for (int i = 0; i < n; i++) {
        CHECK((c[i].selection == ICTUS_SOURCE_FALSETICKER) == (i < lying || !possible));
    }
    CHECK(!possible || (out.low_ns <= 0 && out.high_ns >= 0 && out.agreeing == n - lying));
    CHECK(c[n].selection == ICTUS_SOURCE_UNREACHABLE);
}

static void minorities_may_lie(void)
{
    for (int n = 1; n <= 7; n++) {
        for (int lying = 0; lying <= n - (n == 1); lying++) {
            some_lie(n, lying);
        }
    }
}

static void first_of_equals_is_selected(void)
{
    struct candidate c[2] = {says(100, 60, 400), says(100, 60, 400)};
    struct consensus out;
    REQUIRE(ictusi_select(c, 2, &out));
    CHECK(out.selected == 0);
    c[0].votes = c[1].votes = false;
    CHECK(!ictusi_select(c, 2, &out));
    CHECK(out.voters == 0 && out.liars == 0 && out.selected == -1);
}

/*
 * An estimate outside the common interval is moved to its edge, and its error grows by the
 * distance. If rates contradict each other, any oscillator's rate is possible.
 */
static void estimates_are_held_inside(void)
{
    struct candidate c[2] = {says(100, 50, 100), says(190, 50, 100)};
    struct consensus out;
    c[0].offset_ns = 80;
    c[0].pp = 1;
    c[1].counts = false;
    REQUIRE(ictusi_select(c, 2, &out));
    CHECK(out.low_ns == 140 && out.high_ns == 150 && out.offset_ns == 140);
    CHECK_NEAR(out.pp, 1 + 60.0 * 60.0, 1e-9);
    CHECK(out.rate_low == -2e5 && out.rate_high == 2e5);
    c[0].offset_ns = 170;
    REQUIRE(ictusi_select(c, 2, &out));
    CHECK(out.offset_ns == 150);
    CHECK_NEAR(out.pp, 1 + 20.0 * 20.0, 1e-9);
}

int main(void)
{
    sources_are_weighed();
    noisy_sources_are_left_out();
    minorities_may_lie();
    first_of_equals_is_selected();
    estimates_are_held_inside();
    stability_is_of_second_differences();
    stability_knows_uneven_spans();
    stability_is_carried();
    polls_begin_soon();
    best_intervals_end_where_wander_begins();
    cheapest_intervals_cost_least();
    targets_are_met();
    steady_error_solves_riccati(ICTUS_LOCK_ADAPTIVE);
    steady_error_solves_riccati(ICTUS_LOCK_FLL);
    steady_error_solves_riccati(ICTUS_LOCK_PLL);
    doubts_are_told();
    glitches_are_held();
    locks_are_declared();
    starts_use_what_is_known();
    return check_result();
}

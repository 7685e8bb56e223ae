/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The envelope and the adaptive pair estimator: exact lines, false stamps, claimed errors, bad
 * input.
 */
#include "core/adaptive.h"
#include "core/bounds.h"
#include "core/envelope.h"
#include "core/estimator.h"
#include "core/fit.h"
#include "core/least_delay.h"
#include "core/random.h"
#include "core/stats.h"

#include <ictus/error.h>

#include "../check.h"

enum { COUNT = 800 };

static const int64_t origins[] = {0, -5000000000, 1700000000000000000, -1700000000000000000};

struct world {
    int64_t origin, apart;
    double drift, jitter, too_fast;
};

static void simulate(struct rng *rng, const struct world *w, struct stamp *stamps, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const double sent = 1e6 * (double)i;
        double there = sent + 1500.0 + w->jitter * ictusi_random_exponential(rng);
        const double back = there + 1500.0 + w->jitter * ictusi_random_exponential(rng);
        if (ictusi_random_uniform(rng) < w->too_fast) {
            there -= 1400.0; /* the server's stamp is wrong and appears too early */
        }
        stamps[i].sent = w->origin + (int64_t)sent;
        stamps[i].remote = w->origin + w->apart + (int64_t)nearbyint(there + w->drift * there);
        stamps[i].received = w->origin + (int64_t)nearbyint(back);
    }
}

static double missed(const struct line *line, const struct world *w, double later_ns)
{
    const double value = (double)(line->offset - w->apart) + line->frac + line->slope * later_ns;
    return value - w->drift * ((double)(line->anchor - w->origin) + later_ns);
}

static void recovers_line_and_bounds_it(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    for (int k = 0; k < 12; k++) {
        const struct world w = {origins[k % 4], -3200000000, (k - 6) * 8e-6, 300.0,
                                k % 3 ? 0.0 : 0.002};
        struct stamp stamps[COUNT];
        struct line line;
        struct line_error error;
        simulate(&rng, &w, stamps, COUNT);
        REQUIRE(!ictusi_adaptive_fit(stamps, COUNT, NULL, &line, &error, NULL));
        CHECK_NEAR(missed(&line, &w, 0.0), 0.0, 8.0);
        CHECK_NEAR(missed(&line, &w, 1e10), 0.0, 150.0);
        CHECK(fabs(missed(&line, &w, 0.0)) <= error.bound_ns + 1.0);
        CHECK(ictusi_line_error_sigma(&error, 0.0) < 10.0);
        CHECK(error.bound_slope_ns_per_s >= ICTUSI_DRIFT_MAX_NS_PER_S);
    }
}

/* A request that waits for its server breaks no bound, although the clocks drift in the meantime.
 */
static void a_wait_breaks_no_bound(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    for (int k = 0; k < 40; k++) {
        const struct world w = {origins[k % 4], 5000, (k % 10 - 4.5) * 40e-6, 300.0, 0.0};
        struct stamp stamps[COUNT];
        struct line line;
        struct line_error error;
        simulate(&rng, &w, stamps, COUNT);
        const size_t waits = (size_t)k * 7 % COUNT;
        const double wait = 2e6 * (1 + k);
        for (size_t i = waits; i < COUNT; i++) {
            stamps[i].received += (int64_t)wait;
            stamps[i].remote += (int64_t)nearbyint(wait + w.drift * wait);
            stamps[i].sent += i > waits ? (int64_t)wait : 0;
        }
        REQUIRE(!ictusi_adaptive_fit(stamps, COUNT, NULL, &line, &error, NULL));
        CHECK_NEAR(missed(&line, &w, 0.0), 0.0, 8.0);
        CHECK(fabs(missed(&line, &w, 0.0)) <= error.bound_ns + 1.0);
        CHECK(error.bound_ns < 4000.0);
    }
}

static void works_from_one_exchange_up(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 8, 0);
    const struct world w = {1700000000000000000, 12345678901, 0.0, 300.0, 0.0};
    struct stamp stamps[COUNT];
    simulate(&rng, &w, stamps, COUNT);
    for (size_t n = 1; n < 120; n++) {
        struct line line;
        struct line_error error;
        REQUIRE(!ictusi_adaptive_fit(stamps, n, NULL, &line, &error, NULL));
        CHECK_NEAR(missed(&line, &w, 0.0), 0.0, 2000.0);
        CHECK(fabs(missed(&line, &w, 0.0)) <= error.bound_ns + 1.0);
    }
}

static void exact_without_jitter(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 9, 0);
    const struct world w = {-1700000000000000000, 1, 12.5e-6, 0.0, 0.0};
    struct stamp stamps[COUNT];
    struct line line;
    simulate(&rng, &w, stamps, COUNT);
    for (size_t n = 20; n <= COUNT; n += 195) {
        REQUIRE(!ictusi_adaptive_fit(stamps, n, NULL, &line, NULL, NULL));
        CHECK_NEAR(missed(&line, &w, 0.0), 0.0, 1.0);
    }
}

static void envelope_range_contains_every_fitting_line(void)
{
    struct rng rng;
    ictusi_random_seed(&rng, 10, 0);
    const struct world w = {0, 5000, 20e-6, 300.0, 0.0};
    struct stamp stamps[COUNT];
    struct bounds bounds = {0};
    struct envelope envelope = {0};
    simulate(&rng, &w, stamps, COUNT);
    REQUIRE(!ictusi_bounds_create(stamps, COUNT, &bounds));
    REQUIRE(!ictusi_envelope_reserve(COUNT, &envelope));
    ictusi_envelope_build(&bounds, &envelope);
    double margin = 0.0;
    const struct trend middle = ictusi_envelope_middle(&envelope, 2e5, &margin);
    CHECK(margin >= 0.0);
    for (double t = -2.0; t < 12.0; t += 0.5) {
        double low = 0.0;
        double high = 0.0;
        REQUIRE(ictusi_envelope_range(&envelope, 2e5, t, &low, &high));
        const double value = middle.at_zero + middle.slope * t;
        const double truth =
            5000.0 + w.drift * ((double)bounds.anchor + t * 1e9) - (double)bounds.base;
        CHECK(low <= value + 1e-6 && value <= high + 1e-6);
        CHECK(low <= truth + 1.0 && truth <= high + 1.0);
    }
    /* There is no line if the remote clock steps. */
    for (size_t i = COUNT / 2; i < COUNT; i++) {
        bounds.upper[i] += 1e7;
        bounds.lower[i] += 1e7;
    }
    double low = 0.0;
    double high = 0.0;
    ictusi_envelope_build(&bounds, &envelope);
    CHECK(!ictusi_envelope_range(&envelope, 2e5, 0.0, &low, &high));
    ictusi_envelope_free(&envelope);
    ictusi_bounds_free(&bounds);
}

/* The mean of the smaller of two out of sixteen values, over all pairs with repetition. */
static void least_of_two_is_that_of_all_pairs(void)
{
    enum { N = 16 };
    double delays[N];
    double mean = 0.0;
    double smaller = 0.0;
    for (int i = 0; i < N; i++) {
        delays[i] = 3.0 + i * i;
        mean += delays[i] / N;
    }
    for (int i = 0; i < N; i++) {
        for (int j = 0; j < N; j++) {
            smaller += fmin(delays[i], delays[j]) / (N * N);
        }
    }
    CHECK_NEAR(ictusi_least_delay(delays, N, 1.0).value, mean, 1e-5);
    CHECK_NEAR(ictusi_least_delay(delays, N, 2.0).value, smaller, 1e-5);
    CHECK(ictusi_least_delay(delays, N, 16.0).value == 3.0);
    CHECK(ictusi_least_delay(delays, 1, 1.0).value == 3.0);
}

static double draw_delay(struct rng *rng, int shape)
{
    switch (shape) {
    case 0:
        return 300.0 * ictusi_random_exponential(rng);
    case 1:
        return 100.0 * (ictusi_random_exponential(rng) + ictusi_random_exponential(rng) +
                        ictusi_random_exponential(rng));
    case 2:
        return 300.0 * exp(ictusi_random_normal(rng) - 0.5);
    default:
        return fmax(300.0 * (4.0 + ictusi_random_normal(rng)), 0.0);
    }
}

/* The scatter of draws of 400 delays agrees with the error that each of them claims. */
static void least_delays_scatter_as_claimed(void)
{
    enum { N = 400, DRAWS = 300 };
    struct rng rng;
    ictusi_random_seed(&rng, 12, 0);
    for (int shape = 0; shape < 4; shape++) {
        for (int fewer = 1; fewer <= 64; fewer *= 16) {
            double claimed = 0.0;
            double values[DRAWS];
            for (int k = 0; k < DRAWS; k++) {
                double delays[N];
                for (int i = 0; i < N; i++) {
                    delays[i] = draw_delay(&rng, shape);
                }
                ictusi_stats_sort(delays, N);
                const struct least_delay least = ictusi_least_delay(delays, N, (double)N / fewer);
                values[k] = least.value;
                claimed += least.variance / DRAWS;
            }
            const double ratio = sqrt(claimed) / ictusi_stats_sd(values, DRAWS);
            CHECK(fewer > 1 ? ratio > 0.8 && ratio < 1.25 : ratio > 0.5 && ratio < 2.0);
        }
    }
}

/*
 * Bursts with a known slope, compared with the midpoint between the shortest delays. That is the
 * best estimator if delays accumulate at their minimum. The adaptive one is not much worse there,
 * and better elsewhere.
 */
static void offsets_follow_the_foot_of_the_delays(void)
{
    enum { N = 400, BURSTS = 100 };
    static const double reach[] = {1.0, 0.75, 1.2, 0.3};
    static const struct adaptive_slope known = {0.0, 1.0};
    struct rng rng;
    ictusi_random_seed(&rng, 13, 0);
    for (int shape = 0; shape < 4; shape++) {
        double square = 0.0;
        double least = 0.0;
        double claimed = 0.0;
        for (int k = 0; k < BURSTS; k++) {
            struct stamp stamps[N];
            struct line line;
            struct line_error error;
            struct offset offset;
            for (int i = 0; i < N; i++) {
                const double sent = 1e4 * i;
                const double there = sent + 1500.0 + draw_delay(&rng, shape);
                const double back = there + 1500.0 + draw_delay(&rng, shape);
                stamps[i] = (struct stamp){(int64_t)sent, (int64_t)there, (int64_t)back};
            }
            REQUIRE(!ictusi_adaptive_fit(stamps, N, &known, &line, &error, NULL));
            REQUIRE(!ictusi_estimator_offset_skampi(stamps, N, &offset));
            CHECK(line.slope == 0.0);
            square += pow((double)line.offset + line.frac, 2.0) / BURSTS;
            least += pow((double)offset.offset + offset.frac, 2.0) / BURSTS;
            claimed += error.offset_var_ns2 / BURSTS;
        }
        CHECK(square <= reach[shape] * reach[shape] * least);
        CHECK(square <= 2.5 * claimed);
    }
}

static void bad_stamps_are_told(void)
{
    struct line line;
    const struct stamp backwards[] = {{100, 5, 110}, {90, 5, 95}};
    const struct stamp negative[] = {{100, 5, 90}};
    CHECK(ictusi_adaptive_fit(backwards, 0, NULL, &line, NULL, NULL) == ICTUS_ERR_SAMPLES);
    CHECK(ictusi_adaptive_fit(backwards, 2, NULL, &line, NULL, NULL) == ICTUS_ERR_CLOCK);
    CHECK(ictusi_adaptive_fit(negative, 1, NULL, &line, NULL, NULL) == ICTUS_ERR_CLOCK);
}

int main(void)
{
    recovers_line_and_bounds_it();
    a_wait_breaks_no_bound();
    works_from_one_exchange_up();
    exact_without_jitter();
    envelope_range_contains_every_fitting_line();
    least_of_two_is_that_of_all_pairs();
    least_delays_scatter_as_claimed();
    offsets_follow_the_foot_of_the_delays();
    bad_stamps_are_told();
    return check_result();
}

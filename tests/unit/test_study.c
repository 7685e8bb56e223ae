/* SPDX-License-Identifier: BSD-3-Clause */
/* What round trips and offsets say: exact expectations against simulation, lines against truth. */
#include "core/random.h"
#include "core/stats.h"

#include <ictus/study.h>

#include "../check.h"

enum { SAMPLE = 400, RUNS = 20000 };

/* H08 3.1 as the paper simulates it. */
static void simulate(const double *sorted, size_t n, size_t patience, struct rng *rng,
                     double *exchanges, double *error)
{
    double count = 0.0;
    double excess = 0.0;
    for (int run = 0; run < RUNS; run++) {
        double best = 1e300;
        size_t since = 0;
        size_t draws = 0;
        for (; since < patience || draws == 0; draws++) {
            const double value = sorted[(size_t)(ictusi_random_uniform(rng) * (double)n)];
            since = value < best && draws > 0 ? 0 : since + (draws > 0 ? 1 : 0);
            best = value < best ? value : best;
        }
        count += (double)draws;
        excess += best - sorted[0];
    }
    *exchanges = count / RUNS;
    *error = excess / RUNS;
}

static void patience_is_what_simulation_says(void)
{
    static const size_t patiences[] = {1, 2, 5, 20, 100};
    double sample[SAMPLE];
    struct rng rng;
    ictusi_random_seed(&rng, 11, 0);
    for (int i = 0; i < SAMPLE; i++) {
        /* Coarse on purpose: equal values must not count as smaller. */
        sample[i] = 1500.0 + floor(-300.0 * log(1.0 - ictusi_random_uniform(&rng)) / 10.0) * 10.0;
    }
    ictusi_stats_sort(sample, SAMPLE);
    for (size_t i = 0; i < sizeof(patiences) / sizeof(patiences[0]); i++) {
        double exchanges = 0.0;
        double error = 0.0;
        double simulated_exchanges = 0.0;
        double simulated_error = 0.0;
        CHECK(!ictus_patience(sample, SAMPLE, patiences[i], &exchanges, &error));
        simulate(sample, SAMPLE, patiences[i], &rng, &simulated_exchanges, &simulated_error);
        CHECK_NEAR(exchanges, simulated_exchanges, 0.03 * simulated_exchanges);
        CHECK_NEAR(error, simulated_error, 0.05 * simulated_error + 0.1);
    }
}

static void patience_knows_its_limits(void)
{
    static const double one[] = {7.0};
    static const double same[] = {7.0, 7.0, 7.0};
    double exchanges = 0.0;
    double error = 1.0;
    CHECK(!ictus_patience(one, 1, 100, &exchanges, &error));
    CHECK_NEAR(exchanges, 101.0, 1e-9);
    CHECK_NEAR(error, 0.0, 0.0);
    CHECK(!ictus_patience(same, 3, 5, &exchanges, &error));
    CHECK_NEAR(exchanges, 6.0, 1e-9);
    CHECK(ictus_patience(one, 0, 5, &exchanges, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_patience(one, 1, 0, &exchanges, &error) == ICTUS_ERR_ARG);
}

static void minimum_of_draws(void)
{
    static const double values[] = {1.0, 2.0, 4.0};
    double error = 0.0;
    CHECK(!ictus_minimum_excess(values, 3, 1, &error));
    CHECK_NEAR(error, 7.0 / 3.0 - 1.0, 1e-12);
    /* Two draws: 9 pairs, of which 5 hold a 1, 3 end at 2, 1 at 4. */
    CHECK(!ictus_minimum_excess(values, 3, 2, &error));
    CHECK_NEAR(error, (5.0 * 1 + 3.0 * 2 + 1.0 * 4) / 9.0 - 1.0, 1e-12);
    CHECK(!ictus_minimum_excess(values, 3, 1000, &error));
    CHECK_NEAR(error, 0.0, 1e-12);
    CHECK(!ictus_minimum_excess(values, 1, 7, &error));
    CHECK_NEAR(error, 0.0, 0.0);
    CHECK(ictus_minimum_excess(NULL, 3, 1, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 0, 1, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 3, 0, &error) == ICTUS_ERR_ARG);
    CHECK(ictus_minimum_excess(values, 3, 1, NULL) == ICTUS_ERR_ARG);
}

static void lines_through_points(void)
{
    double times[100];
    double offsets[100];
    struct ictus_straight line;
    for (int i = 0; i < 100; i++) {
        times[i] = 0.5 * i;
        offsets[i] = 3e6 - 12500.0 * times[i];
    }
    CHECK(!ictus_straight_fit(times, offsets, 100, &line));
    CHECK_NEAR(line.slope_ppm, -12.5, 1e-9);
    CHECK_NEAR(line.intercept_ns, 3e6, 1e-5);
    CHECK_NEAR(line.r2, 1.0, 1e-12);
    CHECK_NEAR(line.max_residual_ns, 0.0, 1e-5);
    offsets[99] += 1000.0;
    CHECK(!ictus_straight_fit(times, offsets, 100, &line));
    CHECK(line.r2 < 1.0 && line.max_residual_ns > 900.0);
    CHECK(ictus_straight_fit(times, offsets, 1, &line) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_fit(times, NULL, 5, &line) == ICTUS_ERR_ARG);
    times[1] = times[0];
    CHECK(ictus_straight_fit(times, offsets, 2, &line) == ICTUS_ERR_SAMPLES);
}

/* A parabola leaves its tangent by a known time. */
static void lines_hold_so_long(void)
{
    enum { N = 1000 };
    static double times[N];
    static double offsets[N];
    struct ictus_holding holding;
    for (int i = 0; i < N; i++) {
        times[i] = 0.1 * i;
        offsets[i] = 10.0 * times[i] * times[i];
    }
    /* A chord over 1 s of 10 t^2 has left by 1000 ns when (t - middle)^2 = 100 or so: 9.5 s. */
    CHECK(!ictus_straight_holding(times, offsets, N, 1.0, 1000.0, &holding));
    CHECK_NEAR(holding.median_s, 9.5, 0.3);
    CHECK_NEAR(holding.least_s, 9.5, 0.3);
    CHECK(holding.median_known && holding.lasted > 0 && holding.lasted < holding.lines);
    /* One stray point ends nothing. */
    for (int i = 0; i < N; i++) {
        offsets[i] = i == 500 ? 1e6 : 5.0 * times[i];
    }
    CHECK(!ictus_straight_holding(times, offsets, 490, 1.0, 1000.0, &holding));
    CHECK(holding.lasted == holding.lines);
    CHECK(!holding.median_known);
    CHECK_NEAR(holding.median_s, 47.9, 0.3);
    CHECK(ictus_straight_holding(times, offsets, N, 1000.0, 1000.0, &holding) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_holding(times, offsets, 0, 1.0, 1000.0, &holding) == ICTUS_ERR_SAMPLES);
    CHECK(ictus_straight_holding(times, offsets, N, 0.0, 1000.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, 0.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, NAN, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, NULL, N, 1.0, 1000.0, &holding) == ICTUS_ERR_ARG);
    CHECK(ictus_straight_holding(times, offsets, N, 1.0, 1000.0, NULL) == ICTUS_ERR_ARG);
}

/* The lines that are tried are bounded: each is followed along all points. */
static void many_points_take_no_more_lines(void)
{
    enum { MANY = 100000 };
    double *times = malloc(sizeof(*times) * 2 * MANY);
    struct ictus_holding holding;
    REQUIRE(times);
    for (int i = 0; i < MANY; i++) {
        times[i] = 1e-3 * i;
        times[MANY + i] = 10.0 * times[i] * times[i];
    }
    CHECK(!ictus_straight_holding(times, times + MANY, MANY, 1.0, 1000.0, &holding));
    CHECK(holding.lines > 1000 && holding.lines <= 2000);
    CHECK_NEAR(holding.median_s, 9.5, 0.3);
    free(times);
}

static void lists_and_checks(void)
{
    struct ictus_entry entry = {NULL, NULL};
    struct ictus_parameter parameter;
    struct ictus_why why = {""};
    char sync[512];
    char source[512];
    CHECK(!ictus_source_entry(0, &entry));
    CHECK_STR(entry.name, "monotonic");
    CHECK(ictus_source_entry(1000, &entry) == ICTUS_ERR_SAMPLES);
    bool found = false;
    for (size_t i = 0; ictus_sync_entry(i, &entry) == ICTUS_OK; i++) {
        CHECK(entry.name[0] && entry.summary[0]);
        if (strcmp(entry.name, "hca3") == 0) {
            found = true;
            CHECK(!ictus_sync_parameter(i, 0, &parameter) && parameter.help[0]);
            CHECK(ictus_sync_parameter(i, 100, &parameter) == ICTUS_ERR_SAMPLES);
        }
    }
    CHECK(found);
    CHECK(ictus_sync_parameter(1000, 0, &parameter) == ICTUS_ERR_SAMPLES);
    CHECK(!ictus_sync_check("hca3:fitpoints=5", &why));
    CHECK(ictus_sync_check("hca3:fitpoints=-5", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_sync_check("hcb3", &why) == ICTUS_ERR_UNKNOWN && strstr(why.text, "hca3"));
    CHECK(ictus_sync_check(NULL, &why) == ICTUS_ERR_ARG);
    CHECK(!ictus_source_check("monotonic", &why));
    CHECK(!ictus_source_check("sim:base=realtime,offset=1s,steps=0,3s", NULL));
    /* What this machine lacks, or lacks now, may be there where the job runs. */
    CHECK(!ictus_source_check("phc:/does/not/exist", &why));
    CHECK(!ictus_source_check("sim:base=phc:/does/not/exist", &why));
    CHECK(!ictus_source_check("lock:name=nobody", &why));
    CHECK(!ictus_source_check("tsc", &why));
    CHECK(!ictus_source_check("wtime", &why));
    CHECK(ictus_source_check("monotonik", &why) == ICTUS_ERR_UNKNOWN &&
          strstr(why.text, "'monotonic'"));
    CHECK(ictus_source_check("sim:base=tcs", NULL) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_source_check("sim:foo=1", &why) == ICTUS_ERR_SPEC && strstr(why.text, "foo"));
    CHECK(ictus_source_check("sim:offsets=0,much", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("realtime:x=1", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("tsc:x=1", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("wtime(tsc)", &why) == ICTUS_ERR_SPEC);
    CHECK(ictus_source_check("lock:nme=x", &why) == ICTUS_ERR_SPEC && strstr(why.text, "nme"));
    CHECK(ictus_source_check("phc", &why) == ICTUS_ERR_SPEC && strstr(why.text, "device"));
    CHECK(ictus_source_check(NULL, &why) == ICTUS_ERR_ARG);
    CHECK(!ictus_clock_default("hca3@tsc", sync, sizeof(sync), source, sizeof(source), &why));
    CHECK_STR(sync, "hca3");
    CHECK_STR(source, "tsc");
    CHECK(ictus_clock_default("hca3@tsc", sync, 2, source, sizeof(source), &why) == ICTUS_ERR_ARG);
}

int main(void)
{
    patience_is_what_simulation_says();
    patience_knows_its_limits();
    minimum_of_draws();
    lines_through_points();
    lines_hold_so_long();
    many_points_take_no_more_lines();
    lists_and_checks();
    return check_result();
}

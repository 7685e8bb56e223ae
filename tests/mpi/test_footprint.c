/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fitting a footprint: replays whose time is known for each footprint have that with which the
 * recorded calls took as long as they did, and no replay is made where there is nothing to fit.
 */
#include "bench/bench.h"
#include "bench/footprint.h"

#include "check_mpi.h"
#include "small_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int runs;
    int err;          /* of each run */
    int64_t each;     /* samples of a run */
    int64_t firsts;   /* the sum of the plans' first repetitions */
    int levels_asked; /* a bit for each */
} world;

int __wrap_ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                           struct ictus_bench_result *result, struct ictus_why *why);

/* A call takes 1 us with 64 bytes, and twice as long with 16 times as many. Every fifth is slow. */
int __wrap_ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                           struct ictus_bench_result *result, struct ictus_why *why)
{
    (void)bench;
    (void)why;
    const char *at = strstr(plan->arrival, ",footprint=");
    REQUIRE(at);
    const double footprint = strtod(at + strlen(",footprint="), NULL);
    CHECK_STR(plan->operation, "allreduce");
    CHECK(plan->bytes == 8 && plan->use_comm == 0 && plan->check == 0 && plan->width == 0);
    CHECK(plan->max_time_s > 0 && plan->repetitions > 0 && plan->warmup == 3);
    for (int i = 0; i < FOOTPRINT_LEVELS; i++) {
        world.levels_asked |= footprint == (double)ictusi_footprint_levels[i] ? 1 << i : 0;
    }
    world.runs++;
    world.firsts += plan->first;
    if (check_rank == 0 && world.each > 0) {
        result->n = world.each;
        result->samples_s[ICTUS_REDUCE_EXIT] = calloc((size_t)world.each, sizeof(double));
        REQUIRE(result->samples_s[ICTUS_REDUCE_EXIT]);
        for (int64_t i = 0; i < world.each; i++) {
            result->samples_s[ICTUS_REDUCE_EXIT][i] =
                1e-6 * pow(footprint / 64, 0.25) * (i % 5 ? 1 : 100);
        }
    }
    return world.err;
}

/* The pattern of so many ranks, all 1 ms in the application between two calls. */
static void pattern_write(const char *path, int ranks, double duration_s)
{
    FILE *file = fopen(path, "w");
    REQUIRE(file);
    (void)fprintf(file,
                  "{\"type\":\"arrivals\",\"site\":\"a\",\"operation\":\"allreduce\",\"bytes\":8,"
                  "\"ranks\":%d,\"error_ns\":1,\"instances\":1,\"recorded\":1,\"duration_s\":%g,"
                  "\"raw_offsets_ns\":[[0",
                  ranks, duration_s);
    for (int i = 1; i < ranks; i++) {
        (void)fprintf(file, ",%d", 1000 * i);
    }
    (void)fprintf(file, "]],\"raw_gaps_ns\":[[1000000");
    for (int i = 1; i < ranks; i++) {
        (void)fprintf(file, ",1000000");
    }
    (void)fprintf(file, "]]}\n");
    REQUIRE(!fclose(file));
}

/* What is fitted to a pattern with these further options, on a bench without a scheme. */
static int64_t fitted(int ranks, double duration_s, const char *more, int err)
{
    char path[64];
    char arrival[128];
    struct ictus_clock clock = {.crowded = false};
    struct ictus_bench bench = {.comm = MPI_COMM_WORLD, .clock = &clock};
    struct ictus_bench_plan plan = plan_of("bcast", 64, 1);
    struct ictus_why why = {""};
    int64_t footprint = -1;
    (void)snprintf(path, sizeof path, "/tmp/ictus-footprint-%ld.jsonl", (long)getpid());
    (void)snprintf(arrival, sizeof arrival, "file:%s%s", path, more);
    pattern_write(path, ranks, duration_s);
    plan.arrival = arrival;
    plan.warmup = 3;
    plan.use_comm = 1;
    plan.check = 2;
    plan.width = 0.5;
    const int each = (int)world.each;
    world.runs = 0;
    world.firsts = 0;
    world.levels_asked = 0;
    world.err = err;
    CHECK(ictus_bench_fit_footprint(&bench, &plan, &footprint, &why) ==
          (err == ICTUS_ERR_NOMEM ? err : ICTUS_OK));
    (void)remove(path);
    CHECK(world.each == each);
    return footprint;
}

/* 4 us take 64 * 4^4 bytes. Each level is measured four times, on other instances each time. */
static void test_fitted(void)
{
    const int ranks = check_size > 1 ? check_size : 2;
    world.each = 25;
    const int64_t found = fitted(ranks, 4e-6, "", ICTUS_OK);
    CHECK(found == (check_size > 1 ? 64 * 256 : 0));
    if (check_size > 1) {
        CHECK(world.runs == 4 * FOOTPRINT_LEVELS && world.levels_asked == 0xff);
        CHECK(world.firsts == (0 + 25 + 50 + 75) * FOOTPRINT_LEVELS);
        CHECK(fitted(ranks, 1e-9, "", ICTUS_OK) == 64);
        CHECK(fitted(ranks, 1, "", ICTUS_OK) == 16777216);
    }
}

static void test_nothing_to_fit(void)
{
    world.each = 25;
    CHECK(fitted(check_size + 1, 4e-6, "", ICTUS_OK) == 0 && world.runs == 0); /* other processes */
    if (check_size == 1) {
        return; /* a pattern has at least two ranks */
    }
    CHECK(fitted(check_size, 4e-6, ",footprint=4096", ICTUS_OK) == 0 && world.runs == 0);
    CHECK(fitted(check_size, 4e-6, ",scale=2", ICTUS_OK) == 0 && world.runs == 0);
    CHECK(fitted(check_size, 4e-6, ",gap=0", ICTUS_OK) == 0 && world.runs == 0);
    world.each = 2; /* nearly all starts were late */
    CHECK(fitted(check_size, 4e-6, "", ICTUS_OK) == 0 && world.runs > 0);
    world.each = 0;
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_SAMPLES) == 0 && world.runs > 0);
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_NOMEM) == 0 && world.runs == 1);
    /* The recorded calls had another datatype, for example. */
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_ARG) == 0 && world.runs == 1);
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_UNSUPPORTED) == 0 && world.runs == 1);
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_UNKNOWN) == 0 && world.runs == 1);
    CHECK(fitted(check_size, 4e-6, "", ICTUS_ERR_SPEC) == 0 && world.runs == 1);
}

/* Named shapes stand for no call that was recorded. */
static void test_shapes(void)
{
    struct ictus_clock clock = {.crowded = false};
    struct ictus_bench bench = {.comm = MPI_COMM_WORLD, .clock = &clock};
    struct ictus_bench_plan plan = plan_of("allreduce", 8, 1);
    struct ictus_why why = {""};
    int64_t footprint = -1;
    world.runs = 0;
    plan.arrival = "late:gap=1ms";
    CHECK(!ictus_bench_fit_footprint(&bench, &plan, &footprint, &why) && footprint == 0);
    plan.arrival = NULL;
    CHECK(!ictus_bench_fit_footprint(&bench, &plan, &footprint, &why) && footprint == 0);
    plan.arrival = "nonsense";
    CHECK(ictus_bench_fit_footprint(&bench, &plan, &footprint, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_bench_fit_footprint(&bench, &plan, &footprint, NULL) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_bench_fit_footprint(NULL, &plan, &footprint, &why) == ICTUS_ERR_ARG);
    CHECK(world.runs == 0);
}

/* Processes that share cores do not compute, and if some do not, none has anything to fit. */
static void test_crowded(void)
{
    char path[64];
    char arrival[128];
    struct ictus_clock clock = {.crowded = check_rank == check_size - 1};
    struct ictus_bench bench = {.comm = MPI_COMM_WORLD, .clock = &clock};
    struct ictus_bench_plan plan = plan_of("allreduce", 8, 1);
    struct ictus_why why = {""};
    int64_t footprint = -1;
    if (check_size == 1) {
        return;
    }
    (void)snprintf(path, sizeof path, "/tmp/ictus-footprint-%ld.jsonl", (long)getpid());
    (void)snprintf(arrival, sizeof arrival, "file:%s", path);
    pattern_write(path, check_size, 4e-6);
    plan.arrival = arrival;
    world.runs = 0;
    CHECK(!ictus_bench_fit_footprint(&bench, &plan, &footprint, &why));
    CHECK(footprint == 0 && world.runs == 0);
    (void)remove(path);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    test_fitted();
    test_nothing_to_fit();
    test_shapes();
    test_crowded();
    return check_mpi_finish();
}

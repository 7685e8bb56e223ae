/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overlap of every nonblocking operation: shares lie between 0 and 1, parts add up, misuse is
 * refused.
 */
#include <ictus/overlap.h>

#include <stdbool.h>

#include "patience.h"

static struct ictus_overlap_plan plan_of(const char *operation, uint64_t bytes)
{
    const struct ictus_overlap_plan plan = {
        .size = sizeof(plan),
        .call = {.size = sizeof(plan.call),
                 .operation = operation,
                 .bytes = bytes,
                 .repetitions = 10,
                 .warmup = 1,
                 .max_time_s = 0.2},
        .progress = ICTUS_PROGRESS_TESTS,
        .interval = 1024,
        .factor = 1.0,
    };
    return plan;
}

static void check_result_of(const struct ictus_overlap_result *r)
{
    CHECK(r->n >= 1);
    CHECK(r->h08 >= 0.0 && r->h08 <= 1.0);
    CHECK(r->osu >= 0.0 && r->imb >= 0.0 && r->imb <= 1.0);
    CHECK(r->init_s >= 0.0 && r->test_s >= 0.0 && r->wait_s >= 0.0);
    CHECK(r->blocking_s > 0.0 && r->compute_s > 0.0);
}

/*
 * A crowded machine may have no start in time, or times that are not proportional. Both are
 * reported, and both are tried again with patience. If more than two processes share the cores,
 * this may never succeed; then it is enough that some operation is measured.
 */
static bool is_crowded(void)
{
    return check_size > 2;
}

static int overlap_with_patience(const struct ictus_overlap_plan *plan,
                                 struct ictus_overlap_result *result, struct ictus_why *why)
{
    struct ictus_bench *patient = patience_bench("harmonize", 0);
    struct ictus_overlap_plan unhurried = *plan;
    int err = ICTUS_ERR_CORRUPT;
    unhurried.call.max_time_s = 0.0;
    const int tries = is_crowded() ? 3 : 30;
    for (int i = 0; i < tries && err == ICTUS_ERR_CORRUPT; i++) {
        err = ictus_overlap_run(patient, &unhurried, result, why);
    }
    patience_end(patient);
    return err;
}

/* Whether there was a result; a CHECK fails if there had to be one. */
static bool overlap_is_measured(struct ictus_bench *bench, const struct ictus_overlap_plan *plan)
{
    struct ictus_overlap_result result;
    struct ictus_operation_info info;
    struct ictus_why why;
    REQUIRE(!ictus_operation_find(NULL, plan->call.operation, &info, NULL));
    int err = ictus_overlap_run(bench, plan, &result, &why);
    if (err == ICTUS_ERR_SAMPLES || err == ICTUS_ERR_CORRUPT) {
        err = overlap_with_patience(plan, &result, &why);
    }
    if (err == ICTUS_ERR_UNSUPPORTED && info.persistent) {
        return false; /* the library's own defect, reported before anything was measured */
    }
    if (err == ICTUS_ERR_CORRUPT && is_crowded()) {
        CHECK(check_rank != 0 || why.text[0]);
        return false;
    }
    CHECK(!err);
    if (err && check_rank == 0) {
        (void)fprintf(stderr, "%s: %s\n", plan->call.operation, why.text);
    }
    if (!err) {
        check_result_of(&result);
    }
    return !err;
}

/*
 * A single process measures each operation. More processes wait long for each other on a crowded
 * machine, so they measure a part each, which depends on their number and on the MPI library.
 */
#ifdef MPICH_VERSION
enum { SHIFT = 1 };
#else
enum { SHIFT = 0 };
#endif

static void every_operation(struct ictus_bench *bench)
{
    const int stride = check_size == 1 ? 1 : check_size == 2 ? 2 : check_size == 3 ? 5 : 15;
    struct ictus_operation_info info;
    int measured = 0;
    for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
        if (info.nonblocking && i % stride == (check_size + SHIFT) % stride) {
            const struct ictus_overlap_plan plan = plan_of(info.name, 64);
            measured += overlap_is_measured(bench, &plan);
        }
    }
    CHECK(measured > 0);
}

static void other_ways(struct ictus_bench *bench)
{
    struct ictus_overlap_plan plan = plan_of("iallreduce", 0);
    (void)overlap_is_measured(bench, &plan);
    plan = plan_of("iallreduce", 4096);
    plan.method = ICTUS_OVERLAP_WORK;
    plan.kernel = ICTUS_KERNEL_MEMORY;
    (void)overlap_is_measured(bench, &plan);
    plan.progress = ICTUS_PROGRESS_THREAD;
    plan.factor = 2.0;
    (void)overlap_is_measured(bench, &plan);
}

static void nonsense_is_refused(struct ictus_bench *bench)
{
    struct ictus_overlap_result result;
    struct ictus_why why;
    struct ictus_overlap_plan plan = plan_of("allreduce", 8);
    CHECK(ictus_overlap_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    CHECK_STR(why.text, "'allreduce' is not a nonblocking operation; try iallreduce");
    plan = plan_of("iallreduse", 8);
    CHECK(ictus_overlap_run(bench, &plan, &result, &why) == ICTUS_ERR_UNKNOWN);
    plan = plan_of("iallreduce", 8);
    plan.factor = 0.0;
    CHECK(ictus_overlap_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    plan = plan_of("iallreduce", 8);
    plan.progress = ICTUS_PROGRESS_LIBRARY;
    CHECK(ictus_overlap_run(bench, &plan, &result, &why) == ICTUS_ERR_UNSUPPORTED);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    struct ictus_bench *bench = NULL;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "harmonize", "hca3:fitpoints=20,exchanges=10",
                                &bench, NULL));
    every_operation(bench);
    if (check_size <= 3) {
        other_ways(bench);
    }
    nonsense_is_refused(bench);
    ictus_bench_free(bench);
    return check_mpi_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Operations that are not one call by one thread in each repetition: round trips of several threads
 * at once, and MPI_Init, which is over before a clock can time it.
 */
#include <ictus/bench.h>

#include <stdint.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/call.h"
#include "bench/operation_list.h"

#include "check_mpi.h"

static struct ictus_bench_plan plan_of(const char *operation, uint64_t bytes)
{
    const struct ictus_bench_plan plan = {
        .size = sizeof(plan),
        .operation = operation,
        .bytes = bytes,
        .repetitions = 3,
        .warmup = 1,
        .check = 2,
        .threads = 3,
    };
    return plan;
}

static struct ictus_bench *bench_of(const char *clock)
{
    struct ictus_bench *bench = NULL;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", clock, &bench, NULL));
    return bench;
}

static int run_main_only(struct call *call)
{
    const int peer = 1 - call->rank;
    if (call->rank > 1) {
        return MPI_SUCCESS;
    }
    return MPI_Sendrecv(call->send, call->count, call->type, peer, 0, call->recv, call->count,
                        call->type, peer, 0, call->comm, MPI_STATUS_IGNORE);
}

/* The block of every thread must have arrived. */
static void threads_are_verified(void)
{
    const struct operation *row = ictusi_operation_find(NULL, "ping_pong_threads", NULL);
    struct operation lazy = *row;
    struct ictus_bench_plan plan = plan_of(row->name, 60);
    struct ictus_why why;
    struct call call;
    lazy.run = run_main_only;
    REQUIRE(!ictusi_call_init(&call, row, MPI_COMM_WORLD, &plan, &why));
    for (int i = 0; i < 20; i++) {
        CHECK(!ictusi_verify_call(&call, &plan, &why));
    }
    ictusi_call_fini(&call);
    REQUIRE(!ictusi_call_init(&call, &lazy, MPI_COMM_WORLD, &plan, &why));
    CHECK(ictusi_verify_call(&call, &plan, &why) == ICTUS_ERR_CORRUPT);
    ictusi_call_fini(&call);
}

static void threads_are_measured(struct ictus_bench *bench)
{
    struct ictus_bench_plan plan = plan_of("ping_pong_threads", 64);
    struct ictus_bench_result result = {0};
    struct ictus_why why = {""};
    if (check_size == 1) {
        CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
        return;
    }
    threads_are_verified();
    REQUIRE(!ictus_bench_run(bench, &plan, &result, &why));
    CHECK(result.n == 3);
    ictus_bench_result_free(&result);
    plan.layout = "vector:block=4,stride=6";
    REQUIRE(!ictus_bench_run(bench, &plan, &result, &why));
    ictus_bench_result_free(&result);
    plan.threads = 1;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    CHECK(strstr(why.text, "needs 2 to 64 threads"));
}

/* Processes that begin 1 ms apart and end together, 10 ms ago, so every number is known. */
static void the_past_is_reduced(struct ictus_bench *bench)
{
    const int64_t ms = 1000000;
    struct ictus_bench_plan plan = plan_of("init", 0);
    struct ictus_bench_result result = {0};
    struct ictus_why why = {""};
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    struct ictus_clock *clock = ictus_bench_clock(bench);
    int64_t ended = ictus_clock_now(clock).ns - 10 * ms;
    MPI_Bcast(&ended, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    const int64_t began = ended - 5 * ms - check_rank * ms;
    plan.init[0] = ictus_clock_unmap(clock, (struct ictus_time){began});
    plan.init[1] = ictus_clock_unmap(clock, (struct ictus_time){ended});
    plan.keep_ranks = 1;
    REQUIRE(!ictus_bench_run(bench, &plan, &result, &why));
    CHECK(result.n == 1);
    const double longest = 5e-3 + 1e-3 * (check_size - 1);
    if (check_rank == 0) {
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_MAX][0], longest, 1e-5);
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_MIN][0], 5e-3, 1e-5);
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_MAKESPAN][0], longest, 1e-7);
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_EXIT][0], 5e-3, 1e-7);
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_WAIT][0], 1e-3 * check_size * (check_size - 1) / 2,
                   1e-6);
        for (int rank = 0; rank < check_size; rank++) {
            CHECK_NEAR(result.ranks_s[rank], 5e-3 + 1e-3 * rank, 1e-5);
        }
    }
    ictus_bench_result_free(&result);
}

/* A clock other than the one that was read around MPI_Init cannot place it. */
static void other_clocks_know_nothing(void)
{
    struct ictus_bench *bench = bench_of("hca3-offset@realtime");
    struct ictus_bench_plan plan = plan_of("init", 0);
    struct ictus_bench_result result = {0};
    struct ictus_why why = {""};
    plan.init[0].ns = 1;
    plan.init[1].ns = 2;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_UNSUPPORTED);
    CHECK(strstr(why.text, "not by 'realtime'"));
    ictus_bench_free(bench);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_MULTIPLE);
    struct ictus_bench *bench = bench_of("hca3-offset@monotonic");
    threads_are_measured(bench);
    the_past_is_reduced(bench);
    ictus_bench_free(bench);
    other_clocks_know_nothing();
    return check_mpi_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Experiments: operations give their results under every scheme, and bad plans are refused. */
#include <ictus/bench.h>

#include <stdint.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/call.h"
#include "bench/memory.h"
#include "bench/operation_list.h"
#include "bench/plan.h"

#include "patience.h"
#include "small_plan.h"

static void reductions_are_consistent(const struct ictus_bench_result *result)
{
    for (int64_t i = 0; i < result->n && check_rank == 0; i++) {
        const double max = result->samples_s[ICTUS_REDUCE_MAX][i];
        const double mean = result->samples_s[ICTUS_REDUCE_MEAN][i];
        const double min = result->samples_s[ICTUS_REDUCE_MIN][i];
        const double root = result->samples_s[ICTUS_REDUCE_ROOT][i];
        CHECK(min >= 0.0 && min <= mean * (1 + 1e-12) && mean <= max * (1 + 1e-12));
        CHECK(root >= min - 1e-12 && root <= max + 1e-12);
    }
}

/* Epochs wait for the processes of each other, which is slow if these share cores. */
static bool is_worth_it(const struct ictus_operation_info *info, const char *scheme)
{
    const bool pairs = ictusi_operation_find(NULL, info->name, NULL)->shape >= SHAPE_PING_PONG;
    const bool quick = strcmp(scheme, "barrier") == 0 && (check_size < 4 || !info->streams);
    return !info->mocks && !info->once && !info->threaded && (check_size > 1 || !pairs) &&
           (!info->one_sided || (quick && (check_size < 4 || !info->single)));
}

/*
 * Three sanitized processes on two cores are nearly always late, and each start that waits for them
 * takes seconds. In that case, each operation runs under only one of the three schemes.
 */
static void every_operation_runs(const char *scheme, int turn)
{
    const bool shared = CHECK_SANITIZED && check_size > 2;
    struct ictus_bench *bench = NULL;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, scheme, "hca3:fitpoints=20,exchanges=10", &bench,
                                NULL));
    struct ictus_operation_info info;
    for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
        struct ictus_bench_plan plan = plan_of(info.name, info.single ? 1 : 64, 5);
        struct ictus_bench_result result;
        plan.root = info.rooted ? check_size - 1 : 0;
        plan.check = 1;
        plan.max_time_s = 0.3; /* on crowded cores round-time waits long */
        struct ictus_why why;
        if (!is_worth_it(&info, scheme) || (shared && i % 3 != turn)) {
            continue;
        }
        const int err = patience_run(bench, scheme, &plan, &result, &why);
        const bool is_absent = ictusi_operation_find(NULL, info.name, NULL)->absent != NULL;
        if (is_absent || (info.persistent && err == ICTUS_ERR_UNSUPPORTED)) {
            CHECK(err == ICTUS_ERR_UNSUPPORTED);
            continue; /* the library's own defect, reported before anything was measured */
        }
        if (err && check_rank == 0) {
            (void)fprintf(stderr, "%s under %s: %s\n", info.name, scheme, why.text);
        }
        CHECK(err == ICTUS_OK);
        if (!err) {
            CHECK(result.n >= 1 && result.n <= 5);
            reductions_are_consistent(&result);
            ictus_bench_result_free(&result);
        }
    }
    ictus_bench_free(bench);
}

static int run_idle(struct call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

/* The operation, but with one wrong bit in the first element on each process. */
static int run_damaged(struct call *call)
{
    const struct operation *row = ictusi_operation_find(NULL, call->operation->name, NULL);
    const int err = row->run(call);
    unsigned char *result = row->shape == SHAPE_BCAST ? call->sends[0] : call->recvs[0];
    *result ^= 1;
    return err;
}

/* The operation with the last process's contribution in place of every process's own. */
static int run_alike(struct call *call)
{
    MPI_Bcast(call->send, call->count, call->type, call->size - 1, call->comm);
    return ictusi_operation_find(NULL, call->operation->name, NULL)->run(call);
}

static int check_with(int (*run)(struct call *call), const struct operation *row,
                      const struct ictus_bench_plan *plan)
{
    struct operation other = *row;
    struct call call;
    struct ictus_why why;
    other.run = run;
    int err = ictusi_call_init(&call, &other, MPI_COMM_WORLD, plan, &why);
    if (!err) {
        err = ictusi_verify_call(&call, plan, &why);
        if (err && err != ICTUS_ERR_CORRUPT && check_rank == 0) {
            (void)fprintf(stderr, "%s: %s\n", row->name, why.text);
        }
        ictusi_call_fini(&call);
    }
    return err;
}

/* With every datatype and reduction, doing nothing and a wrong bit are detected. */
static void damage_is_found(const struct operation *row, const struct ictus_bench_plan *plan)
{
    const int before = check_failures;
    if (check_size == 1 && (row->shape == SHAPE_BCAST || row->shape == SHAPE_EXSCAN ||
                            (row->shape == SHAPE_SCATTER && plan->in_place))) {
        return; /* a single process has nothing to do */
    }
    CHECK(check_with(row->run, row, plan) == ICTUS_OK);
    CHECK(check_with(run_damaged, row, plan) == ICTUS_ERR_CORRUPT);
    /* In place, a single process has its result already. */
    if (check_size > 1 || !plan->in_place) {
        CHECK(check_with(run_idle, row, plan) == ICTUS_ERR_CORRUPT);
    }
    if (check_failures > before && check_rank == 0) {
        (void)fprintf(stderr, "%s of %s under %s%s\n", row->name,
                      plan->datatype ? plan->datatype : "char", plan->reduce ? plan->reduce : "sum",
                      plan->in_place ? ", in place" : "");
    }
}

static void reductions_are_verified(const struct operation *row)
{
    static const char *const types[] = {"char",        "uint16",     "int",           "float",
                                        "long_double", "complex",    "bool",          "byte",
                                        "2int",        "double_int", "float_complex", NULL};
    static const char *const ops[] = {"sum",    "prod",   "max",       "min",        "land",
                                      "lor",    "lxor",   "band",      "bor",        "bxor",
                                      "minloc", "maxloc", "user_bxor", "user_first", NULL};
    for (int t = 0; types[t]; t++) {
        for (int o = 0; ops[o]; o++) {
            struct ictus_bench_plan plan = plan_of(row->name, 480, 1);
            plan.datatype = types[t];
            plan.reduce = ops[o];
            plan.root = check_size - 1;
            if (ictusi_plan_possible(row, &plan, NULL) == ICTUS_OK) {
                damage_is_found(row, &plan);
                /* Each part must show; a few numbers of processes will do. */
                CHECK((check_size != 2 && check_size != 3) ||
                      check_with(run_alike, row, &plan) == ICTUS_ERR_CORRUPT);
            }
        }
    }
}

static bool is_stream(const struct operation *row)
{
    return ictusi_operation_shape(row->shape)->receives == BLOCKS_MESSAGES;
}

/* A faulty swap, or a faulty accumulation that fetches the old value. */
static int run_fetching(struct call *call, MPI_Op op)
{
    const int partner = ictusi_operation_partner(call);
    int err = MPI_Win_fence(0, call->win);
    if (err == MPI_SUCCESS && call->rank < partner) {
        err = MPI_Fetch_and_op(call->send, call->recv, call->type, partner, call->target, op,
                               call->win);
    }
    return err == MPI_SUCCESS ? MPI_Win_fence(0, call->win) : err;
}

static int run_replacing(struct call *call)
{
    return run_fetching(call, MPI_REPLACE);
}

static int run_getting(struct call *call)
{
    return run_fetching(call, MPI_NO_OP);
}

/* Detected are: swapping unconditionally, not swapping at all, and reducing without fetching. */
static void exchanges_are_verified(void)
{
    static const char *const types[] = {"char", "byte", "bool", "uint16", "int64", NULL};
    const struct operation *swap = ictusi_operation_find(NULL, "compare_and_swap_fence", NULL);
    const struct operation *fetch = ictusi_operation_find(NULL, "fetch_and_op_fence", NULL);
    const struct operation *reduce = ictusi_operation_find(NULL, "accumulate_fence", NULL);
    REQUIRE(swap && fetch && reduce);
    for (int i = 0; types[i]; i++) {
        struct ictus_bench_plan plan = plan_of(swap->name, ictus_datatype_bytes(types[i]), 1);
        plan.datatype = types[i];
        damage_is_found(swap, &plan);
        CHECK(check_with(run_replacing, swap, &plan) == ICTUS_ERR_CORRUPT);
        CHECK(check_with(run_getting, swap, &plan) == ICTUS_ERR_CORRUPT);
        if (strcmp(types[i], "byte") != 0 && strcmp(types[i], "bool") != 0) {
            CHECK(check_with(run_getting, fetch, &plan) == ICTUS_ERR_CORRUPT);
            CHECK(check_with(reduce->run, fetch, &plan) == ICTUS_ERR_CORRUPT);
        }
        plan.bytes *= 2;
        CHECK(check_with(swap->run, swap, &plan) == ICTUS_ERR_ARG);
    }
}

static void pairs_are_verified(const struct operation *rows)
{
    for (const struct operation *row = rows; row->name; row++) {
        struct ictus_bench_plan plan = plan_of(row->name, 480, 1);
        plan.root = ictusi_operation_shape(row->shape)->rooted ? check_size / 2 : 0;
        if (!row->absent && (check_size > 1 || row->shape < SHAPE_PING_PONG)) {
            damage_is_found(row, &plan);
        }
    }
}

static void results_are_verified(void)
{
    for (const struct operation *row = ictusi_blocking; row->name; row++) {
        struct ictus_bench_plan plan = plan_of(row->name, 480, 1);
        if (row->shape == SHAPE_BARRIER) {
            continue;
        }
        damage_is_found(row, &plan);
        plan.in_place = 1;
        if (ictusi_plan_possible(row, &plan, NULL) == ICTUS_OK) {
            damage_is_found(row, &plan);
        }
        if (row->shape == SHAPE_ALLREDUCE) {
            reductions_are_verified(row);
        }
    }
    pairs_are_verified(ictusi_point_to_point);
    pairs_are_verified(ictusi_persistent_p2p);
    for (const struct operation *row = ictusi_one_sided; row->name && check_size > 1; row++) {
        struct ictus_bench_plan plan = plan_of(row->name, row->is_single ? 1 : 480, 1);
        /* A passive target may overwrite damage; a single element needs a stream. */
        if (!row->settle && (!row->is_single || is_stream(row))) {
            damage_is_found(row, &plan);
        }
    }
    if (check_size > 1) {
        exchanges_are_verified();
    }
}

/* An operation works on windows of this kind, or the kind is refused. */
static void window_serves(const struct operation *row, int kind, MPI_Comm comm)
{
    struct ictus_bench_plan plan = plan_of(row->name, row->is_single ? 1 : 24, 1);
    struct call call;
    struct ictus_why why;
    plan.window = ictus_window_kinds[kind];
    plan.messages = 5;
    const int err = ictusi_call_init(&call, row, comm, &plan, &why);
    CHECK(!err || err == ICTUS_ERR_UNSUPPORTED);
    if (!err) {
        const int wrong = ictusi_verify_call(&call, &plan, &why);
        /* Puts are known to miss the memory that MPICH 4.0 allocates. */
        CHECK(!wrong || (wrong == ICTUS_ERR_CORRUPT && kind == WINDOW_ALLOCATE));
        ictusi_call_fini(&call);
    }
}

/* Open MPI may lack the component for the caller's memory; its help floods the launcher. */
static bool is_kind_tried(int kind)
{
#if defined(OPEN_MPI)
    return kind != WINDOW_CREATE && kind != WINDOW_DYNAMIC;
#else
    return kind >= 0;
#endif
}

/* Every kind of window that the library supports works with every operation. */
static void windows_are_of_all_kinds(void)
{
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    for (int kind = 0; ictus_window_kinds[kind] && check_size > 1; kind++) {
        for (const struct operation *row = ictusi_one_sided; row->name; row++) {
            const bool twice = row->is_single && is_stream(row);
            if (is_kind_tried(kind) && !twice && (check_size < 4 || !row->settle)) {
                window_serves(row, kind, comm);
            }
        }
    }
    MPI_Comm_free(&comm);
}

/* Each mock-up has the same result as its operation, whether or not blocks divide evenly. */
static void mockups_compute_the_same(const char *datatype, uint64_t bytes)
{
    struct ictus_bench *bench = NULL;
    int mockups = 0;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, NULL));
    struct ictus_operation_info info;
    for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
        /* Every repetition is verified, and among few processes with each of them as the root. */
        struct ictus_bench_plan plan = plan_of(info.name, bytes, check_size == 3 ? 3 : 2);
        struct ictus_operation_info original;
        struct ictus_bench_result result;
        struct ictus_why why;
        if (!info.mocks) {
            continue;
        }
        mockups++;
        CHECK(!ictus_operation_find(NULL, info.mocks, &original, &why) && !original.mocks);
        CHECK(original.rooted == info.rooted && original.reduces == info.reduces);
        plan.root = info.rooted ? check_size - 1 : 0;
        plan.rotate_root = info.rooted;
        plan.datatype = datatype;
        plan.check = 2;
        const int err = ictus_bench_run(bench, &plan, &result, &why);
        if (err && check_rank == 0) {
            (void)fprintf(stderr, "%s, %llu bytes: %s\n", info.name, (unsigned long long)bytes,
                          why.text);
        }
        CHECK(err == ICTUS_OK);
        if (!err) {
            ictus_bench_result_free(&result);
        }
        plan.in_place = 1;
        CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    }
    CHECK(mockups >= 24);
    ictus_bench_free(bench);
}

/* Calls with an MPI_Count have the same results as those with an int. */
static void large_counts_compute_the_same(void)
{
    int large_ones = 0;
    for (const struct operation *row = ictusi_blocking; row->name; row++) {
        const struct operation *large = ictusi_operation_large(row);
        struct ictus_bench_plan plan = plan_of(row->name, 84, 1);
        struct call call;
        struct ictus_why why;
        if (!large) {
            continue;
        }
        large_ones++;
        CHECK(large->shape == row->shape && strstr(large->summary, "_c"));
        REQUIRE(!ictusi_call_init(&call, large, MPI_COMM_WORLD, &plan, &why));
        CHECK(!ictusi_verify_call(&call, &plan, &why));
        ictusi_call_fini(&call);
    }
    CHECK(large_ones == (MPI_VERSION >= 4 ? 10 : 0));
}

/* More elements than an int can count, if the machine has room for them. */
static void a_really_large_one_runs(void)
{
    struct ictus_bench *bench = NULL;
    struct ictus_bench_result result;
    struct ictus_why why;
    struct ictus_bench_plan plan = plan_of("bcast", UINT64_C(2200) << 20, 1);
    int roomy = ictusi_memory_available() > UINT64_C(10) << 30;
    MPI_Bcast(&roomy, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (MPI_VERSION < 4 || check_size != 2 || !roomy) {
        return;
    }
    plan.warmup = 0;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, &why));
    CHECK(!ictus_bench_run(bench, &plan, &result, &why));
    CHECK(result.n == 1);
    ictus_bench_result_free(&result);
    ictus_bench_free(bench);
}

/* An experiment in parts: the second part continues with roots, buffers and arrivals. */
static void parts_follow_each_other(void)
{
    struct ictus_bench_plan plan = plan_of("bcast", 8, 1);
    struct call call;
    struct ictus_why why;
    plan.rotate_root = 1;
    plan.buffers = 3;
    plan.first = 5;
    plan.root = check_size - 1;
    REQUIRE(!ictusi_call_init(&call, ictusi_operation_find(NULL, "bcast", &why), MPI_COMM_WORLD,
                              &plan, &why));
    CHECK(call.root == (check_size - 1 + 5) % check_size);
    CHECK(call.set == 2 && call.turn == 5);
    ictusi_call_next(&call);
    CHECK(call.root == (check_size + 5) % check_size);
    CHECK(call.set == 0 && call.turn == 6);
    ictusi_call_fini(&call);
}

static int run_true(struct call *call)
{
    return ictusi_operation_find(NULL, call->operation->name, NULL)->run(call);
}

/* The result is damaged every third time, which verification before and after would miss. */
static int run_damaged_sometimes(struct call *call)
{
    return call->turn % 3 == 2 ? run_damaged(call) : run_true(call);
}

/* The number of repetitions that were found to be wrong on any process. */
static int wrong_repetitions(struct ictus_bench *bench, const char *name, int (*run)(struct call *))
{
    enum { TIMES = 9 };
    struct sample samples[TIMES];
    struct ictus_why why;
    struct call call;
    struct ictus_bench_plan plan = plan_of(name, 48, TIMES);
    struct operation other = *ictusi_operation_find(NULL, name, &why);
    int64_t n = TIMES;
    other.run = run;
    REQUIRE(!ictusi_call_init(&call, &other, MPI_COMM_WORLD, &plan, &why));
    call.every = &plan;
    REQUIRE(!bench->scheme->ops->measure(bench->scheme, &call, 0.0, samples, &n));
    int wrong = call.wrong;
    CHECK(!wrong || strstr(call.wrong_why.text, "gave a wrong result"));
    MPI_Allreduce(MPI_IN_PLACE, &wrong, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    ictusi_call_fini(&call);
    return wrong;
}

static void every_repetition_is_verified(void)
{
    static const char *const names[] = {"allreduce", "alltoallv", "sendrecv", "fan_in", NULL};
    struct ictus_bench *bench = NULL;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, NULL));
    for (int i = 0; names[i]; i++) {
        if (check_size > 1 || strcmp(names[i], "fan_in") != 0) {
            CHECK(wrong_repetitions(bench, names[i], run_true) == 0);
            CHECK(wrong_repetitions(bench, names[i], run_damaged_sometimes) == 3);
            CHECK(wrong_repetitions(bench, names[i], run_idle) == 9);
        }
    }
    ictus_bench_free(bench);
}

/*
 * Each of two groups could have the memory it requests, but not both at once. If this were not
 * detected, the buffers would be allocated: they are so large that the machine cannot have freed
 * that much meanwhile.
 */
static void groups_share_memory(struct ictus_bench *bench)
{
    enum { SETS = 64 };
    struct ictus_bench_plan plan = plan_of("allreduce", 64, 1);
    struct ictus_bench_result result;
    struct ictus_why why = {""};
    uint64_t bytes = ictusi_memory_available() / 10 * 9 / (2 * SETS);
    MPI_Bcast(&bytes, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    if (check_size != 2 || bytes > INT32_MAX) {
        return;
    }
    plan.bytes = bytes;
    plan.buffers = SETS;
    plan.group = 1;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_NOMEM);
    CHECK(strstr(why.text, "the processes on a node need"));
}

/* Each group runs the operation by itself, and the result includes all processes. */
static void groups_work_at_once(void)
{
    struct ictus_bench *bench = NULL;
    struct ictus_bench_result result;
    struct ictus_why why;
    const int group = check_size % 2 == 0 ? check_size / 2 : 1;
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, &why));
    struct ictus_bench_plan plan = plan_of("allreduce", 64, 5);
    plan.group = group;
    plan.check = 2;
    plan.keep_ranks = 1;
    REQUIRE(!ictus_bench_run(bench, &plan, &result, &why));
    for (int64_t i = 0; i < result.n && check_rank == 0; i++) {
        double most = 0.0;
        for (int rank = 0; rank < check_size; rank++) {
            const double time = result.ranks_s[i * check_size + rank];
            CHECK(time > 0.0);
            most = time > most ? time : most;
        }
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_MAX][i], most, 1e-9);
        CHECK_NEAR(result.samples_s[ICTUS_REDUCE_ROOT][i], result.ranks_s[i * check_size], 1e-9);
    }
    ictus_bench_result_free(&result);
    groups_share_memory(bench);
    plan = plan_of("ping_pong", 64, 1);
    plan.group = 1;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    plan.group = check_size + 1;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    CHECK(strstr(why.text, "is not a multiple of the group size"));
    ictus_bench_free(bench);
}

static void nonsense_is_refused(void)
{
    struct ictus_bench *bench = NULL;
    struct ictus_bench_result result;
    struct ictus_why why;
    CHECK(ictus_bench_create(MPI_COMM_WORLD, "harmonise", NULL, &bench, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_bench_create(MPI_COMM_WORLD, "round-time:slack=0", NULL, &bench, &why) ==
          ICTUS_ERR_SPEC);
    CHECK(ictus_bench_create(MPI_COMM_NULL, NULL, NULL, &bench, &why) == ICTUS_ERR_ARG);
    REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, "barrier", "hca3-offset", &bench, &why));
    struct ictus_bench_plan plan = plan_of("allreduse", 8, 1);
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(why.text, "unknown operation 'allreduse'; did you mean 'allreduce'?");
    plan = plan_of("bcast", UINT64_C(1) << 50, 1);
    CHECK(ictus_bench_run(bench, &plan, &result, &why) ==
          (MPI_VERSION >= 4 ? ICTUS_ERR_NOMEM : ICTUS_ERR_UNSUPPORTED));
    plan = plan_of("ibcast", UINT64_C(3) << 30, 1);
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_UNSUPPORTED);
    CHECK_STR(why.text, "ibcast of 3221225472 bytes: this MPI call takes at most 2147483647 "
                        "elements of 'char'");
    plan = plan_of("bcast", (UINT64_C(1) << 50) + 4, 1);
    plan.datatype = "double";
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    plan = plan_of("gather_as_reduce", UINT64_C(1) << 31, 1);
    plan.datatype = "double";
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_UNSUPPORTED);
    plan = plan_of("bcast", 8, 0);
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    plan = plan_of("bcast", 8, 1);
    plan.root = check_size;
    CHECK(ictus_bench_run(bench, &plan, &result, &why) == ICTUS_ERR_ARG);
    ictus_bench_free(bench);
}

static void time_limits_hold(void)
{
    struct ictus_bench *bench = NULL;
    REQUIRE(
        !ictus_bench_create(MPI_COMM_WORLD, "round-time:slack=20", "hca3-offset", &bench, NULL));
    struct ictus_bench_plan plan = plan_of("barrier", 0, 1000000000);
    struct ictus_bench_result result = {0};
    plan.max_time_s = 0.05;
    /* In so little time no start may be valid, but then all of them were tried. */
    const int err = ictus_bench_run(bench, &plan, &result, NULL);
    CHECK(err == ICTUS_OK || (err == ICTUS_ERR_SAMPLES && result.invalid > 0));
    CHECK(result.n + result.invalid >= 1 && result.n + result.invalid < 1000000000);
    if (!err) {
        ictus_bench_result_free(&result);
    }
    ictus_bench_free(bench);
}

/* The kernel counts in KiB, and cannot have more available than the machine has. */
static void memory_is_known(void)
{
    const uint64_t available = ictusi_memory_available();
    const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    CHECK(available == UINT64_MAX || (available > 0 && available <= all && available % 1024 == 0));
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    every_operation_runs("harmonize", 0);
    every_operation_runs("barrier", 1);
    every_operation_runs("round-time:slack=10", 2);
    memory_is_known();
    results_are_verified();
    windows_are_of_all_kinds();
    mockups_compute_the_same("char", 0);
    mockups_compute_the_same("int", 4);
    mockups_compute_the_same("char", 53);
    mockups_compute_the_same("double", UINT64_C(8) * 420);
    large_counts_compute_the_same();
    a_really_large_one_runs();
    parts_follow_each_other();
    every_repetition_is_verified();
    groups_work_at_once();
    nonsense_is_refused();
    time_limits_hold();
    return check_mpi_finish();
}

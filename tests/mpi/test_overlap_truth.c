/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Overlap against known truth: the test defines how long the clock, the computation and each MPI
 * call take, for each repetition and process, and checks that the study reports what follows from
 * this.
 */
#include <ictus/harmonize.h>
#include <ictus/overlap.h>

#include "bench/bench.h"
#include "core/line.h"
#include "overlap/progress.h"
#include "overlap/workload.h"

#include <stdatomic.h>
#include <stdbool.h>

#include "check_mpi.h"

enum {
    REPETITIONS = 21,
    READ_NS = 20,     /* cost of a reading, which shows the middle of it */
    LEFT_NS = 200,    /* how long after the common start processes leave it */
    HIDDEN_NS = 4000, /* how long the computation loses its core, which no timer sees */
    AHEAD_NS = 5000,  /* of the global clock */
    BLOCKING_NS = 100000,
    EXTRA_NS = 1000, /* each rank's computation takes this much longer than the previous rank's */
    TESTS_KEPT = 16
};

/* This process: its time, and what the study has done. */
static struct {
    int64_t now;
    int64_t repetition; /* the current one; -1: none has begun */
    bool computed;      /* in the current repetition */
    int64_t units;      /* done in the current repetition so far */
    int64_t tests;      /* likewise */
    int64_t units_at_test[TESTS_KEPT];
    double asked_ns; /* the time that work was to be found for */
    double blocking_limit_s;
    int work_error, start_error;
    bool pends; /* no test completes a request */
} here;

/* The start was late on the last process, so no result may include this repetition. */
static bool is_late(int64_t i)
{
    return i % 5 == 1;
}

static int64_t cost_of_start(int rank, int64_t i)
{
    return (is_late(i) ? 100000 : 1000) + 300L * rank + 10 * (i * 7 % 11);
}

static int64_t cost_of_test(int rank, int64_t i)
{
    return (is_late(i) ? 9000 : 50) + 5L * rank + i * 3 % 5;
}

static int64_t cost_of_wait(int rank, int64_t i)
{
    return (is_late(i) ? 200000 : 2000) - 100L * rank + 20 * (i * 5 % 13);
}

static int64_t clock_read(const struct source *source)
{
    (void)source;
    here.now += READ_NS;
    return here.now - READ_NS / 2;
}

static const struct source_ops clock_ops = {.name = "told", .read = clock_read};
static struct source told_source = {&clock_ops};

/* The functions that the study calls; the linker redirects them here. */
/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_ictus_harmonize(MPI_Comm comm, struct ictus_harmony *harmony);
int __wrap_ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                           struct ictus_bench_result *result, struct ictus_why *why);
void __wrap_ictusi_workload_do(struct workload *work, int64_t units);
double __wrap_ictusi_workload_time(struct workload *work, const struct source *source,
                                   int64_t units);
int __wrap_ictusi_workload_find(struct workload *work, const struct source *source,
                                double target_ns, int64_t *units);

int __wrap_ictus_harmonize(MPI_Comm comm, struct ictus_harmony *harmony)
{
    (void)comm;
    here.repetition++;
    here.computed = false;
    here.units = 0;
    here.tests = 0;
    *harmony =
        (struct ictus_harmony){.flag = !(is_late(here.repetition) && check_rank == check_size - 1),
                               .deadline = {.ns = here.now + AHEAD_NS - LEFT_NS}};
    return here.start_error;
}

/* Three repetitions, whose median is the blocking time. */
int __wrap_ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                           struct ictus_bench_result *result, struct ictus_why *why)
{
    (void)bench;
    (void)why;
    here.blocking_limit_s = plan->max_time_s;
    *result = (struct ictus_bench_result){.n = 3};
    if (check_rank == 0) {
        double *samples = calloc(3, sizeof(*samples));
        REQUIRE(samples);
        samples[0] = 9e-9 * BLOCKING_NS;
        samples[1] = 0.5e-9 * BLOCKING_NS;
        samples[2] = 1e-9 * BLOCKING_NS;
        result->samples_s[ICTUS_REDUCE_MAX] = samples;
    }
    return ICTUS_OK;
}

/* One unit takes one nanosecond. */
void __wrap_ictusi_workload_do(struct workload *work, int64_t units)
{
    (void)work;
    CHECK(units >= 0);
    here.now += units + (here.computed ? 0 : HIDDEN_NS);
    here.computed = true;
    here.units += units;
}

double __wrap_ictusi_workload_time(struct workload *work, const struct source *source,
                                   int64_t units)
{
    (void)work;
    CHECK(source == &told_source);
    return (double)(units + (int64_t)EXTRA_NS * check_rank);
}

/* Each rank needs a tenth more than the previous one. */
static int64_t units_for(double target_ns, int rank)
{
    return (int64_t)(target_ns * (1.0 + 0.1 * rank) + 0.5);
}

int __wrap_ictusi_workload_find(struct workload *work, const struct source *source,
                                double target_ns, int64_t *units)
{
    (void)work;
    CHECK(source == &told_source);
    here.asked_ns = target_ns;
    *units = units_for(target_ns, check_rank);
    return check_rank == check_size - 1 ? here.work_error : ICTUS_OK;
}

/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

/* The MPI functions that the study calls. */
int MPI_Iallreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *request)
{
    here.now += cost_of_start(check_rank, here.repetition);
    return PMPI_Iallreduce(send, recv, count, type, op, comm, request);
}

int MPI_Test(MPI_Request *request, int *flag, MPI_Status *status)
{
    if (here.tests < TESTS_KEPT) {
        here.units_at_test[here.tests] = here.units;
    }
    here.tests++;
    here.now += cost_of_test(check_rank, here.repetition);
    *flag = 0;
    return here.pends ? MPI_SUCCESS : PMPI_Test(request, flag, status);
}

int MPI_Wait(MPI_Request *request, MPI_Status *status)
{
    here.now += cost_of_wait(check_rank, here.repetition);
    return PMPI_Wait(request, status);
}

static int thread_level = MPI_THREAD_MULTIPLE;
static atomic_int probes;
static char library_version[MPI_MAX_LIBRARY_VERSION_STRING];

int MPI_Query_thread(int *provided)
{
    *provided = thread_level;
    return MPI_SUCCESS;
}

int MPI_Iprobe(int source, int tag, MPI_Comm comm, int *flag, MPI_Status *status)
{
    (void)source;
    (void)tag;
    (void)comm;
    (void)status;
    CHECK(comm != MPI_COMM_WORLD);
    *flag = 0;
    atomic_fetch_add(&probes, 1);
    return MPI_SUCCESS;
}

int MPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", library_version);
    return MPI_SUCCESS;
}

/*
 * The truth: what each repetition takes on each process, the maximum and the mean over processes.
 */
enum { INIT, TEST, WAIT, OVERHEAD, COMPUTE, TOTAL, STOP, KINDS };

struct truth {
    double largest[KINDS], mean[KINDS]; /* s, medians over the repetitions with a start in time */
};

static void repetition_takes(int rank, int64_t i, int64_t units, int64_t tests,
                             int64_t takes[KINDS])
{
    const int64_t each = cost_of_test(rank, i);
    takes[INIT] = cost_of_start(rank, i) + READ_NS;
    takes[TEST] = tests * each;
    takes[WAIT] = cost_of_wait(rank, i) + READ_NS;
    takes[OVERHEAD] = takes[INIT] + takes[TEST] + takes[WAIT];
    takes[COMPUTE] = units + HIDDEN_NS + tests * (each + 2L * READ_NS) + READ_NS;
    takes[TOTAL] = takes[INIT] + takes[COMPUTE] + takes[WAIT];
    takes[STOP] = takes[TOTAL] + LEFT_NS + READ_NS / 2;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static struct truth truth_of(int64_t units, int64_t tests)
{
    struct truth truth;
    for (int kind = 0; kind < KINDS; kind++) {
        double largest[REPETITIONS];
        double mean[REPETITIONS];
        size_t n = 0;
        for (int64_t i = 0; i < REPETITIONS; i++) {
            largest[n] = mean[n] = 0;
            for (int r = 0; r < check_size && !is_late(i); r++) {
                int64_t takes[KINDS];
                repetition_takes(r, i, units, tests, takes);
                largest[n] = fmax(largest[n], 1e-9 * (double)takes[kind]);
                mean[n] += 1e-9 * (double)takes[kind] / check_size;
            }
            n += !is_late(i);
        }
        CHECK(n % 2 == 1);
        qsort(largest, n, sizeof(*largest), by_size);
        qsort(mean, n, sizeof(*mean), by_size);
        truth.largest[kind] = largest[n / 2];
        truth.mean[kind] = mean[n / 2];
    }
    return truth;
}

static struct ictus_overlap_plan plan_of(uint64_t bytes)
{
    return (struct ictus_overlap_plan){
        .size = sizeof(struct ictus_overlap_plan),
        .call = {.size = sizeof(struct ictus_bench_plan),
                 .operation = "iallreduce",
                 .bytes = bytes,
                 .repetitions = REPETITIONS},
        .progress = ICTUS_PROGRESS_TESTS,
        .interval = 1024,
        .factor = 1.5,
    };
}

static int study(const struct ictus_overlap_plan *plan, struct ictus_overlap_result *result,
                 struct ictus_why *why)
{
    struct ictus_clock clock = {.source = &told_source};
    struct ictus_bench bench = {.comm = MPI_COMM_WORLD, .clock = &clock};
    clock.line = ictusi_line_make(0, AHEAD_NS, 0.0, 0.0);
    here.repetition = -1;
    here.now = 1000000;
    return ictus_overlap_run(&bench, plan, result, why);
}

static void check_parts(const struct ictus_overlap_plan *plan, int64_t tests)
{
    struct ictus_overlap_result r;
    struct ictus_why why;
    const double target_ns = plan->factor * BLOCKING_NS;
    const int64_t units = units_for(target_ns, check_size - 1);
    const double compute = 1e-9 * (double)(units + (int64_t)EXTRA_NS * (check_size - 1));
    const double blocking = 1e-9 * BLOCKING_NS;
    const struct truth truth = truth_of(units, tests);
    REQUIRE(!study(plan, &r, &why));
    CHECK(here.repetition == REPETITIONS - 1 && here.units == units && here.tests == tests);
    CHECK(r.n == 17 && r.invalid == 4 && r.tests == tests);
    CHECK_NEAR(here.asked_ns, target_ns, 1e-6);
    CHECK_NEAR(r.blocking_s, blocking, 1e-15);
    CHECK_NEAR(r.compute_s, compute, 1e-15);
    CHECK_NEAR(r.work_error, 1e9 * compute / target_ns - 1.0, 1e-9);
    CHECK_NEAR(r.init_s, truth.largest[INIT], 1e-15);
    CHECK_NEAR(r.test_s, truth.largest[TEST], 1e-15);
    CHECK_NEAR(r.wait_s, truth.largest[WAIT], 1e-15);
    const double stop = truth.largest[STOP];
    const double seen = truth.largest[OVERHEAD];
    const bool by_work = plan->method == ICTUS_OVERLAP_WORK;
    const double overhead = by_work ? fmax(0.0, stop - compute) : seen;
    CHECK_NEAR(r.overhead_s, overhead, 1e-15);
    CHECK_NEAR(r.total_s, by_work ? stop : truth.largest[TOTAL], 1e-15);
    CHECK_NEAR(r.unseen_s, fmax(0.0, stop - compute - seen - 2e-9 * READ_NS * (double)tests),
               1e-15);
    CHECK_NEAR(r.h08, 1.0 - overhead / blocking, 1e-9);
    const double worked = truth.mean[COMPUTE] - truth.mean[TEST];
    CHECK_NEAR(r.osu, fmax(0.0, 1.0 - (truth.mean[TOTAL] - worked) / blocking), 1e-9);
    CHECK_NEAR(r.imb, (blocking + worked - truth.mean[TOTAL]) / fmax(blocking, worked), 1e-9);
}

/* H08: tests before and after each of equal parts of the work, one per interval and one more. */
static void tests_are_spread(void)
{
    static const struct {
        uint64_t bytes, interval;
        int64_t tests;
    } cases[] = {{0, 1024, 2},    {1, 1024, 2},    {1024, 1024, 2}, {1025, 1024, 3},
                 {4096, 1024, 5}, {4097, 1024, 6}, {5, 0, 6}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_overlap_plan plan = plan_of(cases[i].bytes);
        plan.interval = cases[i].interval;
        check_parts(&plan, cases[i].tests);
        for (int64_t k = 0; k < cases[i].tests; k++) {
            CHECK(here.units_at_test[k] == here.units * k / (cases[i].tests - 1));
        }
    }
}

static void methods(void)
{
    struct ictus_overlap_plan plan = plan_of(64);
    plan.progress = ICTUS_PROGRESS_NONE;
    check_parts(&plan, 0);
    plan.method = ICTUS_OVERLAP_WORK;
    check_parts(&plan, 0);
    plan.factor = 0.3;
    check_parts(&plan, 0);
}

/*
 * As many repetitions as fit into the time, but at least ten; the blocking ones get a quarter of
 * it.
 */
static void time_limits(void)
{
    struct ictus_overlap_result r;
    struct ictus_overlap_plan plan = plan_of(64);
    const double target_ns = plan.factor * BLOCKING_NS;
    const int64_t units = units_for(target_ns, check_size - 1);
    const double each =
        1e-9 * (double)(BLOCKING_NS + units + (int64_t)EXTRA_NS * (check_size - 1)) + 20e-6;
    static const struct {
        double fits;
        int64_t wanted;
    } cases[] = {{12.5, 12}, {3.0, 10}, {21.5, 21}, {1000.0, 21}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        plan.call.max_time_s = cases[i].fits * each;
        REQUIRE(!study(&plan, &r, NULL));
        CHECK(r.n + r.invalid == cases[i].wanted);
        CHECK_NEAR(here.blocking_limit_s, plan.call.max_time_s / 4.0, 1e-12);
    }
    plan.call.max_time_s = 0.0;
    plan.call.repetitions = 3;
    REQUIRE(!study(&plan, &r, NULL));
    CHECK(r.n + r.invalid == 10);
}

static void disproportion_is_told(void)
{
    struct ictus_overlap_result r;
    struct ictus_overlap_plan plan = plan_of(64);
    struct ictus_why why;
    here.work_error = ICTUS_ERR_CORRUPT;
    CHECK(study(&plan, &r, &why) == ICTUS_ERR_CORRUPT);
    CHECK(strstr(why.text, "is not proportional to its size"));
    here.work_error = ICTUS_OK;
}

static void failures_are_told(void)
{
    struct ictus_overlap_result r;
    struct ictus_overlap_plan plan = plan_of(64);
    here.start_error = ICTUS_ERR_CLOCK;
    CHECK(study(&plan, &r, NULL) == ICTUS_ERR_CLOCK);
    here.start_error = ICTUS_OK;
}

/* An operation with two requests tests both. */
static void twins_are_tested(void)
{
    struct ictus_overlap_result r;
    struct ictus_overlap_plan plan = plan_of(4096);
    plan.call.operation = "isend_irecv";
    here.pends = true;
    REQUIRE(!study(&plan, &r, NULL));
    here.pends = false;
    CHECK(r.tests == 5 && here.tests == 10);
}

static void nonsense_is_refused(void)
{
    struct ictus_overlap_result r;
    struct ictus_why why;
    struct ictus_overlap_plan plan = plan_of(64);
    plan.call.repetitions = 0;
    CHECK(study(&plan, &r, &why) == ICTUS_ERR_ARG && strstr(why.text, "at least one repetition"));
    plan = plan_of(64);
    plan.size--;
    CHECK(study(&plan, &r, &why) == ICTUS_ERR_ARG);
    plan = plan_of(64);
    plan.call.operation = NULL;
    CHECK(study(&plan, &r, &why) == ICTUS_ERR_ARG);
    plan = plan_of(64);
    CHECK(study(NULL, &r, &why) == ICTUS_ERR_ARG && study(&plan, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_overlap_run(NULL, &plan, &r, &why) == ICTUS_ERR_ARG);
}

/* A thread of ictus probes while the operation is in progress, and not longer. */
static void thread_progresses(void)
{
    struct ictus_overlap_plan plan = plan_of(64);
    struct ictus_overlap_result r;
    struct ictus_why why;
    plan.progress = ICTUS_PROGRESS_THREAD;
    check_parts(&plan, 0);
    struct progress_thread *thread = NULL;
    REQUIRE(!ictusi_progress_start(MPI_COMM_WORLD, &thread));
    atomic_store(&probes, 0);
    while (atomic_load(&probes) < 3) {
        (void)usleep(100);
    }
    ictusi_progress_stop(thread);
    atomic_store(&probes, 0);
    (void)usleep(2000);
    CHECK(atomic_load(&probes) == 0);
    ictusi_progress_stop(NULL);
    thread_level = MPI_THREAD_SERIALIZED;
    CHECK(study(&plan, &r, &why) == ICTUS_ERR_THREAD);
    CHECK(strstr(why.text, "needs MPI_THREAD_MULTIPLE"));
    thread_level = MPI_THREAD_MULTIPLE;
}

/* Only MPICH has a progress thread of its own, and only if it is requested. */
static void library_progresses(void)
{
    static const struct {
        const char *version, *asked, *refusal;
    } cases[] = {{"MPICH Version: 4.0", "1", NULL},
                 {"MPICH Version: 4.0", "0", "start the job with MPIR_CVAR_ASYNC_PROGRESS=1"},
                 {"MPICH Version: 4.0", NULL, "start the job with MPIR_CVAR_ASYNC_PROGRESS=1"},
                 {"Open MPI v4.1.2", "1", "offers no progress thread"}};
    struct ictus_overlap_plan plan = plan_of(64);
    plan.progress = ICTUS_PROGRESS_LIBRARY;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct ictus_overlap_result r;
        struct ictus_why why;
        (void)snprintf(library_version, sizeof(library_version), "%s", cases[i].version);
        (void)unsetenv("MPIR_CVAR_ASYNC_PROGRESS");
        if (cases[i].asked) {
            (void)setenv("MPIR_CVAR_ASYNC_PROGRESS", cases[i].asked, 1);
        }
        if (cases[i].refusal) {
            CHECK(study(&plan, &r, &why) == ICTUS_ERR_UNSUPPORTED);
            CHECK(strstr(why.text, cases[i].refusal));
        } else {
            check_parts(&plan, 0);
        }
    }
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    tests_are_spread();
    methods();
    time_limits();
    disproportion_is_told();
    failures_are_told();
    twins_are_tested();
    nonsense_is_refused();
    thread_progresses();
    library_progresses();
    return check_mpi_finish();
}

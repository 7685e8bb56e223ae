/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The overlap of one nonblocking operation (H08 section 4.1, listing 6). First the blocking time
 * t_b is measured, then the amount of work that takes as long. Then start, computation with tests,
 * and wait are timed from a common start.
 */
#include "bench/bench.h"
#include "bench/operation_list.h"
#include "core/stats.h"
#include "overlap/formula.h"
#include "overlap/progress.h"
#include "overlap/workload.h"
#include "sync/sync.h"

#include <ictus/harmonize.h>
#include <ictus/overlap.h>
#include <ictus/text.h>

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const ictus_overlap_method_names[] = {"time", "work", NULL};
const char *const ictus_progress_names[] = {"none", "tests", "thread", "library", NULL};
const char *const ictus_kernel_names[] = {"arithmetic", "memory", NULL};

enum { REPETITIONS_LEAST = 10, TESTS_MAX = 1 << 20, READ_TRIES = 1001 };

/* The columns of a repetition. Those before TIMES are reduced by both MPI_MAX and MPI_SUM. */
enum { INIT, TEST, WAIT, OVERHEAD, COMPUTE, TOTAL, TIMES, STOP = TIMES, INVALID, COLUMNS };

struct study {
    struct ictus_bench *bench;
    const struct ictus_overlap_plan *plan;
    struct ictus_overlap_result *result;
    const struct source *source;
    struct call call;
    struct workload work;
    int64_t units; /* of the whole computation */
    int64_t tests;
    int64_t read_ns; /* the cost of one reading of the source */
    int64_t n;
    int64_t *table; /* COLUMNS times n, then TIMES times n sums */
};

/*
 * The cost of a reading is the mean of the middle half: the smallest values are due to coarse
 * ticks, and the largest to interruptions.
 */
static int64_t cost_of_reading(const struct source *source)
{
    double took[READ_TRIES];
    for (int i = 0; i < READ_TRIES; i++) {
        const int64_t start = ictusi_source_read(source);
        took[i] = (double)(ictusi_source_read(source) - start);
    }
    ictusi_stats_sort(took, READ_TRIES);
    return (int64_t)ictusi_stats_mean(&took[READ_TRIES / 4], READ_TRIES / 2);
}

/*
 * A failing MPI_Test ends the repetition. Whether the request is complete does not matter: MPI_Wait
 * completes it anyway, and leaving out later tests would change what is measured.
 */
static int overlap_test_once(struct call *call)
{
    int done = 0;
    int err = MPI_Test(&call->request, &done, MPI_STATUS_IGNORE);
    if (err == MPI_SUCCESS && call->request_twin != MPI_REQUEST_NULL) {
        err = MPI_Test(&call->request_twin, &done, MPI_STATUS_IGNORE);
    }
    return err;
}

/*
 * The computation with its tests: one at the beginning, and one after each of tests - 1 equal
 * parts.
 *
 *     after test k:  units k / (tests - 1) of the work are done,  k = 0 .. tests - 1
 *
 * Integers are used, so that all of the work is done at the end. The cost of reading the clock is
 * subtracted from each test.
 */
static int overlap_compute(struct study *s, int64_t *test_ns)
{
    struct workload *work = &s->work;
    if (s->tests < 2) {
        ictusi_workload_do(work, s->units);
        return MPI_SUCCESS;
    }
    int err = MPI_SUCCESS;
    int64_t done = 0;
    for (int64_t k = 0; k < s->tests && err == MPI_SUCCESS; k++) {
        const int64_t upto = s->units * k / (s->tests - 1);
        ictusi_workload_do(work, upto - done);
        done = upto;
        const int64_t before = ictusi_source_read(s->source);
        err = overlap_test_once(&s->call);
        *test_ns += ictusi_source_read(s->source) - before - s->read_ns;
    }
    return err;
}

/*
 * Listing 6: one repetition from a common start.
 *
 *     overhead = init + test + wait: the CPU time that the operation costs   (H08 4.1)
 *
 * Columns are `stride` apart: row[c * stride] is column c of this repetition.
 */
static int overlap_once(struct study *s, int64_t *row, int64_t stride)
{
    struct ictus_harmony harmony;
    int64_t test_ns = 0;
    ictusi_call_next(&s->call);
    int err = ictus_harmonize(s->bench->comm, &harmony);
    if (err) {
        return err;
    }
    const int64_t begin = ictusi_source_read(s->source);
    int mpi = s->call.operation->start(&s->call);
    const int64_t started = ictusi_source_read(s->source);
    if (mpi == MPI_SUCCESS) {
        mpi = overlap_compute(s, &test_ns);
    }
    const int64_t computed = ictusi_source_read(s->source);
    if (mpi == MPI_SUCCESS) {
        mpi = ictusi_operation_wait(&s->call);
    }
    const int64_t end = ictusi_source_read(s->source);
    row[INIT * stride] = started - begin;
    row[TEST * stride] = test_ns > 0 ? test_ns : 0;
    row[WAIT * stride] = end - computed;
    row[OVERHEAD * stride] = row[INIT * stride] + row[TEST * stride] + row[WAIT * stride];
    row[COMPUTE * stride] = computed - started;
    row[TOTAL * stride] = end - begin;
    row[STOP * stride] = ictusi_line_map(&s->bench->clock->line, end) - harmony.deadline.ns;
    row[INVALID * stride] = !harmony.flag;
    return mpi == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/*
 * Start and wait immediately: t_b is the median over repetitions of the slowest process. A quarter
 * of the time limit is used for this, because it only determines the amount of work.
 */
static int overlap_measure_blocking(struct study *s, struct ictus_why *why)
{
    struct ictus_bench_result blocking = {0};
    struct ictus_bench_plan plan = s->plan->call;
    plan.max_time_s = plan.max_time_s / 4.0;
    const int err = ictus_bench_run(s->bench, &plan, &blocking, why);
    double t_b = 0.0;
    if (!err && blocking.samples_s[ICTUS_REDUCE_MAX]) {
        double *sorted = blocking.samples_s[ICTUS_REDUCE_MAX];
        ictusi_stats_sort(sorted, (size_t)blocking.n);
        t_b = ictusi_stats_quantile(sorted, (size_t)blocking.n, 0.5);
    }
    ictus_bench_result_free(&blocking);
    if (err) {
        return err;
    }
    MPI_Bcast(&t_b, 1, MPI_DOUBLE, 0, s->bench->comm);
    s->result->blocking_s = fmax(t_b, 1e-9);
    return ICTUS_OK;
}

/*
 * Step 3: the amount of work that takes as long. The largest number of units over all processes is
 * used, so that every process computes at least for the required time, and all do the same amount
 * of work.
 */
static int overlap_find_work(struct study *s, struct ictus_why *why)
{
    const double target_ns = s->result->blocking_s * s->plan->factor * 1e9;
    int64_t units = 0;
    int err = ictusi_workload_find(&s->work, s->source, target_ns, &units);
    if (err == ICTUS_ERR_CORRUPT) {
        (void)ictus_because(why, err,
                            "the time of the computation is not proportional to its size: the "
                            "machine is too busy, or the compiler removed it");
    }
    err = ictusi_sync_agree(s->bench->comm, err, why);
    if (err) {
        return err;
    }
    MPI_Allreduce(&units, &s->units, 1, MPI_INT64_T, MPI_MAX, s->bench->comm);
    const double took = ictusi_workload_time(&s->work, s->source, s->units);
    double longest = 0.0;
    MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, s->bench->comm);
    s->result->compute_s = longest * 1e-9;
    s->result->work_error = target_ns > 0.0 ? longest / target_ns - 1.0 : 0.0;
    return ICTUS_OK;
}

/* H08 4.2: N = ceil(size / interval) + 1. */
static int64_t overlap_number_of_tests(const struct ictus_overlap_plan *plan)
{
    if (plan->progress != ICTUS_PROGRESS_TESTS) {
        return 0;
    }
    const uint64_t interval = plan->interval ? plan->interval : 1;
    const uint64_t n = plan->call.bytes / interval + (plan->call.bytes % interval != 0) + 1;
    /*
     * A single test would only be at the start, so there is at least one before and one after the
     * work.
     */
    return n < 2 ? 2 : (int64_t)(n < TESTS_MAX ? n : TESTS_MAX);
}

/*
 * How many repetitions fit into the time limit, and at most as many as requested; the same on all
 * processes. 20 us are added for the common start of each repetition. There are at least
 * REPETITIONS_LEAST, because a median of fewer is meaningless.
 */
static int64_t overlap_affordable(const struct study *s)
{
    const double each = s->result->blocking_s + s->result->compute_s + 20e-6;
    int64_t n = s->plan->call.repetitions;
    if (s->plan->call.max_time_s > 0.0 && (double)n * each > s->plan->call.max_time_s) {
        n = (int64_t)(s->plan->call.max_time_s / each);
    }
    return n > REPETITIONS_LEAST ? n : REPETITIONS_LEAST;
}

/*
 * Measure all repetitions.
 *
 *     table: COLUMNS x n maxima over processes, then TIMES x n sums over processes
 *
 * A repetition that was late on one process is invalid on all, since INVALID is also reduced by
 * MPI_MAX.
 */
static int overlap_measure(struct study *s, struct ictus_why *why)
{
    s->n = overlap_affordable(s);
    s->table = calloc((size_t)(s->n * (COLUMNS + TIMES)), sizeof(*s->table));
    int err = ictusi_sync_agree(s->bench->comm, s->table ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    for (int64_t i = 0; i < s->n && !err; i++) {
        err = overlap_once(s, &s->table[i], s->n);
    }
    err = ictusi_sync_agree(s->bench->comm, err, why);
    if (err) {
        return err;
    }
    int64_t *sums = s->table + COLUMNS * s->n;
    memcpy(sums, s->table, (size_t)(TIMES * s->n) * sizeof(*sums));
    MPI_Allreduce(MPI_IN_PLACE, s->table, (int)(COLUMNS * s->n), MPI_INT64_T, MPI_MAX,
                  s->bench->comm);
    MPI_Allreduce(MPI_IN_PLACE, sums, (int)(TIMES * s->n), MPI_INT64_T, MPI_SUM, s->bench->comm);
    return ICTUS_OK;
}

/*
 * The median of one column over the valid repetitions, in seconds. A column has n words; divisor is
 * the number of processes for sums.
 */
static double column_median(const struct study *s, const int64_t *column, double divisor,
                            double *scratch)
{
    size_t n = 0;
    for (int64_t i = 0; i < s->n; i++) {
        if (!s->table[INVALID * s->n + i]) {
            scratch[n++] = 1e-9 * (double)column[i] / divisor;
        }
    }
    ictusi_stats_sort(scratch, n);
    return n ? ictusi_stats_quantile(scratch, n, 0.5) : 0.0;
}

/*
 * The overhead is a maximum over processes. The formulas of OSU and IMB use means (sums / p),
 * because those suites compute them from means. read_ns counts twice per test, before and after it.
 * unseen is the time of the last process that neither the computation nor MPI calls explain: it was
 * not on the CPU.
 */
static void overlap_fill_result(struct study *s, double *scratch)
{
    struct ictus_overlap_result *r = s->result;
    const int64_t *max = s->table;
    const int64_t *sum = s->table + COLUMNS * s->n;
    const double p = s->call.size;
    r->init_s = column_median(s, max + INIT * s->n, 1.0, scratch);
    r->test_s = column_median(s, max + TEST * s->n, 1.0, scratch);
    r->wait_s = column_median(s, max + WAIT * s->n, 1.0, scratch);
    const double seen = column_median(s, max + OVERHEAD * s->n, 1.0, scratch);
    const double last = column_median(s, max + STOP * s->n, 1.0, scratch);
    r->overhead_s = seen;
    r->total_s = column_median(s, max + TOTAL * s->n, 1.0, scratch);
    const double reading = 2e-9 * (double)(s->read_ns * s->tests);
    r->unseen_s = fmax(0.0, last - r->compute_s - seen - reading);
    if (s->plan->method == ICTUS_OVERLAP_WORK) {
        r->total_s = last;
        r->overhead_s = fmax(0.0, last - r->compute_s);
    }
    r->h08 = ictusi_overlap_h08(r->overhead_s, r->blocking_s);
    const double overall = column_median(s, sum + TOTAL * s->n, p, scratch);
    const double computed = column_median(s, sum + COMPUTE * s->n, p, scratch);
    const double tested = column_median(s, sum + TEST * s->n, p, scratch);
    r->osu = ictusi_overlap_osu(overall, computed, tested, r->blocking_s);
    r->imb = ictusi_overlap_imb(overall, computed - tested, r->blocking_s);
}

/* The number of valid repetitions becomes n; scratch has room for one column. */
static int overlap_finish(struct study *s, struct ictus_why *why)
{
    double *scratch = calloc((size_t)s->n, sizeof(*scratch));
    int err = ictusi_sync_agree(s->bench->comm, scratch ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    s->result->tests = s->tests;
    s->result->invalid = 0;
    for (int64_t i = 0; i < s->n; i++) {
        s->result->invalid += s->table[INVALID * s->n + i] != 0;
    }
    s->result->n = s->n - s->result->invalid;
    if (!err && s->result->n == 0) {
        err = ictus_because(
            why, ICTUS_ERR_SAMPLES, "%s of %llu bytes: none of the %lld starts was on time",
            s->plan->call.operation, (unsigned long long)s->plan->call.bytes, (long long)s->n);
    }
    if (!err) {
        overlap_fill_result(s, scratch);
    }
    free(scratch);
    return err;
}

/*
 * Whether the MPI library makes progress by itself: MPICH can use a thread of its own, Open MPI 4
 * cannot.
 */
static int overlap_check_library_progress(struct ictus_why *why)
{
    const char *asked = getenv("MPIR_CVAR_ASYNC_PROGRESS");
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    if (strstr(version, "MPICH") && asked && strcmp(asked, "1") == 0) {
        return ICTUS_OK;
    }
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED, "strategy 'library': %s",
                         strstr(version, "MPICH") ? "start the job with MPIR_CVAR_ASYNC_PROGRESS=1"
                                                  : "this MPI library offers no progress thread");
}

/* An operation without a separate start cannot be overlapped. */
static int overlap_check(const struct ictus_overlap_plan *plan, const struct operation *operation,
                         struct ictus_why *why)
{
    if (!operation->start) {
        return ictus_because(why, ICTUS_ERR_ARG, "'%s' is not a nonblocking operation; try i%s",
                             operation->name, operation->name);
    }
    if (plan->factor <= 0.0 || plan->call.repetitions < 1) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "an overlap study needs at least one repetition and a factor above 0");
    }
    return plan->progress == ICTUS_PROGRESS_LIBRARY ? overlap_check_library_progress(why)
                                                    : ICTUS_OK;
}

/*
 * The progress thread starts after the blocking time is known, which must be that of the library
 * alone. It is stopped even after an error, because the communicator must not be freed while it
 * runs.
 */
static int overlap_run_phases(struct study *s, struct ictus_why *why)
{
    struct progress_thread *thread = NULL;
    int err = overlap_measure_blocking(s, why);
    if (!err) {
        err = overlap_find_work(s, why);
    }
    if (!err && s->plan->progress == ICTUS_PROGRESS_THREAD) {
        err = ictusi_progress_start(s->bench->comm, &thread);
        if (err == ICTUS_ERR_THREAD) {
            (void)ictus_because(why, err,
                                "strategy 'thread' needs MPI_THREAD_MULTIPLE and one more thread");
        }
        err = ictusi_sync_agree(s->bench->comm, err, why);
    }
    if (!err) {
        err = overlap_measure(s, why);
    }
    ictusi_progress_stop(thread);
    return err ? err : overlap_finish(s, why);
}

/*
 * The cost of readings is measured before anything is timed. Everything is collective over the
 * bench's processes.
 */
int ictus_overlap_run(struct ictus_bench *bench, const struct ictus_overlap_plan *plan,
                      struct ictus_overlap_result *result, struct ictus_why *why)
{
    struct ictus_why unheard;
    struct ictus_why *reason = why ? why : &unheard;
    reason->text[0] = '\0';
    if (!bench || !plan || plan->size < sizeof(*plan) || !result || !plan->call.operation) {
        return ICTUS_ERR_ARG;
    }
    const struct operation *operation =
        ictusi_operation_find(plan->call.plugins, plan->call.operation, reason);
    if (!operation) {
        return ICTUS_ERR_UNKNOWN;
    }
    int err = overlap_check(plan, operation, reason);
    if (err) {
        return err;
    }
    memset(result, 0, sizeof(*result));
    struct study s = {.bench = bench,
                      .plan = plan,
                      .result = result,
                      .source = bench->clock->source,
                      .tests = overlap_number_of_tests(plan)};
    err = ictusi_call_init(&s.call, operation, bench->comm, &plan->call, reason);
    if (err) {
        return err;
    }
    s.read_ns = cost_of_reading(s.source);
    err = ictusi_sync_agree(bench->comm, ictusi_workload_init(&s.work, plan->kernel), reason);
    if (!err) {
        err = overlap_run_phases(&s, reason);
    }
    ictusi_workload_fini(&s.work);
    ictusi_call_fini(&s.call);
    free(s.table);
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus overlap: what a nonblocking operation costs the CPU and how well it progresses. */
#include "bench/bench_reach.h"
#include "bench/overlap_record.h"
#include "main/command.h"
#include "main/group.h"
#include "main/interrupt.h"
#include "main/shared_rows.h"
#include "main/sizes.h"
#include "main/study_base.h"
#include "main/text_table.h"
#include "main/word_list.h"

#include <ictus/overlap.h>
#include <ictus/text.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct overlap_options {
    const char *ops;
    const char *sizes;
    const char *processes;
    int placement;
    int method;
    const char *strategy;
    const char *intervals;
    int kernel;
    double factor;
    int formula;
    int64_t repetitions;
    int64_t warmup;
    double max_time_s;
    int64_t root;
    const char *datatype;
    const char *layout;
    const char *topology;
    const char *clock;
    const char *sync;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct overlap_options, member)

static const struct option_row options[] = {
    ROW_OPS(AT(ops), "iallreduce", "nonblocking operations, or all"),
    ROW_SIZES(AT(sizes), "8,1K,64K,1M"),
    ROW_PROCESSES(AT(processes)),
    ROW_PLACEMENT(AT(placement), group_placements),
    {"method", 0, OPTION_CHOICE, AT(method), "time", 0, 0, ictus_overlap_method_names, "HOW",
     "how overhead is found: by time (timers) or work (fixed work)"},
    {"strategy", 0, OPTION_TEXT, AT(strategy), "none,tests", 0, 0, NULL, "LIST",
     "how progress is made: none, tests, thread, library"},
    {"interval-bytes", 0, OPTION_TEXT, AT(intervals), "1K", 0, 0, NULL, "LIST",
     "bytes for each MPI_Test; of several values the best is marked"},
    {"kernel", 0, OPTION_CHOICE, AT(kernel), "arithmetic", 0, 0, ictus_kernel_names, "NAME",
     "kind of computation: arithmetic, memory"},
    {"factor", 0, OPTION_REAL, AT(factor), "1", 0.01, 1000, NULL, "F",
     "length of the computation in multiples of the blocking time"},
    {"formula", 0, OPTION_CHOICE, AT(formula), "h08", 0, 0, overlap_record_formulas, "NAME",
     "definition of overlap to show: h08, osu, imb"},
    ROW_REPETITIONS(AT(repetitions), "200", 1e7, "repetitions of each measurement"),
    ROW_WARMUP(AT(warmup), "10", 1e6, "untimed calls before each measurement"),
    ROW_TIME(AT(max_time_s), "2s", "time limit of each measurement; 0 means none"),
    ROW_ROOT(AT(root)),
    ROW_DATATYPE(AT(datatype)),
    ROW_LAYOUT(AT(layout)),
    ROW_TOPOLOGY(AT(topology)),
    ROW_CLOCK(AT(clock)),
    ROW_SYNC(AT(sync)),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

enum { OPS_MAX = 256, INTERVALS_MAX = 64 };

struct overlap_study {
    struct study_base base;
    const struct overlap_options *options;
    struct ictus_operation_info ops[OPS_MAX];
    int op_count;
    uint64_t *sizes, *intervals;
    size_t size_count, interval_count;
    int counts[GROUP_COUNTS_MAX];
    int count_count;
    bool wanted[ICTUS_PROGRESSES];
    int left_out;
};

static int overlap_add_op(void *given, char *name, struct ictus_why *why)
{
    struct overlap_study *s = given;
    if (s->op_count == OPS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--ops: at most %d operations can be given",
                             OPS_MAX);
    }
    const int err = ictus_operation_find(NULL, name, &s->ops[s->op_count], why);
    if (!err && !s->ops[s->op_count].nonblocking) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%s' is not a nonblocking operation; try 'i%s'",
                             name, name);
    }
    s->op_count++;
    return err;
}

static int overlap_read_ops(struct overlap_study *s, struct ictus_why *why)
{
    const struct word_list list = {"ops", s->options->ops, "operation"};
    struct ictus_operation_info info;
    if (strcmp(list.text, "all") != 0) {
        return word_list_read(&list, overlap_add_op, s, why);
    }
    for (int i = 0; !ictus_operation(NULL, i, &info); i++) {
        if (info.nonblocking && s->op_count < OPS_MAX) {
            s->ops[s->op_count++] = info;
        }
    }
    return ICTUS_OK;
}

static int overlap_add_strategy(void *given, char *word, struct ictus_why *why)
{
    struct overlap_study *s = given;
    for (int i = 0; ictus_progress_names[i]; i++) {
        if (strcmp(word, ictus_progress_names[i]) == 0) {
            s->wanted[i] = true;
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "strategy", word, ictus_progress_names);
}

static int overlap_read_strategies(struct overlap_study *s, struct ictus_why *why)
{
    const struct word_list list = {"strategy", s->options->strategy, "strategy"};
    return word_list_read(&list, overlap_add_strategy, s, why);
}

static int overlap_read_lists(struct overlap_study *s, struct ictus_why *why)
{
    int err = sizes_read("sizes", s->options->sizes, &s->sizes, &s->size_count, why);
    if (!err) {
        err = sizes_read("interval-bytes", s->options->intervals, &s->intervals, &s->interval_count,
                         why);
    }
    if (!err && s->interval_count > INTERVALS_MAX) {
        err = ictus_because(why, ICTUS_ERR_SPEC, "--interval-bytes: at most %d values can be given",
                            INTERVALS_MAX);
    }
    for (size_t i = 0; i < s->interval_count && !err; i++) {
        if (s->intervals[i] == 0) {
            err = ictus_because(why, ICTUS_ERR_SPEC,
                                "--interval-bytes=%.80s: must be values of at least 1",
                                s->options->intervals);
        }
    }
    return err ? err : group_counts(s->options->processes, s->counts, &s->count_count, why);
}

/* Refuse options that would silently do nothing. */
static int overlap_check_effect(const struct overlap_study *s, struct ictus_why *why)
{
    unsigned reached = 0;
    for (int op = 0; op < s->op_count; op++) {
        reached |= bench_reach_of(&s->ops[op]);
    }
    if (!s->wanted[ICTUS_PROGRESS_TESTS] &&
        options_is_set(options_row(options, "interval-bytes"), s->options)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--interval-bytes has an effect only with --strategy=tests");
    }
    return strcmp(s->options->ops, "all") == 0
               ? ICTUS_OK
               : bench_reach_check(options, s->options, reached, why);
}

static int overlap_read_study(struct overlap_study *s, struct ictus_why *why)
{
    int err = overlap_read_ops(s, why);
    if (!err) {
        err = overlap_read_lists(s, why);
    }
    if (!err) {
        err = overlap_read_strategies(s, why);
    }
    if (!err && s->options->root >= command_size()) {
        err = ictus_because(why, ICTUS_ERR_SPEC, "--root=%lld: must be a rank between 0 and %d",
                            (long long)s->options->root, command_size() - 1);
    }
    err = err ? err : overlap_check_effect(s, why);
    study_base_init(&s->base, "overlap", &s->options->results, &s->options->talk);
    study_base_clock(&s->base, s->options->sync, s->options->clock);
    return err;
}

static struct ictus_overlap_plan overlap_plan(const struct overlap_study *s, const char *operation,
                                              uint64_t bytes)
{
    const struct overlap_options *o = s->options;
    return (struct ictus_overlap_plan){
        .size = sizeof(struct ictus_overlap_plan),
        .call = {.size = sizeof(struct ictus_bench_plan),
                 .operation = operation,
                 .bytes = bytes,
                 .datatype = o->datatype,
                 .layout = o->layout,
                 .topology = o->topology,
                 .root = (int)o->root,
                 .repetitions = o->repetitions,
                 .warmup = o->warmup,
                 .max_time_s = o->max_time_s},
        .method = (enum ictus_overlap_method)o->method,
        .kernel = (enum ictus_kernel)o->kernel,
        .factor = o->factor,
    };
}

/* Failures of one operation that say nothing about the others. */
static bool overlap_may_go_on(const struct overlap_study *s, const struct ictus_overlap_plan *plan,
                              int err)
{
    struct ictus_operation_info info = {0};
    (void)ictus_operation_find(NULL, plan->call.operation, &info, NULL);
    return err == ICTUS_ERR_SAMPLES || err == ICTUS_ERR_CORRUPT ||
           (err == ICTUS_ERR_UNSUPPORTED && info.persistent && strcmp(s->options->ops, "all") == 0);
}

/* One measurement; *object is the caller's, NULL where nothing came and on all ranks but 0. */
static int overlap_run_one(struct overlap_study *s, struct ictus_bench *bench,
                           const struct ictus_overlap_plan *plan, int processes, json_t **object,
                           struct ictus_why *why)
{
    struct ictus_overlap_result result = {0};
    int err = bench ? ictus_overlap_run(bench, plan, &result, why) : ICTUS_OK;
    group_rest();
    if (!err && command_rank() == 0) {
        *object = overlap_record_create(plan, processes, (enum overlap_formula)s->options->formula,
                                        &result);
        err = *object ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    err = results_agree(err, why);
    if (overlap_may_go_on(s, plan, err)) {
        s->left_out++;
        study_base_omit(&s->base, why);
        return ICTUS_OK;
    }
    return err;
}

static int overlap_put(struct overlap_study *s, json_t *object, struct ictus_why *why)
{
    const int err = object ? study_base_put(&s->base, object) : ICTUS_OK;
    return results_agree(err, why);
}

/* Tests at every interval. */
static int overlap_run_tests(struct overlap_study *s, struct ictus_bench *bench,
                             struct ictus_overlap_plan plan, int processes, struct ictus_why *why)
{
    json_t *objects[INTERVALS_MAX] = {NULL};
    int err = ICTUS_OK;
    for (size_t i = 0; i < s->interval_count && !err; i++) {
        plan.interval = s->intervals[i];
        err = overlap_run_one(s, bench, &plan, processes, &objects[i], why);
    }
    overlap_record_mark_best(objects, s->interval_count);
    for (size_t i = 0; i < s->interval_count && !err; i++) {
        err = overlap_put(s, objects[i], why);
    }
    return err;
}

static int overlap_run_size(struct overlap_study *s, struct ictus_bench *bench, int processes,
                            const char *operation, uint64_t bytes, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (int p = 0; p < ICTUS_PROGRESSES && !err; p++) {
        struct ictus_overlap_plan plan = overlap_plan(s, operation, bytes);
        json_t *object = NULL;
        plan.progress = (enum ictus_progress)p;
        if (!s->wanted[p]) {
            continue;
        }
        if (p == ICTUS_PROGRESS_TESTS) {
            err = overlap_run_tests(s, bench, plan, processes, why);
            continue;
        }
        err = overlap_run_one(s, bench, &plan, processes, &object, why);
        if (!err) {
            err = overlap_put(s, object, why);
        }
    }
    return err;
}

static int overlap_run_group(struct overlap_study *s, int processes, struct ictus_why *why)
{
    struct ictus_bench *bench = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    group_split(processes, (enum placement)s->options->placement, &comm);
    int err = ICTUS_OK;
    if (comm != MPI_COMM_NULL) {
        err = ictus_bench_create(comm, "harmonize", s->base.clock, &bench, why);
    }
    err = results_agree(err, why);
    for (int op = 0; op < s->op_count && !err; op++) {
        for (size_t i = 0; i < s->size_count && !err && !interrupt_came(); i++) {
            study_base_step(&s->base, s->ops[op].name);
            if (s->ops[op].has_data || i == 0) {
                const uint64_t bytes = s->ops[op].has_data ? s->sizes[i] : 0;
                err = overlap_run_size(s, bench, processes, s->ops[op].name, bytes, why);
            }
        }
    }
    ictus_bench_free(bench);
    if (comm != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
    }
    return err;
}

/*
 * Measurements of one size: each strategy and interval has its time limit, and the blocking
 * operation a quarter of one.
 */
static double overlap_longest_s(const struct overlap_study *s)
{
    double parts = 0.0;
    for (int p = 0; p < ICTUS_PROGRESSES; p++) {
        const double each = p == ICTUS_PROGRESS_TESTS ? (double)s->interval_count : 1.0;
        parts += s->wanted[p] ? each : 0.0;
    }
    return 1.25 * parts * s->options->max_time_s;
}

static int overlap_run_study(struct overlap_study *s, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "overlap",
        .rows = options,
        .options = s->options,
        .clock = s->options->clock,
        .sync = s->options->sync,
    };
    int err = study_base_open(&s->base, &facts, overlap_record_columns, why);
    if (err) {
        return err;
    }
    if (command_rank() == 0 && s->options->results.format == ICTUS_FORMAT_TEXT) {
        remark_print(stdout, "overlap = %s", overlap_record_formula_texts[s->options->formula]);
    }
    study_base_begin(&s->base, "measurements",
                     (double)s->count_count * s->op_count * (double)s->size_count);
    progress_foretell(&s->base.progress, overlap_longest_s(s));
    for (int i = 0; i < s->count_count && !err; i++) {
        err = overlap_run_group(s, s->counts[i], why);
    }
    return study_base_close(&s->base, err, why);
}

static int overlap_run(const void *given, int word_count, char **words)
{
    struct overlap_study *s = calloc(1, sizeof(*s));
    struct ictus_why why = {""};
    if (!s) {
        return command_fail("overlap", ICTUS_ERR_NOMEM, NULL);
    }
    s->options = given;
    interrupt_watch();
    int err =
        word_count > 0
            ? ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; overlap takes only options", words[0])
            : overlap_read_study(s, &why);
    if (!err) {
        err = overlap_run_study(s, &why);
    }
    const int left_out = s->left_out;
    free(s->sizes);
    free(s->intervals);
    free(s);
    return interrupt_end("overlap", err, &why, left_out ? EXIT_BELOW : EXIT_OK);
}

const struct command command_overlap = {
    .name = "overlap",
    .summary = "measure the CPU time of nonblocking operations and their progress",
    .arguments = "",
    .details = "  mpirun -n 2 ictus overlap --ops=iallreduce --sizes=1K..1M*4",
    .options = options,
    .flags = NEEDS_MPI | ASKS_PROGRESS,
    .options_size = sizeof(struct overlap_options),
    .run = overlap_run,
};

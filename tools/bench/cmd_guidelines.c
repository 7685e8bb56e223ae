/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus guidelines: whether a collective is slower than what others could do in its place. */
#include "bench/bench_reach.h"
#include "bench/guideline_study.h"
#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/shuffle.h"

#include <ictus/text.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AT(member) offsetof(struct guideline_options, member)

enum { WARMUP = 2 };

static const char *const reductions[] = {"scheme",   "max",  "mean", "min", "root",
                                         "makespan", "exit", "wait", NULL};

static const struct option_row options[] = {
    ROW_OPS(AT(ops), "all", "operations whose guidelines are tested, or all"),
    ROW_SIZES(AT(sizes), "8,64,1K,8K,64K"),
    {"kinds", 0, OPTION_TEXT, AT(kinds), "all", 0, 0, NULL, "LIST",
     "mockup, split, monotony, or all"},
    ROW_SCHEME(AT(scheme), "harmonize", "SPEC", "how processes start together"),
    {"reduction", 0, OPTION_CHOICE, AT(reduction), "scheme", 0, 0, reductions, "NAME",
     "how the processes' times are combined; scheme: as the scheme expects"},
    ROW_REPETITIONS(AT(repetitions), "300", 1e9, "repetitions of each operation at each size"),
    {"rounds", 0, OPTION_INT, AT(rounds), "15", 1, TURNS_ROUNDS_MAX, NULL, "N",
     "rounds in which all are measured, in random order"},
    ROW_TIME(AT(max_time_s), "1s", "time limit of each operation; 0 means none"),
    {"tolerance", 0, OPTION_RATIO, AT(tolerance), "5%", 0, 10, NULL, "RATIO",
     "ignore operations that are slower by no more than this"},
    {"significance", 0, OPTION_RATIO, AT(significance), "5%", 0, 1, NULL, "RATIO",
     "probability of one or more false violations"},
    ROW_LAUNCH_SPREAD(AT(launch_spread), SPREAD_OF_RATIOS,
                      "spread between launches to assume if there are fewer than five"),
    {"after", 0, OPTION_TEXT, AT(after), NULL, 0, 0, NULL, "FILE",
     "keep what this earlier result found, unless it is clearly wrong now"},
    ROW_FAIL_ABOVE(AT(fail_above), "exit with code 3 if a violation is larger, e.g. 10%"),
    {"all", 0, OPTION_FLAG, AT(all), NULL, 0, 0, NULL, NULL, "also print the guidelines that hold"},
    ROW_ROOT(AT(root)),
    ROW_DATATYPE(AT(datatype)),
    ROW_REDUCE(AT(reduce)),
    {"check", 0, OPTION_FLAG, AT(check), NULL, 0, 0, NULL, NULL,
     "verify the results of the operations"},
    ROW_CLOCK(AT(clock)),
    ROW_SYNC(AT(sync)),
    ROW_SEED(AT(seed), 9e18, "seed of the random order within rounds"),
    ROW_RAW(AT(raw), "keep every sample in the result file"),
    ROW_LIST(AT(list), "list the guidelines"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static void guidelines_list(const struct guideline_study *study)
{
    for (int i = 0; i < study->operation_count; i++) {
        const struct guideline_operation *op = &study->operations[i];
        const char *name = op->rivals[0].name;
        for (int rival = 1; rival < op->rival_count; rival++) {
            const struct ictus_operation_info *other = &op->rivals[rival];
            (void)printf("%-9s %s(n) <= %s\n",
                         guideline_kinds[other->pieces ? KIND_SPLIT : KIND_MOCKUP], name,
                         other->name);
        }
        if (study->kinds[KIND_MONOTONY]) {
            (void)printf("%-9s %s(n) <= %s(n + k)\n", guideline_kinds[KIND_MONOTONY], name, name);
        }
    }
}

/* Rank 0 receives the samples; all ranks receive the error. */
static int guidelines_keep(struct turns *turns, const struct ictus_bench_result *result,
                           enum ictus_reduction reduction)
{
    int err = ICTUS_OK;
    if (command_rank() == 0) {
        err = turns_add(turns, result->samples_s[reduction],
                        result->samples_s[reduction] ? (size_t)result->n : 0);
        turns_note_trip(turns, result->node_trip_s);
        turns->invalid += result->invalid;
    }
    return err;
}

/* A few repetitions of one rival at one size. */
static int guidelines_run_turn(struct guideline_study *study, const struct guideline_operation *op,
                               size_t cell, int64_t round, struct ictus_why *why)
{
    const struct guideline_options *o = study->options;
    const struct ictus_operation_info *rival = &op->rivals[cell / study->size_count];
    struct ictus_bench_result result = {0};
    const struct ictus_bench_plan plan = {
        .size = sizeof(plan),
        .operation = rival->name,
        .bytes = study->sizes[cell % study->size_count],
        .datatype = o->datatype,
        .reduce = o->reduce,
        .root = rival->rooted ? (int)o->root : 0,
        .check = o->check && round == 0,
        .repetitions = (o->repetitions + o->rounds - 1) / o->rounds,
        .warmup = WARMUP,
        .max_time_s = o->max_time_s / (double)o->rounds,
    };
    int err = study->unfit[cell] ? ICTUS_OK : ictus_bench_run(study->bench, &plan, &result, why);
    if (err == ICTUS_ERR_UNSUPPORTED) {
        study->unfit[cell] = true;
        study_base_omit(&study->base, why);
    }
    if (err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_SAMPLES) {
        err = ICTUS_OK; /* a round without samples */
        why->text[0] = '\0';
    }
    err = err ? err : guidelines_keep(&study->turns[cell], &result, study->reduction);
    ictus_bench_result_free(&result);
    return results_agree(err, why);
}

static int guidelines_clear_series(struct guideline_study *study, size_t cells)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < cells && !err; i++) {
        turns_fini(&study->turns[i]);
        err = turns_init(&study->turns[i]);
        study->unfit[i] = false;
    }
    return err;
}

/* All rounds of an operation and its rivals, all sizes mixed. */
static int guidelines_run_operation(struct guideline_study *study,
                                    const struct guideline_operation *op, uint64_t *random,
                                    struct ictus_why *why)
{
    const size_t cells = (size_t)op->rival_count * study->size_count;
    size_t *order = calloc(cells, sizeof(*order));
    int err = order ? guidelines_clear_series(study, cells) : ICTUS_ERR_NOMEM;
    for (size_t i = 0; i < cells && !err; i++) {
        order[i] = i;
    }
    int64_t round = 0;
    for (; round < study->options->rounds && !err && !interrupt_came(); round++) {
        shuffle_order(order, cells, random);
        for (size_t i = 0; i < cells && !err; i++) {
            study_base_step(&study->base, op->rivals[0].name);
            err = guidelines_run_turn(study, op, order[i], round, why);
        }
    }
    free(order);
    /* A comparison that an interrupt cut short would not be fair, so it is left out. */
    if (!err && command_rank() == 0 && round == study->options->rounds) {
        err = guideline_study_write(study, op);
    }
    return results_agree(err, why);
}

static double guidelines_count_turns(const struct guideline_study *study)
{
    double cells = 0.0;
    for (int i = 0; i < study->operation_count; i++) {
        cells += (double)study->operations[i].rival_count * (double)study->size_count;
    }
    return cells * (double)study->options->rounds;
}

static int guidelines_run_study(struct guideline_study *study, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "guidelines",
        .rows = options,
        .options = study->options,
        .sync = study->options->sync,
        .clock = study->options->clock,
        .seeded = true,
        .seed = study->options->seed,
    };
    uint64_t random = (uint64_t)study->options->seed;
    int err = ictus_bench_create(MPI_COMM_WORLD, study->options->scheme, study->base.clock,
                                 &study->bench, why);
    err = err ? err : study_base_open(&study->base, &facts, guideline_columns, why);
    if (err) {
        return err;
    }
    study_base_begin(&study->base, "turns", guidelines_count_turns(study));
    progress_foretell(&study->base.progress,
                      study->options->max_time_s / (double)study->options->rounds);
    for (int i = 0; i < study->operation_count && !err && !interrupt_came(); i++) {
        err = guidelines_run_operation(study, &study->operations[i], &random, why);
    }
    progress_hide(&study->base.progress);
    if (!err && command_rank() == 0) {
        err = guideline_close(study->options, study->base.out, &study->tally);
    }
    err = results_agree(err, why);
    return study_base_close(&study->base, err, why);
}

/* Refuse options that would silently do nothing. */
static int guidelines_check_effect(const struct guideline_study *study, struct ictus_why *why)
{
    unsigned reached = 0;
    for (int i = 0; i < study->operation_count; i++) {
        for (int rival = 0; rival < study->operations[i].rival_count; rival++) {
            const struct ictus_operation_info *op = &study->operations[i].rivals[rival];
            /* The parts of a mock-up that is not rooted itself keep root 0. */
            reached |= bench_reach_of(op) & (op->rooted ? ~0U : ~(unsigned)REACH_ROOT);
        }
    }
    return bench_reach_check(options, study->options, reached, why);
}

static int guidelines_act(struct guideline_study *study, struct ictus_why *why)
{
    int err = guideline_study_read(study, why);
    err = err ? err : guidelines_check_effect(study, why);
    if (!err && study->options->list) {
        if (command_rank() == 0) {
            guidelines_list(study);
        }
        return ICTUS_OK;
    }
    if (!err && study->options->after && command_rank() == 0) {
        err = guideline_after_read(study->options->after, &study->earlier, why);
    }
    err = results_agree(err, why);
    return err ? err : guidelines_run_study(study, why);
}

/* Rank 0 reads and judges, and tells the others whether that succeeded. */
static int guidelines_judge_files(struct guideline_study *study, int count, char **words,
                                  struct ictus_why *why)
{
    static const char *const judging[] = {
        "tolerance", "significance", "launch-spread", "fail-above", "all",     "format",
        "output",    "force",        "quiet",         "progress",   "verbose", NULL};
    int err = options_judge_only(options, study->options, judging, why);
    if (!err && command_rank() == 0) {
        err = guideline_merge(study->options, count, words, &study->tally, why);
    }
    return results_agree(err, why);
}

static int guidelines_run(const void *given, int word_count, char **words)
{
    struct ictus_why why = {""};
    struct guideline_study study = {.options = given};
    interrupt_watch();
    double limit = 0.0;
    int err = options_fail_above(study.options->fail_above, &limit, &why);
    if (!err) {
        err = word_count > 0 ? guidelines_judge_files(&study, word_count, words, &why)
                             : guidelines_act(&study, &why);
    }
    int violated = study.tally.failed > 0;
    guideline_study_fini(&study);
    const bool interrupted = interrupt_came();
    if (err) {
        return command_fail("guidelines", err, &why);
    }
    MPI_Bcast(&violated, 1, MPI_INT, 0, MPI_COMM_WORLD); /* only rank 0 has compared */
    if (interrupted) {
        return EXIT_INTERRUPTED;
    }
    return violated ? EXIT_BELOW : EXIT_OK;
}

const struct command command_guidelines = {
    .name = "guidelines",
    .summary = "find collectives that are slower than their equivalents",
    .arguments = "[FILE...]",
    .details = "Given result files, it judges them together, one launch each.\n"
               "  mpirun -n 4 ictus guidelines --ops=allreduce,bcast -o "
               "launch1.jsonl\n"
               "  ictus guidelines launch?.jsonl -o guidelines.jsonl\n"
               "  ictus report guidelines.jsonl",
    .options = options,
    .flags = NEEDS_MPI | READS_FILES,
    .options_size = sizeof(struct guideline_options),
    .run = guidelines_run,
};

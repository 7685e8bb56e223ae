/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus guidelines: whether a collective is slower than what others could do in its place. */
#include "bench/guideline_study.h"
#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/results.h"
#include "main/shuffle.h"

#include <ictus/text.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define AT(member) offsetof(struct guideline_options, member)

enum { WARMUP = 2 };

static const char *const reductions[] = {"scheme", "max", "mean", "min", "root", "makespan", NULL};

static const struct option_row options[] = {
    {"ops", 'p', OPTION_TEXT, AT(ops), "all", 0, 0, NULL, "LIST",
     "operations whose guidelines are tested"},
    {"sizes", 's', OPTION_TEXT, AT(sizes), "8,64,1K,8K,64K", 0, 0, NULL, "LIST",
     "bytes of a block: 8,1K or 8..64K"},
    {"kinds", 'k', OPTION_TEXT, AT(kinds), "all", 0, 0, NULL, "LIST",
     "mockup, split, monotony, or all"},
    {"scheme", 'm', OPTION_TEXT, AT(scheme), "harmonize", 0, 0, NULL, "SPEC",
     "how processes start together"},
    {"reduction", 0, OPTION_CHOICE, AT(reduction), "scheme", 0, 0, reductions, "NAME",
     "over ranks; scheme: as it expects"},
    {"repetitions", 'n', OPTION_INT, AT(repetitions), "300", 1, 1e9, NULL, "N",
     "of each operation and mock-up at each size"},
    {"rounds", 0, OPTION_INT, AT(rounds), "15", 1, TURNS_ROUNDS_MAX, NULL, "N",
     "in so many turns of random order"},
    {"time", 't', OPTION_SECONDS, AT(max_time_s), "1s", 0, 1e6, NULL, "TIME",
     "longest for each of them, 0: none"},
    {"tolerance", 0, OPTION_RATIO, AT(tolerance), "5%", 0, 10, NULL, "RATIO",
     "slower by no more than this is not told"},
    {"significance", 0, OPTION_RATIO, AT(significance), "5%", 0, 1, NULL, "RATIO",
     "chance of any false violation"},
    {"launch-spread", 0, OPTION_RATIO, AT(launch_spread), "12%", 0, 10, NULL, "RATIO",
     "assumed between launches where there are fewer than five"},
    {"fail", 0, OPTION_FLAG, AT(fail), NULL, 0, 0, NULL, NULL, "exit 3 if a guideline is violated"},
    {"all", 0, OPTION_FLAG, AT(all), NULL, 0, 0, NULL, NULL, "print guidelines that hold as well"},
    {"root", 0, OPTION_INT, AT(root), "0", 0, 1e9, NULL, "RANK", "of rooted operations"},
    {"datatype", 0, OPTION_TEXT, AT(datatype), "char", 0, 0, NULL, "TYPE", "int, double, ..."},
    {"op", 0, OPTION_TEXT, AT(reduce), "sum", 0, 0, NULL, "OP", "of reductions: sum, max, ..."},
    {"check", 0, OPTION_FLAG, AT(check), NULL, 0, 0, NULL, NULL, "verify what all of them compute"},
    {"clock", 'c', OPTION_TEXT, AT(clock), "", 0, 0, NULL, "SRC", "time source, see ictus clocks"},
    {"sync", 0, OPTION_TEXT, AT(sync), "", 0, 0, NULL, "SPEC", "clock algorithm, see ictus sync"},
    {"seed", 0, OPTION_INT, AT(seed), "1", 0, 9e18, NULL, "N", "of the order within rounds"},
    {"raw", 0, OPTION_FLAG, AT(raw), NULL, 0, 0, NULL, NULL,
     "keep every sample in the result file"},
    {"list", 'l', OPTION_FLAG, AT(list), NULL, 0, 0, NULL, NULL, "list the guidelines"},
    {"format", 'f', OPTION_CHOICE, AT(format), "text", 0, 0, results_formats, "FORMAT",
     "of standard output: text, csv, json"},
    {"output", 'o', OPTION_TEXT, AT(file), NULL, 0, 0, NULL, "FILE", "write a result file as well"},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

static void list_guidelines(const struct guideline_study *study)
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

/* This rank may learn of samples, if it is rank 0; all ranks of errors. */
static int keep(struct turns *turns, const struct ictus_bench_result *result,
                enum ictus_reduction reduction)
{
    int err = ICTUS_OK;
    if (command_rank() == 0) {
        err = turns_add(turns, result->samples_s[reduction],
                        result->samples_s[reduction] ? (size_t)result->n : 0);
        turns->invalid += result->invalid;
    }
    return err;
}

/* A few repetitions of one rival at one size. */
static int run_turn(struct guideline_study *study, const struct guideline_operation *op,
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
        if (command_rank() == 0) {
            progress_hide(&study->progress);
            (void)fprintf(stderr, "ictus guidelines: left out: %s\n", why->text);
        }
    }
    if (err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_SAMPLES) {
        err = ICTUS_OK; /* a round without samples */
    }
    err = err ? err : keep(&study->turns[cell], &result, study->reduction);
    ictus_bench_result_free(&result);
    return results_agree(err, why);
}

static int clear_series(struct guideline_study *study, size_t cells)
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
static int run_operation(struct guideline_study *study, const struct guideline_operation *op,
                         uint64_t *random, struct ictus_why *why)
{
    const size_t cells = (size_t)op->rival_count * study->size_count;
    size_t *order = calloc(cells, sizeof(*order));
    int err = order ? clear_series(study, cells) : ICTUS_ERR_NOMEM;
    for (size_t i = 0; i < cells && !err; i++) {
        order[i] = i;
    }
    int64_t round = 0;
    for (; round < study->options->rounds && !err && !interrupt_came(); round++) {
        shuffle_order(order, cells, random);
        for (size_t i = 0; i < cells && !err; i++) {
            progress_step(&study->progress, (double)study->done++, op->rivals[0].name);
            err = run_turn(study, op, order[i], round, why);
        }
    }
    free(order);
    /* What an interrupt cut short is no fair comparison. */
    if (!err && command_rank() == 0 && round == study->options->rounds) {
        err = guideline_study_write(study, op);
    }
    return results_agree(err, why);
}

static double count_turns(const struct guideline_study *study)
{
    double cells = 0.0;
    for (int i = 0; i < study->operation_count; i++) {
        cells += (double)study->operations[i].rival_count * (double)study->size_count;
    }
    return cells * (double)study->options->rounds;
}

static int run_study(struct guideline_study *study, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "guidelines",
        .rows = options,
        .options = study->options,
        .sync = study->options->sync[0] ? study->options->sync : NULL,
        .clock = study->options->clock[0] ? study->options->clock : NULL,
        .seeded = true,
        .seed = study->options->seed,
    };
    uint64_t random = (uint64_t)study->options->seed;
    int err = ictus_bench_create(MPI_COMM_WORLD, study->options->scheme,
                                 study->clock[0] ? study->clock : NULL, &study->bench, why);
    err = err ? err
              : results_open(study->options->format, guideline_columns, study->options->file,
                             header_create(&facts), &study->out, why);
    if (err) {
        return err;
    }
    progress_start(&study->progress, "turns", count_turns(study));
    for (int i = 0; i < study->operation_count && !err && !interrupt_came(); i++) {
        err = run_operation(study, &study->operations[i], &random, why);
    }
    progress_hide(&study->progress);
    if (!err && command_rank() == 0) {
        err = guideline_close(study->options, study->out, &study->tally);
    }
    err = results_agree(err, why);
    return results_close(study->out, study->options->file, err, why);
}

static int act(struct guideline_study *study, struct ictus_why *why)
{
    int err = guideline_study_read(study, why);
    if (!err && study->options->list) {
        if (command_rank() == 0) {
            list_guidelines(study);
        }
        return ICTUS_OK;
    }
    return err ? err : run_study(study, why);
}

/* Rank 0 reads and judges; the others hear how it went. */
static int judge_files(struct guideline_study *study, int count, char **words,
                       struct ictus_why *why)
{
    const int err = command_rank() == 0
                        ? guideline_merge(study->options, count, words, &study->tally, why)
                        : ICTUS_OK;
    return results_agree(err, why);
}

static int guidelines_run(const void *given, int word_count, char **words)
{
    struct ictus_why why = {""};
    struct guideline_study study = {.options = given};
    interrupt_watch();
    const int err =
        word_count > 0 ? judge_files(&study, word_count, words, &why) : act(&study, &why);
    int violated = study.tally.violated > 0 && study.options->fail;
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
    .summary = "collectives slower than other collectives in their place",
    .arguments = "[FILE...]",
    .details = "Result files are judged together, as launches, instead of measuring.\n"
               "  mpirun -n 4 ictus guidelines --ops=allreduce,bcast -o launch1.jsonl\n"
               "  ictus guidelines launch?.jsonl -o guidelines.jsonl\n"
               "  ictus report guidelines.jsonl",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct guideline_options),
    .run = guidelines_run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* The order of measuring: chapters of experiments that take turns. */
#include "bench/bench_rounds.h"

#include "main/command.h"
#include "main/group.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/results.h"

#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUND_LEAST = 50, /* repetitions below which a round is not worth its warm-up */
    CHAPTER_MOST = 1024
};

/* Shortest time that a round may be given, because 0 would mean no limit. */
#define BUDGET_LEAST_S 1e-6

/*
 * Unless told: with a span, an experiment has some time for its repetitions. Without one, the user
 * is in a hurry: one that has as many repetitions as a drift is seen by ends soon. Neither looks at
 * how much the repetitions differ, so that intervals stay what they are.
 */
#define LIMIT_DEFAULT_S 2.0
#if defined(ICTUS_SIMGRID)
#define HURRY_S                                                                                    \
    LIMIT_DEFAULT_S /* a simulated machine is given no span, but nobody waits for it               \
                     */
#else
#define HURRY_S 0.1
#endif
enum { HURRY_LEAST = 100 };

/* One experiment of a chapter and what it has produced so far. */
struct cell {
    const struct bench_experiment *e;
    struct ictus_bench_result sum; /* samples on rank 0 alone */
    struct bench_trips trips;
    double spent_s;
    bool over;
    struct ictus_why why; /* why a round produced nothing */
    int err;              /* of the last round */
};

struct chapter {
    struct bench_study *study;
    rounds_measure *measure;
    struct cell *cells;
    size_t count;
    size_t before; /* experiments of earlier chapters */
    int rounds;
    double began_s;
};

/* Whether its algorithm was not named by the user but comes from "all". */
static bool bench_rounds_is_of_all(const struct bench_study *study,
                                   const struct bench_experiment *e)
{
    return e->algorithm >= 0 && study->algorithms[e->algorithm].of_all;
}

/* Failures of one experiment that say nothing about the others. */
static bool bench_rounds_may_go_on(const struct bench_study *study,
                                   const struct bench_experiment *e, int err)
{
    const bool cannot = err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_ARG;
    return err == ICTUS_ERR_SAMPLES || (cannot && study->every_operation) ||
           (err == ICTUS_ERR_UNSUPPORTED && bench_rounds_is_of_all(study, e));
}

static int rounds_append(double **to, const double *from, int64_t have, int64_t more, int64_t each)
{
    if (!from) {
        return ICTUS_OK;
    }
    double *grown = realloc(*to, (size_t)((have + more) * each) * sizeof(*grown));
    if (!grown) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(grown + have * each, from, (size_t)(more * each) * sizeof(*grown));
    *to = grown;
    return ICTUS_OK;
}

/* Add a round's samples. */
static int rounds_add(struct ictus_bench_result *sum, const struct ictus_bench_result *part,
                      int processes)
{
    int err = ICTUS_OK;
    for (int r = 0; r < ICTUS_REDUCTIONS && !err; r++) {
        err = rounds_append(&sum->samples_s[r], part->samples_s[r], sum->n, part->n, 1);
    }
    if (!err) {
        err = rounds_append(&sum->ranks_s, part->ranks_s, sum->n, part->n, processes);
    }
    sum->n += err ? 0 : part->n;
    sum->invalid += part->invalid;
    /* A round without a start that was on time knows nothing. */
    sum->arrival_ranks = part->n > 0 ? part->arrival_ranks : sum->arrival_ranks;
    sum->sigma_ns = fmax(sum->sigma_ns, part->sigma_ns);
    sum->bound_ns = fmax(sum->bound_ns, part->bound_ns);
    return err;
}

/* Welford's mean and sum of squares. */
static void bench_rounds_add_trip(struct bench_trips *trips, double trip_s)
{
    if (trip_s > 0.0) {
        const double off = log(trip_s) - trips->mean;
        trips->n++;
        trips->mean += off / (double)trips->n;
        trips->squares += off * (log(trip_s) - trips->mean);
    }
}

static double bench_rounds_limit_s(const struct bench_options *o)
{
    return isnan(o->max_time_s) ? LIMIT_DEFAULT_S : o->max_time_s;
}

/* Whether the experiment has used up its time. */
static bool bench_rounds_is_out_of_time(const struct bench_options *o, const struct cell *cell)
{
    const bool hurries = isnan(o->max_time_s) && !(o->span_s > 0.0);
    return (bench_rounds_limit_s(o) > 0.0 && cell->spent_s >= bench_rounds_limit_s(o)) ||
           (hurries && cell->sum.n >= HURRY_LEAST && cell->spent_s >= HURRY_S);
}

/* What is left of the experiment's repetitions and time, shared among the rounds to come. */
static struct ictus_bench_plan part_of(const struct chapter *chapter, const struct cell *cell,
                                       int round)
{
    const struct bench_options *o = chapter->study->options;
    struct ictus_bench_plan plan = bench_study_plan(chapter->study, cell->e);
    const int rounds_left = chapter->rounds - round;
    plan.repetitions = (o->repetitions - cell->sum.n + rounds_left - 1) / rounds_left;
    plan.first = cell->sum.n + cell->sum.invalid;
    plan.max_time_s = 0.0;
    if (bench_rounds_limit_s(o) > 0.0) {
        plan.max_time_s =
            fmax((bench_rounds_limit_s(o) - cell->spent_s) / rounds_left, BUDGET_LEAST_S);
    }
    /* A round's own samples cannot tell how the machine changes between rounds. */
    plan.width = chapter->rounds > 1 ? 0.0 : o->width;
    return plan;
}

/* All ranks hear from rank 0 how long the round took, and whether the experiment is over. */
static void rounds_settle(const struct chapter *chapter, struct cell *cell, double took_s)
{
    const struct bench_options *o = chapter->study->options;
    const double *values = cell->sum.samples_s[ictus_scheme_reduction(o->scheme)];
    cell->spent_s += took_s;
    double words[2] = {cell->spent_s, 0.0};
    words[1] = cell->sum.n >= o->repetitions ||
               ictus_median_settled(values, (size_t)cell->sum.n, o->width) ||
               bench_rounds_is_out_of_time(o, cell) || study_op(chapter->study, cell->e)->once;
    MPI_Bcast(words, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    cell->spent_s = words[0];
    cell->over = words[1] > 0.0;
}

/* The part of an experiment that falls into a round. */
static int bench_rounds_run_part(struct chapter *chapter, struct cell *cell, int round,
                                 struct ictus_why *why)
{
    struct bench_study *study = chapter->study;
    const struct bench_group *group = &study->groups[cell->e->group];
    struct ictus_bench_result part = {0};
    int err = ICTUS_OK;
    const double began_s = meet_now_s();
    if (group->member) {
        struct ictus_bench_plan plan = part_of(chapter, cell, round);
        err = chapter->measure(study, cell->e, &plan, &part, why);
    }
    if (study->group_count > 1 || group->processes < command_size()) {
        group_rest();
    }
    if (!err || err == ICTUS_ERR_SAMPLES) {
        const int added = rounds_add(&cell->sum, &part, group->processes);
        bench_rounds_add_trip(&cell->trips, part.node_trip_s);
        err = added ? added : err;
    }
    ictus_bench_result_free(&part);
    err = results_agree(err, why);
    /* Processes that rested have no samples to count. */
    int64_t counts[2] = {cell->sum.n, cell->sum.invalid};
    MPI_Bcast(counts, 2, MPI_INT64_T, 0, MPI_COMM_WORLD);
    cell->sum.n = counts[0];
    cell->sum.invalid = counts[1];
    cell->err = err;
    cell->why = *why;
    rounds_settle(chapter, cell, meet_now_s() - began_s);
    if (!bench_rounds_may_go_on(study, cell->e, err)) {
        return err;
    }
    /*
     * An operation that does not work will not work in the next round either, but late starts may
     * become fewer.
     */
    cell->over = cell->over || err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_ARG;
    return ICTUS_OK;
}

static void bench_rounds_show_progress(const struct chapter *chapter, int round, size_t i)
{
    struct bench_study *study = chapter->study;
    const double parts = (double)round * (double)chapter->count + (double)i;
    progress_step(&study->progress, (double)chapter->before + parts / chapter->rounds,
                  study->ops[chapter->cells[i].e->op].name);
}

/*
 * Sleep so that the remaining rounds fill the rest of the span. Nobody spins meanwhile, and hosts
 * and kernels may place the processes anew.
 */
static void rounds_rest(const struct chapter *chapter, int round, double round_s)
{
    const double share = (double)round / chapter->rounds;
    const double left_s = chapter->began_s + chapter->study->options->span_s - meet_now_s();
    const int rounds_left = chapter->rounds - round;
    double nap_s = left_s / rounds_left - round_s;
    MPI_Bcast(&nap_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (nap_s > 0.0) {
        meet_sleep_telling(meet_now_s() + nap_s, &chapter->study->progress,
                           (double)chapter->before + (double)chapter->count * share, 0.0,
                           "between rounds");
    }
}

static int bench_rounds_run_round(struct chapter *chapter, int round, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < chapter->count && !err && !interrupt_came(); i++) {
        if (!chapter->cells[i].over) {
            bench_rounds_show_progress(chapter, round, i);
            err = bench_rounds_run_part(chapter, &chapter->cells[i], round, why);
        }
    }
    return err;
}

static bool bench_rounds_all_over(const struct chapter *chapter)
{
    bool over = true;
    for (size_t i = 0; i < chapter->count; i++) {
        over = over && chapter->cells[i].over;
    }
    return over;
}

/* Of late starts the reason says nothing about the algorithm. */
static void bench_rounds_tell_left(const struct bench_study *study, const struct cell *cell)
{
    const int algorithm = cell->err == ICTUS_ERR_SAMPLES ? cell->e->algorithm : -1;
    const char *name = algorithm >= 0 ? study->algorithms[algorithm].name : "";
    (void)fprintf(stderr, "ictus bench: left out: %s%s%s%s\n", name[0] ? "algorithm '" : "", name,
                  name[0] ? "' of " : "", cell->why.text);
}

/* Write what an experiment produced. If it produced nothing, say so once. */
static int bench_rounds_write_cell(struct bench_study *study, struct cell *cell,
                                   struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (cell->sum.n > 0) {
        err = command_rank() == 0 ? bench_study_write(study, cell->e, &cell->sum, &cell->trips)
                                  : ICTUS_OK;
        return results_agree(err, why);
    }
    if (cell->err) {
        /* Of "all", what the library lacks counts as no loss, but what was never on time does. */
        study->left_out +=
            cell->err == ICTUS_ERR_SAMPLES || !bench_rounds_is_of_all(study, cell->e);
        if (command_rank() == 0 && strcmp(cell->why.text, study->said.text) != 0) {
            study->said = cell->why;
            progress_hide(&study->progress);
            bench_rounds_tell_left(study, cell);
        }
    }
    return ICTUS_OK;
}

/* The chapter's experiments in their order, but for one that failed. */
static int bench_rounds_write_all(struct chapter *chapter, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < chapter->count; i++) {
        struct cell *cell = &chapter->cells[i];
        const bool failed =
            cell->err && !bench_rounds_may_go_on(chapter->study, cell->e, cell->err);
        if (!err && !failed) {
            err = bench_rounds_write_cell(chapter->study, cell, why);
        }
    }
    return err;
}

static void bench_rounds_close_chapter(struct chapter *chapter)
{
    for (size_t i = 0; i < chapter->count; i++) {
        ictus_bench_result_free(&chapter->cells[i].sum);
    }
}

/* Whether rank 0 already has the experiment in its file; it tells the others. */
static bool bench_rounds_is_done(const struct bench_study *study, const struct bench_experiment *e)
{
    int done = 0;
    if (study->options->resume) {
        done = command_rank() == 0 && bench_study_is_done(study, e);
        MPI_Bcast(&done, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return done;
}

/*
 * The first round, which also says what belongs to the chapter: as many experiments as will fill
 * the span. *next is the first one of the chapter to come.
 */
static int bench_rounds_open_chapter(struct chapter *chapter, const struct bench_experiment *list,
                                     size_t count, size_t *next, struct ictus_why *why)
{
    double projected_s = 0.0;
    int err = ICTUS_OK;
    while (*next < count && chapter->count < CHAPTER_MOST && !err && !interrupt_came()) {
        const struct bench_experiment *e = &list[(*next)++];
        if (bench_rounds_is_done(chapter->study, e)) {
            continue;
        }
        struct cell *cell = &chapter->cells[chapter->count++];
        *cell = (struct cell){.e = e};
        bench_rounds_show_progress(chapter, 0, chapter->count - 1);
        err = bench_rounds_run_part(chapter, cell, 0, why);
        projected_s += cell->spent_s * (cell->over ? 1 : chapter->rounds);
        if (projected_s >= chapter->study->options->span_s || chapter->rounds == 1) {
            break;
        }
    }
    return err;
}

static int bench_rounds_run_chapter(struct chapter *chapter, const struct bench_experiment *list,
                                    size_t count, size_t *next, struct ictus_why *why)
{
    chapter->count = 0;
    chapter->before = *next;
    chapter->began_s = meet_now_s();
    int err = bench_rounds_open_chapter(chapter, list, count, next, why);
    double round_s = meet_now_s() - chapter->began_s;
    for (int round = 1; round < chapter->rounds && !err && !bench_rounds_all_over(chapter);
         round++) {
        rounds_rest(chapter, round, round_s);
        if (interrupt_came()) {
            break;
        }
        const double began_s = meet_now_s();
        err = bench_rounds_run_round(chapter, round, why);
        round_s = meet_now_s() - began_s;
    }
    struct ictus_why second = {""};
    chapter->study->cut_short = err || interrupt_came();
    const int wrote = err == ICTUS_ERR_IO ? ICTUS_OK : bench_rounds_write_all(chapter, &second);
    bench_rounds_close_chapter(chapter);
    if (!err && wrote) {
        *why = second;
    }
    return err ? err : wrote;
}

int rounds_count(const struct bench_options *options)
{
    const int64_t worth = options->repetitions / ROUND_LEAST;
    return (int)(worth < 1 ? 1 : worth < options->rounds ? worth : options->rounds);
}

int rounds_run(struct bench_study *study, const struct bench_experiment *list, size_t count,
               rounds_measure *measure, struct ictus_why *why)
{
    struct chapter chapter = {.study = study, .measure = measure};
    size_t next = 0;
    chapter.rounds = rounds_count(study->options);
    chapter.cells = calloc(count < CHAPTER_MOST ? count : CHAPTER_MOST, sizeof(*chapter.cells));
    int err = results_agree(chapter.cells ? ICTUS_OK : ICTUS_ERR_NOMEM, why);
    if (!chapter.cells) {
        return err;
    }
    while (next < count && !err && !interrupt_came()) {
        err = bench_rounds_run_chapter(&chapter, list, count, &next, why);
    }
    free(chapter.cells);
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus barrier: how far apart the processes leave a barrier. */
#include "main/command.h"
#include "main/group.h"
#include "main/interrupt.h"
#include "main/shared_rows.h"
#include "main/study_base.h"
#include "main/values.h"
#include "main/word_list.h"

#include <ictus/barrier.h>
#include <ictus/bench.h>
#include <ictus/clock.h>
#include <ictus/result.h>
#include <ictus/skew.h>
#include <ictus/text.h>

#include <jansson.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct barrier_options {
    const char *algorithms;
    const char *processes;
    int64_t repetitions;
    double max_time_s;
    const char *clock;
    const char *sync;
    bool raw;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct barrier_options, member)

static const struct option_row options[] = {
    ROW_ALGORITHM(AT(algorithms), "all", "barriers: mpi, mpi:NAME, dissemination, tree, ..., all"),
    ROW_PROCESSES(AT(processes)),
    ROW_REPETITIONS(AT(repetitions), "1000", 1e8, "repetitions of each barrier"),
    ROW_TIME(AT(max_time_s), "2s", "time limit of each barrier; 0 means none"),
    ROW_CLOCK(AT(clock)),
    ROW_SYNC(AT(sync)),
    ROW_RAW(AT(raw), "keep every skew in the result file"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static const struct ictus_column columns[] = {
    {"algorithm", "algorithm       ", ICTUS_COLUMN_TEXT},
    {"processes", "procs", ICTUS_COLUMN_COUNT},
    {"invalid", "late", ICTUS_COLUMN_COUNT},
    {"skew_median_s", "skew us", ICTUS_COLUMN_SECONDS},
    {"skew_p95_s", "p95 us", ICTUS_COLUMN_SECONDS},
    {"skew_max_s", "max us", ICTUS_COLUMN_SECONDS},
    {"duration_median_s", "took us", ICTUS_COLUMN_SECONDS},
    {"often_first", "first", ICTUS_COLUMN_COUNT},
    {"often_last", "last", ICTUS_COLUMN_COUNT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

enum { BARRIERS_MAX = 64, NAME_MAX_LENGTH = 72 };

struct barrier_study {
    struct study_base base;
    const struct barrier_options *options;
    struct ictus_selector *selector;
    char names[BARRIERS_MAX][NAME_MAX_LENGTH];
    int count;
    int processes[GROUP_COUNTS_MAX];
    int process_counts;
};

static int barrier_add(struct barrier_study *study, const char *prefix, const char *name,
                       struct ictus_why *why)
{
    if (study->count == BARRIERS_MAX || strlen(prefix) + strlen(name) >= NAME_MAX_LENGTH) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--algorithm: the list is too long");
    }
    (void)snprintf(study->names[study->count++], NAME_MAX_LENGTH, "%s%s", prefix, name);
    return ICTUS_OK;
}

/* Those of the MPI library, where it offers a choice. */
static const char *const *barrier_inside(const struct barrier_study *study)
{
    const char *const *names = NULL;
    return study->selector && !ictus_selector_algorithms(study->selector, "barrier", &names, NULL)
               ? names
               : NULL;
}

static int barrier_add_all(struct barrier_study *study, struct ictus_why *why)
{
    const char *const *mine = ictus_barrier_names();
    const char *const *theirs = barrier_inside(study);
    int err = barrier_add(study, "", "mpi", why);
    for (; theirs && *theirs && !err; theirs++) {
        err = barrier_add(study, "mpi:", *theirs, why);
    }
    for (; *mine && !err; mine++) {
        err = strcmp(*mine, "mpi") == 0 ? ICTUS_OK : barrier_add(study, "", *mine, why);
    }
    return err;
}

static int barrier_check_name(const struct barrier_study *study, const char *word,
                              struct ictus_why *why)
{
    const char *known[BARRIERS_MAX + 1] = {NULL};
    static const char prefix[] = "mpi:";
    const char *const *mine = ictus_barrier_names();
    const char *const *theirs = barrier_inside(study);
    int count = 0;
    if (strncmp(word, prefix, sizeof(prefix) - 1) == 0) {
        if (!theirs) {
            return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                                 "'%.80s': the MPI library offers no choice of algorithms", word);
        }
        mine = theirs;
        word += sizeof(prefix) - 1;
    }
    for (; count < BARRIERS_MAX && mine[count]; count++) {
        known[count] = mine[count];
        if (strcmp(word, mine[count]) == 0) {
            return ICTUS_OK;
        }
    }
    return ictus_unknown(why, "barrier", word, known);
}

static int barrier_take_algorithm(void *given, char *word, struct ictus_why *why)
{
    struct barrier_study *study = given;
    const int err = barrier_check_name(study, word, why);
    return err ? err : barrier_add(study, "", word, why);
}

static int barrier_read_algorithms(struct barrier_study *study, struct ictus_why *why)
{
    const struct word_list list = {"algorithm", study->options->algorithms, "barrier"};
    return strcmp(list.text, "all") == 0
               ? barrier_add_all(study, why)
               : word_list_read(&list, barrier_take_algorithm, study, why);
}

static int skew_most(const int64_t *counts, int size)
{
    int best = 0;
    for (int i = 1; i < size; i++) {
        best = counts[i] > counts[best] ? i : best;
    }
    return best;
}

static json_t *counts_array(const int64_t *counts, int size)
{
    json_t *array = json_array();
    for (int i = 0; i < size; i++) {
        (void)json_array_append_new(array, json_integer(counts[i]));
    }
    return array;
}

/* The smallest value that at least 95 % do not exceed. */
static double skew_p95(const double *values, int64_t n)
{
    double *sorted = malloc((size_t)n * sizeof(*sorted));
    if (!sorted) {
        return 0.0;
    }
    memcpy(sorted, values, (size_t)n * sizeof(*sorted));
    values_sort(sorted, (size_t)n);
    const double value = values_reach(sorted, (size_t)n, 0.95);
    free(sorted);
    return value;
}

static json_t *result_object(const struct barrier_study *study, const char *name, int processes,
                             const struct ictus_skew_result *r)
{
    struct ictus_summary skew;
    struct ictus_summary took;
    if (ictus_summarize(r->skews_s, (size_t)r->n, &skew) ||
        ictus_summarize(r->durations_s, (size_t)r->n, &took)) {
        return NULL;
    }
    json_t *object = json_pack(
        "{s:s, s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:o, s:o, s:i, s:i, s:b}", "type",
        "barrier", "algorithm", name, "processes", processes, "n", (json_int_t)r->n, "invalid",
        (json_int_t)r->invalid, "skew_median_s", skew.median, "skew_p95_s",
        skew_p95(r->skews_s, r->n), "skew_max_s", skew.max, "ci95_low_s", skew.ci95_low,
        "ci95_high_s", skew.ci95_high, "duration_median_s", took.median, "first",
        counts_array(r->first, processes), "last", counts_array(r->last, processes), "often_first",
        skew_most(r->first, processes), "often_last", skew_most(r->last, processes), "truth",
        r->truth);
    if (object && study->options->raw) {
        json_t *raw = json_array();
        for (int64_t i = 0; i < r->n; i++) {
            (void)json_array_append_new(raw, json_real(r->skews_s[i]));
        }
        (void)json_object_set_new(object, "raw_s", raw);
    }
    return object;
}

static int barrier_run_one(struct barrier_study *study, struct ictus_skew *skew, const char *name,
                           int processes, struct ictus_why *why)
{
    struct ictus_skew_result result;
    study_base_step(&study->base, name);
    int err = ictus_skew_run(skew, name, study->options->repetitions, study->options->max_time_s,
                             &result, why);
    if (err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_SAMPLES) {
        study_base_omit(&study->base, why); /* an algorithm such as two_proc, which needs two
                                               processes, is no reason to stop */
        return ICTUS_OK;
    }
    if (err) {
        return err;
    }
    if (command_rank() == 0) {
        err = study_base_put(&study->base, result_object(study, name, processes, &result));
    }
    ictus_skew_result_free(&result);
    return err;
}

/* Processes that a smaller count leaves out: asleep, so that they take no core. */
static void barrier_wait_asleep(MPI_Request *request)
{
    int done = 0;
    while (!done) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (!done) {
            (void)usleep(1000);
        }
    }
}

static int barrier_run_processes(struct barrier_study *study, int processes, struct ictus_why *why)
{
    MPI_Comm comm;
    MPI_Request request;
    struct ictus_skew *skew = NULL;
    int err = ICTUS_OK;
    MPI_Comm_split(MPI_COMM_WORLD, command_rank() < processes ? 0 : MPI_UNDEFINED, command_rank(),
                   &comm);
    if (comm != MPI_COMM_NULL) {
        err = ictus_skew_create(comm, study->base.clock, study->selector, &skew, why);
        int stop = 0;
        for (int i = 0; i < study->count && !err && !stop; i++) {
            err = barrier_run_one(study, skew, study->names[i], processes, why);
            int mine[2] = {err, interrupt_here()};
            int all[2];
            MPI_Allreduce(mine, all, 2, MPI_INT, MPI_MAX, comm);
            stop = all[1];
            MPI_Bcast(&err, 1, MPI_INT, 0, comm);
        }
        ictus_skew_free(skew);
        MPI_Comm_free(&comm);
    }
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    barrier_wait_asleep(&request);
    return results_agree(err, why);
}

static int barrier_run_study(struct barrier_study *study, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "barrier",
        .rows = options,
        .options = study->options,
        .sync = study->options->sync,
        .clock = study->options->clock,
    };
    int err = barrier_read_algorithms(study, why);
    err = err ? err
              : group_counts(study->options->processes, study->processes, &study->process_counts,
                             why);
    err = err ? err : study_base_open(&study->base, &facts, columns, why);
    if (err) {
        return err;
    }
    study_base_begin(&study->base, "barriers", (double)study->count * study->process_counts);
    progress_foretell(&study->base.progress, study->options->max_time_s);
    for (int i = 0; i < study->process_counts && !err && !interrupt_came(); i++) {
        err = barrier_run_processes(study, study->processes[i], why);
    }
    return study_base_close(&study->base, err, why);
}

static int barrier_run(const void *given, int word_count, char **words)
{
    struct barrier_study study = {.options = given};
    struct ictus_why why = {""};
    int err = ICTUS_OK;
    if (word_count > 0) {
        err = ictus_because(&why, ICTUS_ERR_SPEC,
                            "unexpected argument '%.80s'; barrier takes only options", words[0]);
    }
    study_base_init(&study.base, "barrier", &study.options->results, &study.options->talk);
    study_base_clock(&study.base, study.options->sync, study.options->clock);
    interrupt_watch();
    if (!err) {
        /* Without a choice of algorithms there are still our own barriers. */
        (void)ictus_selector_create(&study.selector, NULL);
        err = barrier_run_study(&study, &why);
        if (study.selector) {
            ictus_selector_free(study.selector);
        }
    }
    return interrupt_end("barrier", err, &why, EXIT_OK);
}

const struct command command_barrier = {
    .name = "barrier",
    .summary = "measure how far apart processes leave a barrier",
    .arguments = "",
    .details = "  mpirun -n 8 ictus barrier -o barriers.jsonl\n"
               "  mpirun -n 16 ictus barrier --algorithm=mpi,harmonize --processes=2..16",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct barrier_options),
    .run = barrier_run,
};

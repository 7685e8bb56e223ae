/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus matrix: an operation's algorithms against the ways to start it. */
#include "bench/matrix.h"
#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/progress.h"
#include "main/results.h"
#include "main/sizes.h"

#include <ictus/barrier.h>
#include <ictus/bench.h>
#include <ictus/result.h>
#include <ictus/select.h>
#include <ictus/text.h>

#include <jansson.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct matrix_options {
    const char *operation;
    const char *sizes;
    const char *algorithms;
    const char *syncs;
    int reduction;
    int64_t repetitions;
    double max_time_s;
    const char *clock;
    const char *sync;
    bool raw;
    int format;
    const char *file;
};

#define AT(member) offsetof(struct matrix_options, member)

static const char *const reductions[] = {"max", "mean", "min", "root", "makespan", NULL};

static const struct option_row options[] = {
    {"operation", 'p', OPTION_TEXT, AT(operation), "reduce", 0, 0, NULL, "NAME",
     "whose algorithms are compared"},
    {"sizes", 's', OPTION_TEXT, AT(sizes), "8", 0, 0, NULL, "LIST", "bytes of a block: 8,1K"},
    {"algorithms", 'a', OPTION_TEXT, AT(algorithms), "all", 0, 0, NULL, "LIST",
     "rows: of the operation, default too; or all"},
    {"syncs", 'm', OPTION_TEXT, AT(syncs), "all", 0, 0, NULL, "LIST",
     "columns: mpi, mpi:NAME, tree, ..., harmonize; or all"},
    {"reduction", 0, OPTION_CHOICE, AT(reduction), "mean", 0, 0, reductions, "NAME",
     "over ranks, in all columns: max, mean, min, root"},
    {"repetitions", 'n', OPTION_INT, AT(repetitions), "1000", 1, 1e8, NULL, "N", "of each cell"},
    {"time", 't', OPTION_SECONDS, AT(max_time_s), "500ms", 0, 1e6, NULL, "TIME",
     "longest time for each cell, 0: none"},
    {"clock", 'c', OPTION_TEXT, AT(clock), "", 0, 0, NULL, "SRC", "time source, see ictus clocks"},
    {"sync", 0, OPTION_TEXT, AT(sync), "", 0, 0, NULL, "SPEC", "clock algorithm, see ictus sync"},
    {"raw", 0, OPTION_FLAG, AT(raw), NULL, 0, 0, NULL, NULL,
     "keep every sample in the result file"},
    {"format", 'f', OPTION_CHOICE, AT(format), "text", 0, 0, results_formats, "FORMAT",
     "of standard output: text, csv, json"},
    {"output", 'o', OPTION_TEXT, AT(file), NULL, 0, 0, NULL, "FILE",
     "write a result file, whatever the format"},
    {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

static const struct ictus_column columns[] = {
    {"sync", "synchronisation       ", ICTUS_COLUMN_TEXT},
    {"algorithm", "algorithm           ", ICTUS_COLUMN_TEXT},
    {"bytes", "bytes", ICTUS_COLUMN_COUNT},
    {"processes", "procs", ICTUS_COLUMN_COUNT},
    {"n", "n", ICTUS_COLUMN_COUNT},
    {"invalid", "late", ICTUS_COLUMN_COUNT},
    {"median_s", "median us", ICTUS_COLUMN_SECONDS},
    {"ci95_low_s", "95% low", ICTUS_COLUMN_SECONDS},
    {"ci95_high_s", "95% high", ICTUS_COLUMN_SECONDS},
    {"rank", "rank", ICTUS_COLUMN_COUNT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

struct study {
    const struct matrix_options *options;
    struct ictus_selector *selector;
    struct matrix matrix;
    json_t *pending[MATRIX_ROWS]; /* of a column, until its ranks are known; rank 0 */
    uint64_t *sizes;
    size_t size_count;
    char clock[1024];
    struct ictus_output *out; /* rank 0 only */
    struct progress progress;
    size_t done;
};

/* Append a name to a list of rows or columns. */
static int add(char (*names)[MATRIX_NAME], int *count, int limit, const char *prefix,
               const char *name, struct ictus_why *why)
{
    if (*count == limit || strlen(prefix) + strlen(name) >= MATRIX_NAME) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%.80s' is too long, or more than %d names",
                             name, limit);
    }
    (void)snprintf(names[(*count)++], MATRIX_NAME, "%s%s", prefix, name);
    return ICTUS_OK;
}

static int add_row(struct study *study, const char *name, struct ictus_why *why)
{
    return add(study->matrix.algorithms, &study->matrix.rows, MATRIX_ROWS, "", name, why);
}

static int add_column(struct study *study, const char *prefix, const char *name,
                      struct ictus_why *why)
{
    return add(study->matrix.syncs, &study->matrix.columns, MATRIX_COLUMNS, prefix, name, why);
}

static bool listed(const char *const *names, const char *word)
{
    while (*names && strcmp(*names, word) != 0) {
        names++;
    }
    return *names != NULL;
}

static int read_rows(struct study *study, struct ictus_why *why)
{
    char copy[2048];
    char *rest = NULL;
    const char *const *known = NULL;
    int err = ictus_selector_algorithms(study->selector, study->options->operation, &known, why);
    if (err) {
        return err;
    }
    (void)snprintf(copy, sizeof(copy), "%s", study->options->algorithms);
    if (strcmp(copy, "all") == 0) {
        err = add_row(study, ICTUS_ALGORITHM_DEFAULT, why);
        for (; *known && !err; known++) {
            err = add_row(study, *known, why);
        }
        return err;
    }
    for (char *word = strtok_r(copy, ",", &rest); word && !err; word = strtok_r(NULL, ",", &rest)) {
        if (strcmp(word, ICTUS_ALGORITHM_DEFAULT) != 0 && !listed(known, word)) {
            return ictus_unknown(why, "algorithm", word, known);
        }
        err = add_row(study, word, why);
    }
    return err || study->matrix.rows
               ? err
               : ictus_because(why, ICTUS_ERR_SPEC, "--algorithms: names no algorithm");
}

static int check_column(const struct study *study, const char *word, struct ictus_why *why)
{
    static const char prefix[] = "mpi:";
    const char *const *known = ictus_barrier_names();
    if (strncmp(word, prefix, sizeof(prefix) - 1) == 0) {
        const int err = ictus_selector_algorithms(study->selector, "barrier", &known, why);
        if (err) {
            return err;
        }
        word += sizeof(prefix) - 1;
    }
    return listed(known, word) ? ICTUS_OK : ictus_unknown(why, "barrier", word, known);
}

static int read_columns(struct study *study, struct ictus_why *why)
{
    char copy[2048];
    char *rest = NULL;
    const char *const *known = NULL;
    int err = ICTUS_OK;
    (void)snprintf(copy, sizeof(copy), "%s", study->options->syncs);
    if (strcmp(copy, "all") == 0) {
        err = add_column(study, "", "mpi", why);
        if (!ictus_selector_algorithms(study->selector, "barrier", &known, NULL)) {
            for (; *known && !err; known++) {
                err = add_column(study, "mpi:", *known, why);
            }
        }
        err = err ? err : add_column(study, "", "dissemination", why);
        return err ? err : add_column(study, "", "harmonize", why);
    }
    for (char *word = strtok_r(copy, ",", &rest); word && !err; word = strtok_r(NULL, ",", &rest)) {
        err = check_column(study, word, why);
        err = err ? err : add_column(study, "", word, why);
    }
    return err || study->matrix.columns
               ? err
               : ictus_because(why, ICTUS_ERR_SPEC, "--syncs: names no barrier");
}

static int read_study(struct study *study, struct ictus_why *why)
{
    const struct ictus_bench_plan plan = {.size = sizeof(plan),
                                          .operation = study->options->operation,
                                          .bytes = 8,
                                          .repetitions = study->options->repetitions};
    int err = ictus_bench_check_plan(&plan, why);
    err = err ? err : ictus_selector_create(&study->selector, why);
    err = err ? err : read_rows(study, why);
    err = err ? err : read_columns(study, why);
    err = err ? err : sizes_read(study->options->sizes, &study->sizes, &study->size_count, why);
    (void)snprintf(study->clock, sizeof(study->clock), "%s%s%s", study->options->sync,
                   study->options->clock[0] ? "@" : "", study->options->clock);
    return err;
}

/* Rank 0: keep a cell and its object, without its rank yet. */
static int keep_cell(struct study *study, int row, int column,
                     const struct ictus_bench_result *result)
{
    struct ictus_summary s;
    struct matrix *m = &study->matrix;
    const double *values = result->samples_s[study->options->reduction];
    if (ictus_summarize(values, (size_t)result->n, &s)) {
        return ICTUS_ERR_NOMEM;
    }
    m->cells[row][column] = (struct cell){true, s.median, s.ci95_low, s.ci95_high, 0};
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:i, s:s, s:s, s:s, s:I, s:I, s:f, s:f, s:f}", "type", "matrix",
                  "operation", m->operation, "bytes", (json_int_t)m->bytes, "processes",
                  m->processes, "algorithm", m->algorithms[row], "sync", m->syncs[column],
                  "reduction", reductions[study->options->reduction], "n", (json_int_t)result->n,
                  "invalid", (json_int_t)result->invalid, "median_s", s.median, "ci95_low_s",
                  s.ci95_low, "ci95_high_s", s.ci95_high);
    if (object && study->options->raw) {
        json_t *raw = json_array();
        for (int64_t i = 0; i < result->n; i++) {
            (void)json_array_append_new(raw, json_real(values[i]));
        }
        (void)json_object_set_new(object, "raw_s", raw);
    }
    study->pending[row] = object;
    return object ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* An algorithm that cannot run here leaves its cell empty. */
static int run_cell(struct study *study, struct ictus_bench *bench, int row, int column,
                    struct ictus_why *why)
{
    struct matrix *m = &study->matrix;
    struct ictus_bench_result result = {0};
    struct ictus_bench_plan plan = {.size = sizeof(plan),
                                    .operation = m->operation,
                                    .bytes = m->bytes,
                                    .use_comm = 1,
                                    .repetitions = study->options->repetitions,
                                    .warmup = 10,
                                    .max_time_s = study->options->max_time_s};
    progress_step(&study->progress, (double)study->done++, m->syncs[column]);
    int err = ictus_selector_force(study->selector, MPI_COMM_WORLD, m->operation,
                                   m->algorithms[row], &plan.comm, why);
    if (err == ICTUS_ERR_UNSUPPORTED) {
        return ICTUS_OK;
    }
    if (err) {
        return err;
    }
    err = ictus_selector_works(study->selector, plan.comm, (size_t)m->bytes);
    if (!err) {
        err = ictus_bench_run(bench, &plan, &result, why);
    }
    if (!err && command_rank() == 0) {
        err = keep_cell(study, row, column, &result);
    }
    ictus_bench_result_free(&result);
    (void)ictus_selector_release(study->selector, &plan.comm);
    return err == ICTUS_ERR_UNSUPPORTED || err == ICTUS_ERR_SAMPLES ? ICTUS_OK
                                                                    : results_agree(err, why);
}

/* Rank 0: the column's cells, now that their order is known. */
static int write_column(struct study *study, int column)
{
    struct matrix *m = &study->matrix;
    int err = ICTUS_OK;
    matrix_rank(m, column);
    progress_hide(&study->progress);
    for (int row = 0; row < m->rows; row++) {
        json_t *object = study->pending[row];
        study->pending[row] = NULL;
        if (object && !err) {
            (void)json_object_set_new(object, "rank", json_integer(m->cells[row][column].rank));
            err = ictus_output_put(study->out, object);
        } else {
            json_decref(object);
        }
    }
    return err;
}

static int run_column(struct study *study, int column, struct ictus_why *why)
{
    struct matrix *m = &study->matrix;
    char scheme[2 * MATRIX_NAME];
    struct ictus_bench *bench = NULL;
    const char *name = m->syncs[column];
    const bool common = strcmp(name, "harmonize") == 0;
    (void)snprintf(scheme, sizeof(scheme), common ? "%s" : "barrier:algorithm=%s", name);
    int err = ictus_bench_create(MPI_COMM_WORLD, scheme, study->clock[0] ? study->clock : NULL,
                                 &bench, why);
    if (err == ICTUS_ERR_UNSUPPORTED) {
        if (command_rank() == 0) {
            progress_hide(&study->progress);
            (void)fprintf(stderr, "ictus matrix: skipped: %s\n", why->text);
        }
        return ICTUS_OK;
    }
    for (int row = 0; row < m->rows && !err; row++) {
        err = run_cell(study, bench, row, column, why);
    }
    ictus_bench_free(bench);
    if (!err && command_rank() == 0) {
        err = write_column(study, column);
    }
    return results_agree(err, why);
}

static int close_matrix(struct study *study)
{
    const struct matrix *m = &study->matrix;
    char verdict[1024];
    for (int row = 0; row < m->rows; row++) {
        if (!matrix_row_measured(m, row)) {
            (void)fprintf(stderr,
                          "ictus matrix: skipped: algorithm '%s' of %s cannot run on %d processes "
                          "with %llu bytes\n",
                          m->algorithms[row], m->operation, m->processes,
                          (unsigned long long)m->bytes);
        }
    }
    matrix_verdict(m, verdict, sizeof(verdict));
    if (study->options->format == ICTUS_FORMAT_TEXT) {
        matrix_print(m, stdout);
        (void)printf("# %s\n", verdict);
    }
    /* The table of standard output has cells only. */
    return ictus_output_put(study->out,
                            json_pack("{s:s, s:s, s:I, s:i, s:s}", "type", "matrix", "operation",
                                      m->operation, "bytes", (json_int_t)m->bytes, "processes",
                                      m->processes, "verdict", verdict));
}

static int run_matrix(struct study *study, uint64_t bytes, struct ictus_why *why)
{
    struct matrix *m = &study->matrix;
    int err = ICTUS_OK;
    m->operation = study->options->operation;
    m->bytes = bytes;
    m->processes = command_size();
    memset(m->cells, 0, sizeof(m->cells));
    int column = 0;
    for (; column < m->columns && !err && !interrupt_came(); column++) {
        err = run_column(study, column, why);
    }
    if (!err && column == m->columns && command_rank() == 0) {
        err = close_matrix(study);
    }
    return results_agree(err, why);
}

static int run_study(struct study *study, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "matrix",
        .rows = options,
        .options = study->options,
        .sync = study->options->sync[0] ? study->options->sync : NULL,
        .clock = study->options->clock[0] ? study->options->clock : NULL,
    };
    int err = results_open(study->options->format, columns, study->options->file,
                           header_create(&facts), &study->out, why);
    if (err) {
        return err;
    }
    progress_start(&study->progress, "cells",
                   (double)study->matrix.rows * study->matrix.columns * (double)study->size_count);
    for (size_t i = 0; i < study->size_count && !err && !interrupt_came(); i++) {
        err = run_matrix(study, study->sizes[i], why);
    }
    progress_hide(&study->progress);
    return results_close(study->out, study->options->file, err, why);
}

static int matrix_run(const void *given, int word_count, char **words)
{
    struct ictus_why why = {""};
    struct study *study = calloc(1, sizeof(*study));
    if (!study) {
        return command_fail("matrix", ICTUS_ERR_NOMEM, NULL);
    }
    study->options = given;
    interrupt_watch();
    int err = word_count > 0
                  ? ictus_because(&why, ICTUS_ERR_SPEC, "unexpected argument '%.80s'", words[0])
                  : read_study(study, &why);
    if (!err) {
        err = run_study(study, &why);
    }
    if (study->selector) {
        ictus_selector_free(study->selector);
    }
    free(study->sizes);
    free(study);
    return interrupt_end("matrix", err, &why, EXIT_OK);
}

const struct command command_matrix = {
    .name = "matrix",
    .summary = "an operation's algorithms under different starts",
    .arguments = "",
    .details = "  mpirun -n 8 ictus matrix --operation=reduce --sizes=8 -o matrix.jsonl\n"
               "  ictus report matrix.jsonl",
    .options = options,
    .flags = NEEDS_MPI,
    .options_size = sizeof(struct matrix_options),
    .run = matrix_run,
};

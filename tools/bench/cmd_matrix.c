/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus matrix: an operation's algorithms against the ways to start it. */
#include "bench/matrix.h"
#include "bench/matrix_after.h"
#include "bench/matrix_merge.h"
#include "bench/matrix_record.h"
#include "bench/turns.h"
#include "main/command.h"
#include "main/interrupt.h"
#include "main/meet.h"
#include "main/shared_rows.h"
#include "main/shuffle.h"
#include "main/sizes.h"
#include "main/spec_list.h"
#include "main/study_base.h"
#include "main/text_table.h"
#include "main/word_list.h"
#include "results/settings.h"

#include <ictus/bench.h>
#include <ictus/result.h>
#include <ictus/select.h>
#include <ictus/text.h>

#include <jansson.h>
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>

struct matrix_options {
    const char *ops;
    const char *sizes;
    const char *algorithms;
    const char *schemes;
    int reduction;
    int64_t repetitions;
    int64_t rounds;
    double span_s;
    double launch_spread;
    const char *after;
    int64_t seed;
    double max_time_s;
    const char *clock;
    const char *sync;
    bool raw;
    struct results_options results;
    struct progress_options talk;
};

#define AT(member) offsetof(struct matrix_options, member)

/* Simulated machines do not drift. */
#if defined(ICTUS_SIMGRID)
#define SPAN_DEFAULT "0"
#else
#define SPAN_DEFAULT "3s"
#endif

enum { WARMUP = 2 };

static const char *const reductions[] = {"max",      "mean", "min",  "root",
                                         "makespan", "exit", "wait", NULL};

static const struct option_row options[] = {
    ROW_OPS(AT(ops), "reduce", "operations whose algorithms are compared"),
    ROW_SIZES(AT(sizes), "8"),
    ROW_ALGORITHM(AT(algorithms), "all", "rows: algorithms of the operation, default, or all"),
    ROW_SCHEME(AT(schemes), "all", "LIST",
               "columns: schemes of ictus bench that time each call, or all"),
    {"reduction", 0, OPTION_CHOICE, AT(reduction), "mean", 0, 0, reductions, "NAME",
     "how the processes' times are combined: max, mean, min, root, makespan"},
    ROW_REPETITIONS(AT(repetitions), "1000", 1e8, "repetitions of each cell"),
    {"rounds", 0, OPTION_INT, AT(rounds), "15", 1, TURNS_ROUNDS_MAX, NULL, "N",
     "rounds in which all cells are measured, in random order"},
    {"span", 0, OPTION_SECONDS, AT(span_s), SPAN_DEFAULT, 0, 1e6, NULL, "TIME",
     "spread the rounds over at least this time"},
    ROW_LAUNCH_SPREAD(AT(launch_spread), SPREAD_OF_RATIOS,
                      "spread between launches to assume; a winner must win by more"),
    {"after", 0, OPTION_TEXT, AT(after), NULL, 0, 0, NULL, "FILE",
     "keep what this earlier result found, unless it is clearly wrong now"},
    ROW_SEED(AT(seed), 9e18, "seed of the random order within rounds"),
    ROW_TIME(AT(max_time_s), "500ms", "time limit of each cell; 0 means none"),
    ROW_CLOCK(AT(clock)),
    ROW_SYNC(AT(sync)),
    ROW_RAW(AT(raw), "keep every sample in the result file"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

enum { OPS_MAX = 32, OP_BYTES = 64 };

struct matrix_study {
    struct study_base base;
    const struct matrix_options *options;
    struct ictus_selector *selector;
    struct matrix matrix;
    json_t *earlier;                             /* cells of --after, which rank 0 has */
    struct ictus_bench *benches[MATRIX_COLUMNS]; /* NULL: cannot be */
    struct matrix_launch launch;                 /* of the size in turn; rank 0 fills it */
    bool unfit[MATRIX_ROWS];                     /* cannot run at this size */
    uint64_t *sizes;
    size_t size_count;
    char ops[OPS_MAX][OP_BYTES];
    int op_count;
};

/* Append a name to a list of rows or columns. */
static int matrix_names_add(char (*names)[MATRIX_NAME], int *count, int limit, const char *prefix,
                            const char *name, struct ictus_why *why)
{
    if (*count == limit || strlen(prefix) + strlen(name) >= MATRIX_NAME) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.80s' is too long, or the list has more than %d names", name,
                             limit);
    }
    (void)snprintf(names[(*count)++], MATRIX_NAME, "%s%s", prefix, name);
    return ICTUS_OK;
}

static int matrix_add_row(struct matrix_study *study, const char *name, struct ictus_why *why)
{
    return matrix_names_add(study->matrix.algorithms, &study->matrix.rows, MATRIX_ROWS, "", name,
                            why);
}

static int matrix_add_column(struct matrix_study *study, const char *prefix, const char *name,
                             struct ictus_why *why)
{
    return matrix_names_add(study->matrix.schemes, &study->matrix.columns, MATRIX_COLUMNS, prefix,
                            name, why);
}

/* The algorithms there are, and whose rows are read. */
struct row_reading {
    struct matrix_study *study;
    const char *const *known;
};

static int matrix_take_row(void *given, char *word, struct ictus_why *why)
{
    const struct row_reading *reading = given;
    const char *const *name = reading->known;
    while (*name && strcmp(*name, word) != 0) {
        name++;
    }
    return *name || strcmp(word, ICTUS_ALGORITHM_DEFAULT) == 0
               ? matrix_add_row(reading->study, word, why)
               : ictus_unknown(why, "algorithm", word, reading->known);
}

static int matrix_read_rows(struct matrix_study *study, struct ictus_why *why)
{
    const struct word_list list = {"algorithm", study->options->algorithms, "algorithm"};
    struct row_reading reading = {study, NULL};
    study->matrix.rows = 0;
    int err =
        ictus_selector_algorithms(study->selector, study->matrix.operation, &reading.known, why);
    if (err || strcmp(list.text, "all") != 0) {
        return err ? err : word_list_read(&list, matrix_take_row, &reading, why);
    }
    err = matrix_add_row(study, ICTUS_ALGORITHM_DEFAULT, why);
    for (const char *const *name = reading.known; *name && !err; name++) {
        err = matrix_add_row(study, *name, why);
    }
    return err;
}

/* A cell is made of single calls. A scheme that times many at once refuses cold caches. */
static int matrix_check_column(const char *scheme, struct ictus_why *why)
{
    const struct ictus_bench_plan cold = {
        .size = sizeof(cold), .operation = "bcast", .bytes = 8, .repetitions = 1, .cold = 1};
    const int err = ictus_scheme_check(scheme, why);
    if (err || !ictus_bench_check(&cold, scheme, 0, NULL)) {
        return err;
    }
    return ictus_because(why, ICTUS_ERR_SPEC,
                         "--scheme: '%.80s' times many calls at once and cannot be a column; write "
                         "schemes that time each call, such as harmonize or barrier",
                         scheme);
}

static int matrix_add_all_columns(struct matrix_study *study, struct ictus_why *why)
{
    const char *const *known = NULL;
    int err = matrix_add_column(study, "", "barrier:algorithm=mpi", why);
    if (!ictus_selector_algorithms(study->selector, "barrier", &known, NULL)) {
        for (; *known && !err; known++) {
            err = matrix_add_column(study, "barrier:algorithm=mpi:", *known, why);
        }
    }
    err = err ? err : matrix_add_column(study, "", "barrier:algorithm=dissemination", why);
    return err ? err : matrix_add_column(study, "", "harmonize", why);
}

static int matrix_read_columns(struct matrix_study *study, struct ictus_why *why)
{
    struct spec_list list = {NULL, 0};
    if (strcmp(study->options->schemes, "all") == 0) {
        return matrix_add_all_columns(study, why);
    }
    int err = spec_list_read(&list, "scheme", study->options->schemes, why);
    for (size_t i = 0; i < list.count && !err; i++) {
        err = matrix_check_column(list.items[i].text, why);
        err = err ? err : matrix_add_column(study, "", list.items[i].text, why);
    }
    spec_list_free(&list);
    return err;
}

/* One operation whose algorithms are compared, named by --ops. */
static int matrix_add_op(void *given, char *name, struct ictus_why *why)
{
    struct matrix_study *study = given;
    const struct ictus_bench_plan plan = {.size = sizeof(plan),
                                          .operation = name,
                                          .datatype = "int64", /* one element will do */
                                          .bytes = 8,
                                          .repetitions = study->options->repetitions};
    if (study->op_count == OPS_MAX || strlen(name) >= OP_BYTES) {
        return ictus_because(why, ICTUS_ERR_SPEC, "--ops: at most %d operations can be given",
                             OPS_MAX);
    }
    const int err = ictus_bench_check_plan(&plan, why);
    study->matrix.operation = study->ops[study->op_count];
    (void)snprintf(study->ops[study->op_count++], OP_BYTES, "%s", name);
    /* Read now to report mistakes before anything is measured, and again when its turn comes. */
    return err ? err : matrix_read_rows(study, why);
}

static int matrix_read_study(struct matrix_study *study, struct ictus_why *why)
{
    const struct word_list ops = {"ops", study->options->ops, "operation"};
    int err = ictus_selector_create(&study->selector, why);
    err = err ? err : word_list_read(&ops, matrix_add_op, study, why);
    err = err ? err : matrix_read_columns(study, why);
    err = err ? err
              : sizes_read("sizes", study->options->sizes, &study->sizes, &study->size_count, why);
    study_base_init(&study->base, "matrix", &study->options->results, &study->options->talk);
    study_base_clock(&study->base, study->options->sync, study->options->clock);
    if (!err && study->options->after && command_rank() == 0) {
        err = matrix_after_read(study->options->after, &study->earlier, why);
    }
    return results_agree(err, why);
}

/* Rank 0 may run out of memory for the samples; it tells all ranks. */
static int matrix_keep_turn(struct matrix_study *study, int row, int column,
                            const struct ictus_bench_result *result, struct ictus_why *why)
{
    const double *values = result->samples_s[study->options->reduction];
    struct turns *turns = &study->launch.turns[row][column];
    int err = ICTUS_OK;
    if (command_rank() == 0) {
        err = turns_add(turns, values, values ? (size_t)result->n : 0);
        turns_note_trip(turns, result->node_trip_s);
        turns->invalid += result->invalid;
    }
    return results_agree(err, why);
}

/*
 * Measure a few repetitions of one cell. An algorithm that cannot run here leaves its cells empty.
 */
static int matrix_run_turn(struct matrix_study *study, int row, int column, struct ictus_why *why)
{
    const struct matrix_options *o = study->options;
    const struct matrix *m = &study->matrix;
    struct ictus_bench_result result = {0};
    struct ictus_bench_plan plan = {.size = sizeof(plan),
                                    .operation = m->operation,
                                    .bytes = m->bytes,
                                    .use_comm = 1,
                                    .repetitions = (o->repetitions + o->rounds - 1) / o->rounds,
                                    .warmup = WARMUP,
                                    .max_time_s = o->max_time_s / (double)o->rounds};
    int err = ictus_selector_force(study->selector, MPI_COMM_WORLD, m->operation,
                                   m->algorithms[row], &plan.comm, why);
    if (!err) {
        err = ictus_selector_works(study->selector, plan.comm, (size_t)m->bytes,
                                   ictus_datatype_bytes("char"));
        err = err ? err : ictus_bench_run(study->benches[column], &plan, &result, why);
        (void)ictus_selector_release(study->selector, &plan.comm);
    }
    if (err == ICTUS_ERR_UNSUPPORTED) {
        study->unfit[row] = true;
        why->text[0] = '\0';
        return ICTUS_OK;
    }
    if (!err || err == ICTUS_ERR_SAMPLES) { /* late starts may become better */
        why->text[0] = '\0';
        err = matrix_keep_turn(study, row, column, &result, why);
    }
    ictus_bench_result_free(&result);
    return results_agree(err, why);
}

/* One turn of every cell that can be measured, in a new order each time. */
static int matrix_run_round(struct matrix_study *study, size_t *order, uint64_t *random,
                            struct ictus_why *why)
{
    const struct matrix *m = &study->matrix;
    const size_t cells = (size_t)m->rows * (size_t)m->columns;
    int err = ICTUS_OK;
    shuffle_order(order, cells, random);
    for (size_t i = 0; i < cells && !err && !interrupt_came(); i++) {
        const int row = (int)(order[i] / (size_t)m->columns);
        const int column = (int)(order[i] % (size_t)m->columns);
        study_base_step(&study->base, m->schemes[column]);
        if (study->benches[column] && !study->unfit[row]) {
            err = matrix_run_turn(study, row, column, why);
        }
    }
    return err;
}

/* Sleep so that the rounds to come fill the rest of the span. */
static void rest_between(struct matrix_study *study, double began_s, int64_t round, double round_s)
{
    const double left_s = began_s + study->options->span_s - meet_now_s();
    double nap_s = left_s / (double)(study->options->rounds - round) - round_s;
    MPI_Bcast(&nap_s, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (nap_s > 0.0) {
        meet_sleep_telling(meet_now_s() + nap_s, &study->base.progress, study->base.done, 0.0,
                           "between rounds");
    }
}

static int matrix_run_rounds(struct matrix_study *study, struct ictus_why *why)
{
    size_t order[MATRIX_ROWS * MATRIX_COLUMNS];
    uint64_t random = (uint64_t)study->options->seed;
    const double began_s = meet_now_s();
    double round_s = 0.0;
    int err = ICTUS_OK;
    for (size_t i = 0; i < (size_t)study->matrix.rows * (size_t)study->matrix.columns; i++) {
        order[i] = i;
    }
    for (int64_t round = 0; round < study->options->rounds && !err && !interrupt_came(); round++) {
        if (round > 0) {
            rest_between(study, began_s, round, round_s);
        }
        const double start_s = meet_now_s();
        err = matrix_run_round(study, order, &random, why);
        round_s = meet_now_s() - start_s;
    }
    return err;
}

/* Rank 0: summarise a column's cells. */
static int matrix_summarize_column(struct matrix_study *study, int column)
{
    struct matrix *m = &study->matrix;
    int err = ICTUS_OK;
    for (int row = 0; row < m->rows && !err; row++) {
        const struct turns *turns = &study->launch.turns[row][column];
        struct ictus_summary s;
        if (turns->n > 0) {
            err = ictus_summarize_series(turns->values, turns->n, &s);
            m->cells[row][column] = (struct cell){
                !err, s.median, s.ci95_low, s.ci95_high, 0, (int64_t)turns->n, turns->invalid, 1};
        }
    }
    return err;
}

/* Rank 0: write a column's cells. */
static int matrix_write_column(struct matrix_study *study, int column)
{
    const struct matrix *m = &study->matrix;
    int err = ICTUS_OK;
    for (int row = 0; row < m->rows && !err; row++) {
        if (m->cells[row][column].measured) {
            err = study_base_put(&study->base, matrix_record_cell(m, row, column,
                                                                  &study->launch.turns[row][column],
                                                                  study->options->raw));
        }
    }
    return err;
}

/* Rank 0: judge and write what was measured. */
static int matrix_write(struct matrix_study *study)
{
    struct matrix *m = &study->matrix;
    struct matrix_launch *const only[] = {&study->launch};
    int err = ICTUS_OK;
    for (int column = 0; column < m->columns && !err; column++) {
        err = matrix_summarize_column(study, column);
    }
    err = err ? err
              : matrix_record_compare(m, only, 1, study->options->launch_spread, study->earlier);
    for (int column = 0; column < m->columns && !err; column++) {
        err = matrix_write_column(study, column);
    }
    for (int row = 0; row < m->rows && !err; row++) {
        if (!matrix_row_measured(m, row)) {
            (void)fprintf(stderr,
                          "ictus matrix: left out: algorithm '%s' of %s cannot run on %d processes "
                          "with %llu bytes\n",
                          m->algorithms[row], m->operation, m->processes,
                          (unsigned long long)m->bytes);
        }
    }
    return err ? err
               : matrix_record_close(m, (enum ictus_format)study->options->results.format,
                                     study->base.out);
}

/* All columns' clocks and barriers, ready at once. */
static int matrix_build_columns(struct matrix_study *study, struct ictus_why *why)
{
    const struct matrix *m = &study->matrix;
    int err = ICTUS_OK;
    for (int column = 0; column < m->columns && !err; column++) {
        err = ictus_bench_create(MPI_COMM_WORLD, m->schemes[column], study->base.clock,
                                 &study->benches[column], why);
        if (err == ICTUS_ERR_UNSUPPORTED) {
            err = ICTUS_OK;
            study_base_omit(&study->base, why);
        }
    }
    return results_agree(err, why);
}

static int matrix_clear_turns(struct matrix_study *study)
{
    int err = ICTUS_OK;
    memset(study->unfit, 0, sizeof(study->unfit));
    for (int i = 0; i < MATRIX_ROWS * MATRIX_COLUMNS && !err; i++) {
        struct turns *turns = &study->launch.turns[i / MATRIX_COLUMNS][i % MATRIX_COLUMNS];
        turns_fini(turns);
        if (i / MATRIX_COLUMNS < study->matrix.rows && i % MATRIX_COLUMNS < study->matrix.columns) {
            err = turns_init(turns);
        }
    }
    return err;
}

static int matrix_run_size(struct matrix_study *study, uint64_t bytes, struct ictus_why *why)
{
    struct matrix *m = &study->matrix;
    m->bytes = bytes;
    m->processes = command_size();
    m->reduction = reductions[study->options->reduction];
    memset(m->cells, 0, sizeof(m->cells));
    memset(m->faster, 0, sizeof(m->faster));
    int err = results_agree(matrix_clear_turns(study), why);
    err = err ? err : matrix_run_rounds(study, why);
    /* A comparison that an interrupt cut short would not be fair, so it is left out. */
    if (!err && !interrupt_came() && command_rank() == 0) {
        progress_hide(&study->base.progress);
        err = matrix_write(study);
    }
    return results_agree(err, why);
}

static int matrix_run_op(struct matrix_study *study, const char *operation, struct ictus_why *why)
{
    study->matrix.operation = operation;
    int err = matrix_read_rows(study, why);
    for (size_t i = 0; i < study->size_count && !err && !interrupt_came(); i++) {
        err = matrix_run_size(study, study->sizes[i], why);
    }
    return err;
}

static int matrix_run_study(struct matrix_study *study, struct ictus_why *why)
{
    const struct header_facts facts = {
        .command = "matrix",
        .rows = options,
        .options = study->options,
        .sync = study->options->sync,
        .clock = study->options->clock,
        .seeded = true,
        .seed = study->options->seed,
    };
    int err = matrix_build_columns(study, why);
    err = err ? err : study_base_open(&study->base, &facts, matrix_record_columns, why);
    if (err) {
        return err;
    }
    study_base_begin(&study->base, "turns",
                     (double)study->op_count * study->matrix.rows * study->matrix.columns *
                         (double)study->size_count * (double)study->options->rounds);
    progress_foretell(&study->base.progress,
                      study->options->max_time_s / (double)study->options->rounds);
    for (int op = 0; op < study->op_count && !err && !interrupt_came(); op++) {
        err = matrix_run_op(study, study->ops[op], why);
    }
    return study_base_close(&study->base, err, why);
}

static void matrix_study_fini(struct matrix_study *study)
{
    for (int i = 0; i < MATRIX_ROWS * MATRIX_COLUMNS; i++) {
        turns_fini(&study->launch.turns[i / MATRIX_COLUMNS][i % MATRIX_COLUMNS]);
    }
    for (int column = 0; column < MATRIX_COLUMNS; column++) {
        ictus_bench_free(study->benches[column]);
    }
    if (study->selector) {
        ictus_selector_free(study->selector);
    }
    json_decref(study->earlier);
    free(study->sizes);
}

/* Rank 0 reads and judges, and tells the others whether that succeeded. */
static int matrix_judge_files(const struct matrix_options *o, int count, char **words,
                              struct ictus_why *why)
{
    static const char *const judging[] = {"launch-spread", "format",   "output",  "force",
                                          "quiet",         "progress", "verbose", NULL};
    int err = options_judge_only(options, o, judging, why);
    if (!err && command_rank() == 0) {
        json_t *settings = json_array();
        err = matrix_merge(&o->results, o->launch_spread, count, words, settings, why);
        if (!err && !o->talk.quiet) {
            settings_tell("matrix", settings);
        }
        json_decref(settings);
    }
    return results_agree(err, why);
}

static int matrix_run(const void *given, int word_count, char **words)
{
    struct ictus_why why = {""};
    struct matrix_study *study = calloc(1, sizeof(*study));
    if (!study) {
        return command_fail("matrix", ICTUS_ERR_NOMEM, NULL);
    }
    study->options = given;
    interrupt_watch();
    int err = ICTUS_OK;
    if (word_count > 0) {
        err = matrix_judge_files(given, word_count, words, &why);
    } else {
        err = matrix_read_study(study, &why);
        err = err ? err : matrix_run_study(study, &why);
    }
    matrix_study_fini(study);
    free(study);
    return interrupt_end("matrix", err, &why, EXIT_OK);
}

const struct command command_matrix = {
    .name = "matrix",
    .summary = "compare an operation's algorithms under different common starts",
    .arguments = "[FILE...]",
    .details = "Given result files, it judges them together, one launch each.\n"
               "  mpirun -n 8 ictus matrix --ops=reduce --sizes=8 -o matrix.jsonl\n"
               "  ictus report matrix.jsonl",
    .options = options,
    .flags = NEEDS_MPI | READS_FILES,
    .options_size = sizeof(struct matrix_options),
    .run = matrix_run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* Matrices of several launches, put together from the rounds that their files hold. */
#include "bench/matrix_merge.h"

#include "bench/matrix_record.h"
#include "main/member.h"
#include "results/settings.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One matrix of all launches; its texts are those of the objects. */
struct merged {
    struct matrix matrix;
    struct matrix_launch **launches; /* of all files; NULL: nothing of this matrix is in it */
    size_t count;
    double logs[MATRIX_ROWS][MATRIX_COLUMNS];    /* of the medians, summed over launches */
    double squares[MATRIX_ROWS][MATRIX_COLUMNS]; /* of half the intervals' logarithms, likewise */
};

/* The place of a name in a list, to which it is added if it is new; -1: there is no room. */
static int merged_place(char (*names)[MATRIX_NAME], int *count, int limit, const char *name)
{
    for (int i = 0; i < *count; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    if (*count == limit || strlen(name) >= MATRIX_NAME) {
        return -1;
    }
    (void)snprintf(names[*count], MATRIX_NAME, "%s", name);
    return (*count)++;
}

/* The medians of the rounds are all that comparisons need. */
static int merged_read_rounds(struct turns *turns, const json_t *rounds, const json_t *trips)
{
    size_t i = 0;
    json_t *median = NULL;
    turns_fini(turns);
    int err = turns_init(turns);
    json_array_foreach((json_t *)rounds, i, median)
    {
        const double value = json_number_value(median);
        err = err ? err : turns_add(turns, &value, value > 0 ? 1 : 0);
        turns_note_trip(turns, json_number_value(json_array_get(trips, i)));
    }
    return err;
}

/* Count a launch's cell in what is told of all. */
static void merged_count_cell(struct merged *merged, int row, int column, const json_t *cell)
{
    struct cell *all = &merged->matrix.cells[row][column];
    const double half =
        0.5 * log(member_number(cell, "ci95_high_s") / member_number(cell, "ci95_low_s"));
    all->measured = true;
    all->launches++;
    all->n += json_integer_value(json_object_get(cell, "n"));
    all->invalid += json_integer_value(json_object_get(cell, "invalid"));
    merged->logs[row][column] += log(member_number(cell, "median_s"));
    merged->squares[row][column] += half * half;
}

static int merged_add_cell(struct merged *merged, size_t launch, const json_t *cell)
{
    struct matrix *m = &merged->matrix;
    const int row =
        merged_place(m->algorithms, &m->rows, MATRIX_ROWS, member_text(cell, "algorithm"));
    const int column =
        merged_place(m->schemes, &m->columns, MATRIX_COLUMNS, member_text(cell, "scheme"));
    if (row < 0 || column < 0) {
        return ICTUS_ERR_FORMAT;
    }
    if (!merged->launches[launch]) {
        merged->launches[launch] = calloc(1, sizeof(*merged->launches[launch]));
    }
    if (!merged->launches[launch]) {
        return ICTUS_ERR_NOMEM;
    }
    merged_count_cell(merged, row, column, cell);
    return merged_read_rounds(&merged->launches[launch]->turns[row][column],
                              json_object_get(cell, "rounds_s"),
                              json_object_get(cell, "node_trips_s"));
}

/* Geometric means of the medians, with intervals from those within launches. */
static void merged_summarize(struct merged *merged)
{
    struct matrix *m = &merged->matrix;
    for (int row = 0; row < m->rows; row++) {
        for (int column = 0; column < m->columns; column++) {
            struct cell *cell = &m->cells[row][column];
            if (cell->measured) {
                const double n = (double)cell->launches;
                const double half = sqrt(merged->squares[row][column]) / n;
                cell->median_s = exp(merged->logs[row][column] / n);
                cell->low_s = cell->median_s * exp(-half);
                cell->high_s = cell->median_s * exp(half);
            }
        }
    }
}

static struct merged *merged_create(const json_t *first, size_t launches)
{
    struct merged *merged = calloc(1, sizeof(*merged));
    if (merged) {
        merged->count = launches;
        merged->launches = calloc(launches, sizeof(*merged->launches));
        merged->matrix.operation = member_text(first, "operation");
        merged->matrix.reduction = member_text(first, "reduction");
        merged->matrix.bytes = (uint64_t)json_integer_value(json_object_get(first, "bytes"));
        merged->matrix.processes = (int)json_integer_value(json_object_get(first, "processes"));
    }
    return merged;
}

static void merged_free(struct merged *merged)
{
    for (size_t i = 0; merged && merged->launches && i < merged->count; i++) {
        for (int k = 0; merged->launches[i] && k < MATRIX_ROWS * MATRIX_COLUMNS; k++) {
            turns_fini(&merged->launches[i]->turns[k / MATRIX_COLUMNS][k % MATRIX_COLUMNS]);
        }
        free(merged->launches[i]);
    }
    if (merged) {
        free(merged->launches);
    }
    free(merged);
}

/* Launches that hold none of a matrix take no part in it. */
static void merged_close_ranks(struct merged *merged)
{
    size_t kept = 0;
    for (size_t i = 0; i < merged->count; i++) {
        if (merged->launches[i]) {
            merged->launches[kept++] = merged->launches[i];
        }
    }
    merged->count = kept;
}

static int merged_write(struct merged *merged, double assumed, enum ictus_format format,
                        struct ictus_output *out)
{
    struct matrix *m = &merged->matrix;
    merged_close_ranks(merged);
    merged_summarize(merged);
    int err = matrix_record_compare(m, merged->launches, merged->count, assumed, NULL);
    for (int column = 0; column < m->columns && !err; column++) {
        for (int row = 0; row < m->rows && !err; row++) {
            if (m->cells[row][column].measured) {
                json_t *object = matrix_record_cell(m, row, column, NULL, false);
                err = object ? ictus_output_put(out, object) : ICTUS_ERR_NOMEM;
            }
        }
    }
    return err ? err : matrix_record_close(m, format, out);
}

/* All cells of one identity: a matrix of its own. cells: pairs of a launch's number and an object.
 */
static int matrix_merge_put_one(const json_t *cells, size_t launches, double assumed,
                                enum ictus_format format, struct ictus_output *out)
{
    const json_t *first = json_array_get(json_array_get(cells, 0), 1);
    struct merged *merged = merged_create(first, launches);
    int err = merged && merged->launches ? ICTUS_OK : ICTUS_ERR_NOMEM;
    size_t i = 0;
    json_t *pair = NULL;
    json_array_foreach((json_t *)cells, i, pair)
    {
        const size_t launch = (size_t)json_integer_value(json_array_get(pair, 0));
        err = err ? err : merged_add_cell(merged, launch, json_array_get(pair, 1));
    }
    err = err ? err : merged_write(merged, assumed, format, out);
    merged_free(merged);
    return err;
}

/* matrices: identity -> pairs of a launch's number and a cell, in the order of first appearance. */
static int matrix_merge_add_cell(json_t *matrices, int launch, json_t *cell)
{
    /* What makes two cells parts of one matrix. */
    static const char *const members[] = {"operation", "bytes", "processes", "reduction", NULL};
    json_t *pair = json_pack("[i, O]", launch, cell);
    const int failed = !pair || member_group(matrices, cell, members, pair);
    json_decref(pair);
    return failed ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static bool cell_can_be_merged(const json_t *cell)
{
    return json_is_array(json_object_get(cell, "rounds_s")) &&
           member_number(cell, "median_s") > 0 && member_number(cell, "ci95_low_s") > 0 &&
           member_number(cell, "ci95_high_s") > 0;
}

/* Each header of a file begins a launch, as in files that were merged; a file without is one. */
static int matrix_merge_add_file(json_t *matrices, int *launches, const char *path,
                                 json_t *settings, struct ictus_why *why)
{
    json_t *objects = NULL;
    json_t *object = NULL;
    int skipped = 0;
    size_t i = 0;
    int err = ictus_result_read(path, &objects, &skipped, why);
    if (err) {
        return err;
    }
    size_t taken = 0;
    int launch = *launches;
    settings_add(settings, path, objects);
    json_array_foreach(objects, i, object)
    {
        if (strcmp(member_text(object, "type"), "header") == 0) {
            launch = (*launches)++;
        }
        const bool cell = strcmp(member_text(object, "type"), "matrix") == 0 &&
                          json_object_get(object, "algorithm") && cell_can_be_merged(object);
        err = err || !cell ? err : matrix_merge_add_cell(matrices, launch, object);
        taken += cell;
    }
    *launches += launch == *launches; /* there was no header */
    json_decref(objects);
    if (!err && taken == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "'%.200s' holds no matrix of a single launch; 'ictus matrix -o FILE' "
                            "writes one",
                            path);
    }
    return err;
}

static int matrix_merge_put_all(const json_t *matrices, const struct results_options *results,
                                double assumed, int count, struct ictus_why *why)
{
    const char *identity = NULL;
    struct ictus_output *out = NULL;
    json_t *cells = NULL;
    results_outlive_readers();
    int err =
        ictus_output_open((enum ictus_format)results->format, matrix_record_columns, results->file,
                          json_pack("{s:s, s:s, s:i}", "version", ICTUS_VERSION, "command",
                                    "matrix", "launches", count),
                          &out, why);
    json_object_foreach((json_t *)matrices, identity, cells)
    {
        err = err ? err
                  : matrix_merge_put_one(cells, (size_t)count, assumed,
                                         (enum ictus_format)results->format, out);
    }
    const int closed = out ? ictus_output_close(out) : ICTUS_OK;
    if (!err && closed) {
        err = ictus_because(why, closed, "the output could not be written completely");
    }
    return err;
}

int matrix_merge(const struct results_options *results, double assumed, int count, char **paths,
                 json_t *settings, struct ictus_why *why)
{
    json_t *matrices = json_object();
    int launches = 0;
    int err = matrices ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (int i = 0; i < count && !err; i++) {
        err = matrix_merge_add_file(matrices, &launches, paths[i], settings, why);
    }
    err = err ? err : matrix_merge_put_all(matrices, results, assumed, launches, why);
    json_decref(matrices);
    return err;
}

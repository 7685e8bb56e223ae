/* SPDX-License-Identifier: BSD-3-Clause */
/* Which algorithms of a matrix are faster than which, and its result objects: type "matrix". */
#include "bench/matrix_record.h"

#include "bench/matrix_after.h"
#include "main/text_table.h"

#include <ictus/error.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

const struct ictus_column matrix_record_columns[] = {
    {"operation", "operation", ICTUS_COLUMN_TEXT},
    {"scheme", "scheme      ", ICTUS_COLUMN_TEXT},
    {"algorithm", "algorithm    ", ICTUS_COLUMN_TEXT},
    {"bytes", "  bytes", ICTUS_COLUMN_COUNT},
    {"processes", "procs", ICTUS_COLUMN_COUNT},
    {"median_s", "median us", ICTUS_COLUMN_SECONDS},
    {"ci95_low_s", "95% lo us", ICTUS_COLUMN_SECONDS},
    {"ci95_high_s", "95% hi us", ICTUS_COLUMN_SECONDS},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

/* The launches of a matrix, and room for one number of each. */
struct compared_launches {
    struct matrix_launch *const *list;
    size_t count;
    struct turns_launches ratios;
};

/* How much longer row b takes than row a in each launch that has both. */
static int matrix_record_take_ratios(struct compared_launches *launches, int column, int a, int b)
{
    launches->ratios.n = 0;
    for (size_t i = 0; i < launches->count; i++) {
        struct turns_ratio ratio;
        const struct matrix_launch *launch = launches->list[i];
        const int err = turns_compare(&launch->turns[b][column], &launch->turns[a][column], &ratio);
        if (err && err != ICTUS_ERR_SAMPLES) {
            return err;
        }
        if (!err) {
            launches->ratios.logs[launches->ratios.n] = log(ratio.factor);
            launches->ratios.errors[launches->ratios.n++] = ratio.error;
        }
    }
    return ICTUS_OK;
}

static int matrix_record_compare_two(struct matrix *m, struct compared_launches *launches,
                                     const json_t *earlier, int column, int a, int b)
{
    struct turns_verdict verdict;
    const int err = matrix_record_take_ratios(launches, column, a, b);
    if (err || launches->ratios.n == 0) {
        return err;
    }
    turns_judge_after(&launches->ratios, matrix_after_find(earlier, m, m->reduction, column, a, b),
                      &verdict);
    m->faster[column][a][b] = turns_again(&verdict, 1.0) >= TURNS_AGAIN;
    if (m->launches == 0 || launches->ratios.n < m->launches) {
        m->launches = launches->ratios.n;
    }
    return ICTUS_OK;
}

static int matrix_record_compare_column(struct matrix *m, struct compared_launches *launches,
                                        const json_t *earlier, int column)
{
    int err = ICTUS_OK;
    matrix_place(m, column);
    for (int a = 0; a < m->rows; a++) {
        for (int b = 0; b < m->rows && !err; b++) {
            if (a != b && m->cells[a][column].measured && m->cells[b][column].measured) {
                err = matrix_record_compare_two(m, launches, earlier, column, a, b);
            }
        }
    }
    return err;
}

int matrix_record_compare(struct matrix *m, struct matrix_launch *const *list, size_t count,
                          double assumed, const json_t *earlier)
{
    double *numbers = calloc(2 * count + 1, sizeof(*numbers));
    int err = numbers ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!numbers) {
        return err;
    }
    struct compared_launches launches = {list, count, {numbers, numbers + count, 0, assumed}};
    m->launches = 0;
    m->spread = assumed;
    for (int column = 0; column < m->columns && !err; column++) {
        err = matrix_record_compare_column(m, &launches, earlier, column);
    }
    free(numbers);
    return err;
}

static json_t *matrix_record_reals(const double *values, size_t n)
{
    json_t *array = json_array();
    for (size_t i = 0; i < n; i++) {
        (void)json_array_append_new(array, json_real(values[i]));
    }
    return array;
}

json_t *matrix_record_cell(const struct matrix *m, int row, int column, const struct turns *turns,
                           bool raw)
{
    const struct cell *cell = &m->cells[row][column];
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:i, s:s, s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:f, s:i, s:b, s:n}", "type",
        "matrix", "operation", m->operation, "bytes", (json_int_t)m->bytes, "processes",
        m->processes, "algorithm", m->algorithms[row], "scheme", m->schemes[column], "reduction",
        m->reduction, "n", (json_int_t)cell->n, "invalid", (json_int_t)cell->invalid, "launches",
        (json_int_t)cell->launches, "median_s", cell->median_s, "ci95_low_s", cell->low_s,
        "ci95_high_s", cell->high_s, "place", cell->place, "winner",
        matrix_winner(m, column) == row, "verdict");
    (void)json_object_set_new(object, "faster_than", matrix_after_names(m, column, row));
    if (object && turns) {
        (void)json_object_set_new(object, "rounds_s",
                                  matrix_record_reals(turns->medians, turns->rounds));
        (void)json_object_set_new(object, "node_trips_s",
                                  matrix_record_reals(turns->trips, turns->rounds));
    }
    if (object && turns && raw) {
        (void)json_object_set_new(object, "raw_s", matrix_record_reals(turns->values, turns->n));
    }
    return object;
}

/* The table of standard output has cells only. */
int matrix_record_close(const struct matrix *m, enum ictus_format format, struct ictus_output *out)
{
    char verdict[MATRIX_VERDICT];
    const int winner = matrix_winner(m, matrix_judge(m));
    const enum matrix_outcome outcome = matrix_verdict(m, verdict, sizeof(verdict));
    const bool shown = m->launches >= TURNS_LAUNCHES_LEAST;
    if (format == ICTUS_FORMAT_TEXT) {
        const int err = matrix_print(m, stdout);
        if (err) {
            return err;
        }
        remark_print(stdout, "%s", verdict);
        if (outcome == MATRIX_UNCLEAR && !shown) {
            remark_print(stdout,
                         "judged from %zu launch%s, allowing for a spread of %.3g %% between "
                         "launches; 'ictus matrix FILE...' judges several launches together",
                         m->launches, m->launches == 1 ? "" : "es", 100 * m->spread);
        }
    }
    json_t *object =
        json_pack("{s:s, s:s, s:I, s:i, s:I, s:s, s:s?, s:o, s:s, s:s}", "type", "matrix",
                  "operation", m->operation, "bytes", (json_int_t)m->bytes, "processes",
                  m->processes, "launches", (json_int_t)m->launches, "outcome",
                  matrix_outcomes[outcome], "winner", winner < 0 ? NULL : m->algorithms[winner],
                  "launch_spread", shown ? json_null() : json_real(m->spread), "launch_spread_from",
                  shown ? "files" : "assumed", "verdict", verdict);
    return object ? ictus_output_put(out, object) : ICTUS_ERR_NOMEM;
}

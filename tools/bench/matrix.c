/* SPDX-License-Identifier: BSD-3-Clause */
/* What a matrix shows, in words and marks. */
#include "bench/matrix.h"

#include "main/text_table.h"

#include <string.h>

void matrix_place(struct matrix *m, int column)
{
    for (int i = 0; i < m->rows; i++) {
        struct cell *cell = &m->cells[i][column];
        cell->place = 1;
        for (int j = 0; j < m->rows && cell->measured; j++) {
            const struct cell *other = &m->cells[j][column];
            const bool before =
                other->median_s < cell->median_s || (other->median_s == cell->median_s && j < i);
            cell->place += other->measured && before;
        }
    }
}

const char *const matrix_outcomes[] = {"unclear", "same", "changed", "empty"};

static bool matrix_is_rival(const struct matrix *m, int row, int column)
{
    return m->cells[row][column].measured &&
           (m->rows == 1 || strcmp(m->algorithms[row], "default") != 0);
}

/* The row of the least median in a column; -1 where nothing was measured. */
static int matrix_fastest(const struct matrix *m, int column)
{
    int best = -1;
    for (int i = 0; i < m->rows; i++) {
        if (matrix_is_rival(m, i, column) &&
            (best < 0 || m->cells[i][column].place < m->cells[best][column].place)) {
            best = i;
        }
    }
    return best;
}

int matrix_winner(const struct matrix *m, int column)
{
    const int best = matrix_fastest(m, column);
    for (int i = 0; i < m->rows && best >= 0; i++) {
        if (i != best && matrix_is_rival(m, i, column) && !m->faster[column][best][i]) {
            return -1;
        }
    }
    return best;
}

int matrix_judge(const struct matrix *m)
{
    for (int c = 0; c < m->columns; c++) {
        if (strcmp(m->schemes[c], "harmonize") == 0) {
            return c;
        }
    }
    return 0;
}

/* Whether a column has a winner that is slower where it counts. */
static bool matrix_differs(const struct matrix *m, int column)
{
    const int judge = matrix_judge(m);
    const int mine = matrix_winner(m, column);
    const int best = matrix_fastest(m, judge);
    return column != judge && mine >= 0 && mine != best && m->faster[judge][best][mine];
}

static void matrix_append(char *text, size_t size, const char *piece)
{
    const size_t length = strlen(text);
    (void)snprintf(text + length, size - length, "%s", piece);
}

/* "linear under barrier:algorithm=mpi:double_ring, binomial under dissemination" */
static void matrix_append_changed(const struct matrix *m, char *text, size_t size)
{
    char piece[4 * MATRIX_NAME];
    const char *glue = " ";
    for (int c = 0; c < m->columns; c++) {
        if (matrix_differs(m, c)) {
            (void)snprintf(piece, sizeof(piece), "%s%s under %s", glue,
                           m->algorithms[matrix_winner(m, c)], m->schemes[c]);
            matrix_append(text, size, piece);
            glue = ", ";
        }
    }
}

/* "binomial", or of those that are not told apart "binomial or linear" */
static void matrix_append_best(const struct matrix *m, char *text, size_t size)
{
    const int judge = matrix_judge(m);
    const int best = matrix_fastest(m, judge);
    matrix_append(text, size, m->algorithms[best]);
    for (int i = 0; i < m->rows; i++) {
        if (i != best && matrix_is_rival(m, i, judge) && !m->faster[judge][best][i]) {
            matrix_append(text, size, " or ");
            matrix_append(text, size, m->algorithms[i]);
        }
    }
}

enum matrix_outcome matrix_verdict(const struct matrix *m, char *text, size_t size)
{
    const int judge = matrix_judge(m);
    char piece[4 * MATRIX_NAME];
    bool changed = false;
    (void)snprintf(text, size, "%s of %llu bytes on %d processes: ", m->operation,
                   (unsigned long long)m->bytes, m->processes);
    if (matrix_fastest(m, judge) < 0) {
        (void)snprintf(piece, sizeof(piece), "nothing was measured under %s", m->schemes[judge]);
        matrix_append(text, size, piece);
        return MATRIX_EMPTY;
    }
    for (int c = 0; c < m->columns; c++) {
        changed = changed || matrix_differs(m, c);
    }
    const bool won = matrix_winner(m, judge) >= 0;
    matrix_append(text, size,
                  changed ? "the choice of common start changes the winner: "
                  : won   ? "the choice of common start does not change the winner: "
                          : "unclear; the fastest may be ");
    matrix_append_best(m, text, size);
    (void)snprintf(piece, sizeof(piece), " under %s%s", m->schemes[judge], changed ? ", but" : "");
    matrix_append(text, size, piece);
    if (changed) {
        matrix_append_changed(m, text, size);
        return MATRIX_CHANGED;
    }
    return won ? MATRIX_SAME : MATRIX_UNCLEAR;
}

bool matrix_row_measured(const struct matrix *m, int row)
{
    int column = 0;
    while (column < m->columns && !m->cells[row][column].measured) {
        column++;
    }
    return column < m->columns;
}

static bool matrix_is_measured(const struct matrix *m, int column)
{
    int row = 0;
    while (row < m->rows && !m->cells[row][column].measured) {
        row++;
    }
    return row < m->rows;
}

static void matrix_put_cell(const struct matrix *m, int row, int column, struct text_table *table)
{
    const struct cell *cell = &m->cells[row][column];
    if (cell->measured) {
        text_table_cell(table, "%.3f%c", cell->median_s * 1e6, cell->place == 1 ? '*' : ' ');
    } else {
        text_table_cell(table, "- ");
    }
}

/* Bytes of a scheme up to and with its first "=", else 0: what the head's upper line shows. */
static int scheme_break(const char *scheme)
{
    const char *sign = strchr(scheme, '=');
    return sign ? (int)(sign - scheme) + 1 : 0;
}

static void matrix_put_head(const struct matrix *m, struct text_table *table)
{
    char upper[MATRIX_NAME];
    bool broken = false;
    for (int c = 0; c < m->columns; c++) {
        broken = broken || (matrix_is_measured(m, c) && scheme_break(m->schemes[c]) > 0);
    }
    text_table_column(table, "", true);
    for (int c = 0; c < m->columns; c++) {
        if (matrix_is_measured(m, c)) {
            (void)snprintf(upper, sizeof(upper), "%.*s", scheme_break(m->schemes[c]),
                           m->schemes[c]);
            text_table_column(table, broken ? upper : m->schemes[c], false);
        }
    }
    if (broken) {
        text_table_cell(table, "%s", "");
    }
    for (int c = 0; c < m->columns && broken; c++) {
        if (matrix_is_measured(m, c)) {
            text_table_cell(table, "%s", m->schemes[c] + scheme_break(m->schemes[c]));
        }
    }
}

int matrix_print(const struct matrix *m, FILE *out)
{
    struct text_table table;
    text_table_init(&table, 1);
    matrix_put_head(m, &table);
    for (int row = 0; row < m->rows; row++) {
        if (matrix_row_measured(m, row)) {
            text_table_cell(&table, "%s", m->algorithms[row]);
            for (int c = 0; c < m->columns; c++) {
                if (matrix_is_measured(m, c)) {
                    matrix_put_cell(m, row, c, &table);
                }
            }
        }
    }
    (void)fputs("#\n", out);
    remark_print(out, "medians in us; * marks the fastest under each common start");
    return text_table_print(&table, "# ", out);
}

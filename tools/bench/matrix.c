/* SPDX-License-Identifier: BSD-3-Clause */
/* What a matrix says. */
#include "bench/matrix.h"

#include <string.h>

void matrix_rank(struct matrix *m, int column)
{
    for (int i = 0; i < m->rows; i++) {
        struct cell *cell = &m->cells[i][column];
        cell->rank = 1;
        for (int j = 0; j < m->rows && cell->measured; j++) {
            const struct cell *other = &m->cells[j][column];
            const bool before =
                other->median_s < cell->median_s || (other->median_s == cell->median_s && j < i);
            cell->rank += other->measured && before;
        }
    }
}

/*
 * The row that is fastest in a column; -1 where nothing was measured. The default is one of the
 * others under another name: it wins only alone.
 */
static int winner(const struct matrix *m, int column)
{
    int best = -1;
    for (int i = 0; i < m->rows; i++) {
        const struct cell *cell = &m->cells[i][column];
        if (cell->measured && (m->rows == 1 || strcmp(m->algorithms[i], "default") != 0) &&
            (best < 0 || cell->rank < m->cells[best][column].rank)) {
            best = i;
        }
    }
    return best;
}

/* The column to judge the others by: harmonised starts, else the first. */
static int judge(const struct matrix *m)
{
    for (int c = 0; c < m->columns; c++) {
        if (strcmp(m->syncs[c], "harmonize") == 0) {
            return c;
        }
    }
    return 0;
}

static bool clearly_faster(const struct matrix *m, int column, int a, int b)
{
    return !m->cells[b][column].measured ||
           (m->cells[a][column].measured && m->cells[a][column].high_s < m->cells[b][column].low_s);
}

/* Whether a column clearly prefers another algorithm, where the judging one clearly does not. */
static bool differs(const struct matrix *m, int column, int right)
{
    const int mine = winner(m, column);
    return mine >= 0 && mine != right && clearly_faster(m, column, mine, right) &&
           clearly_faster(m, judge(m), right, mine);
}

static void append(char *text, size_t size, const char *piece)
{
    const size_t length = strlen(text);
    (void)snprintf(text + length, size - length, "%s", piece);
}

void matrix_verdict(const struct matrix *m, char *text, size_t size)
{
    const int column = judge(m);
    const int right = winner(m, column);
    int others = 0;
    int changed = 0;
    char piece[4 * MATRIX_NAME];
    (void)snprintf(text, size, "%s of %llu bytes on %d processes: ", m->operation,
                   (unsigned long long)m->bytes, m->processes);
    if (right < 0) {
        (void)snprintf(piece, sizeof(piece), "nothing was measured under %s", m->syncs[column]);
        append(text, size, piece);
        return;
    }
    for (int c = 0; c < m->columns; c++) {
        others += c != column && winner(m, c) >= 0;
        changed += c != column && differs(m, c, right);
    }
    if (changed == 0) {
        (void)snprintf(
            piece, sizeof(piece),
            "the choice of barrier does not change the winner: %s under %s, and under none "
            "of %d others is another algorithm clearly faster",
            m->algorithms[right], m->syncs[column], others);
        append(text, size, piece);
        return;
    }
    (void)snprintf(piece, sizeof(piece),
                   "the choice of barrier changes the winner: %s under %s, but",
                   m->algorithms[right], m->syncs[column]);
    append(text, size, piece);
    const char *glue = " ";
    for (int c = 0; c < m->columns; c++) {
        if (c != column && differs(m, c, right)) {
            (void)snprintf(piece, sizeof(piece), "%s%s under %s", glue, m->algorithms[winner(m, c)],
                           m->syncs[c]);
            append(text, size, piece);
            glue = ", ";
        }
    }
}

bool matrix_row_measured(const struct matrix *m, int row)
{
    int column = 0;
    while (column < m->columns && !m->cells[row][column].measured) {
        column++;
    }
    return column < m->columns;
}

/* A column holds its whole name: the end of one alone ("issemination") puzzles. */
static int column_width(const struct matrix *m, int column)
{
    enum { LEAST = 12 };
    const int length = (int)strlen(m->syncs[column]);
    return length > LEAST ? length : LEAST;
}

static bool is_measured(const struct matrix *m, int column)
{
    int row = 0;
    while (row < m->rows && !m->cells[row][column].measured) {
        row++;
    }
    return row < m->rows;
}

static void print_row(const struct matrix *m, int row, FILE *out)
{
    for (int c = 0; c < m->columns; c++) {
        const struct cell *cell = &m->cells[row][c];
        const int width = column_width(m, c);
        if (cell->measured) {
            (void)fprintf(out, " %*.3f%c", width - 1, cell->median_s * 1e6,
                          cell->rank == 1 ? '*' : ' ');
        } else if (is_measured(m, c)) {
            (void)fprintf(out, " %*s", width, "- ");
        }
    }
}

void matrix_print(const struct matrix *m, FILE *out)
{
    enum { NAMES = 26 };
    (void)fprintf(out, "#\n# medians in us; * is the fastest under its synchronisation\n# %-*s",
                  NAMES, "");
    for (int c = 0; c < m->columns; c++) {
        if (is_measured(m, c)) {
            (void)fprintf(out, " %*s", column_width(m, c), m->syncs[c]);
        }
    }
    (void)fputc('\n', out);
    for (int i = 0; i < m->rows; i++) {
        if (matrix_row_measured(m, i)) {
            (void)fprintf(out, "# %-*.*s", NAMES, NAMES, m->algorithms[i]);
            print_row(m, i, out);
            (void)fputc('\n', out);
        }
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells of one matrix: places within columns, the map in letters, and the verdict in words. */
#ifndef ICTUS_TOOLS_MATRIX_H
#define ICTUS_TOOLS_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum { MATRIX_ROWS = 32, MATRIX_COLUMNS = 32, MATRIX_NAME = 128, MATRIX_VERDICT = 2048 };

struct cell {
    bool measured;
    double median_s, low_s, high_s; /* with its 95 % interval, widened where the machine drifts */
    int place;                      /* 1: the fastest of its column */
    int64_t n, invalid;             /* repetitions, and those thrown away */
    size_t launches;                /* that measured it */
};

/* Of one operation and size: algorithms against common starts. */
struct matrix {
    const char *operation;
    uint64_t bytes;
    int processes;
    const char *reduction;
    size_t launches; /* the fewest behind any comparison */
    double spread;   /* between launches, assumed where there are too few to show it */
    int rows, columns;
    char algorithms[MATRIX_ROWS][MATRIX_NAME];
    char schemes[MATRIX_COLUMNS][MATRIX_NAME]; /* specifications */
    struct cell cells[MATRIX_ROWS][MATRIX_COLUMNS];
    /* [column][a][b]: a is faster than b in the column, and would be in another launch */
    bool faster[MATRIX_COLUMNS][MATRIX_ROWS][MATRIX_ROWS];
};

/* Order the measured cells of a column by their medians. */
void matrix_place(struct matrix *matrix, int column);

/*
 * The row that is faster than all others in a column, and would be in another launch; -1 where
 * there is none. The default is one of the others under another name, and no rival of theirs.
 */
int matrix_winner(const struct matrix *matrix, int column);

/*
 * The column that the others are judged by: harmonised starts, else the first.
 */
int matrix_judge(const struct matrix *matrix);

enum matrix_outcome { MATRIX_UNCLEAR, MATRIX_SAME, MATRIX_CHANGED, MATRIX_EMPTY };

/* "unclear", "same", "changed", "empty" */
extern const char *const matrix_outcomes[];

/*
 * Whether the choice of barrier changes which algorithm wins, and that in one sentence. Changed: a
 * column has a winner that is slower, in the judging column, than the fastest one there. Same: the
 * judging column has a winner, and no column changes it. All else is unclear.
 */
enum matrix_outcome matrix_verdict(const struct matrix *matrix, char *text, size_t size);

/* Whether any cell of a row was. */
bool matrix_row_measured(const struct matrix *matrix, int row);

/*
 * Medians in us, the winner of each column with a star, as "# ..." lines. Rows and columns in which
 * nothing was measured are left out. A scheme with an option has two lines of the head and is
 * broken after the first "=". Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
 */
int matrix_print(const struct matrix *matrix, FILE *out);

#endif

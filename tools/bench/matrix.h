/* SPDX-License-Identifier: BSD-3-Clause */
/* The cells of one matrix: ranks within columns, the map in letters, and the verdict in words. */
#ifndef ICTUS_TOOLS_MATRIX_H
#define ICTUS_TOOLS_MATRIX_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { MATRIX_ROWS = 32, MATRIX_COLUMNS = 32, MATRIX_NAME = 72 };

struct cell {
    bool measured;
    double median_s, low_s, high_s; /* with its 95 % interval */
    int rank;                       /* 1: the fastest of its column */
};

/* Of one operation and size: algorithms against synchronisations. */
struct matrix {
    const char *operation;
    uint64_t bytes;
    int processes;
    int rows, columns;
    char algorithms[MATRIX_ROWS][MATRIX_NAME];
    char syncs[MATRIX_COLUMNS][MATRIX_NAME];
    struct cell cells[MATRIX_ROWS][MATRIX_COLUMNS];
};

/* Rank the measured cells of a column by their medians. */
void matrix_rank(struct matrix *matrix, int column);

/*
 * Whether the choice of barrier would have changed which algorithm wins, in one sentence. A winner
 * counts as changed only where the intervals of the two algorithms do not overlap in that column,
 * nor in the column of harmonised starts, which judges.
 */
void matrix_verdict(const struct matrix *matrix, char *text, size_t size);

/* Whether any cell of a row was. */
bool matrix_row_measured(const struct matrix *matrix, int row);

/*
 * Medians in us, the winner of each column with a star, as "# ..." lines. Rows and columns in which
 * nothing was measured are left out.
 */
void matrix_print(const struct matrix *matrix, FILE *out);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging a matrix from what one launch measured, or several, and the objects that tell of it. */
#ifndef ICTUS_TOOLS_MATRIX_RECORD_H
#define ICTUS_TOOLS_MATRIX_RECORD_H

#include "bench/matrix.h"
#include "bench/turns.h"

#include <ictus/result.h>

#include <jansson.h>
#include <stdbool.h>

extern const struct ictus_column matrix_record_columns[];

/* What one launch measured of a matrix; cells of which it has no rounds are all zero. */
struct matrix_launch {
    struct turns turns[MATRIX_ROWS][MATRIX_COLUMNS];
};

/*
 * Which rows of each column are faster than which, and would be in as many fresh launches, and the
 * places of the measured cells. assumed: the spread between launches where fewer than
 * TURNS_LAUNCHES_LEAST show it. earlier: the cells of --after; NULL: none. Errors: ICTUS_ERR_NOMEM.
 */
int matrix_record_compare(struct matrix *matrix, struct matrix_launch *const *list, size_t count,
                          double assumed, const json_t *earlier);

/* The object of a cell; a new reference, NULL when out of memory. turns: of its only launch, whose
 * rounds are told, and all samples if raw; NULL: of several. */
json_t *matrix_record_cell(const struct matrix *matrix, int row, int column,
                           const struct turns *turns, bool raw);

/*
 * The closing object; as text, the table and the sentence as well. Errors: ICTUS_ERR_NOMEM,
 * ICTUS_ERR_IO.
 */
int matrix_record_close(const struct matrix *matrix, enum ictus_format format,
                        struct ictus_output *out);

#endif

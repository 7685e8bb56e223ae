/* SPDX-License-Identifier: BSD-3-Clause */
/* What an earlier matrix found, from its result file. */
#ifndef ICTUS_TOOLS_MATRIX_AFTER_H
#define ICTUS_TOOLS_MATRIX_AFTER_H

#include "bench/matrix.h"
#include "bench/turns.h"

#include <ictus/error.h>
#include <jansson.h>

/* Its cells. Errors: those of ictus_result_read(), ICTUS_ERR_FORMAT (it holds none). */
int matrix_after_read(const char *path, json_t **cells, struct ictus_why *why);

/*
 * Whether row b of a column was slower there than row a. Unknown: cells are NULL, or it had not
 * both under this reduction.
 */
enum turns_before matrix_after_find(const json_t *cells, const struct matrix *matrix,
                                    const char *reduction, int column, int a, int b);

/* The names of the rows that a row beats in a column: what the next matrix may ask for. */
json_t *matrix_after_names(const struct matrix *matrix, int column, int row);

#endif

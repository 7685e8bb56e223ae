/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging the matrices of several launches from their result files. */
#ifndef ICTUS_TOOLS_MATRIX_MERGE_H
#define ICTUS_TOOLS_MATRIX_MERGE_H

#include "main/results.h"

#include <ictus/error.h>

/*
 * Judge what the files of several launches hold, without measuring, and write it. assumed: the
 * spread between launches where there are fewer than five. settings: an array to which those of the
 * launches are added. Local. Errors: as of reading and writing, ICTUS_ERR_FORMAT (the files hold no
 * matrix that can be merged), ICTUS_ERR_NOMEM.
 */
int matrix_merge(const struct results_options *results, double assumed, int count, char **paths,
                 json_t *settings, struct ictus_why *why);

#endif

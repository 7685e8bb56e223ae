/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The fastest algorithm of each operation, process count and size among measurements, and the files
 * by which the MPI libraries are told.
 */
#ifndef ICTUS_TOOLS_TUNE_H
#define ICTUS_TOOLS_TUNE_H

#include <ictus/error.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { WINNER_NAME_MAX = 64 };

struct winner {
    char operation[WINNER_NAME_MAX];
    char algorithm[WINNER_NAME_MAX]; /* "default": leave it to the library */
    json_int_t processes;
    json_int_t bytes; /* of a block; 0 where the operation has no data */
    double median_s, low_s, high_s;
    int rivals;         /* other algorithms measured */
    double fallback_s;  /* the library's own choice; NaN: not measured */
    double runner_up_s; /* NaN: no rival */
    bool clear;         /* its interval is below every rival's */
};

struct winners {
    struct winner *list; /* sorted by operation, processes, bytes */
    size_t count;
    int unproven; /* measurements left out: their algorithm was not seen to run */
};

/*
 * Find the winners among measurement objects; several launches of the same are taken by the median
 * of their medians. Where the library's own choice is as fast as the winner within the intervals,
 * it stays. Objects without an algorithm are left out, as are other reductions over ranks than
 * `reduction`; NULL takes the first that is met.
 * Errors: ICTUS_ERR_FORMAT (nothing to choose from), ICTUS_ERR_NOMEM.
 */
int tune_choose(const json_t *objects, const char *reduction, struct winners *winners,
                struct ictus_why *why);

void tune_free(struct winners *winners);

/*
 * Open MPI's dynamic rules. Operations that it has no rules for are left out and named on standard
 * error. Errors: ICTUS_ERR_UNKNOWN (an algorithm of another library), ICTUS_ERR_IO.
 */
int tune_write_ompi(const struct winners *winners, FILE *file, struct ictus_why *why);

/*
 * MPICH's selection tree: that of `base` with the winners put in for their process counts.
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_FORMAT, ICTUS_ERR_IO, ICTUS_ERR_NOMEM.
 */
int tune_write_mpich(const struct winners *winners, json_t *base, FILE *file,
                     struct ictus_why *why);

/*
 * The selection tree in a JSON file, or the one that MPICH's shared library holds. Errors:
 * ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM.
 */
int tune_read_base(const char *path, json_t **base, struct ictus_why *why);

#endif

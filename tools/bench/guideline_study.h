/* SPDX-License-Identifier: BSD-3-Clause */
/* What `ictus guidelines` is asked to compare, and the samples of one operation's guidelines. */
#ifndef ICTUS_TOOLS_GUIDELINE_STUDY_H
#define ICTUS_TOOLS_GUIDELINE_STUDY_H

#include "bench/guideline.h"
#include "main/study_base.h"

#include <ictus/bench.h>
#include <ictus/result.h>

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct guideline_options {
    const char *ops;
    const char *sizes;
    const char *kinds;
    const char *scheme;
    int reduction; /* index; 0: the scheme's own */
    int64_t repetitions;
    int64_t rounds;
    double max_time_s;
    double tolerance;
    double significance;
    double launch_spread;
    const char *after;
    int64_t root;
    const char *datatype;
    const char *reduce;
    bool check;
    const char *fail_above;
    bool all;
    const char *clock;
    const char *sync;
    int64_t seed;
    bool raw;
    bool list;
    struct results_options results;
    struct progress_options talk;
};

enum guideline_kind { KIND_MOCKUP, KIND_SPLIT, KIND_MONOTONY, KINDS };
extern const char *const guideline_kinds[];

enum { GUIDELINE_OPS_MAX = 64, GUIDELINE_RIVALS_MAX = 32 };

/* An operation and its mock-ups, which follow it. */
struct guideline_operation {
    struct ictus_operation_info rivals[GUIDELINE_RIVALS_MAX];
    int rival_count;
};

struct guideline_tally {
    int processes;
    size_t launches;
    size_t tested, open, violated, unmeasured;
    size_t failed; /* violated by more than --fail-above */
    double worst;  /* factor of the worst violation, told at the end ... */
    char worst_text[256];
};

/* One guideline, judged; the texts are borrowed. */
struct guideline_row {
    const char *kind, *operation, *against, *reduction, *scheme;
    uint64_t bytes, against_bytes;
    int processes;
    int64_t n, against_n, invalid, rounds;
    struct guideline_result result;
};

struct guideline_study {
    struct study_base base;
    const struct guideline_options *options;
    bool kinds[KINDS];
    struct guideline_operation *operations;
    int operation_count;
    uint64_t *sizes; /* ascending, each once */
    size_t size_count;
    enum ictus_reduction reduction;
    struct guideline_limits limits;
    json_t *earlier; /* launches by guideline, of --after, which rank 0 has */
    struct ictus_bench *bench;
    /* of the operation in turn: rival times size_count + size; rank 0 fills them */
    struct turns *turns;
    bool *unfit; /* cannot be measured at that size */
    struct guideline_tally tally;
};

/* Read the options. Local, the same on all ranks. Errors as they deserve. */
int guideline_study_read(struct guideline_study *study, struct ictus_why *why);

void guideline_study_fini(struct guideline_study *study);

/* Write the guidelines of an operation, whose series are complete. Rank 0. */
int guideline_study_write(struct guideline_study *study, const struct guideline_operation *op);

/* "bcast of 8 bytes takes 1.50 times (95 %: 1.40 to 1.60) what 2 pieces of it take" */
void guideline_say(const struct guideline_row *row, char *text, size_t size);

/* A new reference; NULL when out of memory. */
json_t *guideline_object(const struct guideline_row *row);

/*
 * Write a guideline's object, which is taken over, and count it. The terminal sees what needs
 * attention; files and other formats have all. Rank 0.
 */
int guideline_put(const struct guideline_options *options, struct ictus_output *out,
                  const struct guideline_row *row, json_t *object, struct guideline_tally *tally);

/* The closing object and, in the text format, its sentence. Rank 0. */
int guideline_close(const struct guideline_options *options, struct ictus_output *out,
                    const struct guideline_tally *tally);

/*
 * Judge what the files of several launches hold, without measuring. Local. Errors: as of reading
 * and writing, ICTUS_ERR_FORMAT (they hold no guideline, or one was merged).
 */
int guideline_merge(const struct guideline_options *options, int count, char **paths,
                    struct guideline_tally *tally, struct ictus_why *why);

/*
 * What an earlier result file holds, one launch's or several launches', and whether it found a
 * guideline violated; unknown where there is no file (NULL), or the guideline is not in it. Errors:
 * as of reading, ICTUS_ERR_FORMAT (it holds none).
 */
int guideline_after_read(const char *path, json_t **guidelines, struct ictus_why *why);
enum turns_before guideline_after_find(const json_t *guidelines, const struct guideline_row *row);

extern const struct ictus_column guideline_columns[];

#endif

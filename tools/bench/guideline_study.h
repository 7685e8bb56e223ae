/* SPDX-License-Identifier: BSD-3-Clause */
/* What `ictus guidelines` is asked to compare, and the samples of one operation's guidelines. */
#ifndef ICTUS_TOOLS_GUIDELINE_STUDY_H
#define ICTUS_TOOLS_GUIDELINE_STUDY_H

#include "bench/guideline.h"
#include "main/progress.h"

#include <ictus/bench.h>
#include <ictus/result.h>

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
    int64_t root;
    const char *datatype;
    const char *reduce;
    bool check;
    bool fail;
    bool all;
    const char *clock;
    const char *sync;
    int64_t seed;
    bool raw;
    bool list;
    int format; /* enum ictus_format */
    const char *file;
};

enum guideline_kind { KIND_MOCKUP, KIND_SPLIT, KIND_MONOTONY, KINDS };
extern const char *const guideline_kinds[];

enum { GUIDELINE_OPS_MAX = 64, GUIDELINE_RIVALS_MAX = 32 };

/* An operation and its mock-ups, which stand behind it. */
struct guideline_operation {
    struct ictus_operation_info rivals[GUIDELINE_RIVALS_MAX];
    int rival_count;
};

struct guideline_study {
    const struct guideline_options *options;
    bool kinds[KINDS];
    struct guideline_operation *operations;
    int operation_count;
    uint64_t *sizes; /* ascending, each once */
    size_t size_count;
    enum ictus_reduction reduction;
    char clock[1024];
    struct guideline_limits limits;
    struct ictus_bench *bench;
    struct ictus_output *out; /* rank 0 only */
    struct progress progress;
    size_t done;
    /* of the operation in turn: rival times size_count + size; rank 0 fills them */
    struct guideline_series *series;
    bool *unfit; /* cannot be measured at that size */
    size_t tested, open, violated, unmeasured;
    double worst; /* factor of the worst violation, told at the end ... */
    char worst_text[256];
};

/* Read the options. Local, the same on all ranks. Errors as they deserve. */
int guideline_study_read(struct guideline_study *study, struct ictus_why *why);

void guideline_study_fini(struct guideline_study *study);

/* Write the guidelines of an operation, whose series are complete. Rank 0. */
int guideline_study_write(struct guideline_study *study, const struct guideline_operation *op);

/* The closing object and, in the text format, its sentence. Rank 0. */
int guideline_study_close(struct guideline_study *study);

extern const struct ictus_column guideline_columns[];

#endif

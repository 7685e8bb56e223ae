/* SPDX-License-Identifier: BSD-3-Clause */
/* One experiment of two files set against each other: what is compared how, and the verdict. */
#ifndef ICTUS_TOOLS_COMPARE_H
#define ICTUS_TOOLS_COMPARE_H

#include "results/compare_stats.h"
#include "results/experiments.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verdict {
    VERDICT_UNCLEAR, /* no difference shown */
    VERDICT_SAME,    /* the whole interval is within what counts as the same */
    VERDICT_SLOWER,
    VERDICT_FASTER,
    VERDICT_BARE /* no interval: only the ratio is known */
};

struct compared {
    json_t *members;    /* of the second file's experiment; borrowed from nobody */
    const char *file;   /* the second file */
    const char *method; /* "launches", "samples", "intervals", "values" */
    double value_a, value_b;
    size_t samples_a, samples_b;
    struct comparison result; /* low, high and p may be NaN */
    double p_adjusted;
    enum verdict verdict;
};

struct compared_list {
    struct compared *items;
    size_t count;
};

/*
 * Compare by the best that both have: the medians of five launches or more (what varies from run to
 * run is what a user meets), else all raw samples, else the intervals of the medians, else bare
 * values. Nothing is added where a value is missing or not positive.
 */
int compared_add(struct compared_list *list, const struct experiment *a, const struct experiment *b,
                 const char *file, size_t resamples, uint64_t seed);

/* Adjust the p values for being many, and give each experiment its verdict. */
void compared_judge(struct compared_list *list, double same);

void compared_words(const struct compared *compared, char *text, size_t size);

/* Geometric mean of all ratios. */
double compared_mean_ratio(const struct compared_list *list);

void compared_free(struct compared_list *list);

#endif

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
    VERDICT_BARE, /* no interval: only the ratio is known */
    VERDICT_HOST  /* no interval: the host changed by so much that it would say nothing */
};

/* Of the differences that are reported, the share that is not real, on average at most. */
extern const double compared_discovery_rate;

struct compared {
    json_t *members;    /* of the second file's experiment; a reference of its own */
    const char *file;   /* the second file */
    const char *method; /* "launches", "samples", "intervals", "values" */
    double value_a, value_b;
    size_t samples_a, samples_b;
    size_t launches_a, launches_b;
    struct launch_spread spread; /* that it was widened by; share 0: it was not */
    struct comparison result;    /* low, high and p may be NaN */
    double p_adjusted;
    enum verdict verdict;
};

struct compared_list {
    struct compared *items;
    size_t count;
    size_t unlike; /* experiments that measure in units that cannot be compared */
};

struct compare_how {
    size_t resamples;
    uint64_t seed;
    struct launch_spread spread; /* for experiments of few launches */
};

/*
 * The spread between launches that the files themselves show: the mean variance of all experiments
 * that were launched several times. Where they show it by fewer than two degrees of freedom, the
 * assumed one, or what they show if that is larger. An experiment then allows for as much as its
 * own launches say that the host changed, if that is more. Where that is a factor of more than 4,
 * it gets no interval.
 */
struct launch_spread compare_spread(const struct experiments *a, const struct experiments *b,
                                    double assumed);

/*
 * Compare by the best that both have: the medians (else means, else minima) of five launches or
 * more, for what varies from run to run is what a user meets. Else all raw samples of one launch
 * each, the intervals of the medians, or bare values, widened by the spread between launches.
 * Nothing is added where a value is missing or not positive, or where only one of the two is of a
 * window of messages; list->unlike counts the latter. Two different windows are compared by the
 * message.
 */
int compared_add(struct compared_list *list, const struct experiment *a, const struct experiment *b,
                 const char *file, const struct compare_how *how);

/* Adjust the p values for being many, and give each experiment its verdict. */
void compared_judge(struct compared_list *list, double same);

void compared_words(const struct compared *compared, char *text, size_t size);

/* Geometric mean of all ratios. */
double compared_mean_ratio(const struct compared_list *list);

void compared_free(struct compared_list *list);

#endif

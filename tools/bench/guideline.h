/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether one operation is slower than what it should not be slower than: samples that were taken
 * in turns, round by round, compared within rounds.
 */
#ifndef ICTUS_TOOLS_GUIDELINE_H
#define ICTUS_TOOLS_GUIDELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { GUIDELINE_ROUNDS_MAX = 1000 };

/* Samples in the order of measuring; those of round r end in front of ends[r]. */
struct guideline_series {
    double *values;
    size_t n, capacity;
    size_t *ends; /* rounds so far, of room for GUIDELINE_ROUNDS_MAX */
    size_t rounds;
    int64_t invalid;
};

/* Errors: ICTUS_ERR_NOMEM. */
int guideline_series_init(struct guideline_series *series);

/* Close a round with n more samples, which may be none. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG. */
int guideline_series_add(struct guideline_series *series, const double *values, size_t n);

void guideline_series_fini(struct guideline_series *series);

enum guideline_state { GUIDELINE_HOLDS, GUIDELINE_OPEN, GUIDELINE_VIOLATED };

/* "holds", "open", "violated" */
extern const char *const guideline_states[];

/* What a violation must reach to be called one. */
struct guideline_limits {
    double tolerance;    /* the factor must be beyond 1 + tolerance */
    double significance; /* and p, times the comparisons planned, below this */
    double comparisons;
};

struct guideline_result {
    double median_s, against_s; /* over all samples */
    double factor;              /* median over rounds of the ratio of the rounds' medians */
    double low, high;           /* its rank-based 95 % interval */
    double p, p_adjusted;       /* one-sided: the first is not slower */
    size_t rounds;              /* in which both have samples */
    enum guideline_state state;
};

/*
 * Compare two series of the same rounds. The test is van Elteren's (1960): Wilcoxon's rank sums
 * within rounds, weighted by 1 / (n + 1), with ties corrected, against the normal distribution:
 * what changes from round to round (a busy neighbour, another frequency) does not enter. For many
 * comparisons p is multiplied by their number (Bonferroni), so that each can be told at once.
 * "open": the factor is beyond the tolerance, but may be chance. Errors: ICTUS_ERR_SAMPLES (no
 * round has both), ICTUS_ERR_NOMEM.
 */
int guideline_compare(const struct guideline_series *series, const struct guideline_series *against,
                      const struct guideline_limits *limits, struct guideline_result *result);

/* Judge anew, after p was changed. */
void guideline_judge(const struct guideline_limits *limits, struct guideline_result *result);

#endif

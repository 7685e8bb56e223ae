/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether one operation is slower than what it should not be slower than. */
#ifndef ICTUS_TOOLS_GUIDELINE_H
#define ICTUS_TOOLS_GUIDELINE_H

#include "bench/turns.h"

enum guideline_state { GUIDELINE_HOLDS, GUIDELINE_OPEN, GUIDELINE_VIOLATED };

/* "holds", "open", "violated" */
extern const char *const guideline_states[];

/* What a violation must reach to be called one. */
struct guideline_limits {
    double tolerance;    /* the factor must be beyond 1 + tolerance */
    double significance; /* and p, times the comparisons planned, below this */
    double comparisons;
    double spread; /* between launches, assumed where there are too few to show it */
    /* A violation found by an earlier run stays unless it is clearly wrong now. */
    enum turns_before before;
};

struct guideline_result {
    struct turns_ratio ratio;   /* of one launch alone */
    double median_s, against_s; /* over all samples */
    struct turns_verdict verdict;
    size_t launches;
    double p_adjusted;
    enum guideline_state state;
};

/*
 * Judge launches of one comparison. For many comparisons p is multiplied by their number
 * (Bonferroni), so that each can be told at once. "open": the factor is beyond the tolerance, but
 * may be chance.
 */
void guideline_judge(const struct turns_launches *launches, const struct guideline_limits *limits,
                     struct guideline_result *result);

/* Compare two series of one launch. Errors: as turns_compare(). */
int guideline_compare(const struct turns *turns, const struct turns *against,
                      const struct guideline_limits *limits, struct guideline_result *result);

#endif

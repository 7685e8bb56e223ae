/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging performance guidelines. */
#include "bench/guideline.h"

#include <ictus/bench.h>
#include <ictus/error.h>

#include <math.h>
#include <stdbool.h>

const char *const guideline_states[] = {"holds", "open", "violated"};

void guideline_judge(const struct turns_launches *launches, const struct guideline_limits *limits,
                     struct guideline_result *result)
{
    struct turns_verdict *verdict = &result->verdict;
    turns_judge(launches, verdict);
    result->launches = launches->n;
    result->p_adjusted = fmin(1.0, verdict->p * limits->comparisons);
    struct turns_verdict after; /* with the earlier finding taken into account, which the numbers
                                   shown do not reflect */
    turns_judge_after(launches, limits->before, &after);
    const double limit = 1.0 + limits->tolerance * turns_share(limits->before);
    const bool beyond = verdict->factor > limit;
    const bool sure = after.p * limits->comparisons < limits->significance &&
                      turns_again(&after, limit) >= TURNS_AGAIN;
    result->state = beyond ? (sure ? GUIDELINE_VIOLATED : GUIDELINE_OPEN) : GUIDELINE_HOLDS;
}

static int guideline_median(const struct turns *turns, double *median_s)
{
    struct ictus_summary summary = {0};
    const int err = ictus_summarize(turns->values, turns->n, &summary);
    *median_s = summary.median;
    return err;
}

int guideline_compare(const struct turns *turns, const struct turns *against,
                      const struct guideline_limits *limits, struct guideline_result *result)
{
    *result = (struct guideline_result){0};
    int err = turns_compare(turns, against, &result->ratio);
    err = err ? err : guideline_median(turns, &result->median_s);
    err = err ? err : guideline_median(against, &result->against_s);
    if (err) {
        return err;
    }
    double logarithm = log(result->ratio.factor);
    const struct turns_launches one = {&logarithm, &result->ratio.error, 1, limits->spread};
    guideline_judge(&one, limits, result);
    return ICTUS_OK;
}

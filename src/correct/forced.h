/* SPDX-License-Identifier: BSD-3-Clause */
/* Intervals between neighbouring events that the correction had to change by more than was asked.
 */
#ifndef ICTUS_CORRECT_FORCED_H
#define ICTUS_CORRECT_FORCED_H

#include "causality/team.h"

#include <jansson.h>

struct clock_fit;
struct trace;

enum { FORCED_LISTED = 32 };

/* Where it begins in the output, and its length before and after: all ticks. */
struct forced_interval {
    int64_t at, was, is;
    int64_t location;
};

struct forced {
    double slope;   /* that was asked */
    uint64_t count; /* of all */
    uint32_t listed;
    struct forced_interval list[FORCED_LISTED]; /* the largest changes in proportion, these first */
};

/* Look at an interval that changed. The rounding of both ends, here and before, is no change. */
static inline bool forced_is(const struct forced *forced, int64_t was, int64_t is)
{
    const double change = was > is ? (double)(was - is) : (double)(is - was);
    return change - 2 > forced->slope * (double)was;
}

void ictusi_forced_keep(struct forced *forced, const struct forced_interval *interval);

/* Add a part's. */
void ictusi_forced_add(struct forced *sum, const struct forced *part);

/* The list of all ranks. Collective. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_forced_share(struct forced *forced, struct team *team);

/* Add "forced_intervals" and, where there are any, "forced". */
void ictusi_forced_json(const struct forced *forced, const struct trace *trace,
                        const struct clock_fit *fit, json_t *object);

#endif

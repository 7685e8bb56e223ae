/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Intervals between neighbouring events that the correction had to change by more than requested.
 */
#ifndef ICTUS_CORRECT_FORCED_H
#define ICTUS_CORRECT_FORCED_H

#include "causality/team.h"

#include <jansson.h>

struct clock_fit;
struct trace;

enum { FORCED_LISTED = 32 };

/* Where the interval begins in the output, and its length before and after, in ticks. */
struct forced_interval {
    int64_t at, was, is;
    int64_t location;
};

struct forced {
    double slope;   /* as requested */
    uint64_t count; /* of all intervals, including those not listed */
    uint32_t listed;
    /* the largest relative changes, in descending order */
    struct forced_interval list[FORCED_LISTED];
};

/* Whether a change exceeds the slope. Rounding of both ends, before and after, does not count. */
static inline bool forced_is(const struct forced *forced, int64_t was, int64_t is)
{
    const double change = was > is ? (double)(was - is) : (double)(is - was);
    return change - 2 > forced->slope * (double)was;
}

void ictusi_forced_keep(struct forced *forced, const struct forced_interval *interval);

/* Add the intervals of another part. */
void ictusi_forced_add(struct forced *sum, const struct forced *part);

/* Merge the lists of all ranks. Collective. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_forced_share(struct forced *forced, struct team *team);

/* Add "forced_intervals" and, if there are any, "forced". */
void ictusi_forced_json(const struct forced *forced, const struct trace *trace,
                        const struct clock_fit *fit, json_t *object);

#endif

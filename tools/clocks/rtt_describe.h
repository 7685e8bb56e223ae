/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the round trips of a pair show: quantiles, a histogram, and what more exchanges are worth.
 */
#ifndef ICTUS_TOOLS_RTT_DESCRIBE_H
#define ICTUS_TOOLS_RTT_DESCRIBE_H

#include <ictus/result.h>
#include <stdbool.h>
#include <stddef.h>

struct rtt_picture {
    const char *clock;
    size_t bins;
    bool raw;
    bool text; /* draw histogram and costs below the row */
};

/* Write the object of one pair; sorts rtt_ns. */
int rtt_describe(struct ictus_output *out, const struct rtt_picture *picture, int from, int to,
                 double *rtt_ns, size_t n);

#endif

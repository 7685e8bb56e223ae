/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The inverted binomial tree of H08 3.2, HCA and HCA2 (H18 III-B, figure 1a). Neighbours come
 * first, lines are merged towards rank 0, and rank 0 scatters them. The ranks beyond the largest
 * power of two follow in one step.
 */
#ifndef ICTUS_SYNC_UPWARD_H
#define ICTUS_SYNC_UPWARD_H

#include "sync/measure.h"

struct upward_options {
    struct measure_options measure;
    struct learn_options learn;
    bool lower_asks;   /* true: the lower rank of a pair is the client, as in H08 */
    bool adjust_after; /* HCA: rank 0 measures every offset again, one process after the other */
};

/* Learn a line to rank 0's clock. Collective over run->comm. */
int ictusi_upward_learn(struct sync_run *run, const struct upward_options *options);

#endif

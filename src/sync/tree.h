/* SPDX-License-Identifier: BSD-3-Clause */
/* The binomial tree of H18 algorithm 1. The root's clock is passed down in log2 p rounds. The
 * ranks beyond the largest power of two follow in one further round. */
#ifndef ICTUS_SYNC_TREE_H
#define ICTUS_SYNC_TREE_H

#include "sync/measure.h"

/* Learn a line to rank 0's clock along the tree. Collective over run->comm. Every process is a
 * client at most once, and then a reference with the line that it has learned. */
int ictusi_tree_learn(struct sync_run *run, const struct measure_options *measuring,
                      const struct learn_options *learning);

#endif

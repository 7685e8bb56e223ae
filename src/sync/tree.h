/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The binomial tree of H18 algorithm 1: the root's clock is pushed down in log2 p rounds; ranks
 * beyond the largest power of two follow in one round more.
 */
#ifndef ICTUS_SYNC_TREE_H
#define ICTUS_SYNC_TREE_H

#include "sync/measure.h"

/*
 * Learn a line to rank 0's clock along the tree. Collective over run->comm. Every process is a
 * client at most once, then a reference with what it has learned.
 */
int ictusi_tree_learn(struct sync_run *run, const struct measure_options *measuring,
                      const struct learn_options *learning);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of the measuring commands that have an effect only on some operations. */
#ifndef ICTUS_TOOLS_BENCH_REACH_H
#define ICTUS_TOOLS_BENCH_REACH_H

#include "main/options.h"

#include <ictus/bench.h>
#include <stdbool.h>

/* The kinds of options that an operation responds to. */
enum {
    REACH_ROOT = 1,
    REACH_DATA = 2,
    REACH_REDUCTION = 4,
    REACH_NEIGHBORS = 8,
    REACH_MESSAGES = 16,
    REACH_PARTITIONS = 32,
    REACH_THREADS = 64,
    REACH_WINDOW = 128
};

/* The flags of one operation. */
unsigned bench_reach_of(const struct ictus_operation_info *op);

/*
 * Refuse an option that has no effect on any of the operations, whose flags are in reached: who set
 * it expects another measurement than the one that would be made. One that has an effect on some of
 * them is right. Local. Errors: ICTUS_ERR_SPEC.
 */
int bench_reach_check(const struct option_row *rows, const void *options, unsigned reached,
                      struct ictus_why *why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Options of ictus bench that only some operations take notice of. */
#ifndef ICTUS_TOOLS_BENCH_REACH_H
#define ICTUS_TOOLS_BENCH_REACH_H

#include "bench/bench_study.h"

/*
 * Refuse an option that has no effect on any of the study's operations: who set it expects another
 * measurement than the one that would be made. One that has an effect on some of them is right.
 * Local, after the lists have been read. Errors: ICTUS_ERR_SPEC.
 */
int bench_reach_check(const struct bench_study *study, struct ictus_why *why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of measuring. What a machine does to a measurement of milliseconds (where the host has
 * put a virtual machine's cores, a frequency, a neighbour) lasts for seconds: repetitions made in
 * one go all see the same of it, and the next launch sees another. So experiments take turns: some
 * of them, a chapter, are measured in rounds that are spread over a span of time, a part of each
 * one's repetitions a round, and written when the chapter ends.
 */
#ifndef ICTUS_TOOLS_BENCH_ROUNDS_H
#define ICTUS_TOOLS_BENCH_ROUNDS_H

#include "bench/bench_study.h"

/* Measures a part of an experiment on the members of the group; implemented in cmd_bench.c. */
typedef int rounds_measure(struct bench_study *study, const struct bench_experiment *e,
                           struct ictus_bench_plan *plan, struct ictus_bench_result *result,
                           struct ictus_why *why);

/* How many rounds there are: fewer than asked for where each would have too few repetitions. */
int rounds_count(const struct bench_options *options);

/*
 * Measure the experiments of the list and write them, chapter by chapter; when interrupted, what
 * there is. Collective; all ranks get the same error and reason.
 */
int rounds_run(struct bench_study *study, const struct bench_experiment *list, size_t count,
               rounds_measure *measure, struct ictus_why *why);

#endif

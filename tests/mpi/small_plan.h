/* SPDX-License-Identifier: BSD-3-Clause */
/* A small experiment, for tests that change one member of it. */
#ifndef ICTUS_TESTS_MPI_SMALL_PLAN_H
#define ICTUS_TESTS_MPI_SMALL_PLAN_H

#include <ictus/bench.h>

#include <stdint.h>

static inline struct ictus_bench_plan plan_of(const char *operation, uint64_t bytes,
                                              int64_t repetitions)
{
    const struct ictus_bench_plan plan = {
        .size = sizeof(plan),
        .operation = operation,
        .bytes = bytes,
        .repetitions = repetitions,
        .warmup = 1,
    };
    return plan;
}

#endif

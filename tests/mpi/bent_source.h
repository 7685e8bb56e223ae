/* SPDX-License-Identifier: BSD-3-Clause */
/* A clock of known truth for tests of what is built on clocks: CLOCK_MONOTONIC, moved. All ranks of
 * a job run on one machine, so that their true instants are the same. */
#ifndef ICTUS_TESTS_MPI_BENT_SOURCE_H
#define ICTUS_TESTS_MPI_BENT_SOURCE_H

#include "clock/source.h"

#include <stdint.h>
#include <stdio.h>
#include <time.h>

struct bent_source {
    struct source base;
    int64_t offset_ns;
    const char *identity;
};

static inline int64_t bent_source_truth(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t bent_source_read(const struct source *source)
{
    return bent_source_truth() + ((const struct bent_source *)source)->offset_ns;
}

static inline void bent_source_identify(const struct source *source, char *text, size_t size)
{
    (void)snprintf(text, size, "%s", ((const struct bent_source *)source)->identity);
}

static const struct source_ops bent_source_ops = {
    .name = "bent", .read = bent_source_read, .identify = bent_source_identify};

static inline struct bent_source bent_source_make(int64_t offset_ns, const char *identity)
{
    return (struct bent_source){{&bent_source_ops}, offset_ns, identity};
}

#endif

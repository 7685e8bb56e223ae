/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest waits of all, one by one, for pictures. */
#ifndef ICTUS_WAITS_INSTANCES_H
#define ICTUS_WAITS_INSTANCES_H

#include "waits/analysis.h"

/* That many are kept. */
enum { INSTANCES = 1000 };

struct wait_instance {
    int64_t ticks;
    uint32_t call;
};

struct wait_instances {
    struct call_pass pass; /* first member: finds them */
    const struct analysis *analysis;
    struct wait_instance list[INSTANCES]; /* the longest first; of equal ones the first call */
    uint32_t count;
};

/* Before the pass over all calls, and after it. */
void ictusi_instances_begin(struct wait_instances *w, const struct analysis *a);
void ictusi_instances_end(struct wait_instances *w);

#endif

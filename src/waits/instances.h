/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest individual waits, for timelines. */
#ifndef ICTUS_WAITS_INSTANCES_H
#define ICTUS_WAITS_INSTANCES_H

#include "waits/analysis.h"

/* The number of waits kept. */
enum { INSTANCES = 1000 };

struct wait_instance {
    int64_t ticks;
    uint32_t call;
};

struct wait_instances {
    struct call_pass pass; /* first member: finds them */
    const struct analysis *analysis;
    /* from longest to shortest; of equal ones the earlier call first */
    struct wait_instance list[INSTANCES];
    uint32_t count;
};

/* Call before and after the pass over all calls. */
void ictusi_instances_begin(struct wait_instances *w, const struct analysis *a);
void ictusi_instances_end(struct wait_instances *w);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Counters sampled beside the calls: software ones from the kernel's accounting of the thread and
 * from perf events, hardware ones where the machine has them. M00's MultiKron had sixteen; so many
 * may be chosen.
 */
#ifndef ICTUS_TRACER_METRICS_H
#define ICTUS_TRACER_METRICS_H

#include "tracer/recorder.h"

#include <ictus/error.h>

enum { METRICS_MAX = 16 };

struct metric_set {
    int count;
    int usage[METRICS_MAX]; /* index into the table of rusage counters, -1: a perf event */
    uint32_t perf_type[METRICS_MAX];
    uint64_t perf_config[METRICS_MAX];
    char names[METRICS_MAX][32];
    int perf_count;
};

/*
 * Choose counters by names ("page_faults,context_switches,cycles"). Counters that this machine has
 * not are left out and named in missing.
 * Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC (more than METRICS_MAX).
 */
int ictusi_tracer_metrics_choose(const char *names, struct metric_set *set, char *missing,
                                 size_t size, struct ictus_why *why);

/* Open a thread's counters, instead of those of the thread that had this recorder before. */
void ictusi_tracer_metrics_join(struct recorder *r);

/* Close them. */
void ictusi_tracer_metrics_leave(struct recorder *r);

/* Take a sample if it is time for one. */
void ictusi_tracer_metrics_sample(struct recorder *r);

#endif

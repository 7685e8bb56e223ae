/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which counters are recorded in addition to calls. Independent of MPI, because the program that
 * starts a traced program uses it too.
 */
#ifndef ICTUS_TRACER_METRIC_CHOICE_H
#define ICTUS_TRACER_METRIC_CHOICE_H

#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

/* As many as the MultiKron of M00 had. */
enum { METRICS_MAX = 16, METRIC_NAME_ROOM = 32 };

/* What the kernel accounts for a thread in getrusage(2). */
enum usage { USAGE_MINOR, USAGE_MAJOR, USAGE_VOLUNTARY, USAGE_FORCED, USAGE_USER, USAGE_SYSTEM };

struct metric_set {
    int count;
    int usage[METRICS_MAX]; /* enum usage; -1: a perf event */
    uint32_t perf_type[METRICS_MAX];
    uint64_t perf_config[METRICS_MAX];
    char names[METRICS_MAX][METRIC_NAME_ROOM];
    int perf_count;
};

/*
 * Choose counters by name ("page_faults,context_switches,cycles"). Counters that this machine does
 * not have are left out and listed in missing. Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC (a word is
 * empty, or more than METRICS_MAX).
 */
int ictusi_tracer_metrics_choose(const char *names, struct metric_set *set, char *missing,
                                 size_t size, struct ictus_why *why);

/*
 * Open a perf event for this thread. group is the leader's descriptor, or -1. Returns -1 on
 * failure.
 */
int ictusi_tracer_metrics_open(uint32_t type, uint64_t config, int group);

#endif

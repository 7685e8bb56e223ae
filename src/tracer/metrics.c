/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples software and hardware counters of a thread. */
#include "tracer/metrics.h"

#include "tracer/tracer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * A thread's perf events, in the order of the set. One read returns a whole group. The kernel
 * accepts only groups that the processor can count at the same time, so further events form more
 * groups, which then take turns. groups[g] has the events first .. first + count - 1, and its
 * leader's descriptor reads all of them.
 */
struct metric_events {
    int fds[METRICS_MAX];
    int count;
    struct {
        int leader, first, count;
    } groups[METRICS_MAX];
    int group_count;
};

/*
 * Open the next event in the last group, or in a new one if the kernel refuses: a greedy choice in
 * the order of the set.
 */
static void metric_open_next(struct metric_events *e, uint32_t type, uint64_t config)
{
    const int n = e->count++;
    const int last = e->group_count - 1;
    /*
     * An event that cannot be opened leaves a group without a leader, which no other event may
     * join.
     */
    e->fds[n] = last >= 0 && e->groups[last].leader >= 0
                    ? ictusi_tracer_metrics_open(type, config, e->groups[last].leader)
                    : -1;
    if (e->fds[n] >= 0) {
        e->groups[last].count++;
        return;
    }
    e->fds[n] = ictusi_tracer_metrics_open(type, config, -1);
    e->groups[e->group_count].leader = e->fds[n];
    e->groups[e->group_count].first = n;
    e->groups[e->group_count].count = 1;
    e->group_count++;
}

void ictusi_tracer_metrics_leave(struct recorder *r)
{
    for (int i = 0; r->events && i < r->events->count; i++) {
        if (r->events->fds[i] >= 0) {
            (void)close(r->events->fds[i]);
        }
    }
    free(r->events);
    r->events = NULL;
}

/*
 * A thread opens its own events, because they belong to it; its recorder may have been left by
 * another thread.
 */
void ictusi_tracer_metrics_join(struct recorder *r)
{
    const struct metric_set *set = &ictusi_tracer.metrics;
    if (set->count == 0) {
        return;
    }
    r->after |= AFTER_SAMPLE;
    ictusi_tracer_metrics_leave(r);
    r->events = set->perf_count ? calloc(1, sizeof(*r->events)) : NULL;
    for (int i = 0; r->events && i < set->count; i++) {
        if (set->usage[i] < 0) {
            metric_open_next(r->events, set->perf_type[i], set->perf_config[i]);
        }
    }
}

/*
 * Estimate what a counter would have counted if it had been enabled all the time. Groups take turns
 * on the processor's counters, so each of them runs only part of the time.
 */
static uint64_t value_scaled(uint64_t value, uint64_t enabled, uint64_t running)
{
    __extension__ typedef unsigned __int128 wide;
    return running > 0 && running < enabled ? (uint64_t)((wide)value * enabled / running) : value;
}

/*
 * Read the counters' values; 0 for one that cannot be read. With PERF_FORMAT_GROUP and both times,
 * the kernel returns the count, the time enabled, the time running, and then a value per event.
 */
static void metrics_read_events(const struct metric_events *e, uint64_t *values)
{
    for (int g = 0; e && g < e->group_count; g++) {
        struct {
            uint64_t count, enabled, running, values[METRICS_MAX];
        } group = {0};
        if (e->groups[g].leader < 0 || read(e->groups[g].leader, &group, sizeof(group)) < 0) {
            continue;
        }
        for (int i = 0; i < e->groups[g].count && i < (int)group.count; i++) {
            values[e->groups[g].first + i] =
                value_scaled(group.values[i], group.enabled, group.running);
        }
    }
}

static uint64_t usage_value(const struct rusage *usage, int which)
{
    switch (which) {
    case USAGE_MINOR:
        return (uint64_t)usage->ru_minflt;
    case USAGE_MAJOR:
        return (uint64_t)usage->ru_majflt;
    case USAGE_VOLUNTARY:
        return (uint64_t)usage->ru_nvcsw;
    case USAGE_FORCED:
        return (uint64_t)usage->ru_nivcsw;
    case USAGE_USER:
        return (uint64_t)usage->ru_utime.tv_sec * 1000000000 +
               (uint64_t)usage->ru_utime.tv_usec * 1000;
    default:
        return (uint64_t)usage->ru_stime.tv_sec * 1000000000 +
               (uint64_t)usage->ru_stime.tv_usec * 1000;
    }
}

/*
 * Sample no more often than requested. The time since the last sample decides; what is counted in
 * between belongs to the next sample. Samples are taken only after calls and never in a signal
 * handler, because a signal would change the results of the program's own system calls.
 */
void ictusi_tracer_metrics_sample(struct recorder *r)
{
    const struct metric_set *set = &ictusi_tracer.metrics;
    uint64_t counted[METRICS_MAX] = {0};
    uint64_t values[METRICS_MAX] = {0};
    struct rusage usage = {0};
    const uint64_t now = recorder_ticks(r);
    if (now - r->last_sample < ictusi_tracer.sample_ticks) {
        return;
    }
    recorder_make_room(r);
    r->last_sample = now;
    if (set->perf_count < set->count) {
        (void)getrusage(RUSAGE_THREAD, &usage);
    }
    metrics_read_events(r->events, counted);
    for (int i = 0, next = 0; i < set->count; i++) {
        values[i] = set->usage[i] >= 0 ? usage_value(&usage, set->usage[i]) : counted[next++];
    }
    recorder_timed_words(r, RECORD_METRIC, METRIC_CLASS_COUNTERS, now, values,
                         (unsigned)set->count);
}

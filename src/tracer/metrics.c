/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling software and hardware counters of a thread. */
#include "tracer/metrics.h"

#include "tracer/tracer.h"

#include <ictus/text.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counter_row {
    const char *name;
    int usage; /* enum usage, -1: perf */
    uint32_t type;
    uint64_t config;
};

enum usage { USAGE_MINOR, USAGE_MAJOR, USAGE_VOLUNTARY, USAGE_FORCED, USAGE_USER, USAGE_SYSTEM };

#define SOFTWARE(name, config)                                                                     \
    {                                                                                              \
        name, -1, PERF_TYPE_SOFTWARE, config                                                       \
    }
#define HARDWARE(name, config)                                                                     \
    {                                                                                              \
        name, -1, PERF_TYPE_HARDWARE, config                                                       \
    }

static const struct counter_row rows[] = {
    {"minor_faults", USAGE_MINOR, 0, 0},
    {"major_faults", USAGE_MAJOR, 0, 0},
    {"voluntary_switches", USAGE_VOLUNTARY, 0, 0},
    {"forced_switches", USAGE_FORCED, 0, 0},
    {"user_ns", USAGE_USER, 0, 0},
    {"system_ns", USAGE_SYSTEM, 0, 0},
    SOFTWARE("task_ns", PERF_COUNT_SW_TASK_CLOCK),
    SOFTWARE("page_faults", PERF_COUNT_SW_PAGE_FAULTS),
    SOFTWARE("context_switches", PERF_COUNT_SW_CONTEXT_SWITCHES),
    SOFTWARE("migrations", PERF_COUNT_SW_CPU_MIGRATIONS),
    HARDWARE("cycles", PERF_COUNT_HW_CPU_CYCLES),
    HARDWARE("instructions", PERF_COUNT_HW_INSTRUCTIONS),
    HARDWARE("cache_references", PERF_COUNT_HW_CACHE_REFERENCES),
    HARDWARE("cache_misses", PERF_COUNT_HW_CACHE_MISSES),
    HARDWARE("branches", PERF_COUNT_HW_BRANCH_INSTRUCTIONS),
    HARDWARE("branch_misses", PERF_COUNT_HW_BRANCH_MISSES),
    HARDWARE("bus_cycles", PERF_COUNT_HW_BUS_CYCLES),
    HARDWARE("reference_cycles", PERF_COUNT_HW_REF_CPU_CYCLES),
    HARDWARE("stalled_frontend", PERF_COUNT_HW_STALLED_CYCLES_FRONTEND),
    HARDWARE("stalled_backend", PERF_COUNT_HW_STALLED_CYCLES_BACKEND),
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

static int open_event(uint32_t type, uint64_t config, int group)
{
    struct perf_event_attr attr = {
        .type = type,
        .size = sizeof(attr),
        .config = config,
        .exclude_kernel = type == PERF_TYPE_HARDWARE,
        .exclude_hv = 1,
        .read_format =
            PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return (int)syscall(SYS_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static bool can_count(const struct counter_row *row)
{
    if (row->usage >= 0) {
        return true;
    }
    const int fd = open_event(row->type, row->config, -1);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static const struct counter_row *find_row(const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int metrics_unknown(const char *name, struct ictus_why *why)
{
    const char *names[ROWS + 1] = {NULL};
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
    }
    return ictus_unknown(why, "metric", name, names);
}

static int metrics_add(struct metric_set *set, const struct counter_row *row, struct ictus_why *why)
{
    const int n = set->count;
    if (n == METRICS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "at most %d metrics can be recorded",
                             METRICS_MAX);
    }
    set->usage[n] = row->usage;
    set->perf_type[n] = row->type;
    set->perf_config[n] = row->config;
    set->perf_count += row->usage < 0;
    (void)snprintf(set->names[n], sizeof(set->names[n]), "%s", row->name);
    set->count++;
    return ICTUS_OK;
}

int ictusi_tracer_metrics_choose(const char *names, struct metric_set *set, char *missing,
                                 size_t size, struct ictus_why *why)
{
    char list[512];
    char *rest = list;
    size_t used = 0;
    *set = (struct metric_set){0};
    missing[0] = '\0';
    (void)snprintf(list, sizeof(list), "%s", names);
    for (char *name = strtok_r(list, ",", &rest); name; name = strtok_r(NULL, ",", &rest)) {
        const struct counter_row *row = find_row(name);
        if (!row) {
            return metrics_unknown(name, why);
        }
        if (!can_count(row)) {
            used += (size_t)snprintf(missing + used, size - used, "%s%s", used ? ", " : "", name);
            used = used < size ? used : size - 1;
            continue;
        }
        const int err = metrics_add(set, row, why);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

/*
 * A thread's perf events, in the order of the set. One read gets a whole group, but the kernel
 * takes no group that the processor cannot count at once: the rest makes further groups, which
 * then take turns.
 */
struct metric_events {
    int fds[METRICS_MAX];
    int count;
    struct {
        int leader, first, count;
    } groups[METRICS_MAX];
    int group_count;
};

static void open_next(struct metric_events *e, uint32_t type, uint64_t config)
{
    const int n = e->count++;
    const int last = e->group_count - 1;
    e->fds[n] = last >= 0 ? open_event(type, config, e->groups[last].leader) : -1;
    if (e->fds[n] >= 0) {
        e->groups[last].count++;
        return;
    }
    e->fds[n] = open_event(type, config, -1);
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
            open_next(r->events, set->perf_type[i], set->perf_config[i]);
        }
    }
}

/* What a counter would have counted had it been on all the time. */
static uint64_t value_scaled(uint64_t value, uint64_t enabled, uint64_t running)
{
    __extension__ typedef unsigned __int128 wide;
    return running > 0 && running < enabled ? (uint64_t)((wide)value * enabled / running) : value;
}

/* The counters' values; 0 for one that cannot be read. */
static void read_events(const struct metric_events *e, uint64_t *values)
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
    read_events(r->events, counted);
    for (int i = 0, next = 0; i < set->count; i++) {
        values[i] = set->usage[i] >= 0 ? usage_value(&usage, set->usage[i]) : counted[next++];
    }
    recorder_timed_words(r, RECORD_METRIC, METRIC_CLASS_COUNTERS, now, values,
                         (unsigned)set->count);
}

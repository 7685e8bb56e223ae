/* SPDX-License-Identifier: BSD-3-Clause */
/* Sampling software and hardware counters of a thread. */
#include "trace/metrics.h"

#include "trace/tracer.h"

#include <ictus/text.h>
#include <linux/perf_event.h>
#include <stdio.h>
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
        .read_format = PERF_FORMAT_GROUP,
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

static int unknown(const char *name, struct ictus_why *why)
{
    const char *names[ROWS + 1] = {NULL};
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
    }
    return ictus_unknown(why, "metric", name, names);
}

static int add(struct metric_set *set, const struct counter_row *row, struct ictus_why *why)
{
    const int n = set->count;
    if (n == METRICS_MAX) {
        return ictus_because(why, ICTUS_ERR_SPEC, "at most %d metrics", METRICS_MAX);
    }
    set->usage[n] = row->usage;
    set->perf_type[n] = row->type;
    set->perf_config[n] = row->config;
    set->perf_count += row->usage < 0;
    (void)snprintf(set->names[n], sizeof(set->names[n]), "%s", row->name);
    set->count++;
    return ICTUS_OK;
}

int ictusi_metrics_choose(const char *names, struct metric_set *set, char *missing, size_t size,
                          struct ictus_why *why)
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
            return unknown(name, why);
        }
        if (!can_count(row)) {
            used += (size_t)snprintf(missing + used, size - used, "%s%s", used ? ", " : "", name);
            used = used < size ? used : size - 1;
            continue;
        }
        const int err = add(set, row, why);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

void ictusi_metrics_join(struct recorder *r)
{
    const struct metric_set *set = &ictusi_tracer.metrics;
    if (set->count == 0) {
        return;
    }
    r->after |= AFTER_SAMPLE;
    if (r->perf_fd >= 0) {
        (void)close(r->perf_fd); /* of the thread that had this recorder before */
        r->perf_fd = -1;
    }
    for (int i = 0; i < set->count; i++) {
        if (set->usage[i] < 0) {
            const int fd = open_event(set->perf_type[i], set->perf_config[i], r->perf_fd);
            r->perf_fd = r->perf_fd < 0 ? fd : r->perf_fd;
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

void ictusi_metrics_sample(struct recorder *r)
{
    const struct metric_set *set = &ictusi_tracer.metrics;
    uint64_t group[METRICS_MAX + 1] = {0};
    struct rusage usage = {0};
    const uint64_t now = recorder_ticks(r);
    if (now - r->last_sample < ictusi_tracer.sample_ticks || !recorder_ready(r)) {
        return;
    }
    r->last_sample = now;
    if (set->perf_count < set->count) {
        (void)getrusage(RUSAGE_THREAD, &usage);
    }
    if (r->perf_fd >= 0 && read(r->perf_fd, group, sizeof(group)) < 0) {
        group[0] = 0;
    }
    recorder_timed(r, RECORD_METRIC, METRIC_CLASS_COUNTERS, now);
    uint64_t *record = r->pos - 2;
    for (int i = 0, next = 1; i < set->count; i++) {
        *r->pos++ = set->usage[i] >= 0 ? usage_value(&usage, set->usage[i]) : group[next++];
    }
    recorder_publish(
        record, record_head(RECORD_METRIC, 2 + (unsigned)set->count, METRIC_CLASS_COUNTERS, 0));
}

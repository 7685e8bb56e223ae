/* SPDX-License-Identifier: BSD-3-Clause */
/* The counters that can be sampled, and their selection by name. */
#include "tracer/metric_choice.h"

#include <ictus/text.h>
#include <ictus/trace.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

struct counter_row {
    const char *name;
    int usage; /* enum usage, -1: perf */
    uint32_t type;
    uint64_t config;
};

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

int ictusi_tracer_metrics_open(uint32_t type, uint64_t config, int group)
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

static bool choice_can_count(const struct counter_row *row)
{
    if (row->usage >= 0) {
        return true;
    }
    const int fd = ictusi_tracer_metrics_open(row->type, row->config, -1);
    if (fd >= 0) {
        (void)close(fd);
    }
    return fd >= 0;
}

static const struct counter_row *choice_row(const char *name)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strcmp(rows[i].name, name) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static int choice_unknown(const char *name, struct ictus_why *why)
{
    const char *names[ROWS + 1] = {NULL};
    for (size_t i = 0; i < ROWS; i++) {
        names[i] = rows[i].name;
    }
    return ictus_unknown(why, "metric", name, names);
}

static int choice_add(struct metric_set *set, const struct counter_row *row, struct ictus_why *why)
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
    size_t used = 0;
    *set = (struct metric_set){0};
    missing[0] = '\0';
    for (const char *next = names[0] ? names : NULL; next;) {
        char name[METRIC_NAME_ROOM];
        const struct counter_row *row = NULL;
        const size_t length = strcspn(next, ",");
        if (length == 0) {
            return ictus_because(why, ICTUS_ERR_SPEC,
                                 "metrics '%.200s': a part between commas is empty", names);
        }
        /* No counter's name is as long as the room, so a truncated name is unknown. */
        (void)snprintf(name, sizeof(name), "%.*s", (int)length, next);
        next = next[length] ? next + length + 1 : NULL;
        row = choice_row(name);
        if (!row) {
            return choice_unknown(name, why);
        }
        if (!choice_can_count(row)) {
            used += (size_t)snprintf(missing + used, size - used, "%s%s", used ? ", " : "", name);
            used = used < size ? used : size - 1;
            continue;
        }
        const int err = choice_add(set, row, why);
        if (err) {
            return err;
        }
    }
    return ICTUS_OK;
}

int ictus_trace_metrics_check(const char *list, struct ictus_why *why)
{
    struct metric_set set;
    char missing[1];
    return list ? ictusi_tracer_metrics_choose(list, &set, missing, sizeof(missing), why)
                : ictus_because(why, ICTUS_ERR_ARG, "no metrics were given");
}

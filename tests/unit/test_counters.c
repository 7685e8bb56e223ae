/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters of a traced thread: which ones are recorded, in the requested order, and the
 * contents of a sample if the kernel counts only some of them at a time.
 */
#include "../check.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static long model_syscall(long number, ...);
static ssize_t model_read(int fd, void *buffer, size_t size);
static int model_close(int fd);
static int model_getrusage(int who, struct rusage *usage);

/* NOLINTBEGIN(bugprone-suspicious-include,readability-identifier-naming): its static functions are
 * what is looked at */
#include "tracer/metrics.h"
#include "tracer/tracer.h"
#define syscall model_syscall
#define read model_read
#define close model_close
#undef RUSAGE_THREAD
#define RUSAGE_THREAD 1
#define getrusage model_getrusage
#include "tracer/metric_choice.c"
#include "tracer/metrics.c"
#undef syscall
#undef read
#undef close
#undef getrusage
/* NOLINTEND(bugprone-suspicious-include,readability-identifier-naming) */

struct tracer ictusi_tracer;

/* A kernel that opens the requested counters, and takes a limited number of events into a group. */
enum { EVENTS = 64, FIRST_FD = 100 };

static struct {
    int opened, open; /* in total; at present */
    bool is_open[EVENTS];
    uint32_t type[EVENTS];
    uint64_t config[EVENTS];
    int leader[EVENTS];
    int group_room;
    uint64_t lacks[2]; /* hardware events that it lacks, plus one */
} kernel;

static int64_t now_ns;
static bool reads_fail;

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's */
int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    *t = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

static int group_size(int leader)
{
    int size = 0;
    for (int i = 0; i < kernel.opened; i++) {
        size += kernel.is_open[i] && (i == leader || kernel.leader[i] == leader);
    }
    return size;
}

static int event_open(const struct perf_event_attr *attr, int group)
{
    const bool hardware = attr->type == PERF_TYPE_HARDWARE;
    CHECK(attr->size == sizeof(*attr) && attr->exclude_kernel == hardware && attr->exclude_hv);
    CHECK(attr->read_format ==
          (PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING));
    for (int i = 0; i < 2 && hardware; i++) {
        if (kernel.lacks[i] == attr->config + 1) {
            errno = ENOENT;
            return -1;
        }
    }
    if (group >= 0 && group_size(group - FIRST_FD) >= kernel.group_room) {
        errno = EINVAL;
        return -1;
    }
    const int n = kernel.opened++;
    REQUIRE(n < EVENTS);
    kernel.is_open[n] = true;
    kernel.open++;
    kernel.type[n] = attr->type;
    kernel.config[n] = attr->config;
    kernel.leader[n] = group < 0 ? -1 : group - FIRST_FD;
    return FIRST_FD + n;
}

static long model_syscall(long number, ...)
{
    va_list rest;
    va_start(rest, number);
    const struct perf_event_attr *attr = va_arg(rest, const struct perf_event_attr *);
    const int process = va_arg(rest, int);
    const int core = va_arg(rest, int);
    const int group = va_arg(rest, int);
    va_end(rest);
    CHECK(number == SYS_perf_event_open && process == 0 && core == -1); /* of this thread */
    return event_open(attr, group);
}

static uint64_t counted(uint32_t type, uint64_t config)
{
    return 1000 * (10 * (uint64_t)type + config + 1);
}

/* The first group is always on; others are on for a quarter of the time. */
static ssize_t model_read(int fd, void *buffer, size_t size)
{
    uint64_t *words = buffer;
    const int leader = fd - FIRST_FD;
    REQUIRE(leader >= 0 && leader < kernel.opened && kernel.is_open[leader]);
    if (reads_fail) {
        return -1;
    }
    words[0] = 0;
    words[1] = 400000;
    words[2] = leader == 0 ? 400000 : 100000;
    for (int i = 0; i < kernel.opened; i++) {
        if (i == leader || kernel.leader[i] == leader) {
            words[3 + words[0]++] = counted(kernel.type[i], kernel.config[i]);
        }
    }
    CHECK(size >= (3 + words[0]) * sizeof(*words));
    return (ssize_t)((3 + words[0]) * sizeof(*words));
}

static int model_close(int fd)
{
    const int n = fd - FIRST_FD;
    REQUIRE(n >= 0 && n < kernel.opened && kernel.is_open[n]);
    kernel.is_open[n] = false;
    kernel.open--;
    return 0;
}

static int model_getrusage(int who, struct rusage *usage)
{
    CHECK(who == 1); /* of this thread alone */
    *usage = (struct rusage){.ru_minflt = 11,
                             .ru_majflt = 12,
                             .ru_nvcsw = 13,
                             .ru_nivcsw = 14,
                             .ru_utime = {.tv_sec = 3, .tv_usec = 15},
                             .ru_stime = {.tv_sec = 4, .tv_usec = 16}};
    return 0;
}

void ictusi_recorder_flush(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

void ictusi_recorder_switch(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

static void kernel_begin(int group_room)
{
    memset(&kernel, 0, sizeof(kernel));
    kernel.group_room = group_room;
    reads_fail = false;
}

static uint64_t window[256];

/* A thread that has joined with the chosen counters. */
static struct recorder thread_joins(void)
{
    struct recorder r = {.kind = TICKS_MONOTONIC, .pos = window, .soft = window + 200};
    ictusi_tracer_metrics_join(&r);
    return r;
}

static void names_are_chosen(void)
{
    struct metric_set set;
    struct ictus_why why;
    char missing[64];
    kernel_begin(1);
    kernel.lacks[0] = PERF_COUNT_HW_BUS_CYCLES + 1;
    kernel.lacks[1] = PERF_COUNT_HW_BRANCH_MISSES + 1;
    REQUIRE(!ictusi_tracer_metrics_choose("cycles,bus_cycles,minor_faults,task_ns,branch_misses",
                                          &set, missing, sizeof(missing), &why));
    CHECK(set.count == 3 && set.perf_count == 2 && kernel.open == 0);
    CHECK_STR(set.names[0], "cycles");
    CHECK_STR(set.names[1], "minor_faults");
    CHECK_STR(set.names[2], "task_ns");
    CHECK_STR(missing, "bus_cycles, branch_misses");
    REQUIRE(!ictusi_tracer_metrics_choose("bus_cycles,branch_misses", &set, missing, 14, &why));
    CHECK(set.count == 0);
    CHECK_STR(missing, "bus_cycles, b");
    REQUIRE(!ictusi_tracer_metrics_choose("", &set, missing, sizeof(missing), &why));
    CHECK(set.count == 0 && set.perf_count == 0 && missing[0] == '\0');
    CHECK(ictusi_tracer_metrics_choose("cycle", &set, missing, sizeof(missing), &why) ==
          ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "cycles"));
    CHECK(!ictusi_tracer_metrics_choose(
        "cycles,cycles,cycles,cycles,cycles,cycles,cycles,cycles,cycles,"
        "cycles,cycles,cycles,cycles,cycles,cycles,user_ns",
        &set, missing, sizeof(missing), &why));
    CHECK(set.count == METRICS_MAX);
    CHECK(ictusi_tracer_metrics_choose(
              "cycles,cycles,cycles,cycles,cycles,cycles,cycles,cycles,cycles,"
              "cycles,cycles,cycles,cycles,cycles,cycles,user_ns,cycles",
              &set, missing, sizeof(missing), &why) == ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "at most 16 metrics"));
    CHECK(ictusi_tracer_metrics_choose("cycles,,user_ns", &set, missing, sizeof(missing), &why) ==
          ICTUS_ERR_SPEC);
    CHECK(strstr(why.text, "a part between commas is empty"));
    CHECK(ictusi_tracer_metrics_choose("cycles,", &set, missing, sizeof(missing), &why) ==
          ICTUS_ERR_SPEC);
    CHECK(ictusi_tracer_metrics_choose("cycles_that_nobody_has_ever_counted_anywhere", &set,
                                       missing, sizeof(missing), &why) == ICTUS_ERR_UNKNOWN);
    CHECK(!ictus_trace_metrics_check("bus_cycles,user_ns", &why)); /* left out, not refused */
    CHECK(!ictus_trace_metrics_check("", &why));
    CHECK(ictus_trace_metrics_check("cycels", &why) == ICTUS_ERR_UNKNOWN);
    CHECK_STR(why.text, "unknown metric 'cycels'; did you mean 'cycles'?");
    CHECK(ictus_trace_metrics_check(NULL, &why) == ICTUS_ERR_ARG);
}

static void choose(const char *names)
{
    char missing[64];
    REQUIRE(!ictusi_tracer_metrics_choose(names, &ictusi_tracer.metrics, missing, sizeof(missing),
                                          NULL));
    CHECK(missing[0] == '\0');
    kernel.opened = 0;
}

static bool sample_is(int count, const uint64_t *values)
{
    bool good = record_kind(window[0]) == RECORD_METRIC &&
                record_small(window[0]) == METRIC_CLASS_COUNTERS &&
                record_words(window[0]) == 2U + (unsigned)count && window[1] == (uint64_t)now_ns;
    for (int i = 0; i < count; i++) {
        good = good && window[2 + i] == values[i];
    }
    return good;
}

/*
 * Values are in the order of the names; those of events that take turns are scaled to the full
 * time.
 */
static void samples_hold_values(void)
{
    static const struct {
        int room;
        uint64_t second, third; /* four times the share of the true value that is counted */
    } kernels[] = {{16, 1, 1}, {2, 1, 4}, {1, 4, 4}};
    for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++) {
        kernel_begin(kernels[i].room);
        choose("system_ns,cycles,user_ns,page_faults,forced_switches,instructions");
        struct recorder r = thread_joins();
        const uint64_t values[] = {
            4000016000, counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES),
            3000015000, kernels[i].second * counted(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS),
            14,         kernels[i].third * counted(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS)};
        CHECK(kernel.open == 3 && (r.after & AFTER_SAMPLE));
        ictusi_tracer.sample_ticks = 0;
        now_ns = 77;
        ictusi_tracer_metrics_sample(&r);
        CHECK(sample_is(6, values) && r.pos == window + 8);
        ictusi_tracer_metrics_leave(&r);
        CHECK(kernel.open == 0 && !r.events);
        ictusi_tracer_metrics_leave(&r);
    }
    kernel_begin(16);
    choose("minor_faults,major_faults,voluntary_switches");
    struct recorder r = thread_joins();
    CHECK(kernel.opened == 0 && !r.events);
    ictusi_tracer_metrics_sample(&r);
    CHECK(sample_is(3, (const uint64_t[]){11, 12, 13}));
    choose("");
    r = thread_joins();
    CHECK(!(r.after & AFTER_SAMPLE));
}

/* Unreadable values are 0, and a thread that takes over a recorder opens counters of its own. */
static void failures_are_zero(void)
{
    kernel_begin(16);
    choose("cycles,minor_faults");
    struct recorder r = thread_joins();
    reads_fail = true;
    ictusi_tracer_metrics_sample(&r);
    CHECK(sample_is(2, (const uint64_t[]){0, 11}));
    ictusi_tracer_metrics_join(&r);
    CHECK(kernel.opened == 2 && kernel.open == 1);
    ictusi_tracer_metrics_leave(&r);
    kernel.lacks[0] = PERF_COUNT_HW_CPU_CYCLES + 1; /* it was there before */
    ictusi_tracer_metrics_join(&r);
    reads_fail = false;
    r.pos = window;
    ictusi_tracer_metrics_sample(&r);
    CHECK(sample_is(2, (const uint64_t[]){0, 11}));
    ictusi_tracer_metrics_leave(&r);
}

/* Not more often than requested. */
static void samples_are_apart(void)
{
    kernel_begin(16);
    choose("minor_faults");
    struct recorder r = thread_joins();
    ictusi_tracer.sample_ticks = 100;
    int samples = 0;
    for (now_ns = 1000; now_ns < 2000; now_ns += 30) {
        const uint64_t *before = r.pos;
        ictusi_tracer_metrics_sample(&r);
        samples += r.pos != before;
        CHECK(now_ns - (int64_t)r.last_sample < 100);
    }
    CHECK(samples == 9); /* every fourth turn: 120 */
    r.last_sample = 5000;
    now_ns = 5100;
    r.pos = window;
    ictusi_tracer_metrics_sample(&r);
    CHECK(r.pos != window);
}

int main(void)
{
    names_are_chosen();
    samples_hold_values();
    failures_are_zero();
    samples_are_apart();
    return check_result();
}

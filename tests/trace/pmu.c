/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A processor that counts, for machines (virtual ones) that do not: preloaded, it answers for
 * hardware events with the thread's time, and like a real one takes no more than four in a group.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <string.h>
#include <sys/syscall.h>

enum { GROUP_MOST = 4, FDS = 1024 };

__attribute__((visibility("default"))) long syscall(long number, ...);

/* By the leader's descriptor. */
static __thread int group_sizes[FDS];

static long open_event(long (*real)(long, ...), struct perf_event_attr *asked, long pid, long cpu,
                       long leader, long flags)
{
    struct perf_event_attr attr = *asked;
    if (attr.type == PERF_TYPE_HARDWARE) {
        if (leader >= 0 && leader < FDS && group_sizes[leader] == GROUP_MOST) {
            errno = EINVAL;
            return -1;
        }
        attr.type = PERF_TYPE_SOFTWARE;
        attr.config = PERF_COUNT_SW_TASK_CLOCK;
    }
    const long fd = real(SYS_perf_event_open, &attr, pid, cpu, leader, flags);
    const long group = leader >= 0 ? leader : fd;
    if (fd >= 0 && group < FDS) {
        group_sizes[group] = leader >= 0 ? group_sizes[group] + 1 : 1;
    }
    return fd;
}

long syscall(long number, ...)
{
    long a[6];
    long (*real)(long, ...) = NULL;
    void *symbol = dlsym(RTLD_NEXT, "syscall");
    memcpy(&real, &symbol, sizeof(real));
    va_list list;
    va_start(list, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(list, long);
    }
    va_end(list);
    if (number == SYS_perf_event_open) {
        struct perf_event_attr *attr = NULL;
        memcpy(&attr, &a[0], sizeof(attr));
        return open_event(real, attr, (int)a[1], (int)a[2], (int)a[3], a[4]);
    }
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

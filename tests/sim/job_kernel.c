/* SPDX-License-Identifier: BSD-3-Clause */
/* What ranks of a simulated job hear from the kernel of time and cores. */
#include "job.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    READ_NS = 100,  /* a clock is read; longer than it takes, so that a spin has fewer turns */
    SLICE_NS = 5000 /* another process's turn on a shared core, in the mean */
};

static const int64_t second = 1000000000;

int clock_gettime(clockid_t id, struct timespec *t)
{
    if (job_rank() < 0) {
        return (int)syscall(SYS_clock_gettime, id, t);
    }
    job_spend(READ_NS / 2.0);
    const int64_t ns = job_clock(id);
    job_spend(READ_NS / 2.0);
    *t = (struct timespec){.tv_sec = ns / second, .tv_nsec = ns % second};
    return 0;
}

int nanosleep(const struct timespec *span, struct timespec *left)
{
    if (job_rank() < 0) {
        return (int)syscall(SYS_nanosleep, span, left);
    }
    job_sleep(span->tv_sec * second + span->tv_nsec);
    return 0;
}

int sched_yield(void)
{
    if (job_rank() < 0) {
        return (int)syscall(SYS_sched_yield);
    }
    const struct job_options *o = job_options();
    job_spend(o->cores * o->nodes < o->ranks ? job_exponential(SLICE_NS) : 200.0);
    return 0;
}

int sched_getaffinity(pid_t pid, size_t size, cpu_set_t *cores)
{
    if (job_rank() < 0) {
        return (int)syscall(SYS_sched_getaffinity, pid, size, cores) < 0 ? -1 : 0;
    }
    CPU_ZERO_S(size, cores);
    for (int i = 0; i < job_options()->cores; i++) {
        CPU_SET_S((size_t)i, size, cores);
    }
    return 0;
}

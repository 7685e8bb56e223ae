/* SPDX-License-Identifier: BSD-3-Clause */
/* Waits for an instant on a local source. */
#include "sync/wait.h"

#include <sched.h>
#include <time.h>

#if defined(ICTUS_SIMGRID)
/* A simulated sleep is exact, and reading the clock takes no time, so that a spin would never
 * end. */
enum { SLEEP_MARGIN_NS = 0, SLEEP_MIN_NS = 0, YIELD_MARGIN_NS = 0 };
#else
enum {
    SLEEP_MARGIN_NS = 200000, /* a sleep may end this much too late */
    SLEEP_MIN_NS = 100000,    /* shorter sleeps are not worth the system call */
    /*
     * After sched_yield() the core comes back one or two context switches later if other processes
     * wait for it. Longer spins cost more than they gain, because they keep the core from a process
     * that has not yet heard of the deadline: spinning for 20 us, 4 processes on 2 cores needed 35
     * us of slack instead of 7.
     */
    YIELD_MARGIN_NS = 2000
};
#endif

static void wait_sleep_ns(int64_t ns)
{
    const struct timespec span = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    (void)nanosleep(&span, NULL);
}

int64_t ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded)
{
    int64_t now = ictusi_source_read(source);
    while (now < deadline) {
        const int64_t left = deadline - now;
        if (left > SLEEP_MARGIN_NS + SLEEP_MIN_NS) {
            wait_sleep_ns(left - SLEEP_MARGIN_NS);
        } else if (crowded && left > YIELD_MARGIN_NS) {
            (void)sched_yield();
        }
        const int64_t before = now;
        now = ictusi_source_read(source);
        if (now < before) {
            break; /* the source stepped backwards, so that the deadline may now be hours away */
        }
    }
    return now;
}

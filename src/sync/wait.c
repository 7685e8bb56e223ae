/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting for an instant on a local source. */
#include "sync/wait.h"

#include <sched.h>
#include <time.h>

#if defined(ICTUS_SIMGRID)
/* A simulated sleep is exact, and reading the clock takes no time: a spin would never end. */
enum { SLEEP_MARGIN_NS = 0, SLEEP_MIN_NS = 0, YIELD_MARGIN_NS = 0 };
#else
enum {
    SLEEP_MARGIN_NS = 200000, /* a sleep wakes up to this late */
    SLEEP_MIN_NS = 100000,    /* shorter sleeps are not worth the call */
    /*
     * A core given away comes back a switch or two later if others wait too. Longer spins cost
     * more than they gain: who spins keeps the core from a process that has yet to hear of the
     * deadline (20 us of it made 4 processes on 2 cores need 35 us of slack instead of 7).
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
            break; /* the source stepped back: its deadline may be hours away */
        }
    }
    return now;
}

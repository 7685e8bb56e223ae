/* SPDX-License-Identifier: BSD-3-Clause */
/* A source beside the kernel's monotonic clock, which never steps. */
#include "clock/watch.h"

#include <ictus/time.h>

#include <time.h>

/* A source that moves against the kernel's clock faster than this has stepped. */
#define STEP_RATE 0.001
#define STEP_MIN_NS 20000

static int64_t kernel_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/*
 * The source less the kernel's clock: from low to high, however long this process is off its core
 * between two of the three readings.
 */
static void compare(const struct source *source, int64_t *low, int64_t *high)
{
    const int64_t before = kernel_ns();
    const int64_t now = ictusi_source_read(source);
    *high = now - before;
    *low = now - kernel_ns();
}

void ictusi_watch_begin(struct watch *watch, const struct source *source)
{
    watch->began_ns = kernel_ns();
    compare(source, &watch->low_ns, &watch->high_ns);
}

bool ictusi_watch_stepped(const struct watch *watch, const struct source *source)
{
    int64_t low = 0;
    int64_t high = 0;
    compare(source, &low, &high);
    const double allowed = STEP_MIN_NS + STEP_RATE * (double)ictusi_watch_elapsed_ns(watch);
    return (double)(low - watch->high_ns) > allowed || (double)(watch->low_ns - high) > allowed;
}

int64_t ictusi_watch_elapsed_ns(const struct watch *watch)
{
    return kernel_ns() - watch->began_ns;
}

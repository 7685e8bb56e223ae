/* SPDX-License-Identifier: BSD-3-Clause */
/* Compares a source with the kernel's monotonic clock, which never steps. */
#include "clock/watch.h"

#include "clock/sources.h"

#include <ictus/time.h>

#include <time.h>

/*
 * A source has stepped if it moved against the kernel's clock by more than STEP_MIN_NS + STEP_RATE
 * * elapsed. No oscillator is off by 1000 ppm (crystals stay within 100 ppm), and NTP slews by at
 * most 500 ppm. 20 us leave room for several interrupts between two readings. Smaller steps are
 * left to the synchronisation, which sees them as errors of its fit.
 */
#define STEP_RATE 0.001
#define STEP_MIN_NS 20000

static int64_t kernel_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/* A reading of the source, and bounds of its difference to the kernel's clock. The bounds hold
 * however long this process loses its core between two of the three readings. */
struct glance {
    int64_t kernel_ns, source_ns;
    int64_t low_ns, high_ns;
};

/* The source is read between two readings of the kernel's clock, so that the difference at that
 * moment lies between the two differences. */
static struct glance watch_compare(const struct source *source)
{
    const int64_t before = kernel_ns();
    const int64_t now = ictusi_source_read(source);
    const int64_t after = kernel_ns();
    return (struct glance){before, now, now - after, now - before};
}

void ictusi_watch_begin(struct watch *watch, const struct source *source)
{
    const struct glance glance = watch_compare(source);
    *watch = (struct watch){glance.kernel_ns, glance.low_ns, glance.high_ns};
}

/* Return whether the difference changed by more than `allowed` ns in either direction. */
static bool watch_far(const struct watch *watch, int64_t low_ns, int64_t high_ns, double allowed)
{
    return (double)(low_ns - watch->high_ns) > allowed ||
           (double)(watch->low_ns - high_ns) > allowed;
}

/*
 * Two readings suffice to see that nothing has happened. Only a third one can prove a step, because
 * the process may have lost its core between the first two. CLOCK_MONOTONIC need not be compared
 * with itself.
 */
struct watch_look ictusi_watch_look(const struct watch *watch, const struct source *source)
{
    const int64_t source_ns = ictusi_source_read(source);
    const bool itself = source->ops == &ictusi_source_monotonic;
    const int64_t now_ns = itself ? source_ns : kernel_ns();
    const struct watch_look calm = {source_ns, now_ns - watch->began_ns, false};
    const double allowed = STEP_MIN_NS + STEP_RATE * (double)calm.elapsed_ns;
    if (itself || !watch_far(watch, source_ns - now_ns, source_ns - now_ns, allowed)) {
        return calm;
    }
    const struct glance now = watch_compare(source);
    return (struct watch_look){
        .source_ns = now.source_ns,
        .elapsed_ns = now.kernel_ns - watch->began_ns,
        .stepped = watch_far(watch, now.low_ns, now.high_ns, allowed),
    };
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The time stamp counter of x86-64. */
#include "clock/counter.h"

#include "core/spec.h"

#include <ictus/time.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A simulated process has no processor of its own, so it has no counter either. */
#if defined(__x86_64__) && !defined(ICTUS_SIMGRID)
#include <cpuid.h>
#include <x86intrin.h>

enum {
    PAIR_TRIES = 9,
    TICK_SPAN_NS = 100000 /* each of the two readings is uncertain by 50 ns, together by 0.1 % of
                             this span */
};

bool ictusi_counter_invariant(void)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    /* Advanced power management information: EDX bit 8 is the invariant TSC. */
    return __get_cpuid(0x80000007U, &a, &b, &c, &d) && (d & (1U << 8));
}

/* CLOCK_MONOTONIC_RAW is not steered. NTP changes the rate of CLOCK_MONOTONIC by up to 500 ppm,
 * which would look like a change in the length of a tick. */
static int64_t counter_raw_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/*
 * The kernel's clock is read between two readings of the counter. Their midpoint therefore errs by
 * at most half of their distance. An interrupt between them makes a try useless, so the try with
 * the smallest distance is kept.
 */
struct counter_pair ictusi_counter_pair(void)
{
    struct counter_pair best = {0, 0};
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < PAIR_TRIES; i++) {
        const uint64_t before = __rdtsc();
        const int64_t ns = counter_raw_ns();
        const uint64_t after = __rdtsc();
        if (after - before < least) {
            least = after - before;
            best = (struct counter_pair){before + (after - before) / 2, ns};
        }
    }
    return best;
}

/* The result is 0 if the span is too short to know the tick to 0.1 %, or if the counter did not
 * move. */
double ictusi_counter_tick_ns(const struct counter_pair *then)
{
    const struct counter_pair now = ictusi_counter_pair();
    const int64_t span_ns = now.ns - then->ns;
    return span_ns > TICK_SPAN_NS && now.ticks > then->ticks
               ? (double)span_ns / (double)(now.ticks - then->ticks)
               : 0.0;
}

/*
 * The reading is in ticks, not in ns: it only serves to measure the offset of a counter against
 * itself. __rdtsc() may execute a few instructions early, but it does so in both processes alike.
 */
static int64_t counter_read(const struct source *source)
{
    (void)source;
    return (int64_t)__rdtsc();
}

static const struct source_ops counter_ops = {.name = "counter", .read = counter_read};
static const struct source counter = {.ops = &counter_ops};

const struct source *ictusi_counter_source(void)
{
    return &counter;
}

/* The kernel compares the counters of all cores with each other before it keeps time by them,
 * and falls back to another clocksource if they disagree. */
static bool kernel_trusts_counter(void)
{
    char name[16] = "";
    FILE *file = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "r");
    if (file) {
        if (!fgets(name, sizeof(name), file)) {
            name[0] = '\0';
        }
        (void)fclose(file);
    }
    return strcmp(name, "tsc\n") == 0;
}

/* A kernel has one counter, so two processes with the same name (a hash of boot id and time
 * namespace) read the same one. */
uint64_t ictusi_counter_name(void)
{
    char kernel[SOURCE_IDENTITY_MAX];
    if (!ictusi_counter_invariant() || !kernel_trusts_counter()) {
        return 0;
    }
    ictusi_source_kernel_identity(kernel, sizeof(kernel));
    return kernel[0] ? ictusi_spec_hash(kernel) : 0;
}

#else

/* Other processors promise no common counter. The name 0 matches no other process. */

bool ictusi_counter_invariant(void)
{
    return false;
}

double ictusi_counter_tick_ns(const struct counter_pair *then)
{
    (void)then;
    return 0.0;
}

uint64_t ictusi_counter_name(void)
{
    return 0;
}

const struct source *ictusi_counter_source(void)
{
    return NULL;
}

struct counter_pair ictusi_counter_pair(void)
{
    return (struct counter_pair){0, 0};
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The time stamp counter of x86-64, bare. */
#include "clock/counter.h"

#include "core/spec.h"

#include <ictus/time.h>

#include <stdio.h>
#include <string.h>
#include <time.h>

/* A simulated process has no processor of its own. */
#if defined(__x86_64__) && !defined(ICTUS_SIMGRID)
#include <cpuid.h>
#include <x86intrin.h>

enum {
    PAIR_TRIES = 9,
    TICK_SPAN_NS = 100000 /* two readings are 50 ns uncertain: 0.1 % of this */
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

/* The raw clock: NTP steers the rate of CLOCK_MONOTONIC by up to 500 ppm, and a tick would seem to
 * change its length. */
static int64_t counter_raw_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/*
 * Counter, kernel, counter: the kernel's reading was made somewhere between the two ticks, so their
 * middle errs by at most half of what is between them. An interrupt there makes a try useless,
 * hence the narrowest of several.
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

/* ns per tick since then; 0 where the span is too short to know it to 0.1 %, or the counter stood.
 */
double ictusi_counter_tick_ns(const struct counter_pair *then)
{
    const struct counter_pair now = ictusi_counter_pair();
    const int64_t span_ns = now.ns - then->ns;
    return span_ns > TICK_SPAN_NS && now.ticks > then->ticks
               ? (double)span_ns / (double)(now.ticks - then->ticks)
               : 0.0;
}

/* In ticks, not ns: what is measured by it is the offset of a counter against itself. __rdtsc() may
 * run a few instructions early, which both processes do alike. */
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

/* The kernel tests the counters of all cores against each other before it keeps time by them. */
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

/* One kernel, one counter: two processes with the same name read the same one. */
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

/* Elsewhere no counter is promised to be common: name 0, which is nobody's. */

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

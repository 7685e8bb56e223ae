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

static int64_t counter_raw_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/* Counter, kernel, counter. */
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

double ictusi_counter_tick_ns(const struct counter_pair *then)
{
    const struct counter_pair now = ictusi_counter_pair();
    const int64_t span_ns = now.ns - then->ns;
    return span_ns > TICK_SPAN_NS && now.ticks > then->ticks
               ? (double)span_ns / (double)(now.ticks - then->ticks)
               : 0.0;
}

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

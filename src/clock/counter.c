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

enum { PAIR_TRIES = 9 };

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

/* Nothing before it is executed later, and nothing after it earlier, so what is done between two of
 * these readings is done between them. */
static int64_t counter_ordered(void)
{
    _mm_lfence();
    const int64_t ticks = (int64_t)__rdtsc();
    _mm_lfence();
    return ticks;
}

/* Counters that advance in steps of many ticks should be read at any part of a step, so readings
 * are not evenly spaced. */
static void counter_dither(int i)
{
    for (volatile int turns = i * 5 % 7; turns > 0; turns--) {
    }
}

void ictusi_counter_bracket(const struct source *source, struct calibration_reading *readings,
                            int count)
{
    for (int i = 0; i < count; i++) {
        readings[i].before = counter_ordered();
        readings[i].clock = ictusi_source_read(source);
        readings[i].after = counter_ordered();
        counter_dither(i);
    }
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

uint64_t ictusi_counter_name(void)
{
    return 0;
}

/* Nobody has a common counter to bracket readings with, so these are not used. */
void ictusi_counter_bracket(const struct source *source, struct calibration_reading *readings,
                            int count)
{
    for (int i = 0; i < count; i++) {
        readings[i] = (struct calibration_reading){0, ictusi_source_read(source), 0};
    }
}

struct counter_pair ictusi_counter_pair(void)
{
    return (struct counter_pair){0, 0};
}

#endif

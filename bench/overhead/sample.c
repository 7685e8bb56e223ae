/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the harness adds to a sample: the timed region of every scheme around an operation that does
 * nothing, against two bare readings of the same clock. Medians over interleaved batches of one
 * run. Goal: at most 1.2 times.
 */
#include "bench/scheme.h"
#include "sync/clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

enum { ROUNDS = 301, SAMPLES = 2000 };
#define GOAL 1.2

static int nothing(struct call *call)
{
    (void)call;
    return MPI_SUCCESS;
}

/* As an MPI call's row: one more function, beyond the compiler's sight. */
static int (*volatile const beyond)(struct call *call) = nothing;

static int nothing_called(struct call *call)
{
    return beyond(call);
}

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Mean of the time between two bare readings. */
static double bare_monotonic_ns(const struct source *source)
{
    int64_t sum = 0;
    (void)source;
    for (int i = 0; i < SAMPLES; i++) {
        const int64_t start = monotonic_ns();
        sum += monotonic_ns() - start;
    }
    return (double)sum / SAMPLES;
}

#if defined(__x86_64__)
static double bare_tsc_ns(const struct source *source)
{
    uint64_t sum = 0;
    size_t size = 0;
    const struct source_counter *counter = source->ops->state((struct source *)source, &size);
    for (int i = 0; i < SAMPLES; i++) {
        const uint64_t start = __rdtsc();
        sum += __rdtsc() - start;
    }
    const double ns_per_tick = (double)counter->multiplier / (double)(1ULL << 48);
    return (double)sum / SAMPLES * ns_per_tick;
}
#endif

static double harness_ns(struct source *source, const struct operation *operation)
{
    const struct ictus_clock clock = {.source = source};
    struct call call;
    struct sample sample = {0};
    int64_t sum = 0;
    memset(&call, 0, sizeof(call));
    call.operation = operation;
    for (int i = 0; i < SAMPLES; i++) {
        (void)ictusi_time_call(&clock, &call, &sample);
        sum += sample.stop - sample.start;
    }
    return (double)sum / SAMPLES;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, ROUNDS, sizeof(*values), compare_doubles);
    return values[ROUNDS / 2];
}

/* Returns 1 when the goal is missed. */
static int compare(const char *name, double (*bare)(const struct source *))
{
    static const struct operation empty = {.name = "empty", .run = nothing};
    static const struct operation called = {.name = "called", .run = nothing_called};
    static double values[3][ROUNDS];
    struct ictus_why why = {""};
    struct source *source = NULL;
    if (ictusi_source_open(name, NULL, &source, &why)) {
        printf("# %s: %s\n", name, why.text);
        return 0;
    }
    for (int round = 0; round < ROUNDS; round++) {
        values[0][round] = bare(source);
        values[1][round] = harness_ns(source, &empty);
        values[2][round] = harness_ns(source, &called);
    }
    ictusi_source_free(source);
    const double base = median(values[0]);
    const double ratio = median(values[1]) / base;
    const double called_ns = median(values[2]);
    printf("%-12s %-36s %9.2f %8.3f %6s\n", name, "two bare readings", base, 1.0, "-");
    printf("%-12s %-36s %9.2f %8.3f %6.2f%s\n", name, "around an empty operation", ratio * base,
           ratio, GOAL, ratio > GOAL ? "  missed" : "");
    printf("%-12s %-36s %9.2f %8.3f %6s\n", name, "... that calls an empty function", called_ns,
           called_ns / base, "-");
    return ratio > GOAL;
}

int main(void)
{
    int missed = 0;
    printf("%-12s %-36s %9s %8s %6s\n", "clock", "sample", "ns", "ratio", "goal");
    missed += compare("monotonic", bare_monotonic_ns);
#if defined(__x86_64__)
    missed += compare("tsc", bare_tsc_ns);
#endif
    return missed > 0;
}

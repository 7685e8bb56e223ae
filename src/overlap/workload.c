/* SPDX-License-Identifier: BSD-3-Clause */
/* Two kernels, and how much of each takes a given time. */
#include "overlap/workload.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS = 7,                        /* runs per timing, of which the median is used */
    MEMORY_BYTES = 16 * 1024 * 1024, /* more than the private caches hold */
    LINE_DOUBLES = 8,                /* a cache line */
    BISECTIONS = 40,
    PROPORTION_TRIES = 8,
    PROPORTION_UNITS = 200000, /* long enough to check the proportion */
    PROPORTION_TWICE = 2 * PROPORTION_UNITS
};

/*
 * The accuracy of the search: half of what the result requires, which leaves the rest to the
 * machine.
 */
#define CLOSE 0.005
/*
 * Twice the work must take twice the time within this tolerance; otherwise it was optimised away.
 */
#define PROPORTION_TOLERANCE 0.35

int ictusi_workload_init(struct workload *work, enum ictus_kernel kernel)
{
    *work = (struct workload){.kernel = kernel, .result = 1.0};
    if (kernel == ICTUS_KERNEL_MEMORY) {
        work->memory = calloc(1, MEMORY_BYTES);
        return work->memory ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    return ICTUS_OK;
}

void ictusi_workload_fini(struct workload *work)
{
    free(work->memory);
    work->memory = NULL;
}

/*
 * A dependency chain: each step waits for the previous one, so its time is the latency of the CPU.
 * The result is kept and used again, because otherwise a compiler could remove the loop.
 */
static void workload_do_arithmetic(struct workload *work, int64_t units)
{
    double x = work->result;
    for (int64_t i = 0; i < units; i++) {
        x = x * 0.999999 + 1e-6;
    }
    work->result = x;
}

/*
 * One double of each cache line in turn, over more memory than private caches hold, so that the
 * time is that of the memory. The position continues from call to call, so that no call finds its
 * data in the caches.
 */
static void workload_do_memory(struct workload *work, int64_t units)
{
    const size_t count = MEMORY_BYTES / sizeof(double);
    size_t place = work->place;
    for (int64_t i = 0; i < units; i++) {
        work->memory[place] += 1.0;
        place += LINE_DOUBLES;
        place = place < count ? place : place - count;
    }
    work->place = place;
    work->result = work->memory[place];
}

void ictusi_workload_do(struct workload *work, int64_t units)
{
    if (work->kernel == ICTUS_KERNEL_MEMORY) {
        workload_do_memory(work, units);
    } else {
        workload_do_arithmetic(work, units);
    }
}

/* The time in ns: the median of RUNS, so that an interruption in one of them does not matter. */
double ictusi_workload_time(struct workload *work, const struct source *source, int64_t units)
{
    double took[RUNS];
    for (int i = 0; i < RUNS; i++) {
        const int64_t start = ictusi_source_read(source);
        ictusi_workload_do(work, units);
        took[i] = (double)(ictusi_source_read(source) - start);
    }
    ictusi_stats_sort(took, RUNS);
    return ictusi_stats_quantile(took, RUNS, 0.5);
}

/*
 * Check that the time is proportional to the work:
 *
 *     |t(2 u) / (2 t(u)) - 1| < PROPORTION_TOLERANCE
 *
 * It is tried several times, because another process may take the CPU during either run.
 */
static int workload_check_proportion(struct workload *work, const struct source *source,
                                     double *per_unit)
{
    for (int i = 0; i < PROPORTION_TRIES; i++) {
        const double once = ictusi_workload_time(work, source, PROPORTION_UNITS);
        const double twice = ictusi_workload_time(work, source, PROPORTION_TWICE);
        if (once > 0.0 && fabs(twice / once / 2.0 - 1.0) < PROPORTION_TOLERANCE) {
            *per_unit = once / PROPORTION_UNITS;
            return ICTUS_OK;
        }
    }
    return ICTUS_ERR_CORRUPT;
}

/*
 * Bisection between low, whose time is below the target, and high, which is assumed to be above it
 * and starts at four times the proportional guess. The time grows with the units, but each
 * measurement has an error, so the search ends at CLOSE.
 */
int ictusi_workload_find(struct workload *work, const struct source *source, double target_ns,
                         int64_t *units)
{
    double per_unit = 0.0;
    const int err = workload_check_proportion(work, source, &per_unit);
    if (err) {
        return err;
    }
    int64_t low = 0;
    int64_t high = 4 + (int64_t)(4.0 * target_ns / per_unit);
    int64_t middle = (int64_t)(target_ns / per_unit);
    for (int i = 0; i < BISECTIONS && high - low > 1; i++) {
        const double took = ictusi_workload_time(work, source, middle);
        if (fabs(took / target_ns - 1.0) < CLOSE) {
            break;
        }
        if (took < target_ns) {
            low = middle;
        } else {
            high = middle;
        }
        middle = low + (high - low) / 2;
    }
    *units = middle > 0 ? middle : 1;
    return ICTUS_OK;
}

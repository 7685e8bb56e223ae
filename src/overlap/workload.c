/* SPDX-License-Identifier: BSD-3-Clause */
/* Two kernels, and how much of each fills a given time. */
#include "overlap/workload.h"

#include "core/stats.h"

#include <math.h>
#include <stdlib.h>

enum {
    RUNS = 7,                        /* of one timing; the median stands */
    MEMORY_BYTES = 16 * 1024 * 1024, /* beyond the private caches */
    LINE_DOUBLES = 8,                /* a cache line */
    BISECTIONS = 40,
    PROPORTION_TRIES = 8,
    PROPORTION_UNITS = 200000, /* long enough to check the proportion on */
    PROPORTION_TWICE = 2 * PROPORTION_UNITS
};

/* Close enough: half of what the figure asks, the rest is the machine's. */
#define CLOSE 0.005
/* Twice the work shall take twice the time within this; else something was optimised away. */
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
 * A chain in which each step waits for the one before: its time is the CPU's latency alone. The
 * result is kept and used again, or a compiler would leave the loop out.
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
 * A double of each cache line in turn, through more memory than private caches hold, so that its
 * time is the memory's as long as it is measured; place goes on from call to call.
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

/* ns, the median of RUNS: an interruption in one of them does not count. */
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
 *     |t(2 u) / (2 t(u)) - 1| < PROPORTION_TOLERANCE
 * Tried several times, since another process may take the CPU in either run.
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
 * Bisection between low, whose time is below the target, and high, assumed above it at four times
 * the proportional guess, where it begins; time grows with the units, but each measurement errs,
 * hence CLOSE.
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

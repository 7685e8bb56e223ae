/* SPDX-License-Identifier: BSD-3-Clause */
/* The properties of a source on one process: resolution, cost, and whether it runs backwards. */
#include "core/stats.h"
#include "study/study.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum {
    READS = 4096,        /* in one burst */
    BATCHES = 31,        /* batches of reads, to measure the cost */
    BATCH_READS = 1000,  /* the clock that times a batch adds less than 0.1 ns to each read */
    CPUS_MAX = 64,       /* CPUs that are visited, to limit the time on large nodes */
    COARSE_NS = 20000000 /* a clock that has not ticked for 20 ms is not waited for any longer */
};

static int64_t probe_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

/* Return the median over the batches. A batch during which the process lost its core takes
 * longer, and a mean would attribute this to the clock. */
static double probe_read_cost_ns(const struct source *source)
{
    double cost[BATCHES];
    for (int b = 0; b < BATCHES; b++) {
        const int64_t start = probe_monotonic_ns();
        for (int i = 0; i < BATCH_READS; i++) {
            (void)ictusi_source_read(source);
        }
        /* The batch is timed by CLOCK_MONOTONIC and not by the source, which may be simulated,
         * coarse or stopped. */
        cost[b] = (double)(probe_monotonic_ns() - start) / BATCH_READS;
    }
    ictusi_stats_sort(cost, BATCHES);
    return ictusi_stats_quantile(cost, BATCHES, 0.5);
}

/*
 * Count backward steps. A clock that shows the same instant twice is coarse but does not run
 * backwards, so only a reading that is earlier than the previous one counts. A clock with backward
 * steps has no meaningful offset.
 */
static void probe_count_steps(const int64_t *readings, int n, struct ictus_source_study *out)
{
    for (int i = 1; i < n; i++) {
        const double step = (double)(readings[i - 1] - readings[i]);
        out->backwards += step > 0.0 ? 1 : 0;
        out->worst_step_ns = step > out->worst_step_ns ? step : out->worst_step_ns;
    }
    out->reads += (uint64_t)n - 1;
}

/* Return the tick of a clock. If reading takes longer than a tick, the tick shows in how the
 * differences of readings vary. If the clock is coarse, it shows in the differences themselves. */
static double probe_finest_difference(double *differences, size_t n)
{
    double finest = 0.0;
    double before = 0.0;
    ictusi_stats_sort(differences, n);
    for (size_t i = 0; i < n; i++) {
        /*
         * If a read takes c and the clock ticks every d < c, the differences are multiples of d
         * around c. Then d is the smallest distance between two distinct differences, and no
         * difference is as small as d. If d > c, the smallest difference itself is d, which is its
         * distance from 0 (`before` is 0 at first).
         */
        const double gap = differences[i] - before;
        if (gap > 0.0 && (finest == 0.0 || gap < finest)) {
            finest = gap;
        }
        before = differences[i];
    }
    return finest;
}

static double resolution_ns(const int64_t *readings)
{
    double differences[READS];
    size_t n = 0;
    for (int i = 1; i < READS; i++) {
        if (readings[i] > readings[i - 1]) {
            differences[n++] = (double)(readings[i] - readings[i - 1]);
        }
    }
    return probe_finest_difference(differences, n);
}

static void probe_take(const struct source *source, int64_t *readings)
{
    for (int i = 0; i < READS; i++) {
        readings[i] = ictusi_source_read(source);
    }
}

/*
 * The clock is so coarse that a burst saw no tick, so wait for two ticks. The first one only marks
 * a beginning, because the time since the tick before it is unknown. The difference to the second
 * one is a tick, plus less than the cost of a read.
 */
static double probe_coarse_resolution_ns(const struct source *source)
{
    const int64_t deadline = probe_monotonic_ns() + COARSE_NS;
    int64_t first = 0;
    int ticks = 0;
    for (int64_t last = ictusi_source_read(source); probe_monotonic_ns() < deadline;) {
        const int64_t now = ictusi_source_read(source);
        if (now > last && ++ticks == 2) {
            return (double)(now - first);
        }
        first = now > last ? now : first;
        last = now;
    }
    return 0.0;
}

#if defined(ICTUS_SIMGRID)
static void probe_visit_cpus(const struct source *source, int64_t *readings,
                             struct ictus_source_study *out)
{
    (void)source;
    (void)readings;
    out->cpus = 1; /* a simulated host has no CPUs to move between */
}
#else
/* H08 2.1, "process hopping": the counters of two CPUs may differ. */
static void probe_visit_cpus(const struct source *source, int64_t *readings,
                             struct ictus_source_study *out)
{
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed)) {
        out->cpus = 1;
        return;
    }
    for (size_t cpu = 0; cpu < CPU_SETSIZE && out->cpus < CPUS_MAX; cpu++) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        if (!CPU_ISSET(cpu, &allowed)) {
            continue;
        }
        /* The last reading on one CPU and the first one on the next form a pair of their own. If
         * the counters differ, only this pair shows it. */
        const int64_t before = ictusi_source_read(source);
        if (sched_setaffinity(0, sizeof(one), &one)) {
            continue;
        }
        probe_take(source, readings);
        const int64_t hop[2] = {before, readings[0]};
        probe_count_steps(hop, 2, out);
        probe_count_steps(readings, READS, out);
        out->cpus++;
    }
    /* Restore the affinity. Otherwise the process would stay on one CPU and share it with other
     * processes. */
    (void)sched_setaffinity(0, sizeof(allowed), &allowed);
}
#endif

int ictus_study_source(const struct ictus_study *study, struct ictus_source_study *out)
{
    int64_t *readings = study && out ? calloc(READS, sizeof(*readings)) : NULL;
    if (!readings) {
        return study && out ? ICTUS_ERR_NOMEM : ICTUS_ERR_ARG;
    }
    *out = (struct ictus_source_study){0};
    probe_take(study->source, readings);
    out->resolution_ns = resolution_ns(readings);
    probe_count_steps(readings, READS, out);
    if (out->resolution_ns == 0.0) {
        out->resolution_ns = probe_coarse_resolution_ns(study->source);
    }
    out->cost_ns = probe_read_cost_ns(study->source);
    probe_visit_cpus(study->source, readings, out);
    free(readings);
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many harmonised starts are late, and how much slack they have, depending on the work between
 * calls.
 *
 *     bench_late_starts CALLS [SPEC...]
 *
 * A SPEC is as for ictus_harmonize_configure(); the default is "harmonize". Each SPEC has a
 * communicator of its own, and they take turns in blocks of calls, so that all meet the same
 * conditions of the machine. Prints one JSON line for each amount of work and SPEC: calls; late
 * calls (on any process); how many of these had a process that was not ready in time; how many were
 * late by more than ten tolerances; mean slack; quantiles of the slack that was needed; and the
 * median time in a call. The SPEC "bare" is a lower bound for any start: each process by itself
 * waits for an instant that is as far ahead as the slack of the first SPEC. The last line gives the
 * share of time for which a process that only reads the clock is kept from it for longer than the
 * tolerance. Started by bench/late_starts.
 */
#include "core/stats.h"

#include <ictus/harmonize.h>

#include <math.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BLOCK = 50, WARMUP = 150, SPECS_MAX = 4, LONG_NS = 5000000, LONG_SHARE = 5 };
static const int64_t works_ns[] = {0, 100000, 1000000, 2000000, 10000000};

struct variant {
    const char *spec;
    MPI_Comm comm;
    double *lateness, *margin, *slack, *took; /* ns, for each call */
    int count;
};

/* The time that a process lost while it did nothing but read the clock. */
struct losses {
    double beyond_ns; /* sum of the time between readings in excess of the tolerance */
    double spent_ns;
};

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Work: keep the core busy, as a computation would. */
static void work(int64_t ns, double tolerance_ns, struct losses *losses)
{
    const int64_t begin = now_ns();
    for (int64_t now = begin, next; now < begin + ns; now = next) {
        next = now_ns();
        losses->beyond_ns += fmax((double)(next - now) - tolerance_ns, 0.0);
        losses->spent_ns += (double)(next - now);
    }
}

static void run_block(struct variant *v, int calls, int64_t work_ns, bool record,
                      struct losses *losses)
{
    struct ictus_harmonize_stats stats = {.tolerance_ns = 1000.0};
    (void)ictus_harmonize_stats(v->comm, &stats);
    for (int i = 0; i < calls; i++) {
        struct ictus_harmony harmony;
        work(work_ns, stats.tolerance_ns, losses);
        const int64_t came = now_ns();
        ictus_harmonize(v->comm, &harmony);
        if (record && i > 0) { /* the first call follows another SPEC's block */
            v->took[v->count] = (double)(now_ns() - came);
            v->lateness[v->count] = harmony.flag ? 0.0 : fmax(harmony.lateness_ns, 1.0);
            v->margin[v->count] = harmony.margin_ns;
            v->slack[v->count++] = harmony.slack_ns;
        }
    }
}

/* Starts of a process without agreement with others: it is ready, and leaves one slack later. */
static void run_bare(struct variant *bare, int calls, int64_t work_ns, double slack_ns,
                     double tolerance_ns, struct losses *losses)
{
    for (int i = 0; i < calls; i++) {
        work(work_ns, tolerance_ns, losses);
        const int64_t instant = now_ns() + (int64_t)slack_ns;
        int64_t now = instant;
        do {
            now = now_ns();
        } while (now < instant);
        if (i > 0) {
            const double late_ns = (double)(now - instant);
            bare->took[bare->count] = slack_ns + late_ns;
            bare->lateness[bare->count] = late_ns > tolerance_ns ? late_ns : 0.0;
            bare->margin[bare->count] = slack_ns;
            bare->slack[bare->count++] = slack_ns;
        }
    }
}

static void reduce(double *values, int count, MPI_Op op, int rank)
{
    MPI_Reduce(rank ? values : MPI_IN_PLACE, values, count, MPI_DOUBLE, op, 0, MPI_COMM_WORLD);
}

/* Print the results of the calls of all processes, on rank 0. */
static void tell(struct variant *v, int64_t work_ns, double tolerance_ns, int rank)
{
    double slack = 0.0;
    int late = 0;
    int unready = 0;
    int far = 0;
    reduce(v->lateness, v->count, MPI_MAX, rank);
    reduce(v->margin, v->count, MPI_MIN, rank);
    for (int i = 0; i < v->count; i++) {
        late += v->lateness[i] > 0.0;
        unready += v->lateness[i] > 0.0 && v->margin[i] < -tolerance_ns;
        far += v->lateness[i] > 10.0 * tolerance_ns;
        slack += v->slack[i] / v->count;
        v->margin[i] = v->slack[i] - v->margin[i]; /* the slack that was needed */
    }
    if (rank == 0) {
        ictusi_stats_sort(v->margin, (size_t)v->count);
        ictusi_stats_sort(v->took, (size_t)v->count);
        printf("{\"spec\": \"%s\", \"work_ms\": %g, \"calls\": %d, \"late\": %d, \"unready\": %d, "
               "\"far\": %d, \"slack_ns\": %.0f, \"needed_ns\": [%.0f, %.0f, %.0f], "
               "\"took_ns\": %.0f}\n",
               v->spec, 1e-6 * (double)work_ns, v->count, late, unready, far, slack,
               v->margin[v->count / 2], v->margin[(int)(0.99 * v->count)],
               v->margin[(int)(0.999 * v->count)], v->took[v->count / 2]);
    }
}

static void *room(int calls)
{
    void *memory = calloc((size_t)calls + BLOCK, sizeof(double));
    if (!memory) {
        abort();
    }
    return memory;
}

static struct variant variant_make(const char *spec, int calls)
{
    return (struct variant){.spec = spec,
                            .comm = MPI_COMM_NULL,
                            .lateness = room(calls),
                            .margin = room(calls),
                            .slack = room(calls),
                            .took = room(calls)};
}

static void prepare(struct variant *v, const char *spec, int calls)
{
    struct ictus_why why = {""};
    *v = variant_make(spec, calls);
    MPI_Comm_dup(MPI_COMM_WORLD, &v->comm);
    if (ictus_harmonize_configure(v->comm, spec, NULL, &why)) {
        (void)fprintf(stderr, "bench_late_starts: %s\n", why.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void finish(struct variant *v)
{
    if (v->comm != MPI_COMM_NULL) {
        MPI_Comm_free(&v->comm);
    }
    free(v->lateness);
    free(v->margin);
    free(v->slack);
    free(v->took);
}

/* Measure the variants, and after them the bare process. */
static void measure(struct variant *v, int variants, int64_t work_ns, int calls, int rank,
                    struct losses *losses)
{
    struct variant *bare = &v[variants];
    struct ictus_harmonize_stats stats = {.tolerance_ns = 1000.0};
    bare->count = 0;
    for (int k = 0; k < variants; k++) {
        v[k].count = 0;
        run_block(&v[k], work_ns < LONG_NS ? WARMUP : WARMUP / LONG_SHARE, work_ns, false, losses);
    }
    for (int done = 0; done < calls; done += BLOCK) {
        for (int k = 0; k < variants; k++) {
            run_block(&v[k], BLOCK, work_ns, true, losses);
        }
        (void)ictus_harmonize_stats(v[0].comm, &stats);
        run_bare(bare, BLOCK, work_ns, stats.slack_ns, stats.tolerance_ns, losses);
    }
    for (int k = 0; k <= variants; k++) {
        tell(&v[k], work_ns, stats.tolerance_ns, rank);
    }
}

int main(int argc, char **argv)
{
    static char usual[] = "harmonize";
    char *only[] = {usual};
    struct variant variants[SPECS_MAX + 1];
    struct losses losses = {0.0, 0.0};
    int rank = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int calls = argc > 1 ? atoi(argv[1]) : 0;
    const int count = argc > 2 ? argc - 2 : 1;
    char **specs = argc > 2 ? argv + 2 : only;
    if (calls < 1 || count > SPECS_MAX) {
        (void)fprintf(stderr, "usage: bench_late_starts CALLS [SPEC...], at most %d SPECs\n",
                      SPECS_MAX);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    for (int k = 0; k < count; k++) {
        prepare(&variants[k], specs[k], calls);
    }
    variants[count] = variant_make("bare", calls);
    for (size_t w = 0; w < sizeof(works_ns) / sizeof(works_ns[0]); w++) {
        const int some = works_ns[w] < LONG_NS ? calls : calls / LONG_SHARE;
        measure(variants, count, works_ns[w], some, rank, &losses);
    }
    /* Summed over processes: any of them makes a start late. */
    double lost = losses.beyond_ns / losses.spent_ns;
    MPI_Reduce(rank ? &lost : MPI_IN_PLACE, &lost, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("{\"host_late\": %.6f}\n", lost);
    }
    for (int k = 0; k <= count; k++) {
        finish(&variants[k]);
    }
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of harmonised starts, as ratios within one run. Exits are judged by the truth of
 * simulated clocks that drift 12.5 ppm apart. Started by bench/harmonize.
 *
 *     skew      exit skew of harmonised starts against MPI_Barrier, with 2 ms of work between calls
 *     cost      time in the call after the last arrival, against MPI_Barrier and one broadcast
 *     call      median time per call against MPI_Barrier
 *     resync    1000 calls 1 ms apart: synchronisations against one per second
 *     noise     slack before, during and after a burst of noise
 */
#include <ictus/clock.h>
#include <ictus/harmonize.h>

#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { CALLS = 1000, WARMUP = 100 };

static int rank;
static int size;

static int64_t now_ns(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Work: keep the core busy, as a computation would. */
static void work(int64_t ns)
{
    const int64_t end = now_ns() + ns;
    while (now_ns() < end) {
    }
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double quantile(double *values, int n, double q)
{
    qsort(values, (size_t)n, sizeof(*values), compare);
    return n > 0 ? values[(int)(q * (n - 1))] : 0.0;
}

/*
 * The maximum minus the minimum over processes, on all of them. The real source underneath is the
 * truth.
 */
static double spread(int64_t instant)
{
    int64_t mine[2] = {instant, -instant};
    int64_t all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return (double)(all[0] + all[1]);
}

static void start_over(const char *clock)
{
    struct ictus_why why = {""};
    if (ictus_harmonize_configure(MPI_COMM_WORLD, NULL, clock, &why)) {
        (void)fprintf(stderr, "bench_harmonize: %s\n", why.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 0; i < WARMUP; i++) {
        ictus_harmonize(MPI_COMM_WORLD, NULL);
    }
}

/* The calls are interleaved, so that both kinds meet the same conditions of the machine. */
static void skew(void)
{
    static double starts[CALLS];
    static double barriers[CALLS];
    int n = 0;
    start_over("@sim:scope=process,drifts=0,12.5ppm");
    for (int i = 0; i < CALLS; i++) {
        struct ictus_harmony harmony;
        work(2000000);
        ictus_harmonize(MPI_COMM_WORLD, &harmony);
        const int64_t left = now_ns();
        int all = 0;
        MPI_Allreduce(&harmony.flag, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
        const double apart = spread(left);
        if (all) {
            starts[n++] = apart;
        }
        MPI_Barrier(MPI_COMM_WORLD);
        barriers[i] = spread(now_ns());
    }
    struct ictus_harmonize_stats stats;
    ictus_harmonize_stats(MPI_COMM_WORLD, &stats);
    if (rank == 0) {
        const double ours = quantile(starts, n, 0.5);
        const double theirs = quantile(barriers, CALLS, 0.5);
        printf("skew: harmonize median %.0f ns, p95 %.0f ns (%d of %d valid, %llu re-syncs); "
               "MPI_Barrier median %.0f ns, p95 %.0f ns; ratio %.2f (reach 1), goal 100 ns\n",
               ours, quantile(starts, n, 0.95), n, CALLS, (unsigned long long)stats.resyncs, theirs,
               quantile(barriers, CALLS, 0.95), ours / theirs);
    }
}

/* From the last arrival to the last exit, on the real clock. */
static double beyond(int64_t arrived, int64_t left)
{
    int64_t mine[2] = {arrived, left};
    int64_t all[2];
    MPI_Allreduce(mine, all, 2, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    return (double)(all[1] - all[0]);
}

static double once(bool harmonized)
{
    int64_t word = 0;
    work(20000 + 3000 * rank); /* so that arrivals are apart */
    const int64_t arrived = now_ns();
    if (harmonized) {
        ictus_harmonize(MPI_COMM_WORLD, NULL);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Bcast(&word, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    }
    return beyond(arrived, now_ns());
}

static void cost(void)
{
    static double starts[CALLS];
    static double barriers[CALLS];
    start_over(NULL);
    for (int i = 0; i < CALLS; i++) {
        starts[i] = once(true);
        barriers[i] = once(false);
    }
    if (rank == 0) {
        const double ours = quantile(starts, CALLS, 0.5);
        const double theirs = quantile(barriers, CALLS, 0.5);
        printf("cost: harmonize %.0f ns beyond the last arrival, MPI_Barrier + MPI_Bcast %.0f ns; "
               "ratio "
               "%.2f (reach 3)\n",
               ours, theirs, ours / theirs);
    }
}

static void call(void)
{
    static double starts[CALLS];
    static double barriers[CALLS];
    struct ictus_harmonize_stats stats;
    uint64_t late = 0;
    start_over(NULL);
    for (int round = 0; round < CALLS / 100; round++) {
        for (int i = 0; i < 100; i++) {
            const int64_t before = now_ns();
            ictus_harmonize(MPI_COMM_WORLD, NULL);
            starts[round * 100 + i] = (double)(now_ns() - before);
        }
        for (int i = 0; i < 100; i++) {
            const int64_t before = now_ns();
            MPI_Barrier(MPI_COMM_WORLD);
            barriers[round * 100 + i] = (double)(now_ns() - before);
        }
    }
    ictus_harmonize_stats(MPI_COMM_WORLD, &stats);
    MPI_Reduce(&stats.late, &late, 1, MPI_UINT64_T, MPI_MAX, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        const double ours = quantile(starts, CALLS, 0.5);
        const double theirs = quantile(barriers, CALLS, 0.5);
        printf("call: %d processes: harmonize %.2f us, MPI_Barrier %.2f us; ratio %.2f (reach 5); "
               "late at "
               "most %.2f %% of a process's calls, mean slack %.2f us\n",
               size, ours * 1e-3, theirs * 1e-3, ours / theirs,
               100.0 * (double)late / (double)stats.calls, stats.mean_slack_ns * 1e-3);
    }
}

static void resync(void)
{
    struct ictus_harmonize_stats stats;
    struct ictus_harmony harmony;
    double worst = 0.0;
    start_over("@sim:scope=process,drifts=0,12.5ppm");
    const int64_t began = now_ns();
    for (int i = 0; i < CALLS; i++) {
        work(1000000);
        ictus_harmonize(MPI_COMM_WORLD, &harmony);
        worst = harmony.sigma_ns > worst ? harmony.sigma_ns : worst;
    }
    ictus_harmonize_stats(MPI_COMM_WORLD, &stats);
    MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("resync: %d calls 1 ms apart in %.1f s: %llu re-syncs (one a second: %.0f), largest "
               "sigma "
               "%.0f ns, tolerance 1000 ns\n",
               CALLS, 1e-9 * (double)(now_ns() - began), (unsigned long long)stats.resyncs,
               1e-9 * (double)(now_ns() - began), worst);
    }
}

static double slack_now(void)
{
    struct ictus_harmonize_stats stats;
    ictus_harmonize_stats(MPI_COMM_WORLD, &stats);
    return stats.slack_ns;
}

static void calls_with_noise(int calls, int64_t noise_ns)
{
    for (int i = 0; i < calls; i++) {
        ictus_harmonize(MPI_COMM_WORLD, NULL);
        if (noise_ns > 0) {
            work((int64_t)rand() % noise_ns);
        }
    }
}

/* The noise is in the way of the call: traffic on another communicator, and late broadcasts. */
static void noise(void)
{
    start_over(NULL);
    calls_with_noise(500, 0);
    const double before = slack_now();
    MPI_Comm other;
    char *buffer = calloc(1, 1 << 20);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int i = 0; i < 500 && buffer; i++) {
        MPI_Request request;
        MPI_Ibcast(buffer, 1 << 20, MPI_BYTE, 0, other, &request);
        ictus_harmonize(MPI_COMM_WORLD, NULL);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const double during = slack_now();
    calls_with_noise(500, 0);
    if (rank == 0) {
        printf("noise: slack %.2f us before, %.2f us in a burst of broadcasts, %.2f us 500 calls "
               "after; ratio "
               "after/before %.2f\n",
               before * 1e-3, during * 1e-3, slack_now() * 1e-3, slack_now() / before);
    }
    MPI_Comm_free(&other);
    free(buffer);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } figures[] = {
        {"skew", skew}, {"cost", cost}, {"call", call}, {"resync", resync}, {"noise", noise}};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int a = 1; a < argc; a++) {
        for (size_t i = 0; i < sizeof(figures) / sizeof(figures[0]); i++) {
            if (strcmp(argv[a], figures[i].name) == 0) {
                figures[i].run();
            }
        }
    }
    MPI_Finalize();
    return 0;
}

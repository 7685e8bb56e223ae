/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Figures of ictus overlap, as ratios in one run on two processes: how well the work fills the
 * blocking time, what the harness adds to a test, and its OSU share against OSU's own procedure
 * (timer-driven dummy computation, means over iterations), with both interleaved. Started by
 * bench/overlap.
 */
#include <ictus/overlap.h>

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 7, OSU_ITERATIONS = 60 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, int n)
{
    qsort(values, (size_t)n, sizeof(*values), by_value);
    return values[n / 2];
}

static double pure_time(const char *in, char *out, int bytes)
{
    MPI_Request request;
    double sum = 0.0;
    for (int i = 0; i < OSU_ITERATIONS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Iallreduce(in, out, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        sum += MPI_Wtime() - start;
    }
    return sum / OSU_ITERATIONS;
}

/* OSU's procedure without its tests: compute for the pure time by the clock, then wait. */
static double osu_overlap(const char *in, char *out, int bytes)
{
    MPI_Request request;
    double overall = 0.0;
    double compute = 0.0;
    const double pure = pure_time(in, out, bytes);
    for (int i = 0; i < OSU_ITERATIONS; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        MPI_Iallreduce(in, out, bytes, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD, &request);
        const double begun = MPI_Wtime();
        while (MPI_Wtime() - begun < pure) {
            /* The dummy computation. */
        }
        const double computed = MPI_Wtime();
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        overall += MPI_Wtime() - start;
        compute += computed - begun;
    }
    double mine = fmax(0.0, 1.0 - (overall - compute) / OSU_ITERATIONS / pure);
    MPI_Allreduce(MPI_IN_PLACE, &mine, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return mine / size;
}

static double bare_test_ns(void)
{
    enum { CALLS = 200000 };
    MPI_Request request = MPI_REQUEST_NULL;
    int done = 0;
    const double start = MPI_Wtime();
    for (int i = 0; i < CALLS; i++) {
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    }
    return (MPI_Wtime() - start) / CALLS * 1e9;
}

static struct ictus_overlap_plan plan_of(uint64_t bytes, enum ictus_progress progress)
{
    const struct ictus_overlap_plan plan = {
        .size = sizeof(plan),
        .call = {.size = sizeof(plan.call),
                 .operation = "iallreduce",
                 .bytes = bytes,
                 .repetitions = OSU_ITERATIONS,
                 .warmup = 10},
        .progress = progress,
        .interval = 64,
        .factor = 1.0,
    };
    return plan;
}

static void compare_shares(struct ictus_bench *bench, int rank, int bytes)
{
    double theirs[ROUNDS];
    double ours[ROUNDS];
    double off[ROUNDS];
    char *in = calloc(1, (size_t)bytes);
    char *out = calloc(1, (size_t)bytes);
    for (int i = 0; i < ROUNDS; i++) {
        struct ictus_overlap_result result = {0};
        const struct ictus_overlap_plan plan = plan_of((uint64_t)bytes, ICTUS_PROGRESS_NONE);
        theirs[i] = osu_overlap(in, out, bytes) * 100.0;
        (void)ictus_overlap_run(bench, &plan, &result, NULL);
        ours[i] = result.osu * 100.0;
        off[i] = fabs(result.work_error) * 100.0;
    }
    if (rank == 0) {
        const double a = median(ours, ROUNDS);
        const double b = median(theirs, ROUNDS);
        printf("overlap iallreduce %7d B: ictus --formula=osu %5.1f, OSU's procedure %5.1f, apart "
               "%.1f points (reach 10; OSU's spread %.1f)\n",
               bytes, a, b, fabs(a - b), theirs[ROUNDS - 1] - theirs[0]);
        printf("work       iallreduce %7d B: off by %.2f %% (reach 2)\n", bytes,
               median(off, ROUNDS));
    }
    free(in);
    free(out);
}

/* On a single process every request completes at once, so what is left is the harness. */
static void cost_of_a_test(int rank)
{
    struct ictus_bench *alone = NULL;
    double added[ROUNDS];
    for (int i = 0; i < ROUNDS && rank == 0; i++) {
        const struct ictus_overlap_plan plan = plan_of(65536, ICTUS_PROGRESS_TESTS);
        struct ictus_overlap_result result = {0};
        const double bare = bare_test_ns();
        (void)ictus_bench_create(MPI_COMM_SELF, "harmonize", NULL, &alone, NULL);
        (void)ictus_overlap_run(alone, &plan, &result, NULL);
        ictus_bench_free(alone);
        added[i] = result.test_s * 1e9 / (double)result.tests - bare;
    }
    if (rank == 0) {
        printf("test       harness adds %.1f ns to a bare MPI_Test (reach 20)\n",
               median(added, ROUNDS));
    }
}

int main(int argc, char **argv)
{
    int rank = 0;
    struct ictus_bench *bench = NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (ictus_bench_create(MPI_COMM_WORLD, "harmonize", NULL, &bench, NULL)) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    compare_shares(bench, rank, 65536);
    compare_shares(bench, rank, 1048576);
    cost_of_a_test(rank);
    ictus_bench_free(bench);
    MPI_Finalize();
    return 0;
}

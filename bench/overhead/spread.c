/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One launch of bench/overhead/run: allreduce of 64 KiB by our median and by the average of an
 * OSU-style loop (start, operation, stop, barrier; mean over repetitions and ranks), in turns, with
 * the same number of repetitions. Prints "median_us average_us" on rank 0.
 */
#include <ictus/bench.h>

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { BYTES = 65536, REPETITIONS = 1000, WARMUP = 100, TURNS = 4, ATTEMPTS = 10 };

/* Sum of the local times of the loop. */
static double loop_s(const char *send, char *recv, int repetitions)
{
    double sum = 0.0;
    for (int i = 0; i < repetitions; i++) {
        const double start = MPI_Wtime();
        MPI_Allreduce(send, recv, BYTES, MPI_CHAR, MPI_SUM, MPI_COMM_WORLD);
        sum += MPI_Wtime() - start;
        MPI_Barrier(MPI_COMM_WORLD);
    }
    return sum;
}

static int measure(struct ictus_bench *bench, double *values, int *count)
{
    struct ictus_why why = {""};
    struct ictus_bench_result result = {0};
    const struct ictus_bench_plan plan = {.size = sizeof(plan),
                                          .operation = "allreduce",
                                          .bytes = BYTES,
                                          .repetitions = REPETITIONS / TURNS,
                                          .warmup = WARMUP};
    int err = ICTUS_ERR_SAMPLES;
    /* Others on the machine may keep every start of a turn from being in time. */
    for (int attempt = 0; attempt < ATTEMPTS && err == ICTUS_ERR_SAMPLES; attempt++) {
        err = ictus_bench_run(bench, &plan, &result, &why);
    }
    if (err) {
        (void)fprintf(stderr, "spread: %s\n", why.text);
        return err;
    }
    for (int64_t i = 0; result.samples_s[ICTUS_REDUCE_MAX] && i < result.n; i++) {
        values[(*count)++] = result.samples_s[ICTUS_REDUCE_MAX][i];
    }
    ictus_bench_result_free(&result);
    return ICTUS_OK;
}

int main(int argc, char **argv)
{
    struct ictus_why why = {""};
    struct ictus_bench *bench = NULL;
    struct ictus_summary summary = {0};
    double *values = calloc(REPETITIONS, sizeof(*values));
    char *send = calloc(BYTES, 1);
    char *recv = calloc(BYTES, 1);
    double mine = 0.0;
    double all = 0.0;
    int count = 0;
    int rank = 0;
    int size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int err = ictus_bench_create(MPI_COMM_WORLD, "harmonize", NULL, &bench, &why);
    for (int turn = 0; turn < TURNS && !err; turn++) {
        (void)loop_s(send, recv, WARMUP);
        mine += loop_s(send, recv, REPETITIONS / TURNS);
        err = measure(bench, values, &count);
    }
    MPI_Reduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !err) {
        err = ictus_summarize(values, (size_t)count, &summary);
        printf("%.4f %.4f\n", 1e6 * summary.median, 1e6 * all / size / REPETITIONS);
    }
    ictus_bench_free(bench);
    MPI_Finalize();
    free(values);
    free(send);
    free(recv);
    return err != ICTUS_OK;
}

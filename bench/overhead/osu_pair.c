/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * `ictus bench --scheme=barrier` and OSU's procedure taking turns inside one process, so that both
 * meet the same host: what remains between them is the procedures' own difference.
 *
 *     osu_pair OPERATION BYTES...     prints "BYTES OSU_us ictus_us ratio quarter three-quarters"
 */
#include "osu_loop.h"

#include <ictus/bench.h>

#include <limits.h>
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 41, LARGEST = 65536, DECIMAL = 10 };

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Our median over repetitions of the mean over ranks; as many repetitions as OSU makes. */
static double ours_us(struct ictus_bench *bench, const char *operation, int bytes)
{
    struct ictus_bench_result result = {0};
    struct ictus_why why = {""};
    const struct ictus_bench_plan plan = {.size = sizeof(plan),
                                          .operation = operation,
                                          .bytes = (uint64_t)bytes,
                                          .repetitions = osu_repetitions(bytes),
                                          .warmup = osu_repetitions(bytes) / DECIMAL};
    double p50_us = 0.0;
    if (ictus_bench_run(bench, &plan, &result, &why)) {
        fprintf(stderr, "%s: %s\n", operation, why.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    double *means = result.samples_s[ICTUS_REDUCE_MEAN];
    if (means) {
        qsort(means, (size_t)result.n, sizeof(*means), by_value);
        p50_us = 1e6 * means[result.n / 2];
    }
    ictus_bench_result_free(&result);
    return p50_us;
}

static void one_size(struct osu *osu, struct ictus_bench *bench, const char *operation, int bytes)
{
    double theirs[ROUNDS];
    double ours[ROUNDS];
    double ratios[ROUNDS];
    for (int i = 0; i < ROUNDS; i++) {
        theirs[i] = osu_p50_us(osu, bytes);
        ours[i] = ours_us(bench, operation, bytes);
        ratios[i] = ours[i] / theirs[i];
    }
    if (osu->rank == 0) {
        qsort(theirs, ROUNDS, sizeof(*theirs), by_value);
        qsort(ours, ROUNDS, sizeof(*ours), by_value);
        qsort(ratios, ROUNDS, sizeof(*ratios), by_value);
        printf("%-10s %6d %10.3f %10.3f %7.3f   %6.3f  %6.3f\n", operation, bytes,
               theirs[ROUNDS / 2], ours[ROUNDS / 2], ratios[ROUNDS / 2], ratios[ROUNDS / 4],
               ratios[ROUNDS * 3 / 4]);
    }
}

int main(int argc, char **argv)
{
    struct osu osu;
    struct ictus_bench *bench = NULL;
    struct ictus_why why = {""};
    const char *operation = argc > 1 ? argv[1] : "allreduce";
    /* Where the heap ends decides whether MPI's temporary buffers cost page faults: alike for both.
     */
    (void)mallopt(M_TRIM_THRESHOLD, INT_MAX);
    MPI_Init(&argc, &argv);
    osu_begin(&osu, operation, LARGEST);
    if (ictus_bench_create(MPI_COMM_WORLD, "barrier", NULL, &bench, &why)) {
        fprintf(stderr, "%s\n", why.text);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int i = 2; i < argc; i++) {
        one_size(&osu, bench, operation, (int)strtol(argv[i], NULL, DECIMAL));
    }
    ictus_bench_free(bench);
    osu_end(&osu);
    MPI_Finalize();
    return 0;
}

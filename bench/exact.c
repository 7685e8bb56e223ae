/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How exact a global clock is if a shim skews MPI_Wtime by seconds and by tens of ppm: synchronise,
 * then compare with the shim's own function at common true instants. Started by bench/exact.
 *
 *     bench_exact [REPETITIONS [SPEC...]]
 */
#include "../tests/mpi/skew.h"

#include <ictus/clock.h>

#include <math.h>
#include <stdio.h>
#include <time.h>

enum { REPETITIONS_MAX = 1000, SPECS_MAX = 16, WAITS = 3 };
#define GOAL_NS 100.0
#define GOAL_WAIT_S 2.0

static const double waits_s[WAITS] = {0.0, 2.0, 5.0};

static int64_t monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * ICTUS_NS_PER_S + now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The largest error of any rank at one true instant, on rank 0. */
static double error_ns(const struct ictus_clock *clock, int rank, int64_t truth)
{
    const double local_s = skew_apply(skew_of(rank), truth);
    const struct ictus_time local = {(int64_t)llrint(local_s * 1e9)};
    int64_t mine = ictus_clock_map(clock, local).ns;
    int64_t first = mine;
    double worst = 0.0;
    MPI_Bcast(&first, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    const double error = fabs((double)(mine - first));
    MPI_Reduce(&error, &worst, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    return worst;
}

/* The largest errors of one specification, by wait and repetition. */
struct judged {
    const char *spec;
    double errors[WAITS][REPETITIONS_MAX];
};

/* Make one synchronisation and judge it after each wait. */
static int judge(struct judged *j, int rank, int repetition)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    if (ictus_clock_create_why(MPI_COMM_WORLD, j->spec, &clock, &why)) {
        if (rank == 0) {
            (void)fprintf(stderr, "%s: %s\n", j->spec, why.text);
        }
        return 1;
    }
    int64_t now = monotonic_ns();
    MPI_Bcast(&now, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int w = 0; w < WAITS; w++) {
        j->errors[w][repetition] = error_ns(clock, rank, now + (int64_t)(waits_s[w] * 1e9));
    }
    ictus_clock_free(clock);
    return 0;
}

/*
 * Specifications take turns, so that a host that changes the path between the processes affects
 * them all.
 */
static int judge_in_turns(struct judged *judged, int specs, int rank, int repetitions)
{
    int failed = 0;
    for (int r = 0; r < repetitions && !failed; r++) {
        for (int i = 0; i < specs && !failed; i++) {
            failed = judge(&judged[i], rank, r);
        }
    }
    return failed;
}

/* Print the rows of a specification. Returns true if it misses the goal after 2 s. */
static int print_rows(struct judged *j, int repetitions)
{
    int missed = 0;
    for (int w = 0; w < WAITS; w++) {
        double *e = j->errors[w];
        qsort(e, (size_t)repetitions, sizeof(*e), compare_doubles);
        const double middle = e[repetitions / 2];
        const int late = waits_s[w] == GOAL_WAIT_S && middle > GOAL_NS;
        printf("%-44s %6g %12.1f %12.1f %12.1f%s\n", j->spec, waits_s[w], middle,
               e[repetitions * 9 / 10], e[repetitions - 1], late ? "  missed" : "");
        missed += late;
    }
    return missed;
}

int main(int argc, char **argv)
{
    static const char *const usual[] = {"hca3:fitpoints=500,exchanges=100@wtime", "@wtime"};
    static struct judged judged[SPECS_MAX];
    int rank = 0;
    int missed = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const long asked = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
    const int repetitions = asked > 0 && asked <= REPETITIONS_MAX ? (int)asked : 20;
    const int given = argc > 2 ? (argc - 2 < SPECS_MAX ? argc - 2 : SPECS_MAX) : 2;
    for (int i = 0; i < given; i++) {
        judged[i].spec = argc > 2 ? argv[i + 2] : usual[i];
    }
    const int failed = judge_in_turns(judged, given, rank, repetitions);
    if (rank == 0 && !failed) {
        printf("%-44s %6s %12s %12s %12s\n", "max error over ranks, ns", "s", "median", "p90",
               "max");
        for (int i = 0; i < given; i++) {
            missed += print_rows(&judged[i], repetitions);
        }
    }
    MPI_Bcast(&missed, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Finalize();
    return failed || missed > 0;
}

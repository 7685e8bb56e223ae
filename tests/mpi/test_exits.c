/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exit skews of barriers: all are counted and judged by the truth, and unknown names are refused.
 */
#include <ictus/barrier.h>
#include <ictus/bench.h>
#include <ictus/skew.h>

#include <unistd.h>

#include "patience.h"

static void barriers_hold(enum ictus_barrier_algorithm algorithm)
{
    MPI_Win window;
    int *came = NULL;
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &came, &window);
    *came = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const int one = 1;
    int count = 0;
    MPI_Win_lock_all(0, window);
    /* No process may leave before the last has arrived, whoever that is. */
    for (int last = 0; last < check_size; last++) {
        if (check_rank == last) {
            (void)usleep(2000);
        }
        MPI_Accumulate(&one, 1, MPI_INT, 0, 0, 1, MPI_INT, MPI_SUM, window);
        MPI_Win_flush_all(window);
        CHECK(!ictus_barrier(MPI_COMM_WORLD, algorithm));
        MPI_Fetch_and_op(NULL, &count, MPI_INT, 0, 0, MPI_NO_OP, window);
        MPI_Win_flush_all(window);
        CHECK(count == (last + 1) * check_size);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    MPI_Win_unlock_all(window);
    MPI_Win_free(&window);
}

/* These clocks are seconds apart, so only the true skew is below one second. */
#define SKEWED_CLOCK "hca3:fitpoints=20,exchanges=10@sim:scope=process,offset=100s,drift=10ppm"

/* If a crowded machine had no start in time, repeat with starts that cannot be late. */
static int skew_with_patience(const char *barrier, struct ictus_skew_result *result)
{
    struct ictus_skew *patient = NULL;
    struct ictus_why why = {""};
    REQUIRE(!setenv("ICTUS_HARMONIZE", PATIENT_STARTS, 1));
    REQUIRE(!ictus_skew_create(MPI_COMM_WORLD, SKEWED_CLOCK, NULL, &patient, &why));
    const int err = ictus_skew_run(patient, barrier, 30, 20.0, result, &why);
    ictus_skew_free(patient);
    REQUIRE(!unsetenv("ICTUS_HARMONIZE"));
    return err;
}

static void skews_are_counted(struct ictus_skew *skew, const char *barrier)
{
    struct ictus_skew_result result = {0};
    struct ictus_why why = {""};
    int err = ictus_skew_run(skew, barrier, 30, 2.0, &result, &why);
    if (err == ICTUS_ERR_SAMPLES) {
        err = skew_with_patience(barrier, &result);
    }
    CHECK(!err);
    if (err) {
        return;
    }
    CHECK(result.n >= 1 && result.n <= 30 && result.invalid >= 0 && result.truth);
    if (check_rank == 0) {
        int64_t first = 0;
        int64_t last = 0;
        for (int i = 0; i < check_size; i++) {
            first += result.first[i];
            last += result.last[i];
        }
        CHECK(first == result.n && last == result.n);
        for (int64_t i = 0; i < result.n; i++) {
            CHECK(result.skews_s[i] >= 0.0 && result.skews_s[i] < 1.0);
            CHECK(result.durations_s[i] > 0.0);
        }
    }
    ictus_skew_result_free(&result);
}

/* Every scheme measures all barriers, or reports how many starts were late. */
static void every_scheme_measures(void)
{
    for (int i = 0; ictus_scheme_name(i, NULL); i++) {
        struct ictus_bench *bench = NULL;
        struct ictus_bench_result result = {0};
        struct ictus_why why = {""};
        const struct ictus_bench_plan plan = {
            .size = sizeof(plan), .operation = "bcast", .bytes = 8, .repetitions = 5};
        const char *name = ictus_scheme_name(i, NULL);
        CHECK(!ictus_scheme_check(name, &why));
        REQUIRE(!ictus_bench_create(MPI_COMM_WORLD, name, "hca3:fitpoints=20,exchanges=10", &bench,
                                    &why));
        CHECK(!patience_run(bench, name, &plan, &result, &why));
        CHECK(result.n >= 1 && result.n <= 5);
        ictus_bench_result_free(&result);
        ictus_bench_free(bench);
    }
    struct ictus_why why = {""};
    struct ictus_bench *bench = NULL;
    CHECK(ictus_bench_create(MPI_COMM_WORLD, "barrier:algorithm=linaer", NULL, &bench, &why) ==
          ICTUS_ERR_UNKNOWN);
    CHECK(ictus_bench_create(MPI_COMM_WORLD, "loop-imb:calls=0", NULL, &bench, &why) ==
          ICTUS_ERR_SPEC);
}

int main(int argc, char **argv)
{
    struct ictus_skew *skew = NULL;
    struct ictus_skew_result result;
    struct ictus_why why = {""};
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    for (int i = 0; ictus_barrier_names()[i]; i++) {
        barriers_hold((enum ictus_barrier_algorithm)i);
    }
    CHECK(ictus_barrier(MPI_COMM_NULL, ICTUS_BARRIER_TREE) == ICTUS_ERR_ARG);
    CHECK(ictus_barrier(MPI_COMM_WORLD, (enum ictus_barrier_algorithm)77) == ICTUS_ERR_ARG);
    REQUIRE(!ictus_skew_create(MPI_COMM_WORLD, SKEWED_CLOCK, NULL, &skew, &why));
    skews_are_counted(skew, "mpi");
    skews_are_counted(skew, "linear");
    skews_are_counted(skew, "dissemination");
    skews_are_counted(skew, "harmonize");
    CHECK(ictus_skew_run(skew, "dissemenation", 1, 0, &result, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(strstr(why.text, "dissemination") != NULL);
    CHECK(ictus_skew_run(skew, "mpi:linear", 1, 0, &result, &why) == ICTUS_ERR_UNSUPPORTED);
    CHECK(why.text[0] != '\0');
    /* The message about one barrier does not appear with the next one. */
    CHECK(ictus_skew_run(skew, "mpi", 0, 0, &result, &why) == ICTUS_ERR_ARG);
    CHECK(why.text[0] == '\0');
    ictus_skew_free(skew);
    every_scheme_measures();
    return check_mpi_finish();
}

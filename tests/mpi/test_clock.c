/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Global clocks on simulated sources against exact truth. All processes map one true instant to
 * global instants, whose spread is the error of the clock. Bounds must hold, and misuse is refused.
 */
#include "sync/clock.h"

#include <ictus/clock.h>

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>

#include "check_mpi.h"

/* The local instant that corresponds to a true one, by bisection: the truth is monotone. */
static int64_t local_at(const struct ictus_clock *clock, int64_t truth)
{
    int64_t low = truth - INT64_C(100000000000);
    int64_t high = truth + INT64_C(100000000000);
    while (high - low > 1) {
        const struct ictus_time middle = {low + (high - low) / 2};
        struct ictus_time at = {0};
        REQUIRE(!ictus_clock_truth(clock, middle, &at));
        if (at.ns <= truth) {
            low = middle.ns;
        } else {
            high = middle.ns;
        }
    }
    return low;
}

/* The error of this process's global clock relative to rank 0's at one true instant, in ns. */
static double error_at(const struct ictus_clock *clock, int64_t truth)
{
    const struct ictus_time local = {local_at(clock, truth)};
    const int64_t mine = ictus_clock_map(clock, local).ns;
    int64_t first = mine;
    MPI_Bcast(&first, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    return (double)(mine - first);
}

static void clock_is_within_its_bound(const char *spec)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    const int err = ictus_clock_create_why(MPI_COMM_WORLD, spec, &clock, &why);
    if (err && check_rank == 0) {
        (void)fprintf(stderr, "%s: %s\n", spec, why.text);
    }
    REQUIRE(!err);
    int64_t now = check_monotonic_ns();
    MPI_Bcast(&now, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    for (int seconds = 0; seconds <= 10; seconds += 5) {
        const int64_t truth = now + seconds * INT64_C(1000000000);
        const struct ictus_time local = {local_at(clock, truth)};
        const double error = error_at(clock, truth);
        struct ictus_reading reading;
        CHECK(!ictus_clock_map_reading(clock, local, &reading));
        CHECK(fabs(error) <= reading.bound_ns + 2.0);
        if (fabs(error) > reading.bound_ns + 2.0) {
            (void)fprintf(stderr, "%s rank %d +%d s: error %g ns, sigma %g, bound %g\n", spec,
                          check_rank, seconds, error, reading.sigma_ns, reading.bound_ns);
        }
        /*
         * A shared source has no error relative to itself; a process with a clock of its own must
         * report one.
         */
        CHECK(check_rank == 0 || !strstr(spec, "scope=process") || reading.sigma_ns > 0.0);
    }
    ictus_clock_free(clock);
}

static void propagation_is_refused_where_wrong(void)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    int err = ictus_clock_create_why(MPI_COMM_WORLD, "propagate@sim:offset=1s,scope=process",
                                     &clock, &why);
    CHECK(check_size == 1 ? err == ICTUS_OK : err == ICTUS_ERR_NOT_SHARED);
    CHECK(check_size == 1 || strstr(why.text, "does not share"));
    ictus_clock_free(clock);
    clock = NULL;
    err = ictus_clock_create_why(MPI_COMM_WORLD, "propagate@wtime", &clock, &why);
    CHECK(err == ICTUS_OK || err == ICTUS_ERR_NOT_SHARED);
    ictus_clock_free(clock);
    clock = NULL;
    CHECK(!ictus_clock_create(MPI_COMM_WORLD, "propagate@monotonic", &clock));
    ictus_clock_free(clock);
}

static void misuse_is_refused(void)
{
    static const char *const bad[] = {
        "hcb3",  "hca3:fitpoints=0", "hca3:fitponits=3",
        "hca3@", "hca3@nothing",     "hierarchy(hca3)",
        "hca3:", "hca3(mesh)",       "hierarchy(hca3,propagate):levels=moon"};
    struct ictus_clock *clock = NULL;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        struct ictus_why why = {""};
        const int err = ictus_clock_create_why(MPI_COMM_WORLD, bad[i], &clock, &why);
        CHECK(err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN);
        CHECK(why.text[0] != '\0');
        CHECK(clock == NULL);
    }
    CHECK(ictus_clock_create(MPI_COMM_NULL, NULL, &clock) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_create(MPI_COMM_WORLD, NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_clock_resync(NULL) == ICTUS_ERR_ARG);
    if (check_size > 1) {
        MPI_Comm half;
        MPI_Comm inter;
        const int side = check_rank % 2;
        MPI_Comm_split(MPI_COMM_WORLD, side, check_rank, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - side, 7, &inter);
        CHECK(ictus_clock_create(inter, NULL, &clock) == ICTUS_ERR_INTERCOMM);
        MPI_Comm_free(&inter);
        MPI_Comm_free(&half);
    }
}

/* Different specifications would make ranks wait for a partner that sends nothing. */
static void different_specifications_are_refused(void)
{
    static const char *const pairs[][2] = {
        {"mesh", "hca3:fitpoints=5,exchanges=3"},
        {"hca3:fitpoints=5,exchanges=3", "hca3:fitpoints=6,exchanges=3"},
        {"mesh@monotonic", "mesh@tsc"},
        {"hca3:fitpoints=5", "hca3:fitpionts=5"}};
    for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
        for (int odd = 0; odd < check_size; odd++) { /* the rank with the other specification */
            struct ictus_clock *clock = NULL;
            struct ictus_why why = {""};
            const char *spec = pairs[i][check_rank == odd];
            const int err = ictus_clock_create_why(MPI_COMM_WORLD, spec, &clock, &why);
            CHECK(err == ICTUS_ERR_SPEC || check_size == 1);
            CHECK(check_size == 1 || (strstr(why.text, pairs[i][1]) || strstr(why.text, "pionts")));
            CHECK(i == 3 || check_size == 1 || strstr(why.text, pairs[i][0]));
            ictus_clock_free(clock);
        }
    }
}

/* If processes of a job take turns on the cores, those of each half do so too. */
static void halves_are_as_crowded_as_the_whole(void)
{
    MPI_Comm half;
    struct ictus_clock *whole = NULL;
    struct ictus_clock *part = NULL;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &half);
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, "propagate@monotonic", &whole));
    REQUIRE(!ictus_clock_create(half, "propagate@monotonic", &part));
    CHECK(part->crowded || !whole->crowded);
    ictus_clock_free(part);
    ictus_clock_free(whole);
    MPI_Comm_free(&half);
}

/* Processes that are bound to one core take turns on it, whatever else the node has. */
static void bound_processes_are_crowded(void)
{
    cpu_set_t before;
    cpu_set_t one;
    uint64_t core = 0;
    struct ictus_clock *clock = NULL;
    REQUIRE(!sched_getaffinity(0, sizeof(before), &before));
    while (!CPU_ISSET(core, &before)) {
        core++;
    }
    MPI_Bcast(&core, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    /* Impossible where cores are allotted to processes. */
    int bound = sched_setaffinity(0, sizeof(one), &one) == 0;
    MPI_Allreduce(MPI_IN_PLACE, &bound, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, "propagate@monotonic", &clock));
    CHECK(clock->crowded || !bound || check_size == 1);
    ictus_clock_free(clock);
    REQUIRE(!sched_setaffinity(0, sizeof(before), &before));
}

/*
 * Of any MPI library, the launcher says how many processes of the job are on the node. What it says
 * counts even if this communicator has fewer; what is no such number says nothing.
 */
static void launchers_are_believed(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    static const char *const sizes[] = {"1000000", "0", "-1000000", "4294967296000", "many"};
    char before[2][32] = {"", ""};
    for (int i = 0; i < 2; i++) {
        const char *text = getenv(names[i]);
        (void)snprintf(before[i], sizeof(before[i]), "%s", text ? text : "");
        (void)unsetenv(names[i]);
    }
    for (size_t k = 0; k < 2 * sizeof(sizes) / sizeof(sizes[0]); k++) {
        struct ictus_clock *clock = NULL;
        (void)setenv(names[k % 2], sizes[k / 2], 1);
        REQUIRE(!ictus_clock_create(MPI_COMM_SELF, "propagate@monotonic", &clock));
        CHECK(clock->crowded == (k < 2));
        ictus_clock_free(clock);
        (void)unsetenv(names[k % 2]);
    }
    for (int i = 0; i < 2; i++) {
        if (before[i][0]) {
            (void)setenv(names[i], before[i], 1);
        }
    }
}

/* Points are as far apart as requested, and the reported time covers all of them. */
static void points_are_paced(void)
{
    enum { POINTS = 5, USUAL_POINTS = 500 };
    struct ictus_clock *clock = NULL;
    struct ictus_sync_stats stats;
    const int64_t begun = check_monotonic_ns();
    REQUIRE(!ictus_clock_create(MPI_COMM_WORLD, "hca3:fitpoints=5,exchanges=3,pace=1s@monotonic",
                                &clock));
    const int64_t ended = check_monotonic_ns();
    CHECK(!ictus_clock_stats(clock, &stats));
    CHECK(stats.duration_s > 0 && stats.duration_s <= 1e-9 * (double)(ended - begun));
    /*
     * With fewer points than usual, they are closer in proportion, with a tolerance of a quarter.
     */
    const double least_s = 0.75 * (POINTS - 1) * POINTS / USUAL_POINTS;
    CHECK(stats.duration_s >= least_s || check_rank > 1 || check_size == 1);
    ictus_clock_free(clock);
}

static void many_clocks_live_together(void)
{
    struct ictus_clock *clocks[8];
    MPI_Comm half;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, check_rank, &half);
    for (int i = 0; i < 8; i++) {
        REQUIRE(!ictus_clock_create(i % 2 ? half : MPI_COMM_WORLD,
                                    "hca3:fitpoints=5,exchanges=3@tsc", &clocks[i]));
    }
    MPI_Comm_free(&half);
    for (int i = 0; i < 8; i++) {
        const struct ictus_time before = ictus_clock_now(clocks[i]);
        CHECK(!ictus_clock_resync(clocks[i]));
        CHECK(ictus_clock_now(clocks[i]).ns > before.ns - 1000000000);
        struct ictus_sync_stats stats;
        CHECK(!ictus_clock_stats(clocks[i], &stats) && stats.synced == 2);
        ictus_clock_free(clocks[i]);
    }
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
#define SKEWED "@sim:offset=1.5s,drift=50ppm,scope=process,seed=5"
    clock_is_within_its_bound("hca3:fitpoints=30,exchanges=10" SKEWED);
    clock_is_within_its_bound("hca3:fitpoints=30,exchanges=10,recompute=1,offset=min-rtt" SKEWED);
    clock_is_within_its_bound("hca3:fitpoints=30,exchanges=10,offset=netgauge" SKEWED);
    clock_is_within_its_bound("hca3:fitpoints=30,exchanges=10,offset=mean-rtt" SKEWED);
    clock_is_within_its_bound("hca3-offset:exchanges=50" SKEWED);
    clock_is_within_its_bound("hierarchy(hca3,propagate(hca3:fitpoints=20,exchanges=10))" SKEWED);
    clock_is_within_its_bound("hierarchy(hca3,propagate)@sim:offset=1.5s,drift=50ppm");
    clock_is_within_its_bound("hierarchy(hca3,hca3-offset:exchanges=9,propagate("
                              "hca3-offset))@sim:offset=1.5s,drift=50ppm,walk=1e-7,scope=process");
    propagation_is_refused_where_wrong();
    misuse_is_refused();
    different_specifications_are_refused();
    halves_are_as_crowded_as_the_whole();
    bound_processes_are_crowded();
    launchers_are_believed();
    points_are_paced();
    many_clocks_live_together();
    return check_mpi_finish();
}

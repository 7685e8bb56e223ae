/* SPDX-License-Identifier: BSD-3-Clause */
/* Common starts on the world, on halves, on duplicates, freed and made again, and misuse. */
#include <ictus/mpix_harmonize.h>

#include <stdbool.h>
#include <unistd.h>

#include "check_mpi.h"

static void starts_are_common(MPI_Comm comm, int calls)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < calls; i++) {
        struct ictus_harmony harmony;
        REQUIRE(!ictus_harmonize(comm, &harmony));
        int64_t first = harmony.deadline.ns;
        MPI_Bcast(&first, 1, MPI_INT64_T, 0, comm);
        CHECK(first == harmony.deadline.ns);
        struct ictus_harmonize_stats so_far;
        CHECK(!ictus_harmonize_stats(comm, &so_far));
        CHECK(harmony.flag == (harmony.lateness_ns <= so_far.tolerance_ns));
        CHECK(harmony.lateness_ns >= 0.0);
    }
    struct ictus_harmonize_stats stats;
    CHECK(!ictus_harmonize_stats(comm, &stats));
    CHECK(stats.calls >= (uint64_t)calls && stats.late <= stats.calls);
}

static void communicators_of_all_kinds(void)
{
    MPI_Comm half;
    MPI_Comm copy;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &half);
    starts_are_common(half, 20);
    MPI_Comm_dup(half, &copy);
    struct ictus_harmonize_stats stats;
    CHECK(ictus_harmonize_stats(copy, &stats) == ICTUS_ERR_SAMPLES);
    starts_are_common(copy, 20);
    starts_are_common(half, 5);
    MPI_Comm_free(&half);
    starts_are_common(copy, 5);
    MPI_Comm_free(&copy);
    starts_are_common(MPI_COMM_SELF, 5);
    for (int i = 0; i < 10; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        starts_are_common(copy, 2);
        MPI_Comm_free(&copy);
    }
}

static void a_late_process_is_waited_for(void)
{
    for (int i = 0; i < 3; i++) {
        if (check_rank == check_size - 1) {
            (void)usleep(100000);
        }
        starts_are_common(MPI_COMM_WORLD, 1);
    }
}

static void misuse_is_refused(void)
{
    int flag = 0;
    struct ictus_why why;
    CHECK(ictus_harmonize(MPI_COMM_NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(MPIX_Harmonize(MPI_COMM_NULL, &flag) == MPI_ERR_COMM);
    CHECK(MPIX_Harmonize(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, "harmonize:late=2", NULL, &why) ==
          ICTUS_ERR_SPEC);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, "harmonise", NULL, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, NULL, "hca4", &why) == ICTUS_ERR_UNKNOWN);
    /* What failed left the old state in force. */
    starts_are_common(MPI_COMM_WORLD, 2);
}

static void a_stepped_clock_is_noticed(void)
{
    REQUIRE(!ictus_harmonize_configure(MPI_COMM_WORLD, NULL,
                                       "hca3:fitpoints=20,exchanges=10"
                                       "@sim:scope=process,step=1s,step_at=0.3s",
                                       NULL));
    starts_are_common(MPI_COMM_WORLD, 3);
    (void)usleep(600000);
    starts_are_common(MPI_COMM_WORLD, 3);
    struct ictus_harmonize_stats stats;
    CHECK(!ictus_harmonize_stats(MPI_COMM_WORLD, &stats) && stats.resyncs >= 1);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    starts_are_common(MPI_COMM_WORLD, 200);
    communicators_of_all_kinds();
    a_late_process_is_waited_for();
    misuse_is_refused();
    a_stepped_clock_is_noticed();
    return check_mpi_finish();
}

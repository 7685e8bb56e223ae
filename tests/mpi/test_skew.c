/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Clocks on an MPI_Wtime that a shim skews without the library's knowledge, judged by the shim's
 * own function: there is no simulated source and no help from inside. Run by tests/mpi/skewed.
 */
#include "skew.h"

#include <ictus/clock.h>
#include <ictus/study.h>

#include <math.h>

#include "check_mpi.h"

/* The library's wtime source rounds to whole nanoseconds. */
static struct ictus_time local_at(int64_t truth)
{
    return (struct ictus_time){(int64_t)llrint(skew_apply(skew_of(check_rank), truth) * 1e9)};
}

static bool shim_is_here(void)
{
    const double before = skew_apply(skew_of(check_rank), check_monotonic_ns());
    const double between = MPI_Wtime();
    const double after = skew_apply(skew_of(check_rank), check_monotonic_ns());
    return before <= between && between <= after;
}

static void error_is_within_the_bound(const char *spec)
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
    for (int seconds = 0; seconds <= 2; seconds += 2) {
        const struct ictus_time local = local_at(now + seconds * INT64_C(1000000000));
        struct ictus_reading reading;
        CHECK(!ictus_clock_map_reading(clock, local, &reading));
        int64_t first = reading.time.ns;
        MPI_Bcast(&first, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
        const double error = (double)(reading.time.ns - first);
        CHECK(fabs(error) <= reading.bound_ns + 3.0);
        if (fabs(error) > reading.bound_ns + 3.0) {
            (void)fprintf(stderr, "%s rank %d +%d s: error %g ns, bound %g\n", spec, check_rank,
                          seconds, error, reading.bound_ns);
        }
    }
    ictus_clock_free(clock);
}

/* Whatever MPI says about its clock, no processes share one here. */
static void sharing_is_seen_through(void)
{
    struct ictus_study *study = NULL;
    struct ictus_clock *clock = NULL;
    struct ictus_sharing sharing;
    struct ictus_why why = {""};
    REQUIRE(!ictus_study_create(MPI_COMM_WORLD, "wtime", &study, &why));
    CHECK(!ictus_study_sharing(study, &sharing, &why));
    CHECK(sharing.groups == check_size);
    ictus_study_free(study);
    const int err = ictus_clock_create_why(MPI_COMM_WORLD, "propagate@wtime", &clock, &why);
    CHECK(check_size == 1 ? err == ICTUS_OK : err == ICTUS_ERR_NOT_SHARED);
    ictus_clock_free(clock);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    REQUIRE(shim_is_here());
    error_is_within_the_bound("hca3:fitpoints=100,exchanges=20@wtime");
    error_is_within_the_bound("hierarchy(hca3,propagate(hca3:fitpoints=50,exchanges=20))@wtime");
    error_is_within_the_bound("@wtime");
    sharing_is_seen_through();
    return check_mpi_finish();
}

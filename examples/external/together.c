/* SPDX-License-Identifier: BSD-3-Clause */
/* Every process does something at the same instant of a common clock, and says how well it knew it.
 */
#include <ictus/clock.h>
#include <ictus/error.h>
#include <mpi.h>
#include <stdio.h>

static int start_together(const struct ictus_clock *clock)
{
    /* The process that is ahead of all says when: 10 ms from now, for everybody. */
    struct ictus_time start = ictus_time_add(ictus_clock_now(clock), 10000000);
    MPI_Allreduce(MPI_IN_PLACE, &start.ns, 1, MPI_INT64_T, MPI_MAX, MPI_COMM_WORLD);
    const int err = ictus_clock_wait_until(clock, start);

    /* What is to begin at the same time on every process begins here. */
    struct ictus_reading here;
    const int read_err = ictus_clock_read(clock, &here);
    if (err || read_err) {
        return err ? err : read_err;
    }
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    printf("rank %d began %.0f ns after the instant, known to +-%.0f ns\n", rank,
           ictus_time_diff_ns(here.time, start), here.sigma_ns);
    return ICTUS_OK;
}

int main(int argc, char **argv)
{
    struct ictus_clock *clock = NULL;
    MPI_Init(&argc, &argv);
    int err = ictus_clock_create(MPI_COMM_WORLD, NULL, &clock);
    if (!err) {
        err = start_together(clock);
    }
    if (err) {
        (void)fprintf(stderr, "%s\n", ictus_strerror(err));
    }
    ictus_clock_free(clock);
    MPI_Finalize();
    return err ? 1 : 0;
}

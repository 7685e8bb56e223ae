/* SPDX-License-Identifier: BSD-3-Clause */
/* The clock in a tool: when each process entered and left a barrier, on one time axis, with its +-.
 */
#include <ictus/clock.h>
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    struct ictus_clock *clock = NULL;
    struct ictus_reading entered;
    struct ictus_reading left;
    int rank = 0;
    int size = 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int err = ictus_clock_create(MPI_COMM_WORLD, NULL, &clock);
    if (err) {
        (void)fprintf(stderr, "timeline: %s\n", ictus_strerror(err));
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    ictus_clock_read(clock, &entered);
    MPI_Barrier(MPI_COMM_WORLD);
    ictus_clock_read(clock, &left);
    int64_t origin = entered.time.ns;
    MPI_Allreduce(MPI_IN_PLACE, &origin, 1, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
    for (int i = 0; i < size; i++) { /* in the order of ranks */
        if (i == rank) {
            printf("rank %d: entered at %.3f us, left at %.3f us, +- %.3f us\n", rank,
                   1e-3 * (double)(entered.time.ns - origin),
                   1e-3 * (double)(left.time.ns - origin), 1e-3 * left.sigma_ns);
            (void)fflush(stdout);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    ictus_clock_free(clock);
    MPI_Finalize();
    return 0;
}

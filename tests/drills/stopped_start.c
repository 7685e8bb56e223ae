/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is stopped inside a loop of harmonised starts, for the seconds of argv[1]: no call
 * hangs, and the start that it missed is said to be late, by as much as it was.
 */
#include "../mpi/check_mpi.h"

#include <ictus/harmonize.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 5 };

static void pause_for(double s)
{
    const struct timespec t = {(time_t)s, (long)((s - (double)(time_t)s) * 1e9)};
    (void)nanosleep(&t, NULL);
}

/* A child stops its parent after a while, and lets it go on. */
static void arrange_stop(double after_s, double for_s)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        pause_for(after_s);
        (void)kill(parent, SIGSTOP);
        pause_for(for_s);
        (void)kill(parent, SIGCONT);
        _exit(0);
    }
    CHECK(child > 0);
}

/* Starts for a time; all leave together. @return the largest lateness that this process was told */
static double worst_lateness(double span_s, int *late)
{
    double worst_ns = 0.0;
    const double end = MPI_Wtime() + span_s;
    for (int go_on = 1; go_on;) {
        struct ictus_harmony harmony;
        REQUIRE(!ictus_harmonize(MPI_COMM_WORLD, &harmony));
        CHECK(harmony.lateness_ns >= 0.0);
        *late += harmony.flag == 0;
        worst_ns = harmony.lateness_ns > worst_ns ? harmony.lateness_ns : worst_ns;
        go_on = MPI_Wtime() < end;
        MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    return worst_ns;
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    const double stop_s = argc > 1 ? strtod(argv[1], NULL) : 2.0;
    const int victim = check_size - 1;
    REQUIRE(
        !ictus_harmonize_configure(MPI_COMM_WORLD, NULL, "hca3:fitpoints=10,exchanges=5", NULL));
    int seen = 0;
    /* Stopped while it waits for others it misses nothing: only then must it be tried again. */
    for (int i = 0; i < ATTEMPTS && !seen; i++) {
        int late = 0;
        if (check_rank == victim) {
            arrange_stop(0.3, stop_s);
        }
        const double lateness_ns = worst_lateness(0.5, &late);
        seen = check_rank == victim && late > 0 && lateness_ns > 0.5e9 * stop_s;
        MPI_Bcast(&seen, 1, MPI_INT, victim, MPI_COMM_WORLD);
        if (check_rank == victim) {
            (void)wait(NULL);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(seen);
    return check_mpi_finish();
}

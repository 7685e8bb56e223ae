/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A process is stopped while it waits for the deadline of a harmonised start, for the seconds of
 * argv[1]: no call hangs, the start that it missed is said to be late, by as much as it was, and
 * all go on.
 */
#include "../mpi/check_mpi.h"

#include "sync/wait.h"

#include <ictus/harmonize.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { STARTS = 200, FIRST = 10 };

static double stop_s = 2.0;
static bool to_be_stopped, stopped;

/* A child lets this process go on after a while. */
static void stop_here(void)
{
    const pid_t parent = getpid();
    const pid_t child = fork();
    if (child == 0) {
        const struct timespec t = {(time_t)stop_s, (long)((stop_s - (double)(time_t)stop_s) * 1e9)};
        (void)nanosleep(&t, NULL);
        /* Again, for a busy machine on which the parent has not stopped yet. */
        for (int i = 0; i < 100 && getppid() == parent; i++) {
            const struct timespec pause = {0, 10000000};
            (void)kill(parent, SIGCONT);
            (void)nanosleep(&pause, NULL);
        }
        _exit(0);
    }
    REQUIRE(child > 0);
    (void)raise(SIGSTOP);
    CHECK(waitpid(child, NULL, 0) == child);
}

/* The deadline is known here, and has not come. Stopped in another place, such as where it waits
 * for others, a process misses nothing. */
int64_t __real_ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded);
int64_t __wrap_ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded);
int64_t __wrap_ictusi_sync_wait_until(const struct source *source, int64_t deadline, bool crowded)
{
    if (to_be_stopped && deadline > ictusi_source_read(source)) { /* and no rehearsal */
        to_be_stopped = false;
        stopped = true;
        stop_here();
    }
    return __real_ictusi_sync_wait_until(source, deadline, crowded);
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    stop_s = argc > 1 ? strtod(argv[1], NULL) : stop_s;
    const bool victim = check_rank == check_size - 1;
    REQUIRE(
        !ictus_harmonize_configure(MPI_COMM_WORLD, NULL, "hca3:fitpoints=10,exchanges=5", NULL));
    for (int i = 0; i < STARTS; i++) {
        struct ictus_harmony harmony;
        const bool before = stopped;
        to_be_stopped = victim && i >= FIRST && !stopped;
        REQUIRE(!ictus_harmonize(MPI_COMM_WORLD, &harmony));
        CHECK(harmony.lateness_ns >= 0.0);
        if (stopped != before) {
            CHECK(harmony.flag == 0 && harmony.lateness_ns > 0.9e9 * stop_s);
        }
    }
    CHECK(stopped == victim); /* however busy the machine is, it comes in time once */
    return check_mpi_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * check.h for programs with several ranks. A failed CHECK never makes a rank leave its collectives,
 * REQUIRE ends the job, and every rank returns the same result.
 *
 *     int main(int argc, char **argv)
 *     {
 *         check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
 *         ...
 *         return check_mpi_finish();
 *     }
 */
#ifndef ICTUS_TESTS_MPI_CHECK_MPI_H
#define ICTUS_TESTS_MPI_CHECK_MPI_H

#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>

#define CHECK_ABORT() MPI_Abort(MPI_COMM_WORLD, 1)
#include "../check.h"

static int check_rank; /* in MPI_COMM_WORLD */
static int check_size;

static inline void check_mpi_init(int *argc, char ***argv, int level)
{
    int provided = 0;
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    if (provided < level) {
        if (check_rank == 0) {
            (void)fprintf(stderr, "skipped: MPI gives thread level %d, wanted %d\n", provided,
                          level);
        }
        MPI_Finalize();
        exit(CHECK_SKIP);
    }
}

/* Finalize MPI and return the exit code for main, which is the same on every rank. Collective. */
static inline int check_mpi_finish(void)
{
    int failures = 0;
    MPI_Allreduce(&check_failures, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (failures > 0 && check_rank == 0) {
        (void)fprintf(stderr, "%d failures on %d ranks\n", failures, check_size);
    }
    MPI_Finalize();
    return failures > 0 ? 1 : 0;
}

/* The clock that all processes of a node share, whatever clock is tested. */
static inline int64_t check_monotonic_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/*
 * Stop this process from outside for a while, some time from now, as a debugger, a batch system or
 * an overcommitted host does. The caller must reap the child that does it with wait().
 */
static inline void check_stop_soon(unsigned after_us, unsigned for_us)
{
    const pid_t target = getpid();
    if (fork() == 0) {
        (void)usleep(after_us);
        (void)kill(target, SIGSTOP);
        (void)usleep(for_us);
        (void)kill(target, SIGCONT);
        _exit(0);
    }
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that knows nothing of ictus, to be run with libraries preloaded. Usage: victim WHAT...,
 * each of: barriers, halves, inter, global (MPI_Wtime must be), local (need not), steps (barriers
 * for as long as a clock takes to step), late, threads, makers (threads that make communicators),
 * abort, dies, leaves (without MPI_Finalize), control, session, nothing.
 */
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int rank;
static int size;
static int failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            failures++;                                                                            \
            (void)fprintf(stderr, "victim %d: %s failed\n", rank, #condition);                     \
        }                                                                                          \
    } while (0)

static void barriers(MPI_Comm comm, int count)
{
    double before = MPI_Wtime();
    for (int i = 0; i < count; i++) {
        CHECK(MPI_Barrier(comm) == MPI_SUCCESS);
        const double now = MPI_Wtime();
        CHECK(now >= before);
        before = now;
    }
}

static void halves(void)
{
    MPI_Comm half;
    MPI_Comm copy;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    barriers(half, 50);
    MPI_Comm_dup(half, &copy);
    MPI_Comm_free(&half);
    barriers(copy, 50);
    MPI_Comm_free(&copy);
    barriers(MPI_COMM_SELF, 10);
}

static void inter(void)
{
    MPI_Comm half;
    MPI_Comm across;
    if (size < 2) {
        return;
    }
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 7, &across);
    barriers(across, 10);
    MPI_Comm_free(&across);
    MPI_Comm_free(&half);
}

/* What a message says of the time must not lie after the time where it arrives: sources are 5 s
 * apart. */
static void clock_is_global(void)
{
    int *global = NULL;
    int found = 0;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void *)&global, &found);
    CHECK(found && global && *global);
    for (int i = 0; i < 20; i++) {
        double root = MPI_Wtime();
        MPI_Bcast(&root, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        const double here = MPI_Wtime();
        CHECK(here >= root - 0.5 && here < root + 60.0);
    }
    CHECK(MPI_Wtick() > 0.0);
}

/* For a time that no clock of ours tells. */
static void barriers_for(double seconds)
{
    struct timespec from, now;
    (void)clock_gettime(CLOCK_MONOTONIC, &from);
    for (int over = 0; !over;) {
        barriers(MPI_COMM_WORLD, 10);
        (void)clock_gettime(CLOCK_MONOTONIC, &now);
        over = (double)(now.tv_sec - from.tv_sec) + 1e-9 * (double)(now.tv_nsec - from.tv_nsec) >
               seconds;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
}

static void late(void)
{
    if (rank == size - 1) {
        (void)usleep(1000000);
    }
    const double start = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(size == 1 || rank == size - 1 || MPI_Wtime() - start > 0.5);
}

static void *thread(void *comm)
{
    barriers(*(MPI_Comm *)comm, 100);
    return NULL;
}

static void threads(void *(*body)(void *))
{
    enum { COUNT = 4 };
    pthread_t ids[COUNT];
    MPI_Comm comms[COUNT];
    for (int i = 0; i < COUNT; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)pthread_create(&ids[i], NULL, body, &comms[i]);
    }
    for (int i = 0; i < COUNT; i++) {
        (void)pthread_join(ids[i], NULL);
        MPI_Comm_free(&comms[i]);
    }
}

/* Of all processes and of one alone, while the other threads do likewise; each has one barrier. */
static void *maker(void *comm)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    MPI_Group group;
    MPI_Comm_group(*(MPI_Comm *)comm, &group);
    for (int i = 0; i < 10; i++) {
        MPI_Comm made;
        MPI_Comm_create_group(*(MPI_Comm *)comm, group, 0, &made);
        MPI_Barrier(made);
        MPI_Comm_free(&made);
        (void)pthread_mutex_lock(&one_at_a_time);
        MPI_Comm_dup(MPI_COMM_SELF, &made);
        (void)pthread_mutex_unlock(&one_at_a_time);
        MPI_Barrier(made);
        MPI_Comm_free(&made);
    }
    MPI_Group_free(&group);
    return NULL;
}

/* Whether this was one of theirs. */
static bool threads_do(const char *what)
{
    const bool make = strcmp(what, "makers") == 0;
    if (!make && strcmp(what, "threads") != 0) {
        return false;
    }
    threads(make ? maker : thread);
    return true;
}

static int session(void)
{
#if MPI_VERSION >= 4
    MPI_Session handle;
    MPI_Group group;
    MPI_Comm comm;
    if (MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &handle) != MPI_SUCCESS) {
        return 77;
    }
    MPI_Group_from_session_pset(handle, "mpi://WORLD", &group);
    MPI_Comm_create_from_group(group, "victim", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
    MPI_Group_free(&group);
    MPI_Comm_rank(comm, &rank);
    barriers(comm, 50);
    MPI_Comm_free(&comm);
    MPI_Session_finalize(&handle);
    return failures != 0;
#else
    return 77;
#endif
}

/* The last process ends before the others do. False: this is no such end. */
static int ends_early(const char *what)
{
    const int aborts = strcmp(what, "abort") == 0;
    const int dies = strcmp(what, "dies") == 0;
    if (!aborts && !dies && strcmp(what, "leaves") != 0) {
        return 0;
    }
    barriers(MPI_COMM_WORLD, 10);
    if (rank == size - 1) {
        if (aborts) {
            MPI_Abort(MPI_COMM_WORLD, 5);
        } else if (dies) {
            (void)raise(SIGKILL);
        } else {
            exit(0);
        }
    }
    /* These never return: the launcher ends the job. */
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    return 1;
}

static void do_one(const char *what)
{
    if (strcmp(what, "barriers") == 0) {
        barriers(MPI_COMM_WORLD, 200);
    } else if (strcmp(what, "halves") == 0) {
        halves();
    } else if (strcmp(what, "inter") == 0) {
        inter();
    } else if (strcmp(what, "global") == 0) {
        clock_is_global();
    } else if (strcmp(what, "steps") == 0) {
        barriers_for(2.0);
    } else if (strcmp(what, "late") == 0) {
        late();
    } else if (strcmp(what, "control") == 0) {
        MPI_Pcontrol(1);
    } else if (!ends_early(what) && !threads_do(what) && strcmp(what, "nothing") != 0) {
        CHECK(!what);
    }
}

int main(int argc, char **argv)
{
    int level = MPI_THREAD_SINGLE;
    if (argc > 1 && strcmp(argv[1], "session") == 0) {
        return session();
    }
    if (argc > 1 && (strcmp(argv[1], "threads") == 0 || strcmp(argv[1], "makers") == 0)) {
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    } else {
        MPI_Init(&argc, &argv);
        level = MPI_THREAD_MULTIPLE;
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 1; i < argc && level == MPI_THREAD_MULTIPLE; i++) {
        do_one(argv[i]);
    }
    int all = 0;
    MPI_Allreduce(&failures, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return level < MPI_THREAD_MULTIPLE ? 77 : all != 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libictus-barrier.so: every MPI_Barrier of an unchanged program becomes a harmonised start, or
 * another barrier that is the same under every MPI library.
 *
 *   ICTUS_BARRIER=harmonize|dissemination|tree|linear|mpi   default harmonize
 *   ICTUS_BARRIER_RETRY=N        start again up to N times where a process was late (0)
 *   ICTUS_BARRIER_SUMMARY=0      no summary on standard error at MPI_Finalize
 *
 * The program calls us by MPI's names, so there is no handle to keep state in: this file has the
 * process's one record of it.
 */
#include "behind.h"
#include "fortran.h"
#include "init.h"
#include "library.h"
#include "speaker.h"

#include <ictus/barrier.h>
#include <ictus/harmonize.h>
#include <ictus/text.h>
#include <ictus/traits.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RETRIES_MAX = 1000 };

struct wishes {
    enum ictus_barrier_algorithm algorithm;
    int retries;
    bool silent;
    bool bad;
    struct ictus_why why;
};

/* What is added up on this process; times in ns. */
struct record {
    atomic_ullong calls;
    atomic_ullong late;
    atomic_ullong retried;
    atomic_ullong passed_on; /* calls that were passed on to the MPI library */
    atomic_ullong slack_ns;
    atomic_ullong skew_ns;
    atomic_int rank; /* this process's rank in the first communicator served, plus 1 */
};

PRELOAD_BEHIND(MPI_Barrier)
PRELOAD_BEHIND(MPI_Finalize)
PRELOAD_BEHIND(PMPI_Finalize)
#if MPI_VERSION >= 4
PRELOAD_BEHIND(MPI_Session_finalize)
PRELOAD_BEHIND(PMPI_Session_finalize)
#endif

typedef int finalize_call(void);

static pthread_once_t wishes_once = PTHREAD_ONCE_INIT;
static struct wishes wishes;
static struct record record;
/*
 * Set while the library is inside a barrier of the program: barriers that it calls meanwhile are
 * its own.
 */
static _Thread_local int depth;

/* If libictus-wtime.so is loaded too, a barrier is where it may synchronise. */
extern void ictus_wtime_at_barrier(MPI_Comm comm) __attribute__((weak));

static const char *wish_text(const char *name)
{
    const char *text = getenv(name);
    return text && text[0] ? text : NULL;
}

static void read_wishes(void)
{
    const char *const *names = ictus_barrier_names();
    const char *name = wish_text("ICTUS_BARRIER");
    const char *retry = wish_text("ICTUS_BARRIER_RETRY");
    const char *summary = wish_text("ICTUS_BARRIER_SUMMARY");
    int64_t retries = 0;
    preload_tell_variables("ictus-barrier");
    int found = name ? 0 : ICTUS_BARRIER_HARMONIZE;
    while (name && names[found] && strcmp(names[found], name) != 0) {
        found++;
    }
    if (!names[found]) {
        (void)ictus_unknown(&wishes.why, "ICTUS_BARRIER", name, names);
        wishes.bad = true;
    } else if (retry &&
               (ictus_parse_int(retry, &retries) || retries < 0 || retries > RETRIES_MAX)) {
        (void)ictus_because(&wishes.why, ICTUS_ERR_SPEC,
                            "ICTUS_BARRIER_RETRY=%.40s: must be a number between 0 and %d", retry,
                            RETRIES_MAX);
        wishes.bad = true;
    }
    wishes.algorithm = (enum ictus_barrier_algorithm)found;
    wishes.retries = (int)retries;
    wishes.silent = summary && strcmp(summary, "0") == 0;
}

static void wishes_refuse(MPI_Comm comm)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        (void)fprintf(stderr, "ictus-barrier: %s\n", wishes.why.text);
        ictus_drain(STDERR_FILENO);
        PMPI_Abort(comm, 2);
    }
}

static int pass_on(MPI_Comm comm)
{
    atomic_fetch_add(&record.passed_on, 1);
    return behind_MPI_Barrier()(comm);
}

static bool can_serve(MPI_Comm comm)
{
    int inter = 1;
    return wishes.algorithm != ICTUS_BARRIER_MPI && comm != MPI_COMM_NULL &&
           PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS && !inter;
}

static void remember_rank(MPI_Comm comm)
{
    if (atomic_load_explicit(&record.rank, memory_order_relaxed) == 0) {
        int rank = 0;
        PMPI_Comm_rank(comm, &rank);
        atomic_store(&record.rank, rank + 1);
    }
}

/*
 * As little as possible is done after the start, because it would be part of the program's
 * measurement.
 */
static int barrier_harmonize(MPI_Comm comm)
{
    struct ictus_harmony harmony;
    const int err = ictus_harmonize_retry(comm, wishes.retries, &harmony);
    if (err) {
        return err;
    }
    const double skew =
        2.0 * harmony.sigma_ns + (harmony.lateness_ns > 0 ? harmony.lateness_ns : 0);
    atomic_fetch_add_explicit(&record.late, !harmony.flag, memory_order_relaxed);
    atomic_fetch_add_explicit(&record.retried, (unsigned)(harmony.attempts - 1),
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&record.slack_ns, (unsigned long long)harmony.slack_ns,
                              memory_order_relaxed);
    atomic_fetch_add_explicit(&record.skew_ns, (unsigned long long)skew, memory_order_relaxed);
    return ICTUS_OK;
}

/*
 * A process that is alone has nobody to start with, and no clock is made for it: Open MPI 4.1 may
 * never return from making a communicator of one process while other threads make larger ones.
 */
static int barrier_start(MPI_Comm comm)
{
    int size = 0;
    PMPI_Comm_size(comm, &size);
    if (size == 1) {
        return behind_MPI_Barrier()(comm) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    return wishes.algorithm == ICTUS_BARRIER_HARMONIZE ? barrier_harmonize(comm)
                                                       : ictus_barrier(comm, wishes.algorithm);
}

static int barrier_serve(MPI_Comm comm)
{
    (void)pthread_once(&wishes_once, read_wishes);
    if (wishes.bad) {
        wishes_refuse(comm);
        return behind_MPI_Barrier()(comm);
    }
    if (!can_serve(comm)) {
        return pass_on(comm);
    }
    remember_rank(comm);
    depth++;
    if (ictus_wtime_at_barrier) {
        ictus_wtime_at_barrier(comm);
    }
    atomic_fetch_add_explicit(&record.calls, 1, memory_order_relaxed);
    const int err = barrier_start(comm);
    depth--;
    if (err) { /* all processes got the same result */
        atomic_fetch_sub(&record.calls, 1);
        return pass_on(comm);
    }
    return MPI_SUCCESS;
}

PRELOAD_API int MPI_Barrier(MPI_Comm comm)
{
    return depth > 0 ? PMPI_Barrier(comm) : barrier_serve(comm);
}

/*
 * What a user asked for in the environment, checked where it is early enough to say so: variables
 * that differ between processes, and what is wrong with ICTUS_HARMONIZE, ICTUS_SYNC or ICTUS_CLOCK,
 * which shows on any communicator.
 */
static void wishes_check(void)
{
    const struct ictus_trait traits[] = {
        {"ICTUS_BARRIER", wish_text("ICTUS_BARRIER")},
        {"ICTUS_BARRIER_RETRY", wish_text("ICTUS_BARRIER_RETRY")},
        {"ICTUS_HARMONIZE", wish_text("ICTUS_HARMONIZE")},
        {"ICTUS_SYNC", wish_text("ICTUS_SYNC")},
        {"ICTUS_CLOCK", wish_text("ICTUS_CLOCK")},
    };
    int rank = 0;
    int size = 0;
    (void)pthread_once(&wishes_once, read_wishes);
    if (ictus_traits_agree(MPI_COMM_WORLD, traits, sizeof(traits) / sizeof(*traits), &wishes.why)) {
        wishes.bad = true;
    }
    if (!wishes.bad && wishes.algorithm == ICTUS_BARRIER_HARMONIZE) {
        const int err = ictus_harmonize_configure(MPI_COMM_SELF, NULL, NULL, &wishes.why);
        wishes.bad = err == ICTUS_ERR_SPEC || err == ICTUS_ERR_UNKNOWN;
    }
    PMPI_Comm_size(MPI_COMM_WORLD, &size);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int first = wishes.bad ? rank : size;
    PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == rank) {
        (void)fprintf(stderr, "ictus-barrier: %s\n", wishes.why.text);
        ictus_drain(STDERR_FILENO);
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    if (first < size) {
        PMPI_Barrier(MPI_COMM_WORLD); /* it ends this process as well */
    }
}

/* A program that is linked with another MPI library is refused before it does anything. */
__attribute__((constructor)) static void barrier_load(void)
{
    preload_refuse_other("barrier");
}

static bool preload_enter(void)
{
    preload_refuse_other("barrier"); /* the program may have loaded a library since */
    return depth++ == 0;
}

/* Starts that we make during MPI_Init are not barriers of the program, so they are not counted. */
static int preload_leave(bool outer, int err)
{
    if (outer && err == MPI_SUCCESS) {
        wishes_check();
    }
    depth--;
    return err;
}

/* The sums of one process or of all, in the order of struct record. */
enum { SUM_CALLS, SUM_LATE, SUM_RETRIED, SUM_PASSED, SUM_SLACK, SUM_SKEW, SUMS };

static void own_sums(unsigned long long *sums)
{
    sums[SUM_CALLS] = atomic_load(&record.calls);
    sums[SUM_LATE] = atomic_load(&record.late);
    sums[SUM_RETRIED] = atomic_load(&record.retried);
    sums[SUM_PASSED] = atomic_load(&record.passed_on);
    sums[SUM_SLACK] = atomic_load(&record.slack_ns);
    sums[SUM_SKEW] = atomic_load(&record.skew_ns);
}

/* One line, written at once: other processes and tools write to the same terminal. */
static void print_summary(const unsigned long long *sums, const char *whose)
{
    const char *name = ictus_barrier_names()[wishes.algorithm];
    const double calls = sums[SUM_CALLS] ? (double)sums[SUM_CALLS] : 1.0;
    char starts[160] = "";
    if (wishes.algorithm == ICTUS_BARRIER_HARMONIZE && sums[SUM_CALLS]) {
        (void)snprintf(
            starts, sizeof(starts),
            ", %llu late (%.2f %%), %llu repeated, mean slack %.2f us, expected skew %.3f us",
            sums[SUM_LATE], 100.0 * (double)sums[SUM_LATE] / calls, sums[SUM_RETRIED],
            (double)sums[SUM_SLACK] / calls * 1e-3, (double)sums[SUM_SKEW] / calls * 1e-3);
    }
    (void)fprintf(stderr, "ictus-barrier: %s: %llu calls%s, %llu passed on to MPI%s\n", name,
                  sums[SUM_CALLS], whose, sums[SUM_PASSED], starts);
}

/* The summary of a world counts the calls of all its processes. Collective over it. */
static void summarise_world(void)
{
    unsigned long long sums[SUMS];
    unsigned long long all[SUMS] = {0};
    int rank = 0;
    (void)pthread_once(&wishes_once, read_wishes);
    own_sums(sums);
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PMPI_Reduce(sums, all, SUMS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0 && !wishes.silent && !wishes.bad) {
        print_summary(all, " over all processes");
    }
}

static int barrier_finalize(finalize_call *behind)
{
    if (depth == 0) {
        summarise_world();
    }
    depth++;
    const int err = behind();
    depth--;
    return err;
}

PRELOAD_API int MPI_Finalize(void)
{
    return barrier_finalize(behind_MPI_Finalize());
}

PRELOAD_API int PMPI_Finalize(void)
{
    return barrier_finalize(behind_PMPI_Finalize());
}

#if MPI_VERSION >= 4
/*
 * A program that uses sessions has no communicator left here to add up over, so its first rank
 * reports its own counts.
 */
static void summarise_session(void)
{
    int world = 0;
    PMPI_Initialized(&world);
    if (!world && atomic_load(&record.rank) == 1 && !wishes.silent) {
        unsigned long long sums[SUMS];
        own_sums(sums);
        print_summary(sums, " of this process");
    }
}

static int session_finalize(MPI_Session *session, int (*behind)(MPI_Session *))
{
    if (depth == 0) {
        summarise_session();
    }
    depth++;
    const int err = behind(session);
    depth--;
    return err;
}

PRELOAD_API int MPI_Session_finalize(MPI_Session *session)
{
    return session_finalize(session, behind_MPI_Session_finalize());
}

PRELOAD_API int PMPI_Session_finalize(MPI_Session *session)
{
    return session_finalize(session, behind_PMPI_Session_finalize());
}
#endif

static void barrier_fortran(const MPI_Fint *comm, MPI_Fint *ierror)
{
    preload_error(ierror, MPI_Barrier(PMPI_Comm_f2c(*comm)));
}

static void finalize_fortran(MPI_Fint *ierror)
{
    preload_error(ierror, MPI_Finalize());
}

PRELOAD_FORTRAN(mpi_barrier, MPI_BARRIER, barrier_fortran, (const MPI_Fint *comm, MPI_Fint *ierror),
                (comm, ierror))
PRELOAD_FORTRAN(mpi_finalize, MPI_FINALIZE, finalize_fortran, (MPI_Fint * ierror), (ierror))

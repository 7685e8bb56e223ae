/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libictus-wtime.so: MPI_Wtime of an unchanged program shows one clock on all processes, and the
 * attribute MPI_WTIME_IS_GLOBAL says so. It counts from the program's MPI_Init, and never runs
 * backwards on a process.
 *
 *   ICTUS_SYNC, ICTUS_CLOCK      the clock, as in ictus/clock.h
 *   ICTUS_WTIME_RESYNC=1s        synchronise again at the first MPI_Barrier on MPI_COMM_WORLD when
 *                                so much time has passed; without it once, in MPI_Init
 *
 * The program calls us by MPI's names, so there is no handle to keep state in: this file has the
 * process's one clock. A program of sessions alone keeps its local MPI_Wtime.
 */
#include "fortran.h"

#include <ictus/clock.h>
#include <ictus/text.h>

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static _Atomic(struct ictus_clock *) global;
static atomic_llong last_ns; /* shown so far */
static int64_t origin_ns;    /* of what is shown, the same on all processes */
static double resync_s;      /* 0: never */
static int64_t synced_ns;
static _Thread_local bool inside;

/* For libictus-barrier.so, which is the one called when both are loaded. */
PRELOAD_API void ictus_wtime_at_barrier(MPI_Comm comm);

static void give_up(const char *text)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        (void)fprintf(stderr, "ictus-wtime: %s\n", text);
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    PMPI_Barrier(MPI_COMM_WORLD); /* rank 0 ends us */
}

static void set_up(void)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    const char *interval = getenv("ICTUS_WTIME_RESYNC");
    if (interval && interval[0] && (ictus_parse_seconds(interval, &resync_s) || resync_s <= 0)) {
        (void)snprintf(why.text, sizeof(why.text),
                       "ICTUS_WTIME_RESYNC=%.40s: must be a time above 0, as 1s", interval);
        give_up(why.text);
        return;
    }
    inside = true;
    const int err = ictus_clock_create_why(MPI_COMM_WORLD, NULL, &clock, &why);
    if (err) {
        give_up(why.text[0] ? why.text : ictus_strerror(err));
        inside = false;
        return;
    }
    synced_ns = ictus_clock_now(clock).ns;
    int64_t origin = synced_ns;
    PMPI_Bcast(&origin, 1, MPI_INT64_T, 0, MPI_COMM_WORLD);
    origin_ns = origin;
    atomic_store(&last_ns, 0);
    atomic_store(&global, clock);
    inside = false;
}

static void take_down(void)
{
    struct ictus_clock *clock = atomic_exchange(&global, NULL);
    inside = true;
    ictus_clock_free(clock);
    inside = false;
}

/* The greater of now and what was shown before: a new synchronisation may set the clock back. */
static double shown_s(int64_t now)
{
    long long before = atomic_load_explicit(&last_ns, memory_order_relaxed);
    while (now > before &&
           !atomic_compare_exchange_weak_explicit(&last_ns, &before, now, memory_order_relaxed,
                                                  memory_order_relaxed)) {
    }
    return (double)(now > before ? now : before) * 1e-9;
}

/* The MPI_Wtime behind ours: the library's, or another tool's. */
static double next_wtime(void)
{
    static _Atomic uintptr_t found;
    uintptr_t address = atomic_load_explicit(&found, memory_order_relaxed);
    if (!address) {
        address = (uintptr_t)dlsym(RTLD_NEXT, "MPI_Wtime");
        address = address ? address : (uintptr_t)PMPI_Wtime;
        atomic_store_explicit(&found, address, memory_order_relaxed);
    }
    return ((double (*)(void))address)();
}

PRELOAD_API double MPI_Wtime(void)
{
    const struct ictus_clock *clock = atomic_load_explicit(&global, memory_order_acquire);
    if (!clock || inside) {
        return next_wtime();
    }
    /* The clock's own source may be MPI_Wtime (ICTUS_CLOCK=wtime): then it means the one behind. */
    inside = true;
    const int64_t now = ictus_clock_now(clock).ns;
    inside = false;
    return shown_s(now - origin_ns);
}

PRELOAD_API double MPI_Wtick(void)
{
    return atomic_load(&global) ? 1e-9 : PMPI_Wtick();
}

void ictus_wtime_at_barrier(MPI_Comm comm)
{
    struct ictus_clock *clock = atomic_load(&global);
    if (inside || !clock || resync_s <= 0 || comm != MPI_COMM_WORLD) {
        return;
    }
    inside = true;
    int due = (double)(ictus_clock_now(clock).ns - synced_ns) * 1e-9 >= resync_s;
    PMPI_Bcast(&due, 1, MPI_INT, 0, comm);
    if (due && !ictus_clock_resync(clock)) {
        synced_ns = ictus_clock_now(clock).ns;
    }
    inside = false;
}

/* The MPI_Barrier behind ours: the library's, or another tool's. */
static int next_barrier(MPI_Comm comm)
{
    int (*next)(MPI_Comm) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Barrier");
    return next ? next(comm) : PMPI_Barrier(comm);
}

PRELOAD_API int MPI_Barrier(MPI_Comm comm)
{
    if (inside) {
        return PMPI_Barrier(comm);
    }
    ictus_wtime_at_barrier(comm);
    inside = true;
    const int err = next_barrier(comm);
    inside = false;
    return err;
}

PRELOAD_API int MPI_Init(int *argc, char ***argv)
{
    const int err = PMPI_Init(argc, argv);
    if (err == MPI_SUCCESS) {
        set_up();
    }
    return err;
}

PRELOAD_API int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    const int err = PMPI_Init_thread(argc, argv, required, provided);
    if (err == MPI_SUCCESS) {
        set_up();
    }
    return err;
}

static int next_finalize(void)
{
    int (*next)(void) = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, "MPI_Finalize");
    return next ? next() : PMPI_Finalize();
}

PRELOAD_API int MPI_Finalize(void)
{
    take_down();
    return next_finalize();
}

static bool asks_for_global(MPI_Comm comm, int key)
{
    return key == MPI_WTIME_IS_GLOBAL && comm == MPI_COMM_WORLD && atomic_load(&global);
}

PRELOAD_API int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    static int yes = 1; /* MPI hands out addresses of its predefined attributes */
    if (!asks_for_global(comm, key)) {
        return PMPI_Comm_get_attr(comm, key, value, flag);
    }
    *(int **)value = &yes;
    *flag = 1;
    return MPI_SUCCESS;
}

#ifdef MPICH_VERSION
/* MPICH's Fortran predefined attributes count one further: they are values, not addresses. */
enum { FORTRAN_KEY = MPI_WTIME_IS_GLOBAL + 1 };
#else
enum { FORTRAN_KEY = MPI_WTIME_IS_GLOBAL };
#endif

static void init_fortran(MPI_Fint *ierror)
{
    preload_error(ierror, MPI_Init(NULL, NULL));
}

static void init_thread_fortran(const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror)
{
    int level = 0;
    preload_error(ierror, MPI_Init_thread(NULL, NULL, (int)*required, &level));
    *provided = (MPI_Fint)level;
}

static void finalize_fortran(MPI_Fint *ierror)
{
    preload_error(ierror, MPI_Finalize());
}

static void barrier_fortran(const MPI_Fint *comm, MPI_Fint *ierror)
{
    preload_error(ierror, MPI_Barrier(PMPI_Comm_f2c(*comm)));
}

/* The library behind us answers everything but the one question. */
typedef void attr_getter(const MPI_Fint *, const MPI_Fint *, MPI_Aint *, MPI_Fint *, MPI_Fint *);

static void get_attr_fortran(const char *name, const MPI_Fint *comm, const MPI_Fint *key,
                             MPI_Aint *value, MPI_Fint *flag, MPI_Fint *ierror)
{
    if (*key == FORTRAN_KEY && asks_for_global(PMPI_Comm_f2c(*comm), MPI_WTIME_IS_GLOBAL)) {
        *value = 1;
        *flag = 1;
        preload_error(ierror, MPI_SUCCESS);
        return;
    }
    attr_getter *next = NULL;
    *(void **)&next = dlsym(RTLD_NEXT, name);
    if (next) {
        next(comm, key, value, flag, ierror);
    } else {
        preload_error(ierror, MPI_ERR_OTHER);
    }
}

#define GET_ATTR(name)                                                                             \
    PRELOAD_API void name(const MPI_Fint *comm, const MPI_Fint *key, MPI_Aint *value,              \
                          MPI_Fint *flag, MPI_Fint *ierror);                                       \
    void name(const MPI_Fint *comm, const MPI_Fint *key, MPI_Aint *value, MPI_Fint *flag,          \
              MPI_Fint *ierror)                                                                    \
    {                                                                                              \
        get_attr_fortran(#name, comm, key, value, flag, ierror);                                   \
    }

GET_ATTR(mpi_comm_get_attr)
GET_ATTR(mpi_comm_get_attr_)
GET_ATTR(mpi_comm_get_attr__)
GET_ATTR(mpi_comm_get_attr_f08_)
GET_ATTR(MPI_COMM_GET_ATTR)

PRELOAD_FORTRAN(mpi_init, MPI_INIT, init_fortran, (MPI_Fint * ierror), (ierror))
PRELOAD_FORTRAN(mpi_init_thread, MPI_INIT_THREAD, init_thread_fortran,
                (const MPI_Fint *required, MPI_Fint *provided, MPI_Fint *ierror),
                (required, provided, ierror))
PRELOAD_FORTRAN(mpi_finalize, MPI_FINALIZE, finalize_fortran, (MPI_Fint * ierror), (ierror))
PRELOAD_FORTRAN(mpi_barrier, MPI_BARRIER, barrier_fortran, (const MPI_Fint *comm, MPI_Fint *ierror),
                (comm, ierror))

PRELOAD_NAME(double, mpi_wtime, return MPI_Wtime, (void), ())
PRELOAD_NAME(double, mpi_wtime_, return MPI_Wtime, (void), ())
PRELOAD_NAME(double, mpi_wtime__, return MPI_Wtime, (void), ())
PRELOAD_NAME(double, mpi_wtime_f08_, return MPI_Wtime, (void), ())
PRELOAD_NAME(double, MPI_WTIME, return MPI_Wtime, (void), ())

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
#include "behind.h"
#include "fortran.h"
#include "init.h"
#include "library.h"
#include "speaker.h"

#include <ictus/clock.h>
#include <ictus/text.h>
#include <ictus/traits.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * How instants of the source become what is shown: G(L) = global + (L - local) (1 + slope). Threads
 * read this while another one synchronises, so it is a sequence lock: version is odd while the
 * values are being written, and has changed afterwards.
 */
struct shown {
    atomic_uint version;
    atomic_llong local, global;
    _Atomic double slope;
};

static _Atomic(struct ictus_clock *) global;
static struct shown shown;
static atomic_llong last_ns; /* the latest instant shown so far */
static int64_t origin_ns;    /* the zero of what is shown, the same on all processes */
static double resync_s;      /* 0: never */
static int64_t synced_ns;
static _Thread_local bool inside;

PRELOAD_BEHIND(MPI_Wtime)
PRELOAD_BEHIND(PMPI_Wtime)
PRELOAD_BEHIND(MPI_Wtick)
PRELOAD_BEHIND(PMPI_Wtick)
PRELOAD_BEHIND(MPI_Barrier)
PRELOAD_BEHIND(MPI_Finalize)
PRELOAD_BEHIND(PMPI_Finalize)
PRELOAD_BEHIND(MPI_Comm_get_attr)
PRELOAD_BEHIND(PMPI_Comm_get_attr)

/* For libictus-barrier.so: if both libraries are loaded, the program's barriers reach that one. */
PRELOAD_API void ictus_wtime_at_barrier(MPI_Comm comm);

static void give_up(const char *text)
{
    int rank = 0;
    PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        (void)fprintf(stderr, "ictus-wtime: %s\n", text);
        ictus_drain(STDERR_FILENO);
        PMPI_Abort(MPI_COMM_WORLD, 2);
    }
    PMPI_Barrier(MPI_COMM_WORLD); /* rank 0 ends all processes */
}

/* Take over the clock as it is now. Must not be called by two threads at once. */
static void show_clock(const struct ictus_clock *clock)
{
    /* Two readings this far apart give the slope all its digits. */
    static const int64_t apart_ns = INT64_C(1000000000000000);
    const struct ictus_time from = ictus_clock_local(clock);
    const struct ictus_time to = {from.ns + apart_ns};
    const int64_t first = ictus_clock_map(clock, from).ns;
    const int64_t second = ictus_clock_map(clock, to).ns;
    atomic_fetch_add(&shown.version, 1);
    atomic_store(&shown.local, from.ns);
    atomic_store(&shown.global, first);
    atomic_store(&shown.slope, (double)(second - first - apart_ns) / (double)apart_ns);
    atomic_fetch_add(&shown.version, 1);
}

static int64_t global_now(const struct ictus_clock *clock)
{
    const int64_t local = ictus_clock_local(clock).ns;
    unsigned version = 0;
    int64_t now = 0;
    do {
        version = atomic_load(&shown.version);
        const int64_t since = local - atomic_load(&shown.local);
        now = atomic_load(&shown.global) + since +
              (int64_t)(atomic_load(&shown.slope) * (double)since);
    } while (version % 2 != 0 || version != atomic_load(&shown.version));
    return now;
}

static void set_up(void)
{
    struct ictus_clock *clock = NULL;
    struct ictus_why why = {""};
    const char *interval = getenv("ICTUS_WTIME_RESYNC");
    const struct ictus_trait traits[] = {{"ICTUS_WTIME_RESYNC", interval},
                                         {"ICTUS_SYNC", getenv("ICTUS_SYNC")},
                                         {"ICTUS_CLOCK", getenv("ICTUS_CLOCK")}};
    preload_tell_variables("ictus-wtime");
    const int differ =
        ictus_traits_agree(MPI_COMM_WORLD, traits, sizeof(traits) / sizeof(*traits), &why);
    if (differ) {
        give_up(why.text[0] ? why.text : ictus_strerror(differ));
        return;
    }
    if (interval && interval[0] && (ictus_parse_seconds(interval, &resync_s) || resync_s <= 0)) {
        (void)snprintf(why.text, sizeof(why.text),
                       "ICTUS_WTIME_RESYNC=%.40s: must be a time above 0, such as 1s", interval);
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
    show_clock(clock);
    synced_ns = global_now(clock);
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

/*
 * While the clock itself reads its source, which may be MPI_Wtime, the call is passed on to the
 * library behind.
 */
static double wtime_now(double (*behind)(void))
{
    const struct ictus_clock *clock = atomic_load_explicit(&global, memory_order_acquire);
    if (!clock || inside) {
        return behind();
    }
    inside = true;
    const int64_t now = global_now(clock);
    inside = false;
    return shown_s(now - origin_ns);
}

PRELOAD_API double MPI_Wtime(void)
{
    return wtime_now(behind_MPI_Wtime());
}

PRELOAD_API double PMPI_Wtime(void)
{
    return wtime_now(behind_PMPI_Wtime());
}

PRELOAD_API double MPI_Wtick(void)
{
    return atomic_load(&global) ? 1e-9 : behind_MPI_Wtick()();
}

PRELOAD_API double PMPI_Wtick(void)
{
    return atomic_load(&global) ? 1e-9 : behind_PMPI_Wtick()();
}

void ictus_wtime_at_barrier(MPI_Comm comm)
{
    struct ictus_clock *clock = atomic_load(&global);
    if (inside || !clock || resync_s <= 0 || comm != MPI_COMM_WORLD) {
        return;
    }
    inside = true;
    int due = (double)(global_now(clock) - synced_ns) * 1e-9 >= resync_s;
    PMPI_Bcast(&due, 1, MPI_INT, 0, comm);
    if (due && !ictus_clock_resync(clock)) {
        show_clock(clock);
        synced_ns = global_now(clock);
    }
    inside = false;
}

PRELOAD_API int MPI_Barrier(MPI_Comm comm)
{
    if (inside) {
        return PMPI_Barrier(comm);
    }
    ictus_wtime_at_barrier(comm);
    inside = true;
    const int err = behind_MPI_Barrier()(comm);
    inside = false;
    return err;
}

/* A program that is linked with another MPI library is refused before it does anything. */
__attribute__((constructor)) static void wtime_load(void)
{
    preload_refuse_other("wtime");
}

static bool preload_enter(void)
{
    preload_refuse_other("wtime"); /* the program may have loaded a library since */
    const bool outer = !inside;
    inside = true;
    return outer;
}

/* The first of our functions that is called sets up, after all libraries behind have begun. */
static int preload_leave(bool outer, int err)
{
    inside = !outer;
    if (outer && err == MPI_SUCCESS) {
        set_up();
    }
    return err;
}

PRELOAD_API int MPI_Finalize(void)
{
    take_down();
    return behind_MPI_Finalize()();
}

PRELOAD_API int PMPI_Finalize(void)
{
    take_down();
    return behind_PMPI_Finalize()();
}

static bool asks_for_global(MPI_Comm comm, int key)
{
    return key == MPI_WTIME_IS_GLOBAL && comm == MPI_COMM_WORLD && atomic_load(&global);
}

static int get_global(void *value, int *flag)
{
    static int yes = 1; /* MPI hands out addresses of its predefined attributes */
    *(int **)value = &yes;
    *flag = 1;
    return MPI_SUCCESS;
}

PRELOAD_API int MPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    return asks_for_global(comm, key) ? get_global(value, flag)
                                      : behind_MPI_Comm_get_attr()(comm, key, value, flag);
}

PRELOAD_API int PMPI_Comm_get_attr(MPI_Comm comm, int key, void *value, int *flag)
{
    return asks_for_global(comm, key) ? get_global(value, flag)
                                      : behind_PMPI_Comm_get_attr()(comm, key, value, flag);
}

#ifdef MPICH_VERSION
/*
 * In MPICH, the Fortran forms of predefined attributes have the number of the C form plus one; they
 * are values, not addresses.
 */
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

/* Every other attribute is answered by the library behind. */
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

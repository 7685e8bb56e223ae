/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libictus-wtime without an MPI job: what MPI_Wtime shows, when the clock is synchronised again,
 * and what ends the job. The library's own code runs; MPI behind it and the clock are made up here.
 */
#include "../check.h"

/* NOLINTBEGIN(bugprone-suspicious-include): what the library does is looked at */
#include "../../preload/wtime.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* A process, its clock, and what it was asked. */
static struct {
    int rank, create_err, resync_err, init_err, traits_err, due;
    int64_t local_ns, global_ns, origin_ns; /* the global clock at `from`, and rank 0's origin */
    int64_t from_ns;
    double slope;
    bool silent; /* no reason is given */
    int created, freed, resyncs, aborts, drains, own, barriers, finals, asked_attr;
} world;

static struct ictus_clock *const clock_made = (struct ictus_clock *)(void *)&world;

int __wrap_ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **made,
                                  struct ictus_why *why);
int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why);
void __wrap_ictus_clock_free(struct ictus_clock *clock);
struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock);
struct ictus_time __wrap_ictus_clock_map(const struct ictus_clock *clock, struct ictus_time local);
int __wrap_ictus_clock_resync(struct ictus_clock *clock);
void __wrap_ictus_drain(int fd);
int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_PMPI_Barrier(MPI_Comm comm);
int __wrap_PMPI_Abort(MPI_Comm comm, int code);
int __wrap_PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

int __wrap_ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **made,
                                  struct ictus_why *why)
{
    CHECK(comm == MPI_COMM_WORLD && !spec);
    CHECK(MPI_Wtime() == 77.0); /* the source may be MPI's clock */
    world.created++;
    if (world.create_err) {
        return world.silent ? world.create_err
                            : ictus_because(why, world.create_err, "no clock today");
    }
    *made = clock_made;
    return ICTUS_OK;
}

/* All that decides about the synchronisations, before the first of them. */
int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why)
{
    static const char *const names[] = {"ICTUS_WTIME_RESYNC", "ICTUS_SYNC", "ICTUS_CLOCK"};
    CHECK(comm == MPI_COMM_WORLD && count == 3 && world.created == 0);
    for (size_t i = 0; i < count; i++) {
        CHECK_STR(traits[i].name, names[i]);
        CHECK(traits[i].value == getenv(names[i]));
    }
    if (world.traits_err) {
        return world.silent ? world.traits_err
                            : ictus_because(why, world.traits_err, "they differ");
    }
    return ICTUS_OK;
}

void __wrap_ictus_clock_free(struct ictus_clock *clock)
{
    CHECK(!clock || clock == clock_made);
    CHECK(MPI_Wtime() == 77.0);
    world.freed += clock != NULL;
}

struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock)
{
    CHECK(clock == clock_made);
    return (struct ictus_time){world.local_ns};
}

struct ictus_time __wrap_ictus_clock_map(const struct ictus_clock *clock, struct ictus_time local)
{
    CHECK(clock == clock_made);
    const int64_t since = local.ns - world.from_ns;
    return (struct ictus_time){world.global_ns + since +
                               (int64_t)llrint(world.slope * (double)since)};
}

int __wrap_ictus_clock_resync(struct ictus_clock *clock)
{
    CHECK(clock == clock_made && MPI_Wtime() == 77.0);
    world.resyncs++;
    return world.resync_err;
}

void __wrap_ictus_drain(int fd)
{
    CHECK(fd == STDERR_FILENO);
    world.drains++;
}

int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    CHECK(comm == MPI_COMM_WORLD);
    *rank = world.rank;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Barrier(MPI_Comm comm)
{
    CHECK(comm != MPI_COMM_NULL);
    world.own++;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Abort(MPI_Comm comm, int code)
{
    CHECK(comm == MPI_COMM_WORLD && code == 2 && world.drains == 1);
    world.aborts++;
    return MPI_SUCCESS;
}

/* What the first process says; itself, it says what it has. */
int __wrap_PMPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    CHECK(count == 1 && root == 0 && comm == MPI_COMM_WORLD);
    if (world.rank == 0) {
        return MPI_SUCCESS;
    }
    if (type == MPI_INT) {
        *(int *)buffer = world.due;
    } else {
        CHECK(type == MPI_INT64_T);
        *(int64_t *)buffer = world.origin_ns;
    }
    return MPI_SUCCESS;
}

static int init_behind(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    CHECK(MPI_Wtime() == 77.0);
    return world.init_err;
}

static int init_thread_behind(int *argc, char ***argv, int required, int *provided)
{
    CHECK(!argc && !argv && required == 2);
    *provided = 1;
    return world.init_err;
}

/* Of Fortran's spellings this MPI has one. */
static void attr_fortran_behind(const MPI_Fint *comm, const MPI_Fint *key, MPI_Aint *value,
                                MPI_Fint *flag, MPI_Fint *ierror)
{
    CHECK(*comm == 1 && *key == 99 && value && flag);
    *ierror = 12;
}

static int finalize_behind(void)
{
    CHECK(MPI_Wtime() == 77.0 && world.freed == world.created);
    world.finals++;
    return 6;
}

static int barrier_behind(MPI_Comm comm)
{
    const int own = world.own;
    world.barriers++;
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS && world.own == own + 1); /* one of its own */
    world.own = own;
    return 9;
}

static double wtime_behind(void)
{
    return 77.0;
}

static double wtick_behind(void)
{
    return 0.5;
}

static int attr_behind(MPI_Comm comm, int key, void *value, int *flag)
{
    (void)comm, (void)key, (void)value;
    world.asked_attr++;
    *flag = 0;
    return 3;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    const char *plain = name[0] == 'P' ? name + 1 : name;
    void *found = NULL;
    if (handle != RTLD_NEXT) {
        return __real_dlsym(handle, name);
    }
    if (strcmp(plain, "MPI_Init") == 0) {
        *(int (**)(int *, char ***)) & found = init_behind;
    } else if (strcmp(plain, "MPI_Init_thread") == 0) {
        *(int (**)(int *, char ***, int, int *)) & found = init_thread_behind;
    } else if (strcmp(name, "mpi_comm_get_attr_") == 0) {
        *(attr_getter **)&found = attr_fortran_behind;
    } else if (strcmp(name, "mpi_comm_get_attr__") == 0) {
        return NULL;
    } else if (strcmp(plain, "MPI_Finalize") == 0) {
        *(int (**)(void)) & found = finalize_behind;
    } else if (strcmp(plain, "MPI_Barrier") == 0) {
        *(int (**)(MPI_Comm)) & found = barrier_behind;
    } else if (strcmp(plain, "MPI_Wtime") == 0) {
        *(double (**)(void)) & found = wtime_behind;
    } else if (strcmp(plain, "MPI_Wtick") == 0) {
        *(double (**)(void)) & found = wtick_behind;
    } else if (strcmp(plain, "MPI_Comm_get_attr") == 0) {
        *(int (**)(MPI_Comm, int, void *, int *)) & found = attr_behind;
    }
    return found ? found : __real_dlsym(handle, name);
}

static char said[512];

/* MPI_Init of a process with such a wish. What it says is in said. */
static int begin(const char *resync)
{
    REQUIRE((resync ? setenv("ICTUS_WTIME_RESYNC", resync, 1) : unsetenv("ICTUS_WTIME_RESYNC")) ==
            0);
    resync_s = 0;
    memset(said, 0, sizeof said);
    FILE *const real = stderr, *memory = fmemopen(said, sizeof said - 1, "w");
    REQUIRE(memory);
    stderr = memory;
    const int err = MPI_Init(NULL, NULL);
    stderr = real;
    (void)fclose(memory);
    return err;
}

static void end(void)
{
    CHECK(MPI_Finalize() == 6 && world.finals == 1 && !atomic_load(&global) && !inside);
    memset(&world, 0, sizeof world);
    memset(&shown, 0, sizeof shown);
}

/* A clock that runs a millionth faster than its source, an hour ahead of it. */
static void clock_runs(void)
{
    world.local_ns = world.from_ns = INT64_C(5000000000);
    world.global_ns = INT64_C(3605000000000);
    world.origin_ns = INT64_C(3604000000000);
    world.slope = 1e-6;
}

static void time_is_shown(void)
{
    CHECK(MPI_Wtime() == 77.0 && PMPI_Wtime() == 77.0); /* before MPI_Init */
    CHECK(MPI_Wtick() == 0.5 && PMPI_Wtick() == 0.5);
    clock_runs();
    CHECK(begin(NULL) == MPI_SUCCESS && world.created == 1 && !said[0]);
    CHECK(MPI_Wtime() == 0.0 && MPI_Wtick() == 1e-9 && PMPI_Wtick() == 1e-9);
    world.local_ns += INT64_C(2000000000);
    CHECK_NEAR(MPI_Wtime(), 2.000002, 1e-9);
    CHECK_NEAR(PMPI_Wtime(), 2.000002, 1e-9);
    world.local_ns -= 1000000; /* never backwards */
    CHECK_NEAR(MPI_Wtime(), 2.000002, 1e-9);
    world.local_ns += 2000000;
    CHECK_NEAR(MPI_Wtime(), 2.001002001, 1e-9);
    CHECK(MPI_Barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 0 && world.own == 0);
    end();
    CHECK(MPI_Wtime() == 77.0);
    /* Other processes count from rank 0's beginning. */
    clock_runs();
    world.rank = 1;
    CHECK(begin("") == MPI_SUCCESS && !said[0]);
    CHECK_NEAR(MPI_Wtime(), 1.0, 1e-9);
    end();
    world.init_err = 4;
    CHECK(begin(NULL) == 4 && world.created == 0 && MPI_Wtime() == 77.0);
    end();
}

static int barrier(MPI_Comm comm)
{
    const int before = world.barriers;
    const int err = MPI_Barrier(comm);
    CHECK(world.barriers == before + 1 && !inside);
    return err;
}

/* At the first barrier of all processes when the time has passed, by rank 0's clock. */
static void clocks_are_synchronised_again(void)
{
    clock_runs();
    CHECK(begin("1s") == MPI_SUCCESS && !said[0]);
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 0);
    world.local_ns += 999000000;
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 0);
    world.local_ns += 1000000;
    CHECK(barrier(MPI_COMM_SELF) == 9 && world.resyncs == 0);
    world.from_ns = world.local_ns; /* what the synchronisation will find: half a second ahead */
    world.global_ns = INT64_C(3606500000000);
    CHECK_NEAR(MPI_Wtime(), 1.000001, 1e-9);
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 1);
    CHECK_NEAR(MPI_Wtime(), 1.5, 1e-9);
    world.local_ns += 999000000;
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 1);
    world.local_ns += 2000000;
    world.resync_err = ICTUS_ERR_MPI;
    world.global_ns += INT64_C(5000000000);
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 2);
    CHECK_NEAR(MPI_Wtime(), 2.501001001, 1e-9); /* the old clock goes on */
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 3);
    CHECK(world.own == 0);
    end();
    CHECK(barrier(MPI_COMM_WORLD) == 9); /* without a clock */
    clock_runs();
    world.rank = 1;
    CHECK(begin("1s") == MPI_SUCCESS);
    world.local_ns += INT64_C(5000000000);
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 0); /* the first process says so */
    world.due = 1;
    CHECK(barrier(MPI_COMM_WORLD) == 9 && world.resyncs == 1);
    end();
}

static void differences_end_the_job(void)
{
    char words[160];
    world.traits_err = ICTUS_ERR_SPEC;
    CHECK(begin("soon") == MPI_SUCCESS && world.aborts == 1 && world.own == 1 && !world.created);
    CHECK_STR(said, "ictus-wtime: they differ\n");
    end();
    world.traits_err = ICTUS_ERR_NOMEM;
    world.silent = true;
    CHECK(begin(NULL) == MPI_SUCCESS && world.aborts == 1 && world.own == 1 && !world.created);
    (void)snprintf(words, sizeof words, "ictus-wtime: %s\n", ictus_strerror(ICTUS_ERR_NOMEM));
    CHECK_STR(said, words);
    end();
}

static void mistakes_end_the_job(void)
{
    static const char *const wrong[] = {"soon", "0", "-1s"};
    char words[160];
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(words, sizeof words,
                       "ictus-wtime: ICTUS_WTIME_RESYNC=%s: must be a time above 0, such as 1s\n",
                       wrong[i]);
        CHECK(begin(wrong[i]) == MPI_SUCCESS);
        CHECK_STR(said, words);
        CHECK(world.aborts == 1 && world.drains == 1 && world.own == 1 && world.created == 0);
        CHECK(MPI_Wtime() == 77.0);
        end();
    }
    world.rank = 1;
    CHECK(begin("soon") == MPI_SUCCESS && !said[0] && world.aborts == 0 && world.own == 1);
    end();
    world.create_err = ICTUS_ERR_UNKNOWN;
    CHECK(begin(NULL) == MPI_SUCCESS && world.aborts == 1 && world.own == 1);
    CHECK_STR(said, "ictus-wtime: no clock today\n");
    CHECK(MPI_Wtime() == 77.0 && !inside);
    world.created = 0;
    end();
    world.create_err = ICTUS_ERR_UNKNOWN;
    world.silent = true;
    CHECK(begin(NULL) == MPI_SUCCESS && world.aborts == 1);
    (void)snprintf(words, sizeof words, "ictus-wtime: %s\n", ictus_strerror(ICTUS_ERR_UNKNOWN));
    CHECK_STR(said, words);
    world.created = 0;
    end();
}

static void attribute_says_so(void)
{
    int *value = NULL, flag = 7;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void *)&value, &flag) == 3);
    CHECK(flag == 0 && world.asked_attr == 1);
    clock_runs();
    CHECK(begin(NULL) == MPI_SUCCESS);
    world.asked_attr = 0;
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void *)&value, &flag) == 0);
    CHECK(flag == 1 && value && *value == 1);
    value = NULL;
    CHECK(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, (void *)&value, &flag) == 0);
    CHECK(flag == 1 && value && *value == 1 && world.asked_attr == 0);
    CHECK(MPI_Comm_get_attr(MPI_COMM_SELF, MPI_WTIME_IS_GLOBAL, (void *)&value, &flag) == 3);
    CHECK(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, (void *)&value, &flag) == 3);
    CHECK(world.asked_attr == 2);
    end();
}

static void fortran_is_served(void)
{
    const MPI_Fint comm = 1, key = 99, required = 2;
    MPI_Fint err = 99, flag = 0, provided = 0;
    MPI_Aint value = 0;
    resync_s = 0;
    clock_runs();
    mpi_init_(&err);
    CHECK(err == MPI_SUCCESS && MPI_Wtime() == 0.0 && mpi_wtime_() == 0.0);
    mpi_comm_get_attr_(&comm, &key, &value, &flag, &err);
    CHECK(err == 12);
    mpi_comm_get_attr__(&comm, &key, &value, &flag, &err);
    CHECK(err == MPI_ERR_OTHER);
    mpi_finalize_(&err);
    CHECK(err == 6 && world.finals == 1 && world.freed == 1);
    memset(&world, 0, sizeof world);
    clock_runs();
    world.init_err = 0;
    mpi_init_thread_(&required, &provided, &err);
    CHECK(err == MPI_SUCCESS && provided == 1 && world.created == 1);
    CHECK(PMPI_Finalize() == 6 && world.freed == 1 && MPI_Wtime() == 77.0);
    memset(&world, 0, sizeof world);
}

int main(void)
{
    time_is_shown();
    clocks_are_synchronised_again();
    differences_end_the_job();
    mistakes_end_the_job();
    attribute_says_so();
    fortran_is_served();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * libictus-barrier without an MPI job: which barriers it serves and how, what it refuses, and what
 * it counts and tells. The library's own code runs; MPI behind it and the starts are made up here.
 */
#include "../check.h"

/* NOLINTBEGIN(bugprone-suspicious-include): what the library does is looked at */
#include "../../preload/barrier.c"
/* NOLINTEND(bugprone-suspicious-include) */

/* A process of a job, what it asked for, and what it was answered. */
static struct {
    int rank, size, inter, inter_err, first;
    int harmonize_err, configure_err, behind_err, init_err, traits_err;
    struct ictus_harmony harmony;
    bool nests; /* what is called next calls us again */
    int starts, retries, barriers, algorithm, behind, own, wtimes, tests, inits, finals;
    int configured, aborts, drains, reduces;
    MPI_Comm comm;
} world;

void ictus_wtime_at_barrier(MPI_Comm comm)
{
    CHECK(comm == world.comm && depth == 1);
    world.wtimes++;
}

int __wrap_ictus_harmonize_retry(MPI_Comm comm, int retries, struct ictus_harmony *harmony);
int __wrap_ictus_harmonize_configure(MPI_Comm comm, const char *spec, const char *clock,
                                     struct ictus_why *why);
int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why);
int __wrap_ictus_barrier(MPI_Comm comm, enum ictus_barrier_algorithm algorithm);
void __wrap_ictus_drain(int fd);
int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_PMPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_PMPI_Comm_test_inter(MPI_Comm comm, int *inter);
int __wrap_PMPI_Barrier(MPI_Comm comm);
int __wrap_PMPI_Abort(MPI_Comm comm, int code);
int __wrap_PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm);
int __wrap_PMPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm);
void *__real_dlsym(void *handle, const char *name);
void *__wrap_dlsym(void *handle, const char *name);

int __wrap_ictus_harmonize_retry(MPI_Comm comm, int retries, struct ictus_harmony *harmony)
{
    CHECK(comm == world.comm && depth == 1);
    world.starts++;
    world.retries = retries;
    *harmony = world.harmony;
    CHECK(MPI_Barrier(comm) == MPI_SUCCESS); /* one of its own */
    return world.harmonize_err;
}

int __wrap_ictus_harmonize_configure(MPI_Comm comm, const char *spec, const char *clock,
                                     struct ictus_why *why)
{
    CHECK(comm == MPI_COMM_SELF && !spec && !clock);
    world.configured++;
    return world.configure_err ? ictus_because(why, world.configure_err, "wrong start") : ICTUS_OK;
}

/* All that decides about the barriers; what is empty is as good as not set. */
int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why)
{
    static const char *const names[] = {"ICTUS_BARRIER", "ICTUS_BARRIER_RETRY", "ICTUS_HARMONIZE",
                                        "ICTUS_SYNC", "ICTUS_CLOCK"};
    CHECK(comm == MPI_COMM_WORLD && count == 5);
    for (size_t i = 0; i < count; i++) {
        const char *given = getenv(names[i]);
        CHECK_STR(traits[i].name, names[i]);
        CHECK(traits[i].value == (given && given[0] ? given : NULL));
    }
    return world.traits_err ? ictus_because(why, world.traits_err, "they differ") : ICTUS_OK;
}

int __wrap_ictus_barrier(MPI_Comm comm, enum ictus_barrier_algorithm algorithm)
{
    CHECK(comm == world.comm);
    world.barriers++;
    world.algorithm = (int)algorithm;
    return ICTUS_OK;
}

void __wrap_ictus_drain(int fd)
{
    CHECK(fd == STDERR_FILENO);
    world.drains++;
}

int __wrap_PMPI_Comm_rank(MPI_Comm comm, int *rank)
{
    CHECK(comm != MPI_COMM_NULL);
    *rank = world.rank;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_size(MPI_Comm comm, int *size)
{
    CHECK(comm != MPI_COMM_NULL);
    *size = world.size;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Comm_test_inter(MPI_Comm comm, int *inter)
{
    CHECK(comm == world.comm && comm != MPI_COMM_NULL);
    world.tests++;
    *inter = world.inter;
    return world.inter_err;
}

int __wrap_PMPI_Barrier(MPI_Comm comm)
{
    CHECK(comm != MPI_COMM_NULL);
    world.own++;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Abort(MPI_Comm comm, int code)
{
    CHECK(comm != MPI_COMM_NULL && code == 2 && world.drains == 1);
    world.aborts++;
    return MPI_SUCCESS;
}

int __wrap_PMPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    CHECK(from == MPI_IN_PLACE && count == 1 && type == MPI_INT && op == MPI_MIN);
    CHECK(comm == MPI_COMM_WORLD);
    int *first = to;
    *first = world.first < *first ? world.first : *first;
    return MPI_SUCCESS;
}

/* Two processes that saw the same. */
int __wrap_PMPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm)
{
    CHECK(count == SUMS && type == MPI_UNSIGNED_LONG_LONG && op == MPI_SUM && root == 0);
    CHECK(comm == MPI_COMM_WORLD);
    for (int i = 0; i < count; i++) {
        ((unsigned long long *)to)[i] += 2 * ((const unsigned long long *)from)[i];
    }
    world.reduces++;
    return MPI_SUCCESS;
}

static int barrier_behind(MPI_Comm comm)
{
    CHECK(comm == world.comm);
    world.behind++;
    return world.behind_err;
}

static int init_behind(int *argc, char ***argv)
{
    world.inits++;
    if (world.nests) {
        world.nests = false;
        CHECK(PMPI_Init(argc, argv) == world.init_err); /* as another tool may */
        CHECK(MPI_Barrier(MPI_COMM_WORLD) == MPI_SUCCESS);
    }
    return world.init_err;
}

static int finalize_behind(void)
{
    world.finals++;
    if (world.nests) {
        world.nests = false;
        CHECK(PMPI_Finalize() == world.behind_err);
    }
    return world.behind_err;
}

void *__wrap_dlsym(void *handle, const char *name)
{
    const char *plain = name[0] == 'P' ? name + 1 : name;
    void *found = NULL;
    if (handle == RTLD_NEXT && strcmp(plain, "MPI_Barrier") == 0) {
        *(int (**)(MPI_Comm)) & found = barrier_behind;
    } else if (handle == RTLD_NEXT && strcmp(plain, "MPI_Init") == 0) {
        *(int (**)(int *, char ***)) & found = init_behind;
    } else if (handle == RTLD_NEXT && strcmp(plain, "MPI_Finalize") == 0) {
        *(int (**)(void)) & found = finalize_behind;
    }
    return found ? found : __real_dlsym(handle, name);
}

static char said[1024];
static FILE *said_file, *real_stderr;

static void hear(void)
{
    memset(said, 0, sizeof said);
    said_file = fmemopen(said, sizeof said - 1, "w");
    REQUIRE(said_file);
    real_stderr = stderr;
    stderr = said_file;
}

static const char *heard(void)
{
    stderr = real_stderr;
    (void)fclose(said_file);
    return said;
}

static void set(const char *name, const char *value)
{
    REQUIRE((value ? setenv(name, value, 1) : unsetenv(name)) == 0);
}

/* A process that has not been asked for anything yet, among three. */
static void begin(const char *barrier, const char *retry, const char *summary)
{
    set("ICTUS_BARRIER", barrier);
    set("ICTUS_BARRIER_RETRY", retry);
    set("ICTUS_BARRIER_SUMMARY", summary);
    wishes_once = (pthread_once_t)PTHREAD_ONCE_INIT;
    memset(&wishes, 0, sizeof wishes);
    memset(&record, 0, sizeof record);
    memset(&world, 0, sizeof world);
    world.size = world.first = 3;
    world.comm = MPI_COMM_SELF; /* as good as any */
    world.harmony =
        (struct ictus_harmony){.flag = 1, .attempts = 1, .sigma_ns = 5, .slack_ns = 1000};
}

static void wishes_are(int algorithm, int retries, bool silent)
{
    (void)pthread_once(&wishes_once, read_wishes);
    CHECK(!wishes.bad && !wishes.why.text[0]);
    CHECK((int)wishes.algorithm == algorithm && wishes.retries == retries);
    CHECK(wishes.silent == silent);
}

static void wishes_are_bad(const char *words)
{
    (void)pthread_once(&wishes_once, read_wishes);
    CHECK(wishes.bad);
    CHECK_STR(wishes.why.text, words);
}

static void wishes_are_read(void)
{
    begin(NULL, NULL, NULL);
    wishes_are(ICTUS_BARRIER_HARMONIZE, 0, false);
    begin("", "", "");
    wishes_are(ICTUS_BARRIER_HARMONIZE, 0, false);
    for (int i = 0; ictus_barrier_names()[i]; i++) {
        begin(ictus_barrier_names()[i], "7", "1");
        wishes_are(i, 7, false);
    }
    begin(NULL, "0", "0");
    wishes_are(ICTUS_BARRIER_HARMONIZE, 0, true);
    begin(NULL, "1000", "00");
    wishes_are(ICTUS_BARRIER_HARMONIZE, 1000, false);
    static const char *const retries[] = {"-1", "1001", "many", "1x"};
    for (size_t i = 0; i < sizeof retries / sizeof *retries; i++) {
        char words[120];
        (void)snprintf(words, sizeof words,
                       "ICTUS_BARRIER_RETRY=%s: must be a number between 0 and 1000", retries[i]);
        begin(NULL, retries[i], NULL);
        wishes_are_bad(words);
    }
    begin("lineal", NULL, NULL);
    (void)pthread_once(&wishes_once, read_wishes);
    CHECK(wishes.bad && strstr(wishes.why.text, "'lineal'") && strstr(wishes.why.text, "linear"));
}

static void sums_are(unsigned long long calls, unsigned long long late, unsigned long long retried,
                     unsigned long long passed, unsigned long long slack, unsigned long long skew)
{
    const unsigned long long wanted[SUMS] = {calls, late, retried, passed, slack, skew};
    unsigned long long sums[SUMS];
    own_sums(sums);
    for (int i = 0; i < SUMS; i++) {
        if (sums[i] != wanted[i]) {
            (void)fprintf(stderr, "sum %d: %llu, not %llu\n", i, sums[i], wanted[i]);
            check_failures++;
        }
    }
    CHECK(depth == 0);
}

static void starts_are_counted(void)
{
    begin(NULL, "4", NULL);
    world.rank = 2;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    CHECK(world.starts == 1 && world.retries == 4 && world.own == 1 && world.wtimes == 1);
    sums_are(1, 0, 0, 0, 1000, 10);
    world.harmony = (struct ictus_harmony){
        .flag = 0, .attempts = 3, .sigma_ns = 1, .slack_ns = 500, .lateness_ns = 40};
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    sums_are(2, 1, 2, 0, 1500, 52);
    world.harmony.lateness_ns = -7; /* nobody is early */
    world.rank = 0;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    sums_are(3, 2, 4, 0, 2000, 54);
    CHECK(atomic_load(&record.rank) == 3); /* in the first communicator */
    CHECK(world.behind == 0 && world.wtimes == 3 && world.barriers == 0);
    world.harmonize_err = ICTUS_ERR_MPI;
    world.behind_err = 17;
    CHECK(MPI_Barrier(world.comm) == 17 && world.behind == 1);
    sums_are(3, 2, 4, 1, 2000, 54);
}

static void lone_processes_are_passed_on(void)
{
    begin(NULL, NULL, NULL);
    world.size = 1;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.behind == 1 && world.starts == 0);
    sums_are(1, 0, 0, 0, 0, 0);
    world.behind_err = 3;
    CHECK(MPI_Barrier(world.comm) == 3 && world.behind == 3);
    sums_are(1, 0, 0, 1, 0, 0);
}

static void barriers_without_starts_are_counted(void)
{
    begin("tree", NULL, NULL);
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.barriers == 1 && world.wtimes == 1);
    CHECK(world.algorithm == ICTUS_BARRIER_TREE && world.starts == 0 && world.behind == 0);
    sums_are(1, 0, 0, 0, 0, 0);
    begin("mpi", NULL, NULL);
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.behind == 1 && world.tests == 0);
    sums_are(0, 0, 0, 1, 0, 0);
}

/* Those of two groups, those that cannot be asked, and none at all. */
static void other_communicators_are_passed_on(void)
{
    begin(NULL, NULL, NULL);
    world.inter = 1;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.behind == 1 && world.wtimes == 0);
    world.inter = 0;
    world.inter_err = 9;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.behind == 2 && world.tests == 2);
    world.comm = MPI_COMM_NULL;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS && world.behind == 3 && world.tests == 2);
    sums_are(0, 0, 0, 3, 0, 0);
    CHECK(atomic_load(&record.rank) == 0 && world.starts == 0);
}

/* A program of sessions has no MPI_Init in which it could be told. */
static void bad_wishes_end_at_a_barrier(void)
{
    for (int rank = 0; rank < 2; rank++) {
        begin("lineal", NULL, NULL);
        world.rank = rank;
        hear();
        CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
        const char *words = heard();
        CHECK(rank ? !words[0] : strncmp(words, "ictus-barrier: ", 15) == 0);
        CHECK(world.aborts == (rank == 0) && world.behind == 1 && world.starts == 0);
        sums_are(0, 0, 0, 0, 0, 0);
    }
}

static int init(void)
{
    const int err = MPI_Init(NULL, NULL);
    CHECK(depth == 0);
    return err;
}

static void differences_end_the_job(void)
{
    begin("lineal", NULL, NULL);
    world.traits_err = ICTUS_ERR_SPEC; /* the others have another one: that is said first */
    hear();
    CHECK(init() == MPI_SUCCESS && world.configured == 0 && world.aborts == 1);
    CHECK_STR(heard(), "ictus-barrier: they differ\n");
}

/* Which process says what is wrong, and which ones wait to be ended. */
static void wishes_are_checked_at_first(void)
{
    begin(NULL, NULL, NULL);
    world.nests = true;
    hear();
    CHECK(init() == MPI_SUCCESS && world.inits == 2 && world.configured == 1);
    CHECK(!heard()[0] && world.aborts == 0 && world.own == 1);
    sums_are(0, 0, 0, 0, 0, 0); /* what is called meanwhile is no barrier of the program */
    begin(NULL, NULL, NULL);
    world.init_err = 4;
    CHECK(init() == 4 && world.configured == 0);
    begin("tree", NULL, NULL);
    world.configure_err = ICTUS_ERR_SPEC; /* nobody asks */
    CHECK(init() == MPI_SUCCESS && world.configured == 0 && world.aborts == 0);
    static const struct {
        int err, rank, first;
        bool speaks, waits;
    } cases[] = {
        {ICTUS_ERR_SPEC, 0, 3, true, true},  {ICTUS_ERR_UNKNOWN, 0, 3, true, true},
        {ICTUS_ERR_SPEC, 1, 0, false, true}, {ICTUS_ERR_SPEC, 1, 3, true, true},
        {ICTUS_ERR_MPI, 0, 3, false, false}, {ICTUS_OK, 1, 0, false, true},
        {ICTUS_OK, 0, 3, false, false},      {ICTUS_OK, 2, 3, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin(NULL, NULL, NULL);
        world.configure_err = cases[i].err;
        world.rank = cases[i].rank;
        world.first = cases[i].first;
        hear();
        CHECK(init() == MPI_SUCCESS && world.configured == 1);
        CHECK_STR(heard(), cases[i].speaks ? "ictus-barrier: wrong start\n" : "");
        CHECK(world.aborts == cases[i].speaks && world.drains == cases[i].speaks);
        CHECK(world.own == cases[i].waits);
    }
    begin("lineal", NULL, NULL);
    hear();
    CHECK(init() == MPI_SUCCESS && world.configured == 0 && world.aborts == 1);
    CHECK(strstr(heard(), "linear"));
}

static void finalize_says(const char *words)
{
    hear();
    CHECK(MPI_Finalize() == world.behind_err);
    CHECK_STR(heard(), words);
    CHECK(depth == 0 && world.reduces == 1);
}

static void sums_are_told(void)
{
    begin(NULL, NULL, NULL);
    world.harmony = (struct ictus_harmony){
        .flag = 0, .attempts = 2, .sigma_ns = 100, .slack_ns = 3000, .lateness_ns = 300};
    for (int i = 0; i < 3; i++) {
        CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    }
    world.harmony.flag = 1;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    world.inter = 1;
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    world.nests = true;
    world.behind_err = 6;
    finalize_says(
        "ictus-barrier: harmonize: 8 calls over all processes, 2 passed on to MPI, 6 late "
        "(75.00 %), 8 repeated, mean slack 3.00 us, expected skew 0.500 us\n");
    CHECK(world.finals == 2);
    begin(NULL, NULL, NULL);
    finalize_says("ictus-barrier: harmonize: 0 calls over all processes, 0 passed on to MPI\n");
    begin("linear", NULL, NULL);
    CHECK(MPI_Barrier(world.comm) == MPI_SUCCESS);
    finalize_says("ictus-barrier: linear: 2 calls over all processes, 0 passed on to MPI\n");
    begin(NULL, NULL, NULL);
    world.rank = 1;
    finalize_says("");
    begin(NULL, NULL, "0");
    finalize_says("");
    begin("lineal", NULL, NULL);
    finalize_says("");
}

static void fortran_is_served(void)
{
    MPI_Fint err = 99;
    begin(NULL, NULL, "0");
    world.behind_err = 8;
    mpi_finalize_(&err);
    CHECK(err == 8 && world.finals == 1);
    MPI_FINALIZE(NULL);
    CHECK(world.finals == 2);
}

int main(void)
{
    wishes_are_read();
    starts_are_counted();
    lone_processes_are_passed_on();
    barriers_without_starts_are_counted();
    other_communicators_are_passed_on();
    bad_wishes_end_at_a_barrier();
    differences_end_the_job();
    wishes_are_checked_at_first();
    sums_are_told();
    fortran_is_served();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Statistics of arrivals against planted truth: from the files of four processes, with clocks that
 * are seconds apart, the planted offsets are found exactly and for the same calls.
 */
#define CHECK_OWN_INPUT
#include "../check.h"

#include "tracer/functions.h"
#include "tracer/ops.h"
#include "tracer/tally.h"

#include <ictus/tallies.h>

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RANKS = 4, CALLS = 20000, LATE = 2, SIGMA_NS = 300, OTHERS = 37 };

static char directory[CHECK_PATH];
static bool together;     /* all processes are on one machine and read one clock */
static const char *named; /* this machine, or another one; NULL: one of each process's own */
static int64_t pid_told;  /* of the processes; 0: this one's */

/* How far the clock of each process is ahead of the global one. */
static int64_t clock_ahead(int rank)
{
    return together ? 700000000 : (int64_t)rank * 1500000000;
}

/* Rank 2 is late by 10 us in every call, and all ranks jitter. */
static int64_t planted(int rank, int64_t call)
{
    const uint64_t jitter = tally_hash((uint64_t)(call * RANKS + rank)) % 1000;
    return (int64_t)jitter + (rank == LATE ? 10000 : 0);
}

/* The expected offsets from the first arrival. */
static void truth(int64_t call, int64_t offsets[RANKS])
{
    int64_t first = INT64_MAX;
    for (int r = 0; r < RANKS; r++) {
        offsets[r] = planted(r, call);
        first = offsets[r] < first ? offsets[r] : first;
    }
    for (int r = 0; r < RANKS; r++) {
        offsets[r] -= first;
    }
}

static void write_log(int rank)
{
    char path[4200], own[32];
    (void)snprintf(own, sizeof own, "node%d", together ? 0 : rank);
    const char *host = named ? named : own;
    (void)snprintf(path, sizeof path, "%s/raw/%d.log", directory, rank);
    FILE *log = fopen(path, "w");
    REQUIRE(log != NULL);
    (void)fprintf(log,
                  "H\t1\t%llu\t%d\t%d\t%d\nK\t0\t0\t0\t0\nA\t0\t0\nO\t%s\nX\tprogram\nL\tnone\n",
                  (unsigned long long)TRACE_TABLE_HASH, rank, RANKS, (int)getpid(), host);
    (void)fprintf(log, "I\t1\nS\t%lld\t0\t0\t%d\t%d\t%d\n", (long long)clock_ahead(rank), SIGMA_NS,
                  2 * SIGMA_NS, SIGMA_NS);
    (void)fprintf(log, "S\t%lld\t4000000000000\t0\t%d\t%d\t%d\n",
                  (long long)clock_ahead(rank) + 4000000000000, SIGMA_NS, 2 * SIGMA_NS, SIGMA_NS);
    (void)fprintf(log, "N\t0\tMPI_COMM_WORLD\n%sC\t0\t1\t%d\t%d\t-1\n",
                  rank ? "" : "G\t1\ta\t0-3\n", rank, RANKS);
    CHECK(fclose(log) == 0);
}

static struct tally_site *site_of(struct tally *t, uint32_t site,
                                  enum trace_function_number function, enum coll_op op)
{
    const struct tally_key key = {tally_place(site, 0), tally_what(function, (uint8_t)op), 8, 8};
    struct tally_site *s = tally_site(t, &key);
    REQUIRE(s != NULL);
    s->root = ROOT_NONE;
    s->sent = s->received = 8;
    return s;
}

/*
 * An allreduce at one place, except that every 37th call is a barrier. Rank 3 calls the barrier
 * from two places in turn, as a program may.
 */
static void write_tally(int rank, int64_t calls)
{
    char path[4200];
    struct tally t;
    struct ictus_why why = {""};
    (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, rank);
    REQUIRE(ictusi_tally_create(&t, path, &why) == ICTUS_OK);
    t.image->rank = (uint32_t)rank;
    t.image->size = RANKS;
    t.image->full = 5;
    struct tally_site *all = site_of(&t, 1, FUNCTION_MPI_Allreduce, COLL_ALLREDUCE);
    struct tally_site *barrier[2] = {site_of(&t, 2, FUNCTION_MPI_Barrier, COLL_BARRIER),
                                     site_of(&t, 3, FUNCTION_MPI_Barrier, COLL_BARRIER)};
    for (int64_t i = 1; i <= calls; i++) {
        const uint64_t enter =
            (uint64_t)(clock_ahead(rank) + 1000000000 + i * 50000 + planted(rank, i));
        const bool other = i % OTHERS == 0;
        struct tally_site *s = other ? barrier[rank == 3 && i / OTHERS % 2] : all;
        tally_add(s, enter, (uint64_t)(clock_ahead(rank) + 1000000000 + i * 50000 + 20000),
                  (uint64_t)i);
    }
    t.image->ended = rank != 0;
    t.image->pid = pid_told ? pid_told : t.image->pid;
    ictusi_tally_close(&t);
}

/* Compare a pattern's table with the truth; maps calls of the site to those of the communicator. */
static void check_table(const struct ictus_arrivals *a, int64_t (*number)(int64_t call))
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < a->recorded; i++) {
        int64_t wanted[RANKS];
        truth(number(a->calls[i]), wanted);
        wrong += memcmp(wanted, a->offsets_ns + i * RANKS, sizeof wanted) != 0;
    }
    CHECK(wrong == 0);
    CHECK_NEAR(a->error_ns, 1.96 * sqrt(2.0) * SIGMA_NS,
               120); /* between two points, these partly cancel */
    CHECK(a->ranks == RANKS && a->persistence > 0.9 && a->rank[LATE].last > 0.999);
}

/* The calls of the allreduce are all except every 37th. */
static int64_t number_of_all(int64_t call)
{
    return call + (call - 1) / (OTHERS - 1);
}

static int64_t number_of_barrier(int64_t call)
{
    return call * OTHERS;
}

static const struct ictus_arrivals *find(const struct ictus_arrivals_list *list,
                                         const char *operation)
{
    const struct ictus_arrivals *found = NULL;
    for (size_t i = 0; i < list->count; i++) {
        found = strcmp(list->at[i].operation, operation) == 0 ? &list->at[i] : found;
    }
    REQUIRE(found != NULL);
    return found;
}

static void check_sample(struct ictus_tallies *tallies)
{
    struct ictus_arrivals_list list;
    struct ictus_tallies_state state;
    struct ictus_why why = {""};
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, &state, &why) == ICTUS_OK);
    CHECK(state.processes == RANKS && state.missing == 0 && state.full == UINT64_C(5) * RANKS);
    CHECK(state.stage == ICTUS_TALLIES_RUNNING);
    REQUIRE(list.count == 2);
    const struct ictus_arrivals *all = find(&list, "allreduce");
    CHECK(all->instances == CALLS - CALLS / OTHERS);
    CHECK(all->bytes == 8 && all->root == -1);
    CHECK(all->recorded >= TALLY_ROWS / 4 && all->recorded <= TALLY_ROWS);
    check_table(all, number_of_all);
    /* Over the whole run: the mean of this many uniform values is within 5 standard errors. */
    double mean = 0;
    int64_t pairs = 0;
    for (int64_t i = 0; i < all->recorded; i++) {
        mean += (double)all->calls[i] / (double)all->recorded;
        pairs += i > 0 && all->calls[i] == all->calls[i - 1] + 1;
    }
    CHECK_NEAR(mean, CALLS / 2.0, 5.0 * CALLS / sqrt(12.0) / sqrt((double)all->recorded / 2));
    CHECK(pairs > all->recorded / 4); /* the call after each kept call */
    CHECK_NEAR(all->rank[0].autocorrelation, 0, 0.5);
    CHECK_NEAR(all->duration_s, 20000e-9 - 10500e-9, 700e-9);
    const struct ictus_arrivals *barrier = find(&list, "barrier");
    CHECK(barrier->instances == CALLS / OTHERS && barrier->recorded > TALLY_ROWS / 4);
    check_table(barrier, number_of_barrier);
    ictus_arrivals_list_free(&list);
    REQUIRE(ictus_tallies_read(tallies, 0, 20, &list, NULL, &why) == ICTUS_OK);
    CHECK(find(&list, "allreduce")->recorded <= 20 && find(&list, "allreduce")->recorded > 3);
    ictus_arrivals_list_free(&list);
}

static void check_recent(struct ictus_tallies *tallies)
{
    struct ictus_arrivals_list list;
    struct ictus_why why = {""};
    REQUIRE(ictus_tallies_read(tallies, 1, 0, &list, NULL, &why) == ICTUS_OK);
    const struct ictus_arrivals *all = find(&list, "allreduce");
    CHECK(all->recorded == TALLY_RECENT);
    CHECK(all->calls[all->recorded - 1] == CALLS - CALLS / OTHERS);
    check_table(all, number_of_all);
    ictus_arrivals_list_free(&list);
}

/* One process is far behind, and another has left half a file: what all of them have is found. */
static void check_uneven(void)
{
    char path[4200];
    struct ictus_tallies *tallies = NULL;
    struct ictus_arrivals_list list;
    struct ictus_tallies_state state;
    struct ictus_why why = {""};
    (void)snprintf(path, sizeof path, "%s/raw/1.tally", directory);
    REQUIRE(unlink(path) == 0);
    write_tally(1, CALLS / 3);
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, NULL, &why) == ICTUS_OK);
    check_table(find(&list, "allreduce"), number_of_all);
    CHECK(find(&list, "allreduce")->recorded > 20);
    ictus_arrivals_list_free(&list);
    REQUIRE(truncate(path, 4096) == 0);
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, &state, &why) == ICTUS_OK);
    CHECK(list.count == 0 && state.missing == 1);
    ictus_arrivals_list_free(&list);
    ictus_tallies_close(tallies);
}

static int64_t rows_of(struct ictus_tallies *tallies, int64_t most)
{
    struct ictus_arrivals_list list;
    struct ictus_why why = {""};
    REQUIRE(ictus_tallies_read(tallies, 0, most, &list, NULL, &why) == ICTUS_OK);
    REQUIRE(list.count == 1);
    const int64_t rows = list.at[0].recorded;
    CHECK(list.at[0].instances == 4);
    ictus_arrivals_list_free(&list);
    return rows;
}

enum { ONLY_FIRST = 50, TWICE_MANY = 5000 };

/*
 * Two places of one name, as the compiler makes two of a line, or as two lines of a function are
 * without debug information: the first 50 calls come from one of them, and rank 0 is late by 5 us.
 */
static void write_twice(int rank)
{
    char path[4200];
    struct tally t;
    struct ictus_why why = {""};
    (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, rank);
    REQUIRE(unlink(path) == 0);
    REQUIRE(ictusi_tally_create(&t, path, &why) == ICTUS_OK);
    t.image->rank = (uint32_t)rank;
    t.image->size = RANKS;
    struct tally_site *place[2] = {site_of(&t, 1, FUNCTION_MPI_Allreduce, COLL_ALLREDUCE),
                                   site_of(&t, 2, FUNCTION_MPI_Allreduce, COLL_ALLREDUCE)};
    for (int64_t i = 1; i <= TWICE_MANY; i++) {
        const bool first = i <= ONLY_FIRST;
        const int64_t late = first ? (rank == 0 ? 5000 : 0) : planted(rank, i);
        const uint64_t at = (uint64_t)(clock_ahead(rank) + 1000000000 + i * 50000);
        tally_add(place[first ? 0 : 1], at + (uint64_t)late, at + 20000, (uint64_t)i);
    }
    ictusi_tally_close(&t);
}

/* The share of the calls in which the planted rank was the last is that of the run, and now. */
static void check_twice(void)
{
    struct ictus_tallies *tallies = NULL;
    struct ictus_arrivals_list list;
    struct ictus_why why = {""};
    for (int r = 0; r < RANKS; r++) {
        write_twice(r);
    }
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, NULL, &why) == ICTUS_OK);
    REQUIRE(list.count == 1);
    const struct ictus_arrivals *all = &list.at[0];
    CHECK(all->instances == TWICE_MANY && all->recorded >= TALLY_ROWS / 4);
    /* Of a sample of 1 % of 5000 calls: 1.0 +- 0.7 % in truth. */
    CHECK(all->rank[0].last < 0.04 && all->rank[LATE].last > 0.96);
    ictus_arrivals_list_free(&list);
    REQUIRE(ictus_tallies_read(tallies, 1, 0, &list, NULL, &why) == ICTUS_OK);
    all = &list.at[0];
    CHECK(all->recorded == TALLY_RECENT && all->instances == TWICE_MANY);
    CHECK(all->calls[0] == TWICE_MANY - TALLY_RECENT + 1);
    CHECK(all->rank[LATE].last > 0.999);
    ictus_arrivals_list_free(&list);
    ictus_tallies_close(tallies);
}

/* Two readings of one clock are as far apart as they say. Of a lost log, no process is known. */
static void check_together(void)
{
    char path[4200];
    struct ictus_tallies *tallies = NULL;
    struct ictus_arrivals_list list;
    struct ictus_tallies_state state;
    struct ictus_why why = {""};
    together = true;
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, r);
        REQUIRE(unlink(path) == 0);
        write_log(r);
        write_tally(r, CALLS);
    }
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    REQUIRE(ictus_tallies_read(tallies, 1, 0, &list, NULL, &why) == ICTUS_OK);
    const struct ictus_arrivals *all = find(&list, "allreduce");
    for (int64_t i = 0; i < all->recorded; i++) {
        int64_t wanted[RANKS];
        truth(number_of_all(all->calls[i]), wanted);
        CHECK(memcmp(wanted, all->offsets_ns + i * RANKS, sizeof wanted) == 0);
        CHECK(all->errors_ns[i] == 1.0);
    }
    CHECK(all->recorded == TALLY_RECENT && all->error_ns == 1.0);
    ictus_arrivals_list_free(&list);
    ictus_tallies_close(tallies);
    together = false;
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.log", directory, r);
        if (r == 2) {
            REQUIRE(unlink(path) == 0);
        } else {
            write_log(r);
        }
    }
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, &state, &why) == ICTUS_OK);
    CHECK(state.processes == RANKS && state.missing == 1 && list.count == 0);
    ictus_arrivals_list_free(&list);
    ictus_tallies_close(tallies);
    write_log(2);
}

static enum ictus_tallies_stage stage_of(const char *host, pid_t pid)
{
    char path[4200];
    struct ictus_tallies *tallies = NULL;
    struct ictus_arrivals_list list;
    struct ictus_tallies_state state;
    struct ictus_why why = {""};
    named = host;
    pid_told = pid;
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, r);
        REQUIRE(unlink(path) == 0);
        write_log(r);
        write_tally(r, 4); /* all have ended but rank 0 */
    }
    named = NULL;
    pid_told = 0;
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    REQUIRE(ictus_tallies_read(tallies, 0, 0, &list, &state, &why) == ICTUS_OK);
    ictus_arrivals_list_free(&list);
    ictus_tallies_close(tallies);
    return state.stage;
}

/* A process that has not ended was killed if it is of this machine and does not run, as neither one
 * does that is gone nor one for which nobody has waited yet. */
static void check_stages(void)
{
    char here[256] = "";
    REQUIRE(gethostname(here, sizeof here - 1) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        _exit(0);
    }
    siginfo_t info;
    REQUIRE(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) == 0);
    CHECK(stage_of(here, getpid()) == ICTUS_TALLIES_RUNNING);
    CHECK(stage_of(here, child) == ICTUS_TALLIES_KILLED);
    REQUIRE(waitpid(child, NULL, 0) == child);
    CHECK(stage_of(here, child) == ICTUS_TALLIES_KILLED);
    CHECK(stage_of("zzz-elsewhere", child) == ICTUS_TALLIES_RUNNING);
    CHECK(stage_of("", child) == ICTUS_TALLIES_RUNNING);
}

/* Mappings of files of statistics in this process. */
static int mapped(void)
{
    char line[4400];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    REQUIRE(maps);
    while (fgets(line, sizeof line, maps)) {
        count += strstr(line, ".tally") != NULL;
    }
    (void)fclose(maps);
    return count;
}

/* A program without a standard input reads the same, and none keeps what it has read mapped. */
static void check_resources(struct ictus_tallies *tallies)
{
    const int before = dup(STDIN_FILENO);
    REQUIRE(before >= 0 && close(STDIN_FILENO) == 0);
    check_recent(tallies);
    CHECK(fcntl(STDIN_FILENO, F_GETFD) < 0); /* closed again */
    REQUIRE(dup2(before, STDIN_FILENO) == STDIN_FILENO && close(before) == 0);
    CHECK(mapped() == 0);
}

/*
 * Four calls, two of which share the largest height, so no table is empty. A call that a process
 * began two hours after the others is left out.
 */
static void check_few(void)
{
    char path[4200];
    struct ictus_tallies *tallies = NULL;
    struct ictus_why why = {""};
    uint64_t enter = 0;
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, r);
        REQUIRE(unlink(path) == 0);
        write_tally(r, 4);
    }
    CHECK(tally_height(2) == 2 && tally_height(4) == 2);
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    CHECK(rows_of(tallies, 0) == 4);
    CHECK(rows_of(tallies, 1) == 1);
    CHECK(rows_of(tallies, 2) == 2);
    const off_t at = (off_t)(offsetof(struct tally_image, site) +
                             offsetof(struct tally_site, rows) + sizeof(struct tally_row));
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0 && pread(fd, &enter, sizeof enter, at) == (ssize_t)sizeof enter);
    enter += UINT64_C(7200000000000);
    REQUIRE(pwrite(fd, &enter, sizeof enter, at) == (ssize_t)sizeof enter);
    REQUIRE(close(fd) == 0);
    CHECK(rows_of(tallies, 0) == 3);
    ictus_tallies_close(tallies);
}

/* More places than there is room for, and a file of another kind. */
static void check_bounds(void)
{
    char path[4200];
    struct tally t;
    struct ictus_why why = {""};
    struct tally_row row = {1, 2, 0, 3};
    struct tally_row copy;
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/bounds.tally", directory);
    REQUIRE(ictusi_tally_create(&t, path, &why) == ICTUS_OK);
    for (uint64_t i = 0; i < UINT64_C(10) * TALLY_SITES; i++) {
        const struct tally_key key = {i, 1, 0, 0};
        struct tally_site *s = tally_site(&t, &key);
        CHECK((s != NULL) == (i < TALLY_SITES));
        CHECK(tally_site(&t, &key) == s);
    }
    CHECK(ictusi_tally_valid(t.image, sizeof *t.image) && !ictusi_tally_valid(t.image, 4096));
    CHECK(stat(path, &status) == 0 && status.st_size == (off_t)sizeof *t.image);
    CHECK(ictusi_tally_create(&t, path, &why) == ICTUS_ERR_IO && strstr(why.text, path));
    CHECK(!ictusi_tally_read(&row, &copy));
    row.number = 7;
    CHECK(ictusi_tally_read(&row, &copy) && copy.number == 7 && copy.leave == 2);
    CHECK(unlink(path) == 0);
}

int main(void)
{
    char path[4200];
    struct ictus_tallies *tallies = NULL;
    struct ictus_why why = {""};
    REQUIRE(mkdtemp(check_scratch(directory, "tally")) != NULL);
    CHECK(ictus_tallies_open(directory, &tallies, &why) == ICTUS_ERR_IO);
    CHECK(strstr(why.text, "holds no statistics of a job") != NULL);
    (void)snprintf(path, sizeof path, "%s/raw", directory);
    REQUIRE(mkdir(path, 0777) == 0);
    for (int r = 0; r < RANKS; r++) {
        write_log(r);
        write_tally(r, CALLS);
    }
    REQUIRE(ictus_tallies_open(directory, &tallies, &why) == ICTUS_OK);
    check_sample(tallies);
    check_recent(tallies);
    check_resources(tallies);
    ictus_tallies_close(tallies);
    check_together();
    check_stages();
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, r);
        REQUIRE(unlink(path) == 0);
        write_log(r);
        write_tally(r, CALLS);
    }
    check_uneven();
    check_few();
    check_twice();
    check_bounds();
    for (int r = 0; r < RANKS; r++) {
        (void)snprintf(path, sizeof path, "%s/raw/%d.log", directory, r);
        (void)unlink(path);
        (void)snprintf(path, sizeof path, "%s/raw/%d.tally", directory, r);
        (void)unlink(path);
    }
    (void)snprintf(path, sizeof path, "%s/raw", directory);
    CHECK(rmdir(path) == 0 && rmdir(directory) == 0);
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Waiting and agreeing with other ranks: nobody spins, a sleep ends at its time or soon after a
 * signal, a long one is told of, and a rank that cannot go on is heard by all. Time and MPI are
 * made up. */
#include "../check.h"
#include "main/agreement.h"
#include "main/interrupt.h"
#include "main/meet.h"

#include <ictus/text.h>
#include <ictus/traits.h>
#include <math.h>
#include <mpi.h>
#include <string.h>
#include <time.h>

static struct {
    int64_t now_ns, longest_ns, signal_ns, ready_ns;
    long naps, steps, hidden, barriers;
    double done[16];
    int rank, size, others, err; /* of the lowest other rank that fails; size: none does */
    int shares, agreed, traits_err;
    int poor; /* another rank has no memory at this of all agreements; 0: none */
    size_t traits;
    char names[16][64], values[16][64];
} world;

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __wrap_clock_gettime(clockid_t id, struct timespec *now);
int __wrap_nanosleep(const struct timespec *nap, struct timespec *left);
int __wrap_MPI_Ibarrier(MPI_Comm comm, MPI_Request *request);
int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status);
int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why);

int __wrap_clock_gettime(clockid_t id, struct timespec *now)
{
    CHECK(id == CLOCK_MONOTONIC);
    *now = (struct timespec){world.now_ns / 1000000000, world.now_ns % 1000000000};
    return 0;
}

int __wrap_nanosleep(const struct timespec *nap, struct timespec *left)
{
    const int64_t ns = nap->tv_sec * 1000000000 + nap->tv_nsec;
    CHECK(!left && ns >= 0 && nap->tv_nsec < 1000000000);
    world.longest_ns = ns > world.longest_ns ? ns : world.longest_ns;
    world.now_ns += ns + 1;
    world.naps++;
    REQUIRE(world.naps < 100000);
    return 0;
}

int __wrap_MPI_Ibarrier(MPI_Comm comm, MPI_Request *request)
{
    CHECK(comm == MPI_COMM_WORLD && request);
    world.barriers++;
    return MPI_SUCCESS;
}

int __wrap_MPI_Test(MPI_Request *request, int *done, MPI_Status *status)
{
    CHECK(request && status == MPI_STATUS_IGNORE);
    *done = world.now_ns >= world.ready_ns;
    return MPI_SUCCESS;
}

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    int *first = to;
    CHECK(from == MPI_IN_PLACE && count == 1 && type == MPI_INT && op == MPI_MIN);
    CHECK(comm == MPI_COMM_WORLD);
    *first = world.others < *first ? world.others : *first;
    world.shares++;
    if (world.shares == world.poor) {
        *first = world.others = 1;
        world.err = ICTUS_ERR_NOMEM;
    }
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    CHECK(comm == MPI_COMM_WORLD);
    if (root != world.rank && type == MPI_INT) {
        CHECK(count == 1);
        *(int *)buffer = world.err;
    } else if (root != world.rank) {
        CHECK(type == MPI_CHAR && count == (int)sizeof(((struct ictus_why *)NULL)->text));
        (void)snprintf(buffer, (size_t)count, "rank %d: theirs", root);
    }
    return MPI_SUCCESS;
}

int __wrap_ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                              struct ictus_why *why)
{
    CHECK(comm == MPI_COMM_WORLD);
    REQUIRE(count <= 16);
    world.agreed++;
    world.traits = count;
    for (size_t i = 0; i < count; i++) {
        (void)snprintf(world.names[i], 64, "%s", traits[i].name);
        (void)snprintf(world.values[i], 64, "%s", traits[i].value ? traits[i].value : "(none)");
    }
    return world.traits_err ? ictus_because(why, world.traits_err, "they differ") : ICTUS_OK;
}
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */

int command_rank(void)
{
    return world.rank;
}

int command_size(void)
{
    return world.size;
}

bool interrupt_here(void)
{
    return world.signal_ns > 0 && world.now_ns >= world.signal_ns;
}

void progress_step(struct progress *progress, double done, const char *label)
{
    CHECK(progress && label && strcmp(label, "what") == 0);
    REQUIRE(world.steps < 16);
    world.done[world.steps++] = done;
}

void progress_hide(struct progress *progress)
{
    CHECK(progress != NULL);
    world.hidden++;
}

static void begin(void)
{
    memset(&world, 0, sizeof world);
    world.now_ns = 7250000000;
    world.size = world.others = 3;
}

static void meetings_sleep(void)
{
    begin();
    CHECK_NEAR(meet_now_s(), 7.25, 1e-12);
    world.ready_ns = world.now_ns + 3000000;
    meet_all();
    CHECK(world.barriers == 1 && world.naps >= 14 && world.naps <= 15 &&
          world.now_ns >= world.ready_ns);
    begin();
    meet_all(); /* all are there */
    CHECK(world.barriers == 1 && world.naps == 0);
}

static void sleeps_end_in_time(void)
{
    begin();
    meet_sleep_until(8.0);
    CHECK(world.now_ns >= 8000000000 && world.now_ns < 8000000100 && world.naps >= 15);
    CHECK(world.longest_ns <= 50000000); /* so that a signal is noticed */
    begin();
    meet_sleep_until(7.25); /* it is that late already */
    meet_sleep_until(1.0);
    CHECK(world.naps == 0);
    begin();
    world.signal_ns = 8000000000;
    meet_sleep_until(100.0);
    CHECK(world.now_ns >= 8000000000 && world.now_ns < 8060000000);
    begin();
    meet_sleep_until(7.26);
    CHECK(world.longest_ns > 9900000 && world.longest_ns <= 10000000 && world.now_ns < 7260000100);
}

/* Every five seconds it says how far it is, from `done` to `done` and `more`. */
static void long_sleeps_are_told(void)
{
    struct progress progress = {.what = "x"};
    begin();
    meet_sleep_telling(7.25 + 12, &progress, 3, 2, "what");
    REQUIRE(world.steps == 2);
    CHECK_NEAR(world.done[0], 3 + 2 * 5.0 / 12, 1e-6);
    CHECK_NEAR(world.done[1], 3 + 2 * 10.0 / 12, 1e-6);
    CHECK(world.hidden == 1 && world.now_ns >= 19250000000 && world.now_ns < 19250001000);
    begin();
    meet_sleep_telling(7.25 + 4.9, &progress, 0, 1, "what");
    CHECK(world.steps == 0 && world.hidden == 1 && world.now_ns >= 12150000000);
    begin();
    meet_sleep_telling(1, &progress, 0, 1, "what");
    CHECK(world.naps == 0 && world.hidden == 1);
    begin();
    world.signal_ns = 9000000000;
    meet_sleep_telling(100, &progress, 0, 1, "what");
    CHECK(world.now_ns < 9100000000 && world.steps == 1 && world.hidden == 1);
}

static const struct option_row rows[] = {{"count", 0, OPTION_INT, 0, "1", 0, 99, NULL, "N", ""},
                                         {"name", 0, OPTION_TEXT, 8, NULL, 0, 0, NULL, "NAME", ""},
                                         {NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};
static const struct command command = {.name = "what", .options = rows};

static int reach(int count, int err, struct ictus_why *why)
{
    static char first[] = "one", second[] = "two";
    char *const words[] = {first, second};
    const struct {
        int64_t count;
        const char *name;
    } options = {42, "joe"};
    return agreement_reach(&command, &options, count, words, err, why);
}

/* All of a command line is compared: the command, each option, each word. */
static void command_lines_are_compared(void)
{
    static const char *const wanted[5][2] = {{"command", "what"},
                                             {"--count", "42"},
                                             {"--name", "joe"},
                                             {"argument 1", "one"},
                                             {"argument 2", "two"}};
    struct ictus_why why = {""};
    for (int words = 0; words <= 2; words++) {
        begin();
        CHECK(reach(words, ICTUS_OK, &why) == ICTUS_OK && world.agreed == 1 && world.shares == 2);
        CHECK(world.traits == 3 + (size_t)words);
        for (size_t i = 0; i < world.traits; i++) {
            CHECK_STR(world.names[i], wanted[i][0]);
            CHECK_STR(world.values[i], wanted[i][1]);
        }
    }
    begin();
    world.traits_err = ICTUS_ERR_SPEC;
    CHECK(reach(0, ICTUS_OK, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "they differ");
    begin();
    world.size = 1; /* alone, nobody is asked */
    CHECK(reach(0, ICTUS_ERR_IO, &why) == ICTUS_ERR_IO && reach(0, ICTUS_OK, &why) == ICTUS_OK);
    CHECK(world.agreed == 0 && world.shares == 0);
}

/* The lowest rank that cannot read its options is heard, and named unless it is the first. */
static void the_lowest_failure_is_told(void)
{
    struct ictus_why why = {"mine"};
    begin();
    CHECK(reach(0, ICTUS_ERR_SPEC, &why) == ICTUS_ERR_SPEC && world.agreed == 0);
    CHECK_STR(why.text, "mine");
    begin();
    world.rank = 1;
    CHECK(reach(0, ICTUS_ERR_SPEC, &why) == ICTUS_ERR_SPEC);
    CHECK_STR(why.text, "rank 1: mine");
    begin();
    world.rank = 2;
    world.others = 1;
    world.err = ICTUS_ERR_UNKNOWN;
    CHECK(reach(0, ICTUS_OK, &why) == ICTUS_ERR_UNKNOWN && world.agreed == 0);
    CHECK_STR(why.text, "rank 1: theirs");
    CHECK(reach(0, ICTUS_ERR_SPEC, &why) == ICTUS_ERR_UNKNOWN); /* its own comes later */
    /* Where a rank has no room for what is to be compared, none compares. */
    begin();
    world.poor = 2;
    CHECK(reach(0, ICTUS_OK, &why) == ICTUS_ERR_NOMEM && world.shares == 2 && world.agreed == 0);
}

int main(void)
{
    meetings_sleep();
    sleeps_end_in_time();
    long_sleeps_are_told();
    command_lines_are_compared();
    the_lowest_failure_is_told();
    return check_result();
}

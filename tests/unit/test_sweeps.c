/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When the clocks of a traced program are synchronised again: at every n-th barrier, or at
 * intervals on the root's clock. The root is asked rarely, however often the program communicates.
 */
#include "../check.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

static int model_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

/* NOLINTBEGIN(bugprone-suspicious-include,readability-identifier-naming): its static functions are
 * what is looked at */
#include "tracer/collective.h"
#include "tracer/real.h"
#undef REAL
#define REAL(name) model_##name
#define model_Bcast model_bcast
#include "tracer/sweeps.c"
/* NOLINTEND(bugprone-suspicious-include,readability-identifier-naming) */

struct tracer ictusi_tracer;

static int64_t now_ns;
static int syncs, questions;
static uint64_t root_says[2]; /* if this is not the root */

/* NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name): the C library's */
int clock_gettime(clockid_t id, struct timespec *t)
{
    (void)id;
    *t = (struct timespec){.tv_sec = now_ns / 1000000000, .tv_nsec = now_ns % 1000000000};
    return 0;
}

static int model_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    CHECK(count == 2 && root == 0);
    (void)type;
    (void)comm;
    questions++;
    if (ictusi_tracer.rank != 0) {
        memcpy(buffer, root_says, sizeof(root_says));
    }
    return MPI_SUCCESS;
}

int ictusi_tracer_sync(void)
{
    syncs++;
    ictusi_tracer.last_sync_ns = now_ns;
    return ICTUS_OK;
}

static struct recorder recorder;

static void begin(int rank, double every_s, int64_t barriers)
{
    ictusi_tracer.rank = rank;
    ictusi_tracer.settings.resync_every_s = every_s;
    ictusi_tracer.settings.resync_barriers = barriers;
    ictusi_tracer.world_calls = ictusi_tracer.world_barriers = ictusi_tracer.next_check = 0;
    ictusi_tracer.last_question_call = 0;
    now_ns = INT64_C(5000000000);
    ictusi_tracer.last_sync_ns = ictusi_tracer.last_question_ns = now_ns;
    syncs = questions = 0;
}

static void barriers_are_counted(void)
{
    begin(1, 0.0, 3);
    for (int i = 1; i <= 30; i++) {
        ictusi_sweep(&recorder, COLL_ALLREDUCE); /* not a barrier */
        ictusi_sweep(&recorder, COLL_BARRIER);
        CHECK(syncs == i / 3);
    }
    CHECK(questions == 0); /* all processes know by themselves */
    ictusi_sweep(NULL, COLL_BARRIER);
    ictusi_sweep(NULL, COLL_BARRIER);
    ictusi_sweep(NULL, COLL_BARRIER);
    CHECK(syncs == 10); /* recording is off at present */
    begin(0, 0.0, 0);
    for (int i = 0; i < 10; i++) {
        now_ns += 1000000000;
        ictusi_sweep(&recorder, COLL_BARRIER);
    }
    CHECK(syncs == 0 && questions == 0);
}

/* Make this many calls at this distance. @return the longest time without a synchronisation */
static int64_t calls_go_on(int calls, int64_t each_ns)
{
    int64_t longest = 0;
    for (int i = 0; i < calls; i++) {
        now_ns += each_ns;
        longest = now_ns - ictusi_tracer.last_sync_ns > longest
                      ? now_ns - ictusi_tracer.last_sync_ns
                      : longest;
        ictusi_sweep(&recorder, COLL_ALLREDUCE);
    }
    return longest;
}

/* At any steady rate: never before the interval is over, and late by at most a quarter of it. */
static void intervals_are_kept(void)
{
    static const struct {
        int64_t each_ns;
        int calls;
    } rates[] = {{1000, 2000000}, {1000000, 10000}, {90000000, 200}, {700000000, 30}};
    for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++) {
        begin(0, 0.5, 0);
        (void)calls_go_on(rates[i].calls / 4, rates[i].each_ns); /* the rate is learned */
        syncs = questions = 0;
        const int64_t from = now_ns;
        const int64_t longest = calls_go_on(rates[i].calls, rates[i].each_ns);
        /* A quarter of the interval, in whole calls. */
        const double apart_ns =
            (double)rates[i].each_ns * fmax(1.0, floor(125e6 / (double)rates[i].each_ns));
        const double intervals = (double)(now_ns - from) / 0.5e9;
        CHECK(longest <= 500000000 + 125000000 + 2 * rates[i].each_ns);
        CHECK(syncs <= (int)intervals + 1);
        CHECK(questions <= (int)((double)(now_ns - from) / apart_ns) + 4);
        CHECK(questions >= syncs && syncs > 0);
    }
}

/*
 * A program pauses between bursts. The next question comes after at most four times as many calls
 * as at the slower rate, not after the number of the faster one.
 */
static void rates_may_change(void)
{
    begin(0, 0.5, 0);
    (void)calls_go_on(10, 100000000);
    (void)calls_go_on(1000000, 1000); /* ten calls per second become a million */
    questions = 0;
    const int64_t longest = calls_go_on(2000000, 1000);
    CHECK(longest <= 700000000);
    begin(0, 0.5, 0);
    ictusi_sweep(&recorder, COLL_BARRIER); /* no time has passed, so the rate is unknown */
    CHECK(questions == 1 && ictusi_tracer.next_check >= 2 && ictusi_tracer.next_check <= 3);
    now_ns += 1000; /* one call in a microsecond: not a million ahead */
    while (questions == 1) {
        ictusi_sweep(&recorder, COLL_BARRIER);
        REQUIRE(ictusi_tracer.world_calls < 100);
    }
    CHECK(ictusi_tracer.next_check - ictusi_tracer.world_calls <= 4 * 3 + 1);
}

/*
 * All processes do what the root decides at the call that it names, whatever their own clocks show.
 */
static void others_follow_the_root(void)
{
    begin(2, 0.5, 0);
    now_ns += INT64_C(60000000000);
    root_says[0] = 0;
    root_says[1] = 7;
    ictusi_sweep(&recorder, COLL_BARRIER);
    CHECK(questions == 1 && syncs == 0);
    root_says[0] = 1;
    for (int i = 1; i < 7; i++) {
        ictusi_sweep(&recorder, COLL_BARRIER);
        CHECK(questions == 1 && syncs == 0);
    }
    ictusi_sweep(&recorder, COLL_BARRIER);
    CHECK(questions == 2 && syncs == 1);
}

int main(void)
{
    barriers_are_counted();
    intervals_are_kept();
    rates_may_change();
    others_follow_the_root();
    return check_result();
}

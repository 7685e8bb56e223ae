/* SPDX-License-Identifier: BSD-3-Clause */
/* Common starts on the world, on halves, on duplicates, freed and made again, and misuse. */
#include "harmonize/state.h"

#include <ictus/mpix_harmonize.h>

#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check_mpi.h"

#define HCA3 "hca3:fitpoints=20,exchanges=10"

static void starts_are_common(MPI_Comm comm, int calls)
{
    struct ictus_harmonize_stats before = {0};
    uint64_t late = 0;
    (void)ictus_harmonize_stats(comm, &before); /* there are none before the first call */
    for (int i = 0; i < calls; i++) {
        struct ictus_harmony harmony;
        REQUIRE(!ictus_harmonize(comm, &harmony));
        int64_t first = harmony.deadline.ns;
        MPI_Bcast(&first, 1, MPI_INT64_T, 0, comm);
        CHECK(first == harmony.deadline.ns);
        struct ictus_harmonize_stats so_far;
        CHECK(!ictus_harmonize_stats(comm, &so_far));
        CHECK(harmony.flag == (harmony.lateness_ns <= so_far.tolerance_ns));
        CHECK(harmony.lateness_ns >= 0.0);
        late += !harmony.flag;
    }
    struct ictus_harmonize_stats stats;
    CHECK(!ictus_harmonize_stats(comm, &stats));
    CHECK(stats.calls - before.calls == (uint64_t)calls && stats.late - before.late == late);
}

static void communicators_of_all_kinds(void)
{
    MPI_Comm half;
    MPI_Comm copy;
    MPI_Comm_split(MPI_COMM_WORLD, check_rank % 2, -check_rank, &half);
    starts_are_common(half, 20);
    MPI_Comm_dup(half, &copy);
    struct ictus_harmonize_stats stats;
    CHECK(ictus_harmonize_stats(copy, &stats) == ICTUS_ERR_SAMPLES);
    starts_are_common(copy, 20);
    starts_are_common(half, 5);
    MPI_Comm_free(&half);
    starts_are_common(copy, 5);
    MPI_Comm_free(&copy);
    starts_are_common(MPI_COMM_SELF, 5);
    for (int i = 0; i < 10; i++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &copy);
        starts_are_common(copy, 2);
        MPI_Comm_free(&copy);
    }
}

/*
 * A process that waits for others to arrive still receives, because a large message needs both
 * sides to make progress.
 */
static void other_messages_arrive(void)
{
    enum { LENGTH = 1 << 20 };
    MPI_Request request = MPI_REQUEST_NULL;
    char *buffer = calloc(1, LENGTH);
    REQUIRE(buffer);
    if (check_rank == 0 && check_size > 1) {
        MPI_Irecv(buffer, LENGTH, MPI_BYTE, check_size - 1, 5, MPI_COMM_WORLD, &request);
    } else if (check_rank == check_size - 1 && check_size > 1) {
        MPI_Ssend(buffer, LENGTH, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
    }
    starts_are_common(MPI_COMM_WORLD, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    free(buffer);
}

/*
 * A start that is agreed on again comes after all processes have learned of it, so it is usually
 * not late.
 */
static void repeated_starts_are_in_time(MPI_Comm comm)
{
    enum { CALLS = 100 };
    struct ictus_harmonize_stats stats;
    int in_time = 0;
    for (int i = 0; i < CALLS; i++) {
        struct ictus_harmony harmony;
        REQUIRE(!ictus_harmonize_retry(comm, 3, &harmony));
        CHECK(harmony.attempts >= 1 && harmony.attempts <= 4);
        in_time += harmony.margin_ns > 0;
    }
    CHECK(in_time >= CALLS / 4);
    CHECK(!ictus_harmonize_stats(comm, &stats) && stats.calls >= CALLS);
}

static void words_go_either_way(void)
{
    static const char *const specs[] = {"harmonize:within=memory", "harmonize:within=messages"};
    for (int i = 0; i < 2; i++) {
        REQUIRE(!ictus_harmonize_configure(MPI_COMM_WORLD, specs[i], NULL, NULL));
        starts_are_common(MPI_COMM_WORLD, 200);
        communicators_of_all_kinds();
        other_messages_arrive();
        repeated_starts_are_in_time(MPI_COMM_WORLD);
    }
}

static void a_late_process_is_waited_for(void)
{
    for (int i = 0; i < 3; i++) {
        if (check_rank == check_size - 1) {
            (void)usleep(100000);
        }
        starts_are_common(MPI_COMM_WORLD, 1);
    }
}

/*
 * A start after a pause needs more slack than one immediately after another, and has a slack of its
 * own.
 */
static void pauses_have_their_own_slack(void)
{
    enum { CALLS = 3, PAUSE_US = 6000 };
    const struct harmonize_state *state = NULL;
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < CALLS; i++) {
        starts_are_common(comm, 1);
        state = ictusi_harmonize_find(comm);
        REQUIRE(state);
        (void)usleep(PAUSE_US);
    }
    /* What the previous start needed is learned now, if there was one. */
    starts_are_common(comm, 1);
    if (check_rank == 0) {
        CHECK(state->last_gap == GAPS - 1 && state->unlearned_gap == GAPS - 1);
        CHECK(state->next_slack_ns[0] == state->next_slack_ns[1]); /* no such call yet */
        CHECK(state->next_slack_ns[0] == state->next_slack_ns[2]);
        /* The first start of several is expected to take longer than any start must. */
        CHECK(check_size == 1 || state->next_slack_ns[0] > (int64_t)state->slack[0].options.min_ns);
    }
    MPI_Comm_free(&comm);
}

/*
 * The first start, and each after a pause, is rehearsed on all processes, but never if that is
 * forbidden.
 */
static void pauses_are_followed_by_a_rehearsal(void)
{
    enum { CALLS = 3, PAUSE_US = 1000 };
    static const char *const specs[] = {"harmonize", "harmonize:rehearse=no"};
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 2; i++) {
        REQUIRE(!ictus_harmonize_configure(comm, specs[i], NULL, NULL));
        for (int k = 0; k < CALLS; k++) {
            starts_are_common(comm, 1);
            (void)usleep(PAUSE_US);
        }
        const struct harmonize_state *state = ictusi_harmonize_find(comm);
        REQUIRE(state);
        uint64_t most[2] = {state->rehearsals, ~state->rehearsals};
        MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_UINT64_T, MPI_MAX, comm);
        CHECK(most[0] == ~most[1]); /* the same on all */
        CHECK(i == 0 ? state->rehearsals >= CALLS : state->rehearsals == 0);
    }
    MPI_Comm_free(&comm);
}

static void misuse_is_refused(void)
{
    int flag = 0;
    struct ictus_why why;
    CHECK(ictus_harmonize(MPI_COMM_NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(MPIX_Harmonize(MPI_COMM_NULL, &flag) == MPI_ERR_COMM);
    CHECK(MPIX_Harmonize(MPI_COMM_WORLD, NULL) == MPI_ERR_ARG);
    CHECK(MPIX_Harmonize(MPI_COMM_WORLD, &flag) == MPI_SUCCESS);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, "harmonize:late=2", NULL, &why) ==
          ICTUS_ERR_SPEC);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, "harmonise", NULL, &why) == ICTUS_ERR_UNKNOWN);
    CHECK(ictus_harmonize_configure(MPI_COMM_WORLD, NULL, "hca4", &why) == ICTUS_ERR_UNKNOWN);
    /* A failed configuration leaves the old state in force. */
    starts_are_common(MPI_COMM_WORLD, 2);
}

/*
 * Configure and start; returns whether this took all processes less than the time until the step.
 */
static int began_before_step(const char *spec, const char *clock)
{
    const double start = MPI_Wtime();
    REQUIRE(!ictus_harmonize_configure(MPI_COMM_WORLD, spec, clock, NULL));
    REQUIRE(!ictus_harmonize(MPI_COMM_WORLD, NULL));
    int soon = MPI_Wtime() - start < 0.9;
    MPI_Allreduce(MPI_IN_PLACE, &soon, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return soon;
}

/*
 * Whatever the clock does, even while a process waits on it, every call returns and the step is
 * noticed. The step comes one second after the clock was opened, early or late in these calls. On a
 * busy machine it may come before there is a global clock, which then begins after it, so this
 * tries again.
 */
static void a_step_is_noticed(const char *spec, const char *clock)
{
    struct ictus_harmonize_stats stats = {0};
    int before = began_before_step(spec, clock);
    for (int tries = 0; tries < 4 && !before; tries++) {
        before = began_before_step(spec, clock);
    }
    const double start = MPI_Wtime();
    for (int over = 0; !over;) {
        REQUIRE(!ictus_harmonize(MPI_COMM_WORLD, NULL));
        CHECK(!ictus_harmonize_stats(MPI_COMM_WORLD, &stats));
        /* After the step; on a busy machine, a synchronisation may have been due before it. */
        over = MPI_Wtime() - start > 1.5;
        MPI_Bcast(&over, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK(stats.resyncs >= 1 || !before);
    starts_are_common(MPI_COMM_WORLD, 3);
}

/* One process is off its core for half a second, most likely inside the call. */
static void a_stopped_process_is_waited_for(void)
{
    REQUIRE(!ictus_harmonize_configure(MPI_COMM_WORLD, "harmonize:slack=2ms", NULL, NULL));
    const bool stops = check_rank == check_size - 1;
    if (stops) {
        check_stop_soon(20000, 500000);
    }
    const double start = MPI_Wtime();
    for (int over = 0; !over;) {
        starts_are_common(MPI_COMM_WORLD, 5);
        over = stops && MPI_Wtime() - start > 0.6;
        MPI_Bcast(&over, 1, MPI_INT, check_size - 1, MPI_COMM_WORLD);
    }
    if (stops) {
        (void)wait(NULL);
    }
}

int main(int argc, char **argv)
{
    check_mpi_init(&argc, &argv, MPI_THREAD_SINGLE);
    starts_are_common(MPI_COMM_WORLD, 200);
    communicators_of_all_kinds();
    words_go_either_way();
    a_late_process_is_waited_for();
    pauses_have_their_own_slack();
    pauses_are_followed_by_a_rehearsal();
    misuse_is_refused();
    a_step_is_noticed(NULL, HCA3 "@sim:scope=process,step=1s,step_at=1s");
    a_step_is_noticed("harmonize:slack=2ms", HCA3 "@sim:scope=process,step=-1s,step_at=1s");
    a_stopped_process_is_waited_for();
    return check_mpi_finish();
}

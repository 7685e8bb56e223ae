/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exit skews in simulated jobs: those of a barrier that ranks leave at known instants, and those of
 * barriers made of messages.
 */
#include "../check.h"
#include "../sim/job_names.h"

#include <ictus/skew.h>

enum { NEAR_NS = 400 /* readings, and the error of clocks */ };

/* What a run of barriers is to be, and what it gave. */
struct skews {
    const char *barrier;
    int64_t wanted;
    double limit_s;
    int err;
    struct ictus_skew_result result; /* rank 0's */
    int64_t n[NAMED_RANKS], invalid[NAMED_RANKS];
    struct ictus_why why;
};

static void skews_rank(int rank, void *context)
{
    struct skews *s = context;
    struct ictus_skew *skew = NULL;
    struct ictus_skew_result result;
    struct ictus_why why = {"something else"};
    REQUIRE(!ictus_skew_create(job_world(), named_clock, NULL, &skew, &why));
    const int err = ictus_skew_run(skew, s->barrier, s->wanted, s->limit_s, &result, &why);
    s->n[rank] = err ? 0 : result.n;
    s->invalid[rank] = err ? 0 : result.invalid;
    CHECK(rank == 0 || err || (!result.skews_s && !result.first));
    if (rank == 0) {
        s->err = err;
        s->result = result;
        s->why = why;
    } else if (!err) {
        ictus_skew_result_free(&result);
    }
    ictus_skew_free(skew);
}

/* Who leaves first and last is counted, and how far apart, and how long after the entry. */
static void skews_are_true(void)
{
    enum { MANY = 50, TURNS = MANY / NAMED_RANKS };
    struct skews s = {.barrier = "mpi", .wanted = MANY};
    static const int64_t stagger_ns[NAMED_RANKS] = {4000, 1000, 9000, 5000, 2500};
    named_barriers.over_ns = 20000;
    memcpy(named_barriers.stagger_ns, stagger_ns, sizeof(stagger_ns));
    named_job_run(skews_rank, &s, 0.0);
    CHECK(!s.err && s.result.n == MANY && s.result.invalid == 0 && !s.result.truth);
    for (int r = 0; r < NAMED_RANKS; r++) {
        CHECK(s.n[r] == MANY && s.invalid[r] == 0);
        CHECK(s.result.first[r] == TURNS && s.result.last[r] == TURNS);
    }
    for (int i = 0; i < MANY; i++) {
        const int k = named_barriers.turn[0] - MANY + i;
        const int64_t entries = named_barriers.last_entry[k] - named_barriers.first_entry[k];
        CHECK_NEAR(1e9 * s.result.skews_s[i], 8000.0, NEAR_NS);
        CHECK_NEAR(1e9 * s.result.durations_s[i], 20000.0 + 9000.0 + (double)entries, NEAR_NS);
    }
    ictus_skew_result_free(&s.result);
    CHECK(!s.result.skews_s && s.result.n == 0);
}

/* Starts that are late do not count, and others are made in their place, as long as there is time.
 */
static void skews_are_as_many_as_asked(void)
{
    struct skews s = {.barrier = "mpi", .wanted = 300};
    named_job_run(skews_rank, &s, 2e-2);
    CHECK(!s.err && s.result.n == 300 && s.result.invalid > 0);
    int64_t first = 0, last = 0;
    for (int r = 0; r < NAMED_RANKS; r++) {
        first += s.result.first[r];
        last += s.result.last[r];
        CHECK(s.n[r] == 300 && s.invalid[r] == s.result.invalid);
    }
    CHECK(first == 300 && last == 300);
    ictus_skew_result_free(&s.result);
    /* A batch is made in any case, and no second one after the time is up. */
    s = (struct skews){.barrier = "dissemination", .wanted = 700, .limit_s = 1e-9};
    named_job_run(skews_rank, &s, 0.0);
    CHECK(!s.err && s.result.n == 200 && s.n[1] == 200);
    ictus_skew_result_free(&s.result);
    s.limit_s = 3600.0;
    named_job_run(skews_rank, &s, 0.0);
    CHECK(!s.err && s.result.n == 700);
    ictus_skew_result_free(&s.result);
}

/* A harmonised exit is one instant for all; the others, made of messages, are not. */
static void harmonised_exits_are_together(void)
{
    struct skews s = {.barrier = "harmonize", .wanted = 30};
    named_barriers.over_ns = 0;
    named_job_run(skews_rank, &s, 0.0);
    CHECK(!s.err && s.result.n == 30);
    for (int i = 0; i < 30 && !s.err; i++) {
        CHECK(s.result.skews_s[i] * 1e9 <= NEAR_NS && s.result.skews_s[i] >= 0.0);
        CHECK(s.result.durations_s[i] * 1e9 >= 2.0 * NAMED_LATENCY_NS);
    }
    ictus_skew_result_free(&s.result);
    s = (struct skews){.barrier = "linear", .wanted = 30};
    named_job_run(skews_rank, &s, 0.0);
    CHECK(!s.err && s.result.n == 30);
    for (int i = 0; i < 30 && !s.err; i++) {
        CHECK(s.result.skews_s[i] * 1e9 >= 0.9 * NAMED_LATENCY_NS);
    }
    ictus_skew_result_free(&s.result);
}

static void other_barriers_are_refused(void)
{
    struct skews s = {.barrier = "dissemintion", .wanted = 30};
    named_job_run(skews_rank, &s, 0.0);
    CHECK(s.err == ICTUS_ERR_UNKNOWN && strstr(s.why.text, "dissemination"));
    s = (struct skews){.barrier = "mpi:linear", .wanted = 30};
    named_job_run(skews_rank, &s, 0.0);
    CHECK(s.err == ICTUS_ERR_UNSUPPORTED && strstr(s.why.text, "linear"));
    s = (struct skews){.barrier = "mpi", .wanted = 0};
    named_job_run(skews_rank, &s, 0.0);
    CHECK(s.err == ICTUS_ERR_ARG && !s.why.text[0]);
}

static void skew_rank(int rank, void *context)
{
    struct ictus_skew *skew = NULL;
    struct skews *s = context;
    REQUIRE(!ictus_skew_create(job_world(), named_clock, NULL, &skew, NULL));
    s->err = ictus_skew_run(skew, s->barrier, s->wanted, s->limit_s, &s->result, &s->why);
    ictus_skew_free(skew);
    CHECK(rank == 0);
}

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
int __real_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
static int size_told; /* 0: the true one */

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    const int err = __real_MPI_Comm_size(comm, size);
    *size = size_told ? size_told : *size;
    return err;
}

/* Of a great many processes one barrier is a batch, here without a valid one. */
static void a_batch_has_one_barrier(void)
{
    char said[512];
    struct skews s = {.barrier = "mpi", .wanted = 3};
    const struct job_options options = {
        .seed = 1, .ranks = 1, .nodes = 1, .cores = 1, .slow = -1, .slow_factor = 1.0};
    memset(&named_barriers, 0, sizeof(named_barriers));
    size_told = 1 << 20;
    REQUIRE(job_run(&options, skew_rank, &s, said, sizeof(said)) == JOB_DONE);
    size_told = 0;
    CHECK(s.err == ICTUS_ERR_SAMPLES && named_barriers.turn[0] >= 3);
}

/* A single process is first and last, at once. */
static void one_is_first_and_last(void)
{
    char said[512];
    struct skews s = {.barrier = "mpi", .wanted = 3};
    const struct job_options options = {
        .seed = 1, .ranks = 1, .nodes = 1, .cores = 1, .slow = -1, .slow_factor = 1.0};
    memset(&named_barriers, 0, sizeof(named_barriers));
    REQUIRE(job_run(&options, skew_rank, &s, said, sizeof(said)) == JOB_DONE);
    REQUIRE(!s.err && s.result.n == 3);
    CHECK(s.result.first[0] == 3 && s.result.last[0] == 3);
    for (int i = 0; i < 3; i++) {
        CHECK(s.result.skews_s[i] == 0.0 && s.result.durations_s[i] >= 0.0);
    }
    ictus_skew_result_free(&s.result);
}

int main(void)
{
    one_is_first_and_last();
    a_batch_has_one_barrier();
    skews_are_true();
    skews_are_as_many_as_asked();
    harmonised_exits_are_together();
    other_barriers_are_refused();
    return check_result();
}

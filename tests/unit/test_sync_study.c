/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus sync: which processes are judged, what is told of their errors, and how repetitions sum up.
 */
#include "clocks/sync_summary.h"

#include "../check.h"
#include "main/interrupt.h"
#include "main/meet.h"

#include <ictus/clock.h>
#include <ictus/study.h>
#include <jansson.h>
#include <mpi.h>

/* One process of a job, as a test wants it; the others have nothing larger to tell. */
static struct {
    int rank, size;
    bool truth, told; /* the clock's errors are exact; somebody was told to stop */
    int create, judge, created, freed, sleeps, words;
    double asked[4], slept_until_s[4], done[4], more[4]; /* of each judgement */
    struct ictus_clock_error error;
    double others[3]; /* counted, their squared errors, those inside */
    double unseen_ns;
} world;

static const double now_s = 1000.0;
static const int64_t end_ns = 5000;

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank);
int __wrap_MPI_Comm_size(MPI_Comm comm, int *size);
int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int __wrap_MPI_Gather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm);
int __wrap_MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm);
int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm);
int __wrap_ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                                  struct ictus_why *why);
void __wrap_ictus_clock_free(struct ictus_clock *clock);
struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock);
int __wrap_ictus_clock_stats(const struct ictus_clock *clock, struct ictus_sync_stats *stats);
int __wrap_ictus_clock_has_truth(const struct ictus_clock *clock, bool *truth);
int __wrap_ictus_clock_unseen(const struct ictus_clock *clock, double *unseen_ns);
int __wrap_ictus_clock_true_error(const struct ictus_clock *clock, struct ictus_time at,
                                  struct ictus_clock_error *out);
int __wrap_ictus_clock_measured_error(const struct ictus_clock *clock, bool asked, size_t exchanges,
                                      struct ictus_clock_error *out);

int __wrap_MPI_Comm_rank(MPI_Comm comm, int *rank)
{
    (void)comm;
    *rank = world.rank;
    return MPI_SUCCESS;
}

int __wrap_MPI_Comm_size(MPI_Comm comm, int *size)
{
    (void)comm;
    *size = world.size;
    return MPI_SUCCESS;
}

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)type;
    (void)comm;
    CHECK(*(const int *)buffer == 1 && count == 1 && root == 0);
    return MPI_SUCCESS;
}

int __wrap_MPI_Gather(const void *from, int from_count, MPI_Datatype from_type, void *to,
                      int to_count, MPI_Datatype to_type, int root, MPI_Comm comm)
{
    (void)comm;
    CHECK(from_count == 1 && to_count == 1 && root == 0);
    CHECK(from_type == MPI_DOUBLE && to_type == MPI_DOUBLE);
    for (int i = 0; world.rank == 0 && i < world.size; i++) {
        ((double *)to)[i] = i == 0 ? *(const double *)from : -i;
    }
    return MPI_SUCCESS;
}

int __wrap_MPI_Reduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op, int root,
                      MPI_Comm comm)
{
    (void)comm;
    CHECK(type == MPI_DOUBLE && root == 0 && (op == MPI_MAX || op == MPI_SUM));
    const double *mine = from;
    for (int i = 0; i < count; i++) {
        ((double *)to)[i] = mine[i] + (op == MPI_SUM ? world.others[i] : 0);
    }
    return MPI_SUCCESS;
}

int __wrap_MPI_Allreduce(const void *from, void *to, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    (void)comm;
    CHECK(from == MPI_IN_PLACE);
    if (type == MPI_INT) {
        CHECK(op == MPI_MAX && count == 1);
        *(int *)to = world.told;
    } else if (type == MPI_DOUBLE) {
        CHECK(op == MPI_MAX && count == 1);
        *(double *)to = fmax(*(double *)to, 0.5);
    } else {
        CHECK(op == MPI_SUM && count == 2);
        ((uint64_t *)to)[0] += 100;
        ((uint64_t *)to)[1] += 1000;
    }
    return MPI_SUCCESS;
}

int __wrap_ictus_clock_create_why(MPI_Comm comm, const char *spec, struct ictus_clock **clock,
                                  struct ictus_why *why)
{
    (void)comm;
    (void)why;
    CHECK_STR(spec, "this@that");
    *clock = NULL;
    world.created++;
    return world.create;
}

void __wrap_ictus_clock_free(struct ictus_clock *clock)
{
    (void)clock;
    world.freed++;
}

int __wrap_ictus_clock_unseen(const struct ictus_clock *clock, double *unseen_ns)
{
    (void)clock;
    *unseen_ns = world.unseen_ns;
    return ICTUS_OK;
}

struct ictus_time __wrap_ictus_clock_local(const struct ictus_clock *clock)
{
    (void)clock;
    return (struct ictus_time){end_ns};
}

int __wrap_ictus_clock_stats(const struct ictus_clock *clock, struct ictus_sync_stats *stats)
{
    (void)clock;
    *stats = (struct ictus_sync_stats){.duration_s = 0.25, .exchanges = 7, .messages = 9};
    return ICTUS_OK;
}

int __wrap_ictus_clock_has_truth(const struct ictus_clock *clock, bool *truth)
{
    (void)clock;
    *truth = world.truth;
    return ICTUS_OK;
}

/* The clock is as many nanoseconds off as time has passed, if no other error is wanted. */
int __wrap_ictus_clock_true_error(const struct ictus_clock *clock, struct ictus_time at,
                                  struct ictus_clock_error *out)
{
    (void)clock;
    *out = world.error;
    out->error_ns = out->error_ns != 0 ? out->error_ns : (double)(at.ns - end_ns);
    return world.judge;
}

int __wrap_ictus_clock_measured_error(const struct ictus_clock *clock, bool asked, size_t exchanges,
                                      struct ictus_clock_error *out)
{
    (void)clock;
    CHECK(exchanges == 30);
    *out = world.error;
    out->known = asked;
    return world.judge;
}

double meet_now_s(void)
{
    return now_s;
}

void meet_sleep_telling(double deadline_s, struct progress *progress, double done, double more,
                        const char *label)
{
    CHECK(!progress);
    CHECK_STR(label, "label");
    REQUIRE(world.sleeps < 4);
    world.slept_until_s[world.sleeps] = deadline_s;
    world.done[world.sleeps] = done;
    world.more[world.sleeps++] = more;
}

bool interrupt_here(void)
{
    return false;
}

static void world_begin(int rank, int size, bool truth)
{
    memset(&world, 0, sizeof world);
    world.rank = rank;
    world.size = size;
    world.truth = truth;
    world.error.sigma_ns = 100;
}

static const double waits[] = {0, 1e-6, 4e-6};
static struct judging all = {
    .waits = waits, .wait_count = 3, .exchanges = 30, .sample = 1, .done = 5, .label = "label"};
static struct sync_quality qualities[3];
static struct sync_cost cost;

static size_t run(const struct judging *how)
{
    size_t judged = 9;
    struct ictus_why why = {""};
    memset(qualities, 0, sizeof qualities);
    CHECK(sync_experiment_run(MPI_COMM_WORLD, "this@that", how, &cost, qualities, &judged, &why) ==
          (world.create ? world.create : world.judge));
    CHECK(world.freed == (world.create ? 0 : 1));
    return judged;
}

/* How many ranks of a job are judged, when a share is asked for. */
static int count_sampled(int size, double share, uint64_t seed)
{
    struct judging how = all;
    int sampled = 0;
    how.sample = share;
    how.seed = seed;
    how.wait_count = 1;
    for (int rank = 1; rank < size; rank++) {
        world_begin(rank, size, true);
        CHECK(run(&how) == 1);
        sampled += qualities[0].checked;
    }
    return sampled;
}

/* As many as asked for, at least one, and not always the same. */
static void samples_are_drawn(void)
{
    static const struct {
        int size;
        double share;
        int wanted;
    } cases[] = {{2, 1, 1},    {9, 1, 8},    {9, 0.5, 4},   {9, 0.51, 5},
                 {9, 1e-6, 1}, {41, 0.1, 4}, {41, 0.11, 5}, {2, 1e-6, 1}};
    for (uint64_t seed = 1; seed <= 20; seed++) {
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            CHECK(count_sampled(cases[i].size, cases[i].share, seed) == cases[i].wanted);
        }
    }
    bool found[5] = {false};
    struct judging how = all;
    how.sample = 0.1;
    how.wait_count = 1;
    for (how.seed = 1; how.seed <= 60; how.seed++) {
        for (int rank = 1; rank < 5; rank++) {
            world_begin(rank, 5, true);
            (void)run(&how);
            found[rank] = found[rank] || qualities[0].checked;
        }
    }
    CHECK(found[1] && found[2] && found[3] && found[4]);
}

/* Simulated clocks: errors at once at all instants; nobody sleeps. */
static void true_errors_are_told(void)
{
    world_begin(1, 2, true);
    CHECK(run(&all) == 3 && world.sleeps == 0);
    static const double errors[] = {0, 1000, 4000};
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(qualities[i].wait_s, waits[i], 0);
        CHECK_NEAR(qualities[i].max_error_ns, errors[i], 0);
        CHECK_NEAR(qualities[i].rms_error_ns, errors[i], 1e-9);
        CHECK_NEAR(qualities[i].covered, errors[i] < 100, 0);
        CHECK(qualities[i].checked == 1 && !qualities[i].errors_ns);
    }
    CHECK(cost.truth);
    CHECK_NEAR(cost.duration_s, 0.5, 0); /* of the slowest */
    CHECK(cost.exchanges == 107 && cost.messages == 1009);
    world_begin(0, 3, true); /* rank 0 is what the others are compared with */
    world.others[0] = 2;
    world.others[1] = 50;
    world.others[2] = 1;
    CHECK(run(&all) == 3 && qualities[0].checked == 2);
    CHECK_NEAR(qualities[0].rms_error_ns, 5, 1e-12);
    CHECK_NEAR(qualities[0].covered, 0.5, 1e-12);
    world_begin(0, 3, true);
    CHECK(run(&all) == 3 && qualities[0].checked == 0 && isnan(qualities[0].covered));
    CHECK_NEAR(qualities[0].rms_error_ns, 0, 0);
}

/* 95 of 100 normal errors lie within 1.96 standard deviations; clocks are read in nanoseconds, and
 * no claim of less can be judged. */
static void coverage_is_told(void)
{
    static const struct {
        double error_ns, sigma_ns;
        bool inside;
    } cases[] = {{195.9, 100, true},   {-195.9, 100, true}, {196.1, 100, false},
                 {-196.1, 100, false}, {1, 0, true},        {1.1, 0, false},
                 {1, 0.5, true},       {1.1, 0.5, false},   {1.1, 0.6, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        world_begin(1, 2, true);
        world.error = (struct ictus_clock_error){.error_ns = cases[i].error_ns,
                                                 .sigma_ns = cases[i].sigma_ns,
                                                 .bound_ns = 7,
                                                 .half_width_ns = 8,
                                                 .path_ns = 9};
        world.unseen_ns = 10;
        CHECK(run(&all) == 3);
        CHECK_NEAR(qualities[0].covered, cases[i].inside, 0);
        CHECK_NEAR(qualities[0].max_error_ns, fabs(cases[i].error_ns), 0);
        CHECK_NEAR(qualities[0].max_sigma_ns, cases[i].sigma_ns, 0);
        CHECK_NEAR(qualities[0].max_bound_ns, 7, 0);
        CHECK_NEAR(qualities[0].half_width_ns, 8, 0);
        CHECK_NEAR(qualities[0].max_path_ns, 9, 0);
        CHECK_NEAR(qualities[0].max_unseen_ns, 10, 0);
    }
}

/* Real clocks are waited for, as far as each wait goes beyond the one before. */
static void real_clocks_are_waited_for(void)
{
    world_begin(1, 2, false);
    CHECK(run(&all) == 3 && world.sleeps == 3 && !cost.truth);
    static const double done[] = {5, 5, 5.25};
    static const double more[] = {0, 0.25, 0.75};
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(world.slept_until_s[i], now_s + waits[i], 1e-12);
        CHECK_NEAR(world.done[i], done[i], 1e-12);
        CHECK_NEAR(world.more[i], more[i], 1e-12);
    }
    world_begin(1, 2, false);
    world.told = true;
    CHECK(run(&all) == 0 && world.sleeps == 1);
    world_begin(1, 2, false);
    world.judge = ICTUS_ERR_MPI;
    CHECK(run(&all) == 0);
    world_begin(1, 2, false);
    world.create = ICTUS_ERR_SPEC;
    CHECK(run(&all) == 0);
}

/* Every process's own error, where it was judged. */
static void raw_errors_are_kept(void)
{
    struct judging how = all;
    how.raw = true;
    how.wait_count = 1;
    world_begin(0, 3, true);
    world.error.error_ns = 4;
    CHECK(run(&how) == 1);
    REQUIRE(qualities[0].errors_ns);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(qualities[0].errors_ns[i], i == 0 ? 4 : -i, 0);
    }
    free(qualities[0].errors_ns);
    world_begin(0, 3, false); /* what is not known is no number */
    CHECK(run(&how) == 1);
    REQUIRE(qualities[0].errors_ns);
    CHECK(isnan(qualities[0].errors_ns[0]));
    CHECK(qualities[0].checked == 0 && isnan(qualities[0].covered));
    CHECK(qualities[0].max_error_ns == 0.0 && qualities[0].rms_error_ns == 0.0);
    free(qualities[0].errors_ns);
}

static double member(const json_t *row, const char *key)
{
    return json_number_value(json_object_get(row, key));
}

static void repetitions_are_summed_up(void)
{
    struct sync_summary *summary = sync_summary_create(2, 3);
    REQUIRE(summary);
    CHECK(!sync_summary_row(summary, 0, "s", 2, 0));
    for (int i = 0; i < 3; i++) {
        static const double order[] = {3, 1, 2};
        const double x = order[i];
        const struct sync_cost costs = {
            .duration_s = x, .exchanges = (uint64_t)(10 * x), .truth = true};
        const struct sync_quality quality = {.max_error_ns = 100 * x,
                                             .rms_error_ns = 50 * x,
                                             .max_sigma_ns = 20 * x,
                                             .max_path_ns = 5 * x,
                                             .max_unseen_ns = 3 * x,
                                             .covered = x == 1 ? 0.5 : 1};
        sync_summary_add(summary, 1, &costs, &quality);
    }
    CHECK(!sync_summary_row(summary, 0, "s", 2, 0));
    json_t *row = sync_summary_row(summary, 1, "s", 4, 0.5);
    REQUIRE(row);
    static const struct {
        const char *key;
        double value;
    } wanted[] = {{"processes", 4},  {"wait_s", 0.5},   {"n", 3},          {"duration_s", 2},
                  {"exchanges", 20}, {"error_ns", 200}, {"worst_ns", 300}, {"rms_ns", 100},
                  {"sigma_ns", 40},  {"path_ns", 10},   {"unseen_ns", 6}};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        CHECK_NEAR(member(row, wanted[i].key), wanted[i].value, 1e-12);
    }
    CHECK_NEAR(member(row, "covered"), 250.0 / 3, 1e-9);
    json_decref(row);
    const struct sync_cost measured = {.truth = false};
    const struct sync_quality quality = {.max_error_ns = 1};
    sync_summary_add(summary, 0, &measured, &quality);
    row = sync_summary_row(summary, 0, "s", 2, 0);
    CHECK(row && !json_object_get(row, "covered")); /* only truth can tell */
    json_decref(row);
    sync_summary_free(summary);
    sync_summary_free(NULL);
    /* If memory for either of the two is refused, no summary is made. */
    CHECK(CHECK_SANITIZED || !sync_summary_create(1, SIZE_MAX / 1024));
}

int main(void)
{
    samples_are_drawn();
    true_errors_are_told();
    coverage_is_told();
    real_clocks_are_waited_for();
    raw_errors_are_kept();
    repetitions_are_summed_up();
    return check_result();
}

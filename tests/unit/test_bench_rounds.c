/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * ictus bench in rounds, on a clock of the test's own: which repetitions are made when, what ends
 * an experiment, and what is written of those that fail.
 */
#include "bench/bench_rounds.h"

#include "../check.h"
#include "main/command.h"
#include "main/interrupt.h"
#include "main/meet.h"

#include <mpi.h>

enum { EXPERIMENTS = 5, CALLS_MOST = 200, PROCESSES = 2 };

struct call {
    int experiment;
    double at_s;
    struct ictus_bench_plan plan;
};

struct written {
    int experiment;
    int64_t n, invalid;
    bool cut_short, in_order;
    double sigma_ns, bound_ns;
    int arrival_ranks;
    struct bench_trips trips;
};

/* The linker, and the test's own names, have the rounds use these. */
static struct {
    double now_s, each_s;       /* a repetition takes that */
    double trip_s, trip_change; /* of the node: every other one is longer by a factor */
    int64_t most;               /* repetitions that a call makes at most; 0: any number */
    int invalid, rests, sleeps, hidden, size;
    int interrupted_after;      /* so many calls; 0: never */
    int failing, err, failures; /* an experiment that fails so often, */
    int spared;                 /* after so many calls that do not */
    bool done[EXPERIMENTS];     /* --resume */
    struct call calls[CALLS_MOST];
    int call_count;
    struct written written[EXPERIMENTS];
    int written_count;
} world;

static struct bench_options options;
static struct bench_study study;
static struct bench_experiment list[EXPERIMENTS];

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);

int __wrap_MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)buffer;
    (void)count;
    (void)type;
    (void)comm;
    CHECK(root == 0);
    return MPI_SUCCESS;
}

int command_rank(void)
{
    return 0;
}

int command_size(void)
{
    return world.size;
}

int results_agree(int err, struct ictus_why *why)
{
    (void)why;
    return err;
}

double meet_now_s(void)
{
    return world.now_s;
}

void meet_sleep_telling(double deadline_s, struct progress *progress, double done, double more,
                        const char *label)
{
    (void)progress;
    CHECK(deadline_s > world.now_s && done >= 0 && done <= EXPERIMENTS);
    CHECK_NEAR(more, 0, 0);
    CHECK_STR(label, "between rounds");
    world.now_s = deadline_s;
    world.sleeps++;
}

bool interrupt_came(void)
{
    return world.interrupted_after && world.call_count >= world.interrupted_after;
}

void group_rest(void)
{
    world.rests++;
}

void progress_step(struct progress *progress, double done, const char *label)
{
    (void)progress;
    CHECK(done >= 0 && done < EXPERIMENTS);
    CHECK_STR(label, "bcast");
}

void progress_hide(struct progress *progress)
{
    (void)progress;
    world.hidden++;
}

struct ictus_bench_plan bench_study_plan(const struct bench_study *s,
                                         const struct bench_experiment *e)
{
    (void)s;
    (void)e;
    return (struct ictus_bench_plan){.width = 9, .repetitions = -1};
}

bool bench_study_is_done(const struct bench_study *s, const struct bench_experiment *e)
{
    (void)s;
    return world.done[e->bytes];
}

/* Samples count up from 0, and those of the processes are made of them. */
int bench_study_write(struct bench_study *s, const struct bench_experiment *e,
                      const struct ictus_bench_result *result, const struct bench_trips *trips)
{
    REQUIRE(world.written_count < EXPERIMENTS);
    struct written *w = &world.written[world.written_count++];
    *w = (struct written){.experiment = (int)e->bytes,
                          .n = result->n,
                          .invalid = result->invalid,
                          .cut_short = s->cut_short,
                          .in_order = true,
                          .sigma_ns = result->sigma_ns,
                          .bound_ns = result->bound_ns,
                          .arrival_ranks = result->arrival_ranks,
                          .trips = *trips};
    for (int64_t i = 0; i < result->n; i++) {
        w->in_order = w->in_order && result->samples_s[ICTUS_REDUCE_MAX][i] == 1 + 1e-9 * (double)i;
        for (int p = 0; p < PROCESSES; p++) {
            w->in_order = w->in_order && result->ranks_s[i * PROCESSES + p] == (double)(10 * i + p);
        }
    }
    CHECK(!result->samples_s[ICTUS_REDUCE_MIN]); /* nobody measured it */
    return ICTUS_OK;
}

/* As many repetitions as are asked for and there is time for. */
static int measure(struct bench_study *s, const struct bench_experiment *e,
                   struct ictus_bench_plan *plan, struct ictus_bench_result *result,
                   struct ictus_why *why)
{
    (void)s;
    REQUIRE(world.call_count < CALLS_MOST);
    world.calls[world.call_count++] = (struct call){(int)e->bytes, world.now_s, *plan};
    if (world.failing == (int)e->bytes && world.failures > 0 && world.spared-- <= 0) {
        world.failures--;
        (void)snprintf(why->text, sizeof why->text, "it fails");
        return world.err;
    }
    int64_t n = plan->repetitions;
    n = world.most && world.most < n ? world.most : n;
    if (plan->max_time_s > 0 && (double)n * world.each_s > plan->max_time_s) {
        n = (int64_t)ceil(plan->max_time_s / world.each_s - 1e-9);
    }
    result->n = n;
    result->node_trip_s = world.trip_s * (world.call_count % 2 ? 1 : world.trip_change);
    result->invalid = world.invalid;
    result->samples_s[ICTUS_REDUCE_MAX] = calloc((size_t)n, sizeof(double));
    result->ranks_s = calloc((size_t)n * PROCESSES, sizeof(double));
    REQUIRE(result->samples_s[ICTUS_REDUCE_MAX] && result->ranks_s);
    const int64_t before = plan->first - world.invalid * (world.call_count - 1);
    for (int64_t i = 0; i < n; i++) {
        result->samples_s[ICTUS_REDUCE_MAX][i] = 1 + 1e-9 * (double)(before + i);
        for (int p = 0; p < PROCESSES; p++) {
            result->ranks_s[i * PROCESSES + p] = (double)(10 * (before + i) + p);
        }
    }
    result->sigma_ns = world.call_count == 2 ? 7 : 3;
    result->bound_ns = world.call_count == 2 ? 70 : 30;
    result->arrival_ranks = 8;
    world.now_s += (double)n * world.each_s;
    return ICTUS_OK;
}

static void study_begin(int64_t repetitions, int64_t rounds)
{
    memset(&world, 0, sizeof world);
    world.now_s = 5;
    world.each_s = 1e-3;
    world.failing = -1;
    world.size = PROCESSES;
    options = (struct bench_options){
        .scheme = "harmonize", .repetitions = repetitions, .rounds = rounds, .width = 0};
    study = (struct bench_study){.options = &options, .op_count = 1, .group_count = 1};
    study.ops[0].name = "bcast";
    study.groups[0] = (struct bench_group){.processes = PROCESSES, .member = true};
    for (int i = 0; i < EXPERIMENTS; i++) {
        list[i] = (struct bench_experiment){0, 0, -1, (uint64_t)i};
    }
}

static int run(size_t count)
{
    struct ictus_why why = {""};
    const int err = rounds_run(&study, list, count, measure, &why);
    CHECK(!err || strcmp(why.text, "it fails") == 0);
    return err;
}

/* A round is worth its warm-up with fifty repetitions. */
static void rounds_are_worth_it(void)
{
    static const struct {
        int64_t repetitions, rounds;
        int wanted;
    } cases[] = {{1, 10, 1},   {99, 10, 1},   {100, 10, 2},   {149, 10, 2},
                 {450, 10, 9}, {500, 10, 10}, {5000, 10, 10}, {5000, 1, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct bench_options o = {.repetitions = cases[i].repetitions,
                                        .rounds = cases[i].rounds};
        CHECK(rounds_count(&o) == cases[i].wanted);
    }
}

/* Each repetition once, in shares that differ by one at most; late ones count for what comes next.
 */
static void repetitions_are_shared(void)
{
    for (int invalid = 0; invalid < 3; invalid++) {
        study_begin(505, 7);
        options.max_time_s = 0; /* no limit */
        options.width = 1e-12;
        world.invalid = invalid;
        CHECK(run(1) == ICTUS_OK && world.call_count == 7 && world.written_count == 1);
        int64_t made = 0;
        for (int i = 0; i < 7; i++) {
            const struct ictus_bench_plan *plan = &world.calls[i].plan;
            CHECK(plan->repetitions == (i == 0 ? 73 : 72));
            CHECK(plan->first == made + i * invalid);
            CHECK(plan->max_time_s == 0 && plan->width == 0);
            made += plan->repetitions;
        }
        const struct written *w = &world.written[0];
        CHECK(w->n == 505 && w->invalid == 7 * invalid && w->in_order && !w->cut_short);
        CHECK_NEAR(w->sigma_ns, 7, 0);
        CHECK_NEAR(w->bound_ns, 70, 0);
        CHECK(w->arrival_ranks == 8 && world.rests == 0);
    }
    study_begin(40, 7); /* one round, whose own samples tell when they suffice */
    options.width = 0.25;
    CHECK(run(1) == ICTUS_OK && world.call_count == 1 && world.written[0].n == 40);
    CHECK_NEAR(world.calls[0].plan.width, 0.25, 0);
}

/* An experiment ends with its time, its last repetition, or a median that is known well enough. */
static void experiments_end(void)
{
    study_begin(1000000, 4);
    options.max_time_s = 0.4;
    CHECK(run(1) == ICTUS_OK && world.call_count == 4 && world.written[0].n == 400);
    for (int i = 0; i < 4; i++) {
        CHECK_NEAR(world.calls[i].plan.max_time_s, 0.1, 1e-9);
    }
    study_begin(1000000, 4);
    options.max_time_s = NAN;
    options.span_s = 1;
    CHECK(run(1) == ICTUS_OK && world.call_count == 4 && world.written[0].n == 2000);
    /* What is in a hurry ends after a tenth of a second, but not before a hundred repetitions. */
    static const struct {
        double each_s;
        int64_t n;
    } hurries[] = {{1e-3, 250}, {1e-2, 100}, {1e-4, 1000}};
    for (size_t i = 0; i < 3; i++) {
        study_begin(1000000, 8);
        options.max_time_s = NAN;
        world.each_s = hurries[i].each_s;
        world.most = i == 1 ? 25 : 250;
        CHECK(run(1) == ICTUS_OK && world.written[0].n == hurries[i].n);
    }
    study_begin(1000000, 100); /* as all samples are nearly alike */
    world.most = 60;
    options.width = 0.01;
    CHECK(run(1) == ICTUS_OK && world.written[0].n == 120);
    study_begin(1000000, 100);
    study.ops[0].once = 1;
    world.most = 1;
    CHECK(run(1) == ICTUS_OK && world.written[0].n == 1);
    /* Time that is over leaves a little: none would be no limit. */
    study_begin(1000000, 4);
    options.max_time_s = 1e-9;
    world.each_s = 1e-12;
    CHECK(run(1) == ICTUS_OK);
    CHECK_NEAR(world.calls[0].plan.max_time_s, 1e-6, 1e-12);
}

/* Rounds fill the span; as many experiments take turns as fill it. */
static void rounds_fill_the_span(void)
{
    static const int turns[] = {0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 2, 3, 2,
                                3, 2, 3, 2, 3, 2, 3, 4, 4, 4, 4, 4};
    study_begin(500, 5);
    options.span_s = 0.99; /* two experiments take more */
    CHECK(run(EXPERIMENTS) == ICTUS_OK && world.call_count == 25);
    for (int i = 0; i < 25; i++) {
        CHECK(world.calls[i].experiment == turns[i]);
    }
    for (int i = 0; i < EXPERIMENTS; i++) {
        CHECK(world.written[i].experiment == i && world.written[i].n == 500);
    }
    study_begin(500, 5);
    options.span_s = 1;
    world.each_s = 2e-4; /* 0.1 s of work, and sleep */
    CHECK(run(1) == ICTUS_OK && world.sleeps == 4);
    for (int i = 0; i < 5; i++) { /* the last one ends with the span */
        CHECK_NEAR(world.calls[i].at_s, 5 + i * (1 - 0.02) / 4, 1e-9);
    }
    study_begin(500, 5); /* without a span one after the other */
    CHECK(run(2) == ICTUS_OK && world.call_count == 10 && world.sleeps == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(world.calls[i].experiment == i / 5);
    }
}

/* What cannot be measured is left out where nobody named it; what may become better is tried again.
 */
static void failures_are_told_apart(void)
{
    static const struct {
        int err, failures;
        bool every, of_all;
        int wanted, calls, written, left_out;
    } cases[] = {
        {ICTUS_ERR_UNSUPPORTED, 9, false, false, ICTUS_ERR_UNSUPPORTED, 3, 1, 0},
        {ICTUS_ERR_UNSUPPORTED, 9, true, false, ICTUS_OK, 5, 2, 1},
        {ICTUS_ERR_UNSUPPORTED, 9, false, true, ICTUS_OK, 5, 2, 0},
        {ICTUS_ERR_ARG, 9, false, true, ICTUS_ERR_ARG, 3, 1, 0},
        {ICTUS_ERR_ARG, 9, true, false, ICTUS_OK, 5, 2, 1},
        {ICTUS_ERR_SAMPLES, 9, false, false, ICTUS_OK, 6, 2, 1},
        {ICTUS_ERR_SAMPLES, 9, false, true, ICTUS_OK, 6, 2, 1},
        {ICTUS_ERR_SAMPLES, 1, false, false, ICTUS_OK, 6, 3, 0},
        {ICTUS_ERR_MPI, 9, true, true, ICTUS_ERR_MPI, 3, 1, 0},
        {ICTUS_ERR_IO, 9, true, true, ICTUS_ERR_IO, 3, 1, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        study_begin(100, 2);
        study.every_operation = cases[i].every;
        study.algorithms[0].of_all = cases[i].of_all;
        world.failing = 1;
        world.err = cases[i].err;
        world.failures = cases[i].failures;
        for (int k = 0; k < 3; k++) {
            list[k].algorithm = 0;
        }
        CHECK(run(3) == cases[i].wanted);
        if (world.call_count != cases[i].calls || world.written_count != cases[i].written ||
            study.left_out != cases[i].left_out) {
            check_failures++;
            (void)fprintf(stderr, "case %zu: %d calls, %d written, %d left out\n", i,
                          world.call_count, world.written_count, study.left_out);
        }
    }
    study_begin(100, 2); /* a last round without samples takes nothing from what is known */
    world.failing = 0;
    world.spared = 1;
    world.err = ICTUS_ERR_SAMPLES;
    world.failures = 9;
    CHECK(run(1) == ICTUS_OK && world.written_count == 1 && world.written[0].n == 50);
    CHECK(world.written[0].arrival_ranks == 8);
    /* In one chapter, what the others gave before is written. */
    study_begin(100, 2);
    options.span_s = 100;
    world.failing = 2;
    world.err = ICTUS_ERR_MPI;
    world.failures = 9;
    CHECK(run(3) == ICTUS_ERR_MPI && world.written_count == 2);
    CHECK(world.written[1].experiment == 1 && world.written[1].n == 50 && study.cut_short);
    study_begin(100, 2);
    options.span_s = 100;
    world.failing = 2;
    world.err = ICTUS_ERR_IO; /* nothing can be written */
    world.failures = 9;
    CHECK(run(3) == ICTUS_ERR_IO && world.written_count == 0);
}

/* Of a run that is interrupted there is what was made by then. */
static void interruptions_keep_results(void)
{
    study_begin(500, 5);
    options.span_s = 0.99;
    world.interrupted_after = 3;
    CHECK(run(EXPERIMENTS) == ICTUS_OK && world.call_count == 3 && world.written_count == 2);
    CHECK(world.written[0].n == 200 && world.written[1].n == 100);
    CHECK(world.written[0].cut_short && world.written[1].cut_short);
}

/* What a file holds already is not measured again, if it is continued. */
static void known_experiments_are_left_out(void)
{
    for (int resume = 0; resume < 2; resume++) {
        study_begin(40, 1);
        options.resume = resume;
        world.done[0] = world.done[2] = true;
        CHECK(run(4) == ICTUS_OK && world.call_count == (resume ? 2 : 4));
        CHECK(world.written[0].experiment == (resume ? 1 : 0));
        CHECK(world.written[1].experiment == (resume ? 3 : 1));
    }
}

/* Processes that take no part rest, and so do those that do, until all are through. */
static void others_rest(void)
{
    study_begin(40, 1);
    study.groups[0].member = false;
    world.size = 3;
    CHECK(run(1) == ICTUS_OK && world.call_count == 0 && world.rests == 1);
    CHECK(world.written_count == 0);
    study_begin(40, 1);
    study.group_count = 2;
    CHECK(run(1) == ICTUS_OK && world.call_count == 1 && world.rests == 1);
}

/* Of each round's trip through the node's memory the mean and the spread are known. */
static void trips_are_gathered(void)
{
    study_begin(400, 4);
    options.span_s = 0.99;
    world.trip_s = 2e-7;
    world.trip_change = 2;
    CHECK(run(1) == ICTUS_OK && world.call_count == 4);
    CHECK(world.written[0].trips.n == 4);
    CHECK_NEAR(world.written[0].trips.mean, log(2e-7) + 0.5 * log(2), 1e-9);
    CHECK_NEAR(world.written[0].trips.squares, log(2) * log(2), 1e-9);
    study_begin(400, 4);
    options.span_s = 0.99;
    world.trip_s = 0; /* there is none */
    CHECK(run(1) == ICTUS_OK && world.written[0].trips.n == 0);
}

int main(void)
{
    trips_are_gathered();
    rounds_are_worth_it();
    repetitions_are_shared();
    experiments_end();
    rounds_fill_the_span();
    failures_are_told_apart();
    interruptions_keep_results();
    known_experiments_are_left_out();
    others_rest();
    return check_result();
}

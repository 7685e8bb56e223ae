/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Experiments in simulated jobs: as many repetitions as were asked for, or as time allows, or until
 * the median is known, of an operation whose every call is known, and the same end on all ranks.
 */
#include "bench/bench.h"
#include "bench/node_trip.h"
#include "bench/operation_list.h"

#include "../check.h"
#include "../sim/job_names.h"

enum { RANKS = NAMED_RANKS, CALLS_MAX = 8192, NEAR_NS = 400, NEVER = -1 };

/* One call on a rank. */
struct visit {
    int64_t entered, left, turn;
    int root, size, messages, partitions, threads, sets;
};

/* What is asked for, and what came of it. */
static struct {
    const char *scheme;
    struct ictus_bench_plan plan;
    double away_every_s;
    int64_t (*length_ns)(int rank, int call);
    int fails_at; /* a call that fails */
    /* what came */
    struct visit visits[RANKS][CALLS_MAX];
    int calls[RANKS], errors[RANKS];
    int64_t began, ended;
    struct ictus_bench_result results[RANKS];
    struct ictus_why whys[RANKS];
} world;

static int known_run(struct call *call)
{
    const int me = job_rank();
    const int k = world.calls[me]++;
    REQUIRE(k < CALLS_MAX);
    struct visit *v = &world.visits[me][k];
    *v = (struct visit){.entered = job_now(),
                        .turn = call->turn,
                        .root = call->root,
                        .size = call->size,
                        .messages = call->messages,
                        .partitions = call->partitions,
                        .threads = call->threads,
                        .sets = call->sets};
    job_spend((double)world.length_ns(me, k));
    v->left = job_now();
    return k == world.fails_at ? MPI_ERR_OTHER : MPI_SUCCESS;
}

static const struct operation known = {.name = "known", .shape = SHAPE_BARRIER, .run = known_run};

/* NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming): the linker's names */
const struct operation *__wrap_ictusi_operation_find(const struct ictus_plugins *plugins,
                                                     const char *name, struct ictus_why *why);
/* NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming) */
const struct operation *__wrap_ictusi_operation_find(const struct ictus_plugins *plugins,
                                                     const char *name, struct ictus_why *why)
{
    (void)plugins;
    (void)why;
    return strcmp(name, known.name) == 0 ? &known : NULL;
}

static void world_rank(int rank, void *context)
{
    struct ictus_bench *bench = NULL;
    (void)context;
    REQUIRE(!ictus_bench_create(job_world(), world.scheme, named_clock, &bench, NULL));
    world.began = rank == 0 ? job_now() : world.began;
    world.errors[rank] =
        ictus_bench_run(bench, &world.plan, &world.results[rank], &world.whys[rank]);
    world.ended = rank == 0 ? job_now() : world.ended;
    ictus_bench_free(bench);
}

static int64_t length_usual(int rank, int call)
{
    return 20000 + 3000 * ((rank * 3 + call) % RANKS);
}

static int64_t length_of_ms(int rank, int call)
{
    (void)call;
    return 1000000 - 1000 * rank;
}

static void world_begin(const char *scheme, int64_t repetitions)
{
    memset(&world, 0, sizeof(world));
    world.scheme = scheme;
    world.length_ns = length_usual;
    world.fails_at = NEVER;
    world.plan = (struct ictus_bench_plan){
        .size = sizeof(world.plan), .operation = "known", .repetitions = repetitions};
}

/* Play, and see that all ranks end alike. */
static void world_play(void)
{
    named_job_run(world_rank, NULL, world.away_every_s);
    for (int r = 1; r < RANKS; r++) {
        CHECK(world.errors[r] == world.errors[0] && world.calls[r] == world.calls[0]);
        CHECK(world.results[r].n == world.results[0].n);
        CHECK(world.results[r].invalid == world.results[0].invalid);
        CHECK(!world.results[r].samples_s[0] && !world.results[r].ranks_s);
    }
}

static void world_end(void)
{
    for (int r = 0; r < RANKS; r++) {
        ictus_bench_result_free(&world.results[r]);
    }
}

/* Repetition i, counted from the end, of all calls. */
static double longest_of(int from_end)
{
    double longest = 0.0;
    for (int r = 0; r < RANKS; r++) {
        const struct visit *v = &world.visits[r][world.calls[r] - from_end];
        longest = fmax(longest, (double)(v->left - v->entered));
    }
    return longest;
}

static void as_many_as_asked(void)
{
    static const int64_t wanted[] = {1, 8, 9, 300};
    for (size_t i = 0; i < sizeof(wanted) / sizeof(wanted[0]); i++) {
        world_begin("harmonize", wanted[i]);
        world.plan.warmup = 3;
        world.plan.keep_ranks = i % 2 == 0;
        world_play();
        const struct ictus_bench_result *result = &world.results[0];
        CHECK(!world.errors[0] && result->n == wanted[i] && result->invalid == 0);
        CHECK(world.calls[0] == 3 + wanted[i]);
        CHECK((result->ranks_s != NULL) == (i % 2 == 0));
        for (int k = 0; k < result->n && !world.errors[0]; k++) {
            const int from_end = (int)result->n - k;
            CHECK_NEAR(1e9 * result->samples_s[ICTUS_REDUCE_MAX][k], longest_of(from_end), NEAR_NS);
            const struct visit *v = &world.visits[3][world.calls[3] - from_end];
            CHECK(!result->ranks_s || fabs(1e9 * result->ranks_s[k * RANKS + 3] -
                                           (double)(v->left - v->entered)) <= NEAR_NS);
        }
        CHECK(result->sigma_ns > 0.0 && result->bound_ns > 900.0 && result->bound_ns < 1e5);
        CHECK(result->node_trip_s == 0.0 && result->arrival_ranks == 0);
        world_end();
    }
}

/* Late starts are made again. */
static void late_ones_are_repeated(void)
{
    world_begin("harmonize", 400);
    world.away_every_s = 2e-3;
    world_play();
    CHECK(!world.errors[0] && world.results[0].n == 400 && world.results[0].invalid > 0);
    CHECK(world.calls[0] == 400 + world.results[0].invalid);
    world_end();
}

/* A time limit ends it after the repetition in which it passes, and one is made in any case. */
static void time_ends_it(void)
{
    static const double limits_s[] = {1e-9, 0.0195, 0.3};
    for (size_t i = 0; i < sizeof(limits_s) / sizeof(limits_s[0]); i++) {
        world_begin("harmonize", 100000);
        world.length_ns = length_of_ms;
        world.plan.max_time_s = limits_s[i];
        world_play();
        const double took_s = 1e-9 * (double)(world.ended - world.began);
        const double n = (double)world.results[0].n;
        CHECK(!world.errors[0] && took_s >= limits_s[i] && n >= 1.0);
        CHECK(n >= limits_s[i] / 1.2e-3 && n <= limits_s[i] / 1e-3 + 10.0);
        world_end();
    }
}

static int64_t length_that_varies(int rank, int call)
{
    (void)rank;
    return 20000 + 7919 * call % 20000;
}

/* It ends once the median is known well enough. If calls vary more, that never happens. */
static void width_ends_it(void)
{
    for (int varies = 0; varies < 2; varies++) {
        world_begin("harmonize", 600);
        world.length_ns = varies ? length_that_varies : length_of_ms;
        world.plan.width = 0.01;
        world_play();
        CHECK(!world.errors[0]);
        CHECK(varies ? world.results[0].n == 600
                     : world.results[0].n >= 8 && world.results[0].n < 300);
        world_end();
    }
}

/* Windows that no call fits into: all starts are late, which ends it without a time limit, too. */
static void nothing_on_time_is_told(void)
{
    for (int limited = 0; limited < 2; limited++) {
        world_begin(limited ? "window:window=1ns" : "window:window=3us", 20);
        world.plan.max_time_s = limited ? 5e-3 : 0.0;
        world_play();
        const int64_t invalid = world.results[0].invalid;
        CHECK(world.errors[0] == ICTUS_ERR_SAMPLES);
        CHECK(strstr(world.whys[0].text, "none of the") &&
              strstr(world.whys[0].text, "known of 0"));
        CHECK(limited ? invalid >= 8 && invalid < 4 * 20 + 256 : invalid > 4 * 20 + 256);
        CHECK(!world.results[0].samples_s[0]);
        world_end();
    }
}

/* Roots change from call to call, and a second part goes on where the first one ended. */
static void parts_go_on(void)
{
    world_begin("barrier", 12);
    world.plan.rotate_root = 1;
    world.plan.root = 1;
    world_play();
    CHECK(!world.errors[0] && world.results[0].n == 12);
    const struct visit first_part = world.visits[2][11];
    for (int k = 1; k < 12; k++) {
        CHECK(world.visits[2][k].turn == world.visits[2][k - 1].turn + 1);
        CHECK(world.visits[2][k].root == (world.visits[2][k - 1].root + 1) % RANKS);
        CHECK(world.visits[0][k].root == world.visits[2][k].root);
    }
    world_end();
    world_begin("barrier", 4);
    world.plan.rotate_root = 1;
    world.plan.root = 1;
    world.plan.first = 12;
    world_play();
    CHECK(world.visits[2][0].turn == first_part.turn + 1);
    CHECK(world.visits[2][0].root == (first_part.root + 1) % RANKS);
    world_end();
}

/* Each rank for itself, or all together; other groups leave some out. */
static void groups_are_equal(void)
{
    for (int group = 0; group <= RANKS + 1; group++) {
        world_begin("harmonize", 10);
        world.plan.group = group;
        world_play();
        const bool fits = group == 0 || RANKS % group == 0;
        CHECK(world.errors[0] == (fits ? ICTUS_OK : ICTUS_ERR_ARG));
        CHECK(fits || strstr(world.whys[4].text, "not a multiple of the group size"));
        CHECK(!fits || world.visits[0][0].size == (group ? group : RANKS));
        CHECK(world.calls[0] == (fits ? 10 : 0));
        world_end();
    }
}

/* A call has what the plan says, or what is usual. */
static void calls_are_as_planned(void)
{
    static const struct {
        int given, messages, partitions, threads, sets;
    } cases[] = {{0, 64, 4, 1, 1}, {1, 1, 1, 1, 1}, {2, 2, 2, 2, 2}, {7, 7, 7, 7, 7}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        world_begin("harmonize", 3);
        world.plan.messages = world.plan.partitions = cases[i].given;
        world.plan.threads = world.plan.buffers = cases[i].given;
        world_play();
        CHECK(!world.errors[0] && world.calls[0] == 3);
        const struct visit *v = &world.visits[1][2];
        CHECK(v->messages == cases[i].messages && v->partitions == cases[i].partitions);
        CHECK(v->threads == cases[i].threads && v->sets == cases[i].sets);
        world_end();
    }
}

/* A call that fails ends it, with the reason. */
static void failures_are_told(void)
{
    for (int at = 0; at <= 5; at += 5) { /* a warm-up; a repetition */
        world_begin("harmonize", 10);
        world.plan.warmup = 2;
        world.fails_at = at;
        world_play();
        for (int r = 0; r < RANKS; r++) {
            CHECK(world.errors[r] == ICTUS_ERR_MPI && strstr(world.whys[r].text, "known"));
        }
        world_end();
    }
}

static void nonsense_is_refused(void)
{
    for (int wrong = 0; wrong < 7; wrong++) {
        world_begin("harmonize", wrong == 0 ? 0 : 10);
        world.plan.warmup = wrong == 1 ? -1 : 0;
        world.plan.max_time_s = wrong == 2 ? -1.0 : 0.0;
        world.plan.width = wrong == 3 ? -0.1 : 0.0;
        world.plan.first = wrong == 4 ? -1 : 0;
        world.plan.size -= wrong == 5;
        world.plan.operation = wrong == 6 ? NULL : "known";
        world_play();
        CHECK(world.errors[0] == ICTUS_ERR_ARG && world.whys[1].text[0] && world.calls[0] == 0);
        world_end();
    }
    world_begin("harmonize", 10);
    world.plan.operation = "unknown";
    world_play();
    CHECK(world.errors[0] == ICTUS_ERR_UNKNOWN);
}

/* A word's trip through the memory of a node, as long as rank 0 waits for it in the mean. */
static struct {
    int crowded; /* the only process of more than cores; NEVER: none */
    double trips_s[RANKS], took_s[RANKS];
} trips;

static void trips_rank(int rank, void *context)
{
    enum { TRIPS = 33 };
    struct node_trip *trip = NULL;
    (void)context;
    REQUIRE(!ictusi_node_trip_create(job_world(), rank == trips.crowded, &trip));
    const int64_t began = job_now();
    trips.trips_s[rank] = ictusi_node_trip_measure(trip);
    trips.took_s[rank] = 1e-9 * (double)(job_now() - began) / TRIPS;
    ictusi_node_trip_free(trip);
}

static void words_go_through_memory(void)
{
    static const struct {
        int nodes, crowded;
        bool known;
    } cases[] = {{1, NEVER, true}, {2, NEVER, true}, {RANKS, NEVER, false}, {1, 3, false}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char said[512];
        const struct job_options options = {.seed = 3,
                                            .ranks = RANKS,
                                            .nodes = cases[i].nodes,
                                            .cores = RANKS,
                                            .latency_ns = 1000.0,
                                            .inside_ns = 300.0,
                                            .slow = -1,
                                            .slow_factor = 1.0};
        trips.crowded = cases[i].crowded;
        REQUIRE(job_run(&options, trips_rank, NULL, said, sizeof(said)) == JOB_DONE);
        CHECK((trips.trips_s[0] > 0.0) == cases[i].known);
        CHECK(!cases[i].known || (trips.trips_s[0] > 0.5 * trips.took_s[0] &&
                                  trips.trips_s[0] < 1.5 * trips.took_s[0]));
        for (int r = 1; r < RANKS; r++) {
            const bool leads = r * cases[i].nodes / RANKS > (r - 1) * cases[i].nodes / RANKS;
            CHECK(leads || trips.trips_s[r] == 0.0); /* the first of each node knows it */
        }
    }
}

int main(void)
{
    words_go_through_memory();
    as_many_as_asked();
    late_ones_are_repeated();
    time_ends_it();
    width_ends_it();
    nothing_on_time_is_told();
    parts_go_on();
    groups_are_equal();
    calls_are_as_planned();
    failures_are_told();
    nonsense_is_refused();
    return check_result();
}

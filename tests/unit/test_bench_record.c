/* SPDX-License-Identifier: BSD-3-Clause */
/* What ictus bench tells of an experiment: its conditions, statistics, rates and warnings. */
#include "bench/bench_proof.h"
#include "bench/bench_study.h"

#include "../check.h"
#include "results/experiments.h"

#include <jansson.h>

enum { MOST = 400, PUT_MOST = 8 };

/* The linker has the study write here. */
static struct {
    json_t *put[PUT_MOST];
    int count, failure, hidden, messages;
    const char *started;
} world;

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object);
int __wrap_ictus_operation_messages(const struct ictus_bench_plan *plan);
const char *__wrap_ictus_selector_started(const char *operation);

int __wrap_ictus_output_put(struct ictus_output *out, json_t *object)
{
    (void)out;
    REQUIRE(world.count < PUT_MOST);
    world.put[world.count++] = object;
    return world.failure;
}

int __wrap_ictus_operation_messages(const struct ictus_bench_plan *plan)
{
    CHECK(plan->repetitions == 5);
    return world.messages;
}

const char *__wrap_ictus_selector_started(const char *operation)
{
    return strcmp(operation, "bcast") == 0 ? world.started : NULL;
}

void progress_hide(struct progress *progress)
{
    (void)progress;
    world.hidden++;
}

struct ictus_bench_plan bench_study_plan(const struct bench_study *study,
                                         const struct bench_experiment *e)
{
    (void)study;
    (void)e;
    return (struct ictus_bench_plan){.repetitions = 5};
}

void bench_study_write_proof(const struct bench_study *study, const struct bench_experiment *e,
                             json_t *object)
{
    (void)study;
    (void)e;
    (void)json_object_set_new(object, "proven", json_true());
}

/* Enough of what tells experiments apart. */
char *experiment_identity(const json_t *measurement)
{
    char text[200];
    (void)snprintf(text, sizeof text, "%s %lld %s",
                   json_string_value(json_object_get(measurement, "operation")),
                   (long long)json_integer_value(json_object_get(measurement, "bytes")),
                   json_string_value(json_object_get(measurement, "reduction")));
    return strdup(text);
}

const char *const group_placements[] = {"packed", "spread", NULL};

static struct bench_options options;
static struct bench_study study;
static struct ictus_bench_result result;
static double samples[MOST];

static void world_end(void)
{
    for (int i = 0; i < world.count; i++) {
        json_decref(world.put[i]);
    }
    memset(&world, 0, sizeof world);
}

/* A plain broadcast among four processes, with all defaults. */
static void study_begin(void)
{
    options = (struct bench_options){.scheme = "harmonize",
                                     .arrival = "together",
                                     .topology = "ring",
                                     .layout = "contiguous",
                                     .datatype = "double",
                                     .reduce = "sum",
                                     .root = 2,
                                     .messages = BENCH_MESSAGES,
                                     .partitions = BENCH_PARTITIONS,
                                     .buffers = 1,
                                     .repetitions = MOST};
    study = (struct bench_study){.options = &options, .op_count = 1, .group_count = 1};
    study.ops[0] = (struct ictus_operation_info){.name = "bcast", .rooted = 1, .has_data = 1};
    study.groups[0].processes = 4;
    study.wanted[ICTUS_REDUCE_MAX] = true;
    result = (struct ictus_bench_result){.n = MOST, .invalid = 3, .sigma_ns = 10, .bound_ns = 50};
    for (int i = 0; i < MOST; i++) {
        samples[i] = 1e-6 + 1e-9 * (double)(i * 7 % 13 - 6);
    }
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        result.samples_s[r] = samples;
    }
    world_end();
}

static const struct bench_experiment experiment = {0, 0, -1, 1024};
static struct bench_trips trips;

/* Write it; @return the only object */
static const json_t *object_written(void)
{
    CHECK(bench_study_write(&study, &experiment, &result, &trips) == ICTUS_OK);
    REQUIRE(world.count == 1);
    return world.put[0];
}

/* Whether a member reads so as JSON; NULL: there is none. */
static void member_is(const json_t *object, const char *key, const char *wanted)
{
    const json_t *member = json_object_get(object, key);
    char *text = member ? json_dumps(member, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    if (!text != !wanted || (text && strcmp(text, wanted) != 0)) {
        check_failures++;
        (void)fprintf(stderr, "%s is %s, not %s\n", key, text ? text : "left out", wanted);
    }
    free(text);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

static const char *const conditions[] = {"arrival", "groups", "in_place", "roots",      "caches",
                                         "buffers", "stream", "threads",  "partitions", "topology",
                                         "layout",  "window", "placement"};
enum { CONDITIONS = sizeof conditions / sizeof *conditions };

static void plain_experiment_is_told(void)
{
    study_begin();
    const json_t *o = object_written();
    member_is(o, "type", "\"measurement\"");
    member_is(o, "operation", "\"bcast\"");
    member_is(o, "algorithm", "\"default\"");
    member_is(o, "bytes", "1024");
    member_is(o, "processes", "4");
    member_is(o, "scheme", "\"harmonize\"");
    member_is(o, "datatype", "\"double\"");
    member_is(o, "op", "null");
    member_is(o, "root", "2");
    member_is(o, "reduction", "\"max\"");
    member_is(o, "n", "400");
    member_is(o, "invalid", "3");
    member_is(o, "clock_sigma_ns", "10.0");
    member_is(o, "clock_bound_ns", "50.0");
    member_is(o, "proven", "true");
    member_is(o, "interrupted", "false");
    member_is(o, "warnings", "[]");
    member_is(o, "messages", "null");
    member_is(o, "bandwidth_Bps", "null");
    member_is(o, "messages_per_s", "null");
    static const char *const left_out[] = {"raw_s", "raw_ranks_s", "arrival_ranks", "traced_s"};
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++) {
        member_is(o, left_out[i], NULL);
    }
    for (int i = 0; i < CONDITIONS; i++) {
        member_is(o, conditions[i], NULL);
    }
    CHECK_NEAR(number(o, "median_s"), 1e-6, 1e-15);
    CHECK_NEAR(number(o, "min_s"), 0.994e-6, 1e-15);
    CHECK_NEAR(number(o, "max_s"), 1.006e-6, 1e-15);
    CHECK(number(o, "p25_s") < number(o, "p75_s") && number(o, "p90_s") < number(o, "p99_s"));
    CHECK(world.hidden == 1 && study.written == 1 && study.drifting == 0);
}

/* What differs from the plain experiment is told, and told as not applying where it does not. */
static void conditions_are_told(void)
{
    static const char *const applying[CONDITIONS] = {
        "\"late\"",       "\"of 2\"", "\"yes\"", "\"rotated\"", "\"cold\"",   "\"2 in turn\"",
        "\"65 at once\"", "\"3\"",    "\"5\"",   "\"cart\"",    "\"vector\"", NULL,
        "\"spread\""};
    for (int applies = 0; applies < 2; applies++) {
        study_begin();
        options.arrival = "late";
        options.group = 2;
        options.in_place = options.rotate_root = options.cold = true;
        options.buffers = 2;
        options.messages = 65;
        options.threads = 3;
        options.partitions = 5;
        options.topology = "cart";
        options.layout = "vector";
        options.placement = 1;
        study.ops[0] = (struct ictus_operation_info){.name = "other",
                                                     .rooted = applies,
                                                     .has_data = applies,
                                                     .reduces = applies,
                                                     .streams = applies,
                                                     .partitioned = applies,
                                                     .neighborhood = applies,
                                                     .threaded = applies};
        const json_t *o = object_written();
        for (int i = 0; i < CONDITIONS; i++) {
            const bool always = i < 3 || i == CONDITIONS - 1;
            const bool absent = !applies && strcmp(conditions[i], "threads") == 0;
            member_is(o, conditions[i],
                      applies || always        ? applying[i]
                      : absent || !applying[i] ? NULL
                                               : "null");
        }
        member_is(o, "op", applies ? "\"sum\"" : "null");
        member_is(o, "root", applies ? "2" : "null");
        member_is(o, "datatype", applies ? "\"double\"" : "null");
    }
    study_begin();
    study.ops[0].one_sided = 1;
    options.window = 1;
    char wanted[40];
    (void)snprintf(wanted, sizeof wanted, "\"%s\"", ictus_window_kinds[1]);
    member_is(object_written(), "window", wanted);
}

/* Which algorithm ran: the forced one, the one that the program was started with, or none named. */
static void algorithms_are_told(void)
{
    const struct bench_experiment forced = {0, 0, 1, 8};
    study_begin();
    world.started = "ring";
    member_is(object_written(), "algorithm", "\"ring\"");
    world_end();
    world.started = "ring";
    (void)snprintf(study.algorithms[1].name, sizeof study.algorithms[1].name, "linear");
    CHECK(bench_study_write(&study, &forced, &result, &trips) == ICTUS_OK && world.count == 1);
    member_is(world.put[0], "algorithm", "\"linear\"");
}

/* The host's own trips: none, one without a spread, and several. */
static void trips_are_told(void)
{
    study_begin();
    trips = (struct bench_trips){0};
    member_is(object_written(), "node_trip_s", "null");
    member_is(world.put[0], "node_trip_spread", "null");
    study_begin();
    trips = (struct bench_trips){1, log(2e-7), 0};
    CHECK_NEAR(number(object_written(), "node_trip_s"), 2e-7, 1e-15);
    member_is(world.put[0], "node_trip_spread", "null");
    study_begin();
    trips = (struct bench_trips){5, log(3e-7), 0.04};
    CHECK_NEAR(number(object_written(), "node_trip_s"), 3e-7, 1e-15);
    CHECK_NEAR(number(world.put[0], "node_trip_spread"), 0.1, 1e-12);
    trips = (struct bench_trips){0};
}

/* A stream's rates are those of the slowest process; half of the processes send, or all but a root.
 */
static void rates_are_told(void)
{
    static const struct {
        int rooted, group, processes;
        double pairs;
    } cases[] = {{0, 0, 4, 2}, {1, 0, 4, 3}, {0, 2, 8, 4}, {1, 4, 8, 6}, {0, 0, 5, 2}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        study_begin();
        study.ops[0].rooted = cases[i].rooted;
        study.groups[0].processes = cases[i].processes;
        options.group = cases[i].group;
        study.wanted[ICTUS_REDUCE_MEAN] = true;
        world.messages = 64;
        CHECK(bench_study_write(&study, &experiment, &result, &trips) == ICTUS_OK &&
              world.count == 2);
        const json_t *o = world.put[0];
        member_is(o, "messages", "64");
        CHECK_NEAR(number(o, "bandwidth_Bps"), 64 * 1024 / 1e-6, 1e3);
        CHECK_NEAR(number(o, "messages_per_s"), cases[i].pairs * 64 / 1e-6, 1);
        member_is(world.put[1], "reduction", "\"mean\"");
        member_is(world.put[1], "messages", "64");
        member_is(world.put[1], "bandwidth_Bps", "null");
        member_is(world.put[1], "messages_per_s", "null");
    }
}

static bool warns(const char *wanted)
{
    const json_t *warnings = json_object_get(object_written(), "warnings");
    bool found = json_array_size(warnings) == 1;
    for (size_t i = 0; i < json_array_size(warnings); i++) {
        const char *text = json_string_value(json_array_get(warnings, i));
        found = found && strstr(text, wanted);
    }
    if (!found) {
        char *text = json_dumps(warnings, 0);
        (void)fprintf(stderr, "not '%s' alone: %s\n", wanted, text);
        free(text);
    }
    return found;
}

static bool warns_nothing(void)
{
    return json_array_size(json_object_get(object_written(), "warnings")) == 0;
}

static void warnings_are_given(void)
{
    study_begin();
    result.n = 9;
    CHECK(warns("few samples"));
    study_begin();
    result.n = 10;
    CHECK(warns_nothing());
    study_begin();
    study.cut_short = true;
    options.repetitions = MOST + 1;
    CHECK(warns("interrupted"));
    member_is(world.put[0], "interrupted", "true");
    study_begin();
    study.cut_short = true; /* it had all of them by then */
    CHECK(warns_nothing());
    for (int share = 10; share <= 11; share++) { /* more than a tenth are outliers */
        study_begin();
        for (int i = 0; i < MOST * share / 100; i++) {
            samples[i * 61 % MOST] = 2e-6;
        }
        CHECK(share > 10 ? warns("many outliers") : warns_nothing());
    }
    for (int times = 9; times <= 11; times += 2) { /* the slowest of a hundred */
        study_begin();
        for (int i = 0; i < 8; i++) {
            samples[i * 61 % MOST] = 1e-6 * times;
        }
        CHECK(times > 10 ? warns("heavy tail") : warns_nothing());
    }
    study_begin();
    for (int i = 0; i < MOST; i++) {
        samples[i] += i < MOST / 2 ? 0 : 3e-7;
    }
    CHECK(warns("samples drift") && study.drifting == 1);
    study_begin();
    result.sigma_ns = 99;
    CHECK(warns_nothing());
    study_begin();
    result.sigma_ns = 101;
    CHECK(warns("clock sigma"));
}

static void raw_samples_are_told(void)
{
    double ranks[3 * 2] = {1, 2, 3, 4, 5, 6}; /* of two processes */
    study_begin();
    options.raw = true;
    study.groups[0].processes = 2;
    result.n = 3;
    result.ranks_s = ranks;
    result.arrival_ranks = 7;
    for (int i = 0; i < 3; i++) {
        samples[i] = i + 1;
    }
    const json_t *o = object_written();
    member_is(o, "raw_s", "[1.0,2.0,3.0]");
    member_is(o, "raw_ranks_s", "[[1.0,3.0,5.0],[2.0,4.0,6.0]]");
    member_is(o, "arrival_ranks", "7");
    CHECK(study.arrival_ranks == 7);
}

/*
 * How long the application's calls took is told where they are replayed as they were, and nowhere
 * else: not by other statistics, operations, sizes, processes or algorithms, or shapes.
 */
static void traced_calls_are_told(void)
{
    for (int other = 0; other < 8; other++) {
        study_begin();
        study.wanted[ICTUS_REDUCE_MAX] = other == 1;
        study.wanted[ICTUS_REDUCE_EXIT] = other != 1;
        result.arrival_ranks = other == 7 ? 0 : 2;
        study.groups[0].processes = other == 2 ? 3 : 2;
        study.traced = (struct ictus_arrival_traced){.bytes = experiment.bytes + (other == 3),
                                                     .ranks = 2,
                                                     .duration_s = other == 4 ? NAN : 4e-6};
        (void)snprintf(study.traced.operation, sizeof study.traced.operation, "%s",
                       other == 5 ? "barrier" : study.ops[experiment.op].name);
        struct bench_experiment e = experiment;
        e.algorithm = other == 6 ? 0 : -1;
        for (int i = 0; i < MOST; i++) {
            samples[i] = 3e-6;
        }
        CHECK(bench_study_write(&study, &e, &result, &trips) == ICTUS_OK);
        REQUIRE(world.count == 1);
        CHECK((json_object_get(world.put[0], "traced_s") != NULL) == (other == 0));
        CHECK_NEAR(study.replayed, other ? 0 : 0.75, 1e-12);
        CHECK(other || fabs(number(world.put[0], "traced_s") - 4e-6) < 1e-18);
    }
}

/* A file that is continued: what it holds whole is not written again. */
static void known_objects_are_left_out(void)
{
    study_begin();
    study.wanted[ICTUS_REDUCE_MEAN] = true;
    CHECK(!bench_study_is_done(&study, &experiment)); /* nothing is continued */
    json_t *known = json_pack("[{s:s}, {s:s, s:s, s:i, s:s}, {s:s, s:s, s:i, s:s, s:b}]", "type",
                              "header", "type", "measurement", "operation", "bcast", "bytes", 1024,
                              "reduction", "max", "type", "measurement", "operation", "bcast",
                              "bytes", 1024, "reduction", "mean", "interrupted", 1);
    CHECK(bench_study_know(&study, known) == ICTUS_OK);
    CHECK(!bench_study_is_done(&study, &experiment));
    member_is(object_written(), "reduction", "\"mean\"");
    json_decref(study.done);
    (void)json_object_set_new(json_array_get(known, 2), "interrupted", json_false());
    CHECK(bench_study_know(&study, known) == ICTUS_OK);
    CHECK(bench_study_is_done(&study, &experiment));
    const struct bench_experiment larger = {0, 0, -1, 1025};
    CHECK(!bench_study_is_done(&study, &larger));
    json_decref(study.done);
    json_decref(known);
    study.done = NULL;
    study_begin();
    study.wanted[ICTUS_REDUCE_MEAN] = true;
    world.failure = ICTUS_ERR_IO; /* ends it */
    CHECK(bench_study_write(&study, &experiment, &result, &trips) == ICTUS_ERR_IO &&
          world.count == 1);
}

/* The table names what was varied: the algorithm and whether it is proven, and the reduction. */
static void columns_are_those_that_differ(void)
{
    for (int chosen = 0; chosen < 3; chosen++) { /* nothing, a selector, when the program started */
        for (int reductions = 1; reductions <= 2; reductions++) {
            bool has[3] = {false, false, false};
            study_begin();
            study.selector = chosen == 1 ? (struct ictus_selector *)&world : NULL;
            world.started = chosen == 2 ? "ring" : NULL;
            study.wanted[ICTUS_REDUCE_MEAN] = reductions == 2;
            for (const struct ictus_column *c = bench_study_columns(&study); c->key; c++) {
                has[0] = has[0] || strcmp(c->key, "algorithm") == 0;
                has[1] = has[1] || strcmp(c->key, "proven") == 0;
                has[2] = has[2] || strcmp(c->key, "reduction") == 0;
            }
            CHECK(has[0] == (chosen > 0) && has[1] == (chosen > 0) && has[2] == (reductions > 1));
        }
    }
}

int main(void)
{
    plain_experiment_is_told();
    conditions_are_told();
    algorithms_are_told();
    trips_are_told();
    rates_are_told();
    warnings_are_given();
    raw_samples_are_told();
    traced_calls_are_told();
    known_objects_are_left_out();
    columns_are_those_that_differ();
    world_end();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a program beside a benchmark of the same ones: which measurements are comparable,
 * what their launches say together, and which sites were not measured.
 */
#include "../check.h"

#include "traces/together.h"

#include <ictus/arrivals.h>
#include <ictus/error.h>
#include <ictus/waits.h>
#include <math.h>
#include <stdbool.h>

static const double durations[] = {1e-6, 2e-6, 3e-6, 4e-6, 5e-6, 6e-6, 7e-6, 8e-6, 9e-6};
enum { CALLS = sizeof durations / sizeof *durations };

static int64_t recorded, rows_wanted;
static int patterns, extract_err;
static double error_ns;

/* The pattern of one site, and perhaps one without a table. */
int ictus_arrivals_extract(const char *in, int64_t rows, struct ictus_arrivals_list *list,
                           struct ictus_arrivals_left *left, struct ictus_why *why)
{
    (void)left, (void)why;
    CHECK_STR(in, "run");
    rows_wanted = rows;
    if (extract_err) {
        return extract_err;
    }
    list->at = calloc((size_t)patterns, sizeof *list->at);
    REQUIRE(list->at);
    list->count = (size_t)patterns;
    for (int i = 0; i < patterns; i++) {
        struct ictus_arrivals *a = &list->at[i];
        (void)snprintf(a->site, sizeof a->site, "solver.c:12");
        (void)snprintf(a->call, sizeof a->call, "MPI_Bcast");
        (void)snprintf(a->operation, sizeof a->operation, "bcast");
        a->bytes = 64;
        a->ranks = 4;
        a->instances = 1000;
        a->duration_s = 5e-6;
        a->error_ns = error_ns;
        a->recorded = i == 0 ? recorded : 0;
        a->durations_s = malloc(sizeof durations);
        REQUIRE(a->durations_s);
        memcpy(a->durations_s, durations, sizeof durations);
    }
    return ICTUS_OK;
}

/* A measurement that is comparable, but for one more member. */
static json_t *measurement_of(const char *reduction, double median_s, const char *member,
                              json_t *value)
{
    json_t *m =
        json_pack("{s:s, s:s, s:i, s:i, s:s, s:f, s:f, s:f}", "type", "measurement", "operation",
                  "bcast", "bytes", 64, "processes", 4, "reduction", reduction, "median_s",
                  median_s, "ci95_low_s", 0.9 * median_s, "ci95_high_s", 1.2 * median_s);
    REQUIRE(m);
    CHECK(!member || json_object_set_new(m, member, value) == 0);
    return m;
}

/* The row of the site. Takes the results. */
static json_t *row_of(json_t *results)
{
    struct ictus_why why = {""};
    json_t *report = json_array();
    CHECK(together_add("run", results, report, &why) == ICTUS_OK);
    REQUIRE(json_array_size(report) == 1);
    json_t *row = json_incref(json_array_get(report, 0));
    json_decref(report);
    json_decref(results);
    return row;
}

static double number(const json_t *row, const char *name)
{
    const json_t *value = json_object_get(row, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static void world_begins(void)
{
    patterns = 2;
    recorded = CALLS;
    error_ns = 100;
    extract_err = 0;
}

/* Measured as programs call it, with a common start, at this size and in this number. */
static void only_alike_is_compared(void)
{
    static const char *const specialities[] = {"groups",  "in_place", "roots",  "caches",
                                               "buffers", "topology", "layout", "placement"};
    static const struct {
        const char *member, *text; /* NULL: a number that is wrong */
        bool alike;
    } cases[] = {{"algorithm", "", true},       {"algorithm", "default", true},
                 {"algorithm", "ring", false},  {"arrival", "", true},
                 {"arrival", "together", true}, {"arrival", "uniform:1us", false},
                 {"type", "arrivals", false},   {"operation", "reduce", false},
                 {"bytes", NULL, false},        {"processes", NULL, false},
                 {"median_s", NULL, false},     {"reduction", "mean", false}};
    world_begins();
    for (size_t i = 0; i < sizeof specialities / sizeof *specialities; i++) {
        json_t *row = row_of(
            json_pack("[o]", measurement_of("exit", 4e-6, specialities[i], json_string("any"))));
        CHECK(isnan(number(row, "together_s")) && number(row, "launches") == 0);
        json_decref(row);
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *value = cases[i].text ? json_string(cases[i].text) : json_real(0);
        json_t *row =
            row_of(json_pack("[o]", measurement_of("exit", 4e-6, cases[i].member, value)));
        CHECK(number(row, "launches") == cases[i].alike);
        CHECK(isnan(number(row, "together_s")) == !cases[i].alike);
        json_decref(row);
    }
    CHECK(rows_wanted > 1000);
}

/* The time after the last arrival is preferred; of several launches the median, and all that their
 * intervals contain. */
static void launches_are_taken_together(void)
{
    world_begins();
    json_t *row = row_of(json_pack(
        "[o,o,o,o,o]", measurement_of("max", 1e-6, NULL, NULL),
        measurement_of("makespan", 4e-6, NULL, NULL), measurement_of("makespan", 2e-6, NULL, NULL),
        measurement_of("makespan", 3e-6, NULL, NULL), measurement_of("mean", 9e-6, NULL, NULL)));
    CHECK_STR(json_string_value(json_object_get(row, "reduction")), "makespan");
    CHECK_STR(json_string_value(json_object_get(row, "type")), "collective-together");
    CHECK_STR(json_string_value(json_object_get(row, "site")), "solver.c:12");
    CHECK(number(row, "launches") == 3 && number(row, "calls") == 1000);
    CHECK(number(row, "bytes") == 64 && number(row, "ranks") == 4);
    CHECK_NEAR(number(row, "together_s"), 3e-6, 1e-12);
    CHECK_NEAR(number(row, "together_low_s"), 1.8e-6, 1e-12);
    CHECK_NEAR(number(row, "together_high_s"), 4.8e-6, 1e-12);
    /* Nine calls: their median's interval, and the error of an offset beyond it. */
    CHECK_NEAR(number(row, "program_s"), 5e-6, 1e-12);
    const double low = number(row, "program_low_s"), high = number(row, "program_high_s");
    CHECK_NEAR(low, 2e-6 - 1e-7, 1e-12);
    CHECK_NEAR(high, 8e-6 + 1e-7, 1e-12);
    CHECK_NEAR(number(row, "ratio"), 5.0 / 3, 1e-9);
    CHECK_NEAR(number(row, "ratio_low"), low / 4.8e-6, 1e-9);
    CHECK_NEAR(number(row, "ratio_high"), high / 1.8e-6, 1e-9);
    CHECK(isnan(number(row, "replayed_s")) && isnan(number(row, "replayed_ratio")));
    json_decref(row);
    error_ns = 1e6; /* no time is below 0 */
    row = row_of(json_pack("[o,o]", measurement_of("max", 1e-6, NULL, NULL),
                           measurement_of("exit", 4e-6, NULL, NULL)));
    CHECK(number(row, "program_low_s") == 0);
    CHECK_STR(json_string_value(json_object_get(row, "reduction")), "exit");
    json_decref(row);
    recorded = 1; /* which says nothing of others */
    row = row_of(json_pack("[o]", measurement_of("max", 1e-6, NULL, NULL)));
    CHECK(number(row, "program_s") > 0 && isnan(number(row, "program_low_s")));
    CHECK(isnan(number(row, "program_high_s")) && isnan(number(row, "ratio_low")));
    json_decref(row);
}

/* A replay is of this very site, whichever others have names that begin like it. */
static void replays_are_of_the_site(void)
{
    static const struct {
        const char *arrival;
        bool same;
    } cases[] = {{"file:p.jsonl,site=solver.c:12", true},
                 {"file:p.jsonl,site=solver.c:12,scale=2", true},
                 {"file:p.jsonl,site=solver.c:120", false},
                 {"file:p.jsonl,site=solver.c:1", false},
                 {"file:p.jsonl", false},
                 {"uniform:p.jsonl,site=solver.c:12", false}};
    world_begins();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_t *row = row_of(json_pack(
            "[o,o]", measurement_of("exit", 4e-6, "arrival", json_string(cases[i].arrival)),
            measurement_of("max", 1e-6, "arrival", json_string(cases[i].arrival))));
        CHECK(isnan(number(row, "replayed_s")) == !cases[i].same && number(row, "launches") == 0);
        if (cases[i].same) {
            CHECK_NEAR(number(row, "replayed_s"), 4e-6, 1e-12);
            CHECK_NEAR(number(row, "replayed_ratio"), 1.25, 1e-9);
        }
        json_decref(row);
        /* In a replay, no process's own time is that after the last arrival. */
        row = row_of(json_pack(
            "[o]", measurement_of("max", 1e-6, "arrival", json_string(cases[i].arrival))));
        CHECK(isnan(number(row, "replayed_s")));
        json_decref(row);
    }
}

static void failures_are_passed_on(void)
{
    json_t *report = json_array(), *results = json_array();
    struct ictus_why why = {""};
    world_begins();
    extract_err = ICTUS_ERR_FORMAT;
    CHECK(together_add("run", results, report, &why) == ICTUS_ERR_FORMAT);
    CHECK(json_array_size(report) == 0);
    json_decref(report);
    json_decref(results);
}

/* @return what is told of the sites of a report, which is taken */
static const char *told_of(json_t *report)
{
    static char text[400];
    FILE *const real = stderr, *memory = tmpfile();
    REQUIRE(memory && report);
    stderr = memory;
    together_tell_missing("r.jsonl", report);
    stderr = real;
    rewind(memory);
    text[fread(text, 1, sizeof text - 1, memory)] = '\0';
    (void)fclose(memory);
    json_decref(report);
    return text;
}

#define SITE "{s:s, s:s, s:i, s:i, s:f}"
#define SITE_OF(name, bytes, seconds)                                                              \
    "type", "collective-together", "operation", name, "bytes", bytes, "ranks", 4, "together_s",    \
        seconds

static void missing_sites_are_told(void)
{
    CHECK_STR(told_of(json_pack("[" SITE "]", SITE_OF("bcast", 8, 1e-6))), "");
    CHECK_STR(told_of(json_pack("[{s:s}, " SITE ", {s:s,s:s,s:i,s:i,s:n}, {s:s,s:s,s:i,s:i,s:n}]",
                                "type", "waits", SITE_OF("bcast", 8, 1e-6), "type",
                                "collective-together", "operation", "reduce", "bytes", 64, "ranks",
                                4, "together_s", "type", "collective-together", "operation",
                                "barrier", "bytes", 0, "ranks", 4, "together_s")),
              "ictus waits: r.jsonl does not measure 2 of 3 call sites of collectives; 'mpirun -n "
              "4 ictus bench --ops=reduce --sizes=64' measures the first\n");
    CHECK_STR(told_of(json_pack("[{s:s,s:s,s:i,s:i,s:n}]", "type", "collective-together",
                                "operation", "barrier", "bytes", 0, "ranks", 4, "together_s")),
              "ictus waits: r.jsonl does not measure 1 of 1 call sites of collectives; 'mpirun -n "
              "4 ictus bench --ops=barrier' measures the first\n");
}

int main(void)
{
    only_alike_is_compared();
    launches_are_taken_together();
    replays_are_of_the_site();
    failures_are_passed_on();
    missing_sites_are_told();
    return check_result();
}

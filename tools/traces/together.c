/* SPDX-License-Identifier: BSD-3-Clause */
#include "traces/together.h"

#include "main/member.h"
#include "main/values.h"
#include "results/experiments.h"

#include <ictus/bench.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <ictus/waits.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* So many of the last calls of a site show how much its calls vary. */
enum { CALLS_SHOWN = 10000 };

/* A time and its 95 % interval. */
struct cost {
    double middle, low, high;
};

/* How the processes of a benchmark started: all at once, or as a pattern of arrivals says. */
enum start { START_TOGETHER, START_REPLAYED };

/*
 * The reductions that tell how long an operation takes after the last arrival. With a common start,
 * the slowest process's own time is the closest to it of those that need one clock only. In a
 * replay, all but the first hold the time until the last arrival, too.
 */
static const char *const reductions[] = {"exit", "makespan", "max"};

enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

/* Whether a measurement is of an operation as programs call it, done as the library chooses. */
static bool together_is_plain(const json_t *measurement)
{
    static const char *const specialities[] = {"groups",  "in_place", "roots",  "caches",
                                               "buffers", "topology", "layout", "placement"};
    const char *algorithm = member_text(measurement, "algorithm");
    for (size_t i = 0; i < sizeof specialities / sizeof *specialities; i++) {
        if (*member_text(measurement, specialities[i])) {
            return false;
        }
    }
    return !*algorithm || strcmp(algorithm, "default") == 0;
}

/* Whether a pattern's specification names this site: "file:patterns.jsonl,site=solver.c:120". */
static bool together_replays(const char *arrival, const char *site)
{
    static const char key[] = ",site=";
    const char *named = strncmp(arrival, "file:", 5) == 0 ? strstr(arrival, key) : NULL;
    const size_t length = strlen(site);
    return named && strncmp(named + strlen(key), site, length) == 0 &&
           (named[strlen(key) + length] == '\0' || named[strlen(key) + length] == ',');
}

static bool together_measures(const json_t *measurement, const struct ictus_arrivals *a,
                              enum start start)
{
    const char *arrival = member_text(measurement, "arrival");
    const bool alike = start == START_REPLAYED ? together_replays(arrival, a->site)
                                               : !*arrival || strcmp(arrival, "together") == 0;
    return alike && strcmp(member_text(measurement, "type"), "measurement") == 0 &&
           strcmp(member_text(measurement, "operation"), a->operation) == 0 &&
           member_number(measurement, "bytes") == (double)a->bytes &&
           member_number(measurement, "processes") == a->ranks && together_is_plain(measurement) &&
           member_number(measurement, "median_s") > 0;
}

/* All launches of what a pattern is compared with, of the first reduction that was measured. */
static json_t *together_launches(const json_t *objects, const struct ictus_arrivals *a,
                                 enum start start)
{
    const int most = start == START_REPLAYED ? 1 : REDUCTIONS;
    json_t *launches = json_array();
    for (int r = 0; r < most && json_array_size(launches) == 0; r++) {
        size_t i = 0;
        json_t *object = NULL;
        json_array_foreach((json_t *)objects, i, object)
        {
            if (together_measures(object, a, start) &&
                strcmp(member_text(object, "reduction"), reductions[r]) == 0) {
                (void)json_array_append(launches, object);
            }
        }
    }
    return launches;
}

/* The median launch, and all that the intervals of the launches contain; NaN without launches. */
static int together_cost(const json_t *launches, struct cost *cost)
{
    double *values = calloc(json_array_size(launches) + 1, sizeof *values);
    if (!values) {
        return ICTUS_ERR_NOMEM;
    }
    size_t count = values_collect(launches, "median_s", values);
    cost->middle = values_median(values, count);
    count = values_collect(launches, "ci95_low_s", values);
    cost->low = count > 0 ? values[0] : NAN;
    count = values_collect(launches, "ci95_high_s", values);
    cost->high = count > 0 ? values[count - 1] : NAN;
    free(values);
    return ICTUS_OK;
}

/* A program's cost. Its ends are on two clocks, so the error of an offset is added. A single call
 * does not show how much calls vary. */
static int together_program_cost(const struct ictus_arrivals *a, struct cost *cost)
{
    struct ictus_summary summary;
    const double error = a->recorded > 1 ? 1e-9 * a->error_ns : NAN;
    const int err = ictus_summarize(a->durations_s, (size_t)a->recorded, &summary);
    const double low = summary.ci95_low - error;
    *cost = (struct cost){a->duration_s, low < 0 ? 0 : low, summary.ci95_high + error};
    return err;
}

/* Put a value and its interval: "program_s", "program_low_s", "program_high_s". */
static void cost_put(json_t *object, const char *name, const char *unit, const struct cost *cost)
{
    const struct {
        const char *which;
        double value;
    } members[] = {{"", cost->middle}, {"_low", cost->low}, {"_high", cost->high}};
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char key[40];
        (void)snprintf(key, sizeof key, "%s%s%s", name, members[i].which, unit);
        (void)json_object_set_new(object, key, ictus_result_real(members[i].value));
    }
}

/* The ratio of two costs, from the ends of their intervals. */
static struct cost cost_ratio(const struct cost *program, const struct cost *other)
{
    return (struct cost){program->middle / other->middle, program->low / other->high,
                         program->high / other->low};
}

static json_t *together_object(const struct ictus_arrivals *a, const json_t *together,
                               const json_t *replayed)
{
    struct cost program;
    struct cost costs[2];
    if (together_program_cost(a, &program) || together_cost(together, &costs[START_TOGETHER]) ||
        together_cost(replayed, &costs[START_REPLAYED])) {
        return NULL;
    }
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:s, s:I, s:i, s:I, s:O?, s:I}", "type", "collective-together", "call",
        ictus_result_text(a->call), "site", ictus_result_text(a->site), "operation", a->operation,
        "bytes", (json_int_t)a->bytes, "ranks", a->ranks, "calls", (json_int_t)a->instances,
        "reduction", json_object_get(json_array_get(together, 0), "reduction"), "launches",
        (json_int_t)json_array_size(together));
    const struct cost ratio = cost_ratio(&program, &costs[START_TOGETHER]);
    const struct cost replayed_ratio = cost_ratio(&program, &costs[START_REPLAYED]);
    cost_put(object, "program", "_s", &program);
    cost_put(object, "together", "_s", &costs[START_TOGETHER]);
    cost_put(object, "ratio", "", &ratio);
    cost_put(object, "replayed", "_s", &costs[START_REPLAYED]);
    cost_put(object, "replayed_ratio", "", &replayed_ratio);
    return object;
}

static int together_add_site(const json_t *objects, const struct ictus_arrivals *a, json_t *report)
{
    json_t *together = together_launches(objects, a, START_TOGETHER);
    json_t *replayed = together_launches(objects, a, START_REPLAYED);
    json_t *object = together_object(a, together, replayed);
    json_decref(together);
    json_decref(replayed);
    return !object || json_array_append_new(report, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

int together_read(const char *path, json_t **results, struct ictus_why *why)
{
    struct experiments experiments;
    int skipped = 0;
    int err = experiments_read_objects(path, results, &skipped, why);
    if (!err) {
        err = experiments_take(*results, path, NULL, &experiments, why);
        experiments_free(&experiments);
    }
    return err;
}

int together_add(const char *archive, const json_t *results, json_t *report, struct ictus_why *why)
{
    struct ictus_arrivals_list list = {NULL, 0};
    int err = ictus_arrivals_extract(archive, CALLS_SHOWN, &list, NULL, why);
    for (size_t i = 0; i < list.count && !err; i++) {
        if (list.at[i].recorded > 0) {
            err = together_add_site(results, &list.at[i], report);
        }
    }
    ictus_arrivals_list_free(&list);
    return err;
}

void together_tell_missing(const char *path, const json_t *report)
{
    const json_t *first = NULL;
    size_t sites = 0;
    size_t missing = 0;
    size_t i = 0;
    json_t *row = NULL;
    json_array_foreach((json_t *)report, i, row)
    {
        const bool site = strcmp(member_text(row, "type"), "collective-together") == 0;
        if (site && isnan(member_number(row, "together_s"))) {
            first = first ? first : row;
            missing++;
        }
        sites += site;
    }
    if (first) {
        const double bytes = member_number(first, "bytes");
        char sizes[40] = "";
        if (bytes > 0) {
            (void)snprintf(sizes, sizeof sizes, " --sizes=%.0f", bytes);
        }
        (void)fprintf(stderr,
                      "ictus waits: %s does not measure %zu of %zu call sites of collectives; "
                      "'mpirun -n %.0f ictus bench --ops=%s%s' measures the first\n",
                      path, missing, sites, member_number(first, "ranks"),
                      member_text(first, "operation"), sizes);
    }
}

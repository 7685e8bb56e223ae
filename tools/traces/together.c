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

/*
 * The reductions that tell how long an operation takes after the last arrival. With a common start,
 * the slowest process's own time is the closest to it of those that need one clock only.
 */
static const char *const reductions[] = {"exit", "makespan", "max"};

enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

/* Whether a measurement is of a pattern's operation, as the library does it, started together. */
static bool together_measures(const json_t *measurement, const struct ictus_arrivals *a)
{
    const char *algorithm = member_text(measurement, "algorithm");
    const char *arrival = member_text(measurement, "arrival");
    return strcmp(member_text(measurement, "type"), "measurement") == 0 &&
           strcmp(member_text(measurement, "operation"), a->operation) == 0 &&
           member_number(measurement, "bytes") == (double)a->bytes &&
           member_number(measurement, "processes") == a->ranks &&
           (!*algorithm || strcmp(algorithm, "default") == 0) &&
           (!*arrival || strcmp(arrival, "together") == 0) &&
           member_number(measurement, "median_s") > 0;
}

/* All launches of what a pattern is compared with, of the first reduction that was measured. */
static json_t *together_launches(const json_t *objects, const struct ictus_arrivals *a)
{
    json_t *launches = json_array();
    for (int r = 0; r < REDUCTIONS && json_array_size(launches) == 0; r++) {
        size_t i = 0;
        json_t *object = NULL;
        json_array_foreach((json_t *)objects, i, object)
        {
            if (together_measures(object, a) &&
                strcmp(member_text(object, "reduction"), reductions[r]) == 0) {
                (void)json_array_append(launches, object);
            }
        }
    }
    return launches;
}

/* The median launch, and all that the intervals of the launches contain. */
static int together_cost(const json_t *launches, struct cost *cost)
{
    const size_t n = json_array_size(launches);
    double *values = calloc(n + 1, sizeof *values);
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

static json_t *together_object(const struct ictus_arrivals *a, const struct cost *program,
                               const struct cost *together, const json_t *launches)
{
    const json_t *first = json_array_get(launches, 0);
    json_t *reduction = json_object_get(first, "reduction");
    return json_pack(
        "{s:s, s:o, s:o, s:s, s:I, s:i, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:O?, s:I, s:o, s:o, "
        "s:o}",
        "type", "collective-together", "call", ictus_result_text(a->call), "site",
        ictus_result_text(a->site), "operation", a->operation, "bytes", (json_int_t)a->bytes,
        "ranks", a->ranks, "calls", (json_int_t)a->instances, "program_s",
        ictus_result_real(program->middle), "program_low_s", ictus_result_real(program->low),
        "program_high_s", ictus_result_real(program->high), "together_s",
        ictus_result_real(together->middle), "together_low_s", ictus_result_real(together->low),
        "together_high_s", ictus_result_real(together->high), "reduction", reduction, "launches",
        (json_int_t)json_array_size(launches), "ratio",
        ictus_result_real(program->middle / together->middle), "ratio_low",
        ictus_result_real(program->low / together->high), "ratio_high",
        ictus_result_real(program->high / together->low));
}

static int together_add_site(const json_t *objects, const struct ictus_arrivals *a, json_t *report)
{
    struct cost program;
    struct cost together = {NAN, NAN, NAN};
    json_t *launches = together_launches(objects, a);
    int err = together_program_cost(a, &program);
    if (!err && json_array_size(launches) > 0) {
        err = together_cost(launches, &together);
    }
    if (!err && json_array_append_new(report, together_object(a, &program, &together, launches))) {
        err = ICTUS_ERR_NOMEM;
    }
    json_decref(launches);
    return err;
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

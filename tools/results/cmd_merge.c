/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus merge: several launches in one result file, side by side or as one. */
#include "main/command.h"
#include "main/output.h"
#include "main/progress.h"
#include "main/shared_rows.h"
#include "main/values.h"
#include "results/experiments.h"
#include "results/settings.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct merge_options {
    const char *output;
    bool combine, force;
    struct progress_options talk;
};

#define AT(member) offsetof(struct merge_options, member)

static const struct option_row rows[] = {
    ROW_OUTPUT(AT(output), "FILE", "the merged result file (required)"),
    ROW_FORCE(AT(force)),
    {"combine", 0, OPTION_FLAG, AT(combine), NULL, 0, 0, NULL, NULL,
     "write one measurement for each experiment, the median of the "
     "launches' medians"},
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

/* All objects of all files; each has the number of its launch, from 1. */
struct merged {
    json_t *all, *settings;
    json_int_t launches;
};

static int merge_read_launches(int count, char **words, bool quiet, struct merged *merged,
                               struct ictus_why *why)
{
    for (int f = 0; f < count; f++) {
        json_t *objects = NULL;
        json_t *object = NULL;
        int skipped = 0;
        size_t i = 0;
        const int err = experiments_read_objects(words[f], &objects, &skipped, why);
        if (err) {
            return err;
        }
        if (!quiet) {
            experiments_tell_skipped("merge", words[f], skipped);
        }
        settings_add(merged->settings, words[f], objects);
        json_array_foreach(objects, i, object)
        {
            const char *type = json_string_value(json_object_get(object, "type"));
            merged->launches += strcmp(type, "header") == 0;
            if (json_object_set_new(object, "launch", json_integer(merged->launches)) ||
                json_array_append(merged->all, object)) {
                json_decref(objects);
                return ICTUS_ERR_NOMEM;
            }
        }
        json_decref(objects);
    }
    if (!quiet) {
        settings_tell("merge", merged->settings);
    }
    return ICTUS_OK;
}

/*
 * The rank of the lower end of the median's 95 % interval (Conover 1999, 3.2): the largest r with
 * P(binomial(n, 1/2) < r) at most 2.5 %; 0, so the whole range, for fewer than 6 launches.
 */
static size_t interval_rank(size_t n)
{
    double term = pow(0.5, (double)n);
    double below = 0.0;
    size_t rank = 0;
    while (rank < n / 2 && below + term <= 0.025) {
        below += term;
        rank++;
        term *= (double)(n - rank + 1) / (double)rank;
    }
    return rank > 0 ? rank - 1 : 0;
}

static void merge_set_real(json_t *object, const char *key, double value)
{
    (void)json_object_set_new(object, key, ictus_result_real(value));
}

static json_int_t merge_sum_of(const json_t *launches, const char *key)
{
    json_int_t sum = 0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        sum += json_integer_value(json_object_get(launch, key));
    }
    return sum;
}

/* One measurement for all launches: what varies from launch to launch is what it tells. */
static json_t *merge_combine(const struct experiment *experiment)
{
    static const char *const middles[] = {"mean_s", "p25_s", "p75_s", "p90_s",
                                          "p99_s",  "sd_s",  NULL};
    const json_t *launches = experiment->launches;
    double *values = malloc((json_array_size(launches) + 1) * sizeof(*values));
    json_t *object = json_object();
    if (!values || json_object_set_new(object, "type", json_string("measurement")) ||
        json_object_update(object, experiment->members)) {
        free(values);
        json_decref(object);
        return NULL;
    }
    const size_t n = values_collect(launches, "median_s", values);
    const size_t rank = interval_rank(n);
    (void)json_object_set_new(object, "launches", json_integer((json_int_t)n));
    (void)json_object_set_new(object, "n", json_integer(merge_sum_of(launches, "n")));
    (void)json_object_set_new(object, "invalid", json_integer(merge_sum_of(launches, "invalid")));
    (void)json_object_set_new(object, "outliers", json_integer(merge_sum_of(launches, "outliers")));
    merge_set_real(object, "median_s", values_median(values, n));
    merge_set_real(object, "ci95_low_s", n > 0 ? values[rank] : NAN);
    merge_set_real(object, "ci95_high_s", n > 0 ? values[n - 1 - rank] : NAN);
    for (int i = 0; middles[i]; i++) {
        const size_t count = values_collect(launches, middles[i], values);
        if (count > 0) {
            merge_set_real(object, middles[i], values_median(values, count));
        }
    }
    const size_t least = values_collect(launches, "min_s", values);
    merge_set_real(object, "min_s", least > 0 ? values[0] : NAN);
    const size_t most = values_collect(launches, "max_s", values);
    merge_set_real(object, "max_s", most > 0 ? values[most - 1] : NAN);
    free(values);
    return object;
}

static int merge_put_line(FILE *file, const json_t *object)
{
    if (json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
        fputc('\n', file) == EOF) {
        return ICTUS_ERR_IO;
    }
    return ICTUS_OK;
}

static int merge_put_side_by_side(FILE *file, const json_t *all)
{
    int err = ICTUS_OK;
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach((json_t *)all, i, object)
    {
        err = err ? err : merge_put_line(file, object);
    }
    return err;
}

/* The first header is kept for all. Objects that are not measurements are kept as they are. */
static int merge_put_combined(FILE *file, json_t *all, json_int_t launches, struct ictus_why *why)
{
    struct experiments experiments;
    json_t *header = json_array_get(all, 0);
    size_t i = 0;
    json_t *object = NULL;
    (void)json_object_del(header, "launch");
    (void)json_object_set_new(header, "launches", json_integer(launches));
    int err = merge_put_line(file, header);
    json_array_foreach(all, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        if (!err && strcmp(type, "header") != 0 && strcmp(type, "measurement") != 0) {
            err = merge_put_line(file, object);
        }
    }
    if (!err) {
        err = experiments_gather(all, &experiments, why);
        for (size_t e = 0; e < experiments.count && !err; e++) {
            json_t *one = merge_combine(&experiments.list[e]);
            err = one ? merge_put_line(file, one) : ICTUS_ERR_NOMEM;
            json_decref(one);
        }
        experiments_free(&experiments);
    }
    return err;
}

static int merge_write(const struct merge_options *options, const struct merged *merged,
                       struct ictus_why *why)
{
    struct output output;
    int err = output_open(&output, options->output, why);
    if (err) {
        return err;
    }
    err = options->combine ? merge_put_combined(output.stream, merged->all, merged->launches, why)
                           : merge_put_side_by_side(output.stream, merged->all);
    return output_close(&output, err, why);
}

static int merge_command(const void *given, int word_count, char **words)
{
    const struct merge_options *options = given;
    struct ictus_why why = {""};
    struct merged merged = {.all = json_array(), .settings = json_array()};
    int err = ICTUS_OK;
    if (word_count < 1 || !options->output) {
        err = ictus_because(&why, ICTUS_ERR_ARG,
                            "name the result files to read, and one to write with -o FILE");
    }
    if (!err) {
        struct progress_watch watch;
        progress_watch_begin(&watch, &options->talk, "merge", word_count, words);
        err = merge_read_launches(word_count, words, options->talk.quiet, &merged, &why);
        err = err ? err : merge_write(options, &merged, &why);
        progress_watch_end(&watch);
    }
    json_decref(merged.all);
    json_decref(merged.settings);
    return err ? command_fail("merge", err, &why) : EXIT_OK;
}

const struct command command_merge = {
    .name = "merge",
    .summary = "put the results of several launches into one file",
    .arguments = "FILE...",
    .details = "Outputs of OSU, IMB and ReproMPI are read, too, and written as "
               "results.\n"
               "  ictus merge run1.jsonl run2.jsonl run3.jsonl -o all.jsonl\n"
               "  ictus merge --combine run*.jsonl -o seven-launches.jsonl",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct merge_options),
    .run = merge_command,
};

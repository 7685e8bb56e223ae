/* SPDX-License-Identifier: BSD-3-Clause */
/* Judging the guidelines of several launches from their result files. */
#include "bench/guideline_study.h"
#include "main/member.h"
#include "main/results.h"
#include "results/settings.h"

#include <ictus/error.h>
#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What makes two objects launches of one guideline. */
static const char *const members[] = {"kind",      "operation", "bytes",
                                      "processes", "against",   "against_bytes",
                                      "reduction", "scheme",    NULL};

static int guideline_merge_add_file(const char *path, bool combined, json_t *guidelines,
                                    json_t *settings, struct ictus_why *why)
{
    json_t *objects = NULL;
    json_t *object = NULL;
    int skipped = 0;
    size_t i = 0;
    int err = ictus_result_read(path, &objects, &skipped, why);
    if (err) {
        return err;
    }
    settings_add(settings, path, objects);
    json_array_foreach(objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        const bool guideline = strcmp(type, "guideline") == 0 && json_object_get(object, "kind");
        if (guideline && !combined && member_number(object, "launches") > 1) {
            err = ictus_because(why, ICTUS_ERR_FORMAT,
                                "'%.200s' already combines several launches; name the files of the "
                                "launches instead",
                                path);
        }
        if (!err && guideline && member_number(object, "factor") > 0) {
            err = member_group(guidelines, object, members, object) ? ICTUS_ERR_NOMEM : ICTUS_OK;
        }
    }
    json_decref(objects);
    return err;
}

static int64_t guideline_merge_sum_of(const json_t *launches, const char *name)
{
    int64_t sum = 0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        sum += json_integer_value(json_object_get(launch, name));
    }
    return sum;
}

/* The geometric mean over launches, as for the factor. */
static double guideline_merge_mean_of(const json_t *launches, const char *name)
{
    double sum = 0.0;
    size_t i = 0;
    json_t *launch = NULL;
    json_array_foreach((json_t *)launches, i, launch)
    {
        sum += log(member_number(launch, name));
    }
    return exp(sum / (double)json_array_size(launches));
}

static int guideline_merge_judge_launches(const json_t *launches,
                                          const struct guideline_limits *limits,
                                          struct guideline_row *row)
{
    const json_t *first = json_array_get(launches, 0);
    const size_t n = json_array_size(launches);
    double *numbers = calloc(2 * n, sizeof(*numbers));
    if (!numbers) {
        return ICTUS_ERR_NOMEM;
    }
    *row = (struct guideline_row){
        .kind = member_text(first, "kind"),
        .operation = member_text(first, "operation"),
        .against = member_text(first, "against"),
        .reduction = member_text(first, "reduction"),
        .scheme = member_text(first, "scheme"),
        .bytes = (uint64_t)json_integer_value(json_object_get(first, "bytes")),
        .against_bytes = (uint64_t)json_integer_value(json_object_get(first, "against_bytes")),
        .processes = (int)json_integer_value(json_object_get(first, "processes")),
        .n = guideline_merge_sum_of(launches, "n"),
        .against_n = guideline_merge_sum_of(launches, "against_n"),
        .invalid = guideline_merge_sum_of(launches, "invalid"),
        .rounds = guideline_merge_sum_of(launches, "rounds"),
    };
    struct turns_launches all = {numbers, numbers + n, n, limits->spread};
    for (size_t i = 0; i < n; i++) {
        const json_t *launch = json_array_get(launches, i);
        const double error = member_number(launch, "factor_error");
        all.logs[i] = log(member_number(launch, "factor"));
        all.errors[i] = isfinite(error) ? error : INFINITY;
    }
    guideline_judge(&all, limits, &row->result);
    row->result.ratio.error = all.errors[0];
    row->result.median_s = guideline_merge_mean_of(launches, "median_s");
    row->result.against_s = guideline_merge_mean_of(launches, "against_median_s");
    free(numbers);
    return ICTUS_OK;
}

static int guideline_merge_put_all(const struct guideline_options *options, json_t *guidelines,
                                   struct ictus_output *out, struct guideline_tally *tally)
{
    const struct guideline_limits limits = {options->tolerance, options->significance,
                                            (double)json_object_size(guidelines),
                                            options->launch_spread, TURNS_UNKNOWN};
    const char *identity = NULL;
    json_t *launches = NULL;
    int err = ICTUS_OK;
    json_object_foreach(guidelines, identity, launches)
    {
        struct guideline_row row;
        err = err ? err : guideline_merge_judge_launches(launches, &limits, &row);
        if (!err) {
            tally->processes = row.processes;
            tally->launches = tally->launches == 0 || row.result.launches < tally->launches
                                  ? row.result.launches
                                  : tally->launches;
            err = guideline_put(options, out, &row, guideline_object(&row), tally);
        }
    }
    return err ? err : guideline_close(options, out, tally);
}

static int guidelines_refuse_empty(const json_t *guidelines, struct ictus_why *why)
{
    return json_object_size(guidelines) > 0
               ? ICTUS_OK
               : ictus_because(
                     why, ICTUS_ERR_FORMAT,
                     "the files hold no guidelines; 'ictus guidelines -o FILE' writes them");
}

int guideline_after_read(const char *path, json_t **guidelines, struct ictus_why *why)
{
    *guidelines = json_object();
    const int err = guideline_merge_add_file(path, true, *guidelines, NULL, why);
    return err ? err : guidelines_refuse_empty(*guidelines, why) ? ICTUS_ERR_FORMAT : ICTUS_OK;
}

enum turns_before guideline_after_find(const json_t *guidelines, const struct guideline_row *row)
{
    json_t *object = guidelines ? guideline_object(row) : NULL;
    char *identity = object ? member_identity(object, members) : NULL;
    const json_t *launches = identity ? json_object_get(guidelines, identity) : NULL;
    const json_t *last = json_array_get(launches, json_array_size(launches) - 1);
    const bool violated =
        strcmp(member_text(last, "state"), guideline_states[GUIDELINE_VIOLATED]) == 0;
    free(identity);
    json_decref(object);
    return !last ? TURNS_UNKNOWN : violated ? TURNS_SLOWER : TURNS_NOT_SLOWER;
}

int guideline_merge(const struct guideline_options *options, int count, char **paths,
                    struct guideline_tally *tally, struct ictus_why *why)
{
    struct ictus_output *out = NULL;
    json_t *guidelines = json_object();
    json_t *settings = json_array();
    int err = ICTUS_OK;
    *tally = (struct guideline_tally){0};
    for (int i = 0; i < count && !err; i++) {
        err = guideline_merge_add_file(paths[i], false, guidelines, settings, why);
    }
    err = err ? err : guidelines_refuse_empty(guidelines, why);
    if (!err) {
        results_outlive_readers();
        err = ictus_output_open((enum ictus_format)options->results.format, guideline_columns,
                                options->results.file,
                                json_pack("{s:s, s:s, s:i}", "version", ICTUS_VERSION, "command",
                                          "guidelines", "launches", count),
                                &out, why);
    }
    if (!err) {
        err = guideline_merge_put_all(options, guidelines, out, tally);
    }
    const int closed = out ? ictus_output_close(out) : ICTUS_OK;
    if (!err && closed) {
        err = ictus_because(why, closed, "the output could not be written completely");
    }
    if (!err && !options->talk.quiet) {
        settings_tell("guidelines", settings);
    }
    json_decref(settings);
    json_decref(guidelines);
    return err;
}

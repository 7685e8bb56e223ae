/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus compare: whether result files differ, and by how much. */
#include "main/command.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/text_table.h"
#include "results/compare.h"
#include "results/compare_waits_text.h"
#include "results/experiments.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct compare_options {
    const char *fail_above;
    double same;
    double launch_spread;
    int reduction; /* index; 0: any */
    struct results_options results;
    int64_t resamples;
    int64_t seed;
    struct progress_options talk;
};

static const char *const reductions[] = {"any",      "max",  "mean", "min", "root",
                                         "makespan", "exit", "wait", NULL};

#define AT(member) offsetof(struct compare_options, member)

static const struct option_row rows[] = {
    ROW_FAIL_ABOVE(AT(fail_above), "exit with code 3 if an experiment is slower by more, e.g. 5%"),
    {"same", 0, OPTION_RATIO, AT(same), "2%", 0, 10, NULL, "RATIO",
     "largest difference that counts as the same"},
    {"reduction", 0, OPTION_CHOICE, AT(reduction), "any", 0, 0, reductions, "NAME",
     "compare only results of this reduction over processes"},
    ROW_LAUNCH_SPREAD(AT(launch_spread), SPREAD_OF_TIMES,
                      "spread between launches to assume if files hold too few"),
    {"resamples", 0, OPTION_INT, AT(resamples), "10000", 100, 1e7, NULL, "N",
     "number of resamples of the bootstrap"},
    ROW_SEED(AT(seed), 4294967295.0, "seed of the bootstrap"),
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static const struct ictus_column columns[] = {{"experiment", "experiment", ICTUS_COLUMN_TEXT},
                                              {"median_a_s", "before us", ICTUS_COLUMN_SECONDS},
                                              {"median_b_s", "after us", ICTUS_COLUMN_SECONDS},
                                              {"ratio", "ratio", ICTUS_COLUMN_NUMBER},
                                              {"ratio_low", "95% lo", ICTUS_COLUMN_NUMBER},
                                              {"ratio_high", "95% hi", ICTUS_COLUMN_NUMBER},
                                              {"verdict", "verdict", ICTUS_COLUMN_TEXT},
                                              {NULL, NULL, ICTUS_COLUMN_TEXT}};

struct tally {
    double fail_above;
    size_t slower, faster, same, unclear, bare, host, failed;
    size_t missing;   /* experiments of a file without a partner in the first */
    size_t ambiguous; /* with several */
    size_t unlike;    /* in units that cannot be compared */
};

static void compare_count_verdict(const struct compared *compared, struct tally *tally)
{
    tally->slower += compared->verdict == VERDICT_SLOWER;
    tally->faster += compared->verdict == VERDICT_FASTER;
    tally->same += compared->verdict == VERDICT_SAME;
    tally->unclear += compared->verdict == VERDICT_UNCLEAR;
    tally->bare += compared->verdict == VERDICT_BARE;
    tally->host += compared->verdict == VERDICT_HOST;
    /*
     * without an interval, the bare ratio is compared with the limit, so that --fail-above always
     * works
     */
    const bool judged = compared->verdict == VERDICT_SLOWER || compared->verdict == VERDICT_BARE;
    if (isfinite(tally->fail_above) && judged && compared->result.ratio > 1 + tally->fail_above) {
        tally->failed++;
    }
}

/* p values are printed with two digits, since more would have no meaning. */
static double compare_rounded(double p)
{
    char text[32];
    (void)snprintf(text, sizeof(text), "%.2g", p);
    return strtod(text, NULL);
}

/* The members that distinguish this experiment from the others; all of them if none does. */
static void compare_describe(const struct compared *compared, json_t *common, char *text,
                             size_t size)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *own = json_copy(compared->members);
    json_object_foreach(common, key, value)
    {
        (void)json_object_del(own, key);
    }
    experiment_describe(json_object_size(own) > 0 ? own : compared->members, text, size);
    json_decref(own);
}

/* The members that are the same in all experiments; a new reference. */
static json_t *compare_common_members(const struct compared_list *list)
{
    const char *key = NULL;
    json_t *value = NULL;
    void *next = NULL;
    json_t *common = json_copy(list->items[0].members);
    for (size_t i = 1; i < list->count; i++) {
        json_object_foreach_safe(common, next, key, value)
        {
            if (!json_equal(value, json_object_get(list->items[i].members, key))) {
                (void)json_object_del(common, key);
            }
        }
    }
    return common;
}

/* The names of all members of all experiments, without values: what one lacks is null, so that rows
 * of CSV have the same columns whichever comes first. */
static json_t *compare_all_members(const struct compared_list *list)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *all = json_object();
    for (size_t i = 0; i < list->count; i++) {
        json_object_foreach(list->items[i].members, key, value)
        {
            (void)json_object_set_new(all, key, json_null());
        }
    }
    return all;
}

/* The spread between launches that an interval was widened by, and where it is from. */
static void compare_set_spread(json_t *object, const struct launch_spread *spread)
{
    const bool widened = spread->share > 0;
    const char *from = spread->freedom > 0 ? "files" : spread->host ? "host" : "assumed";
    (void)json_object_set_new(object, "launch_spread",
                              widened ? json_real(spread->share) : json_null());
    (void)json_object_set_new(object, "launch_spread_from",
                              widened ? json_string(from) : json_null());
}

static json_t *compare_compared_object(const struct compared *compared, const char *baseline,
                                       json_t *common, bool several)
{
    const char *file = compared->file;
    char words[128];
    char description[400];
    json_t *object = json_pack("{s:s, s:o, s:o}", "type", "compare", "baseline",
                               ictus_result_text(baseline), "file", ictus_result_text(file));
    (void)json_object_update(object, compared->members);
    compare_describe(compared, common, description, sizeof(description));
    if (several) {
        const size_t used = strlen(description);
        (void)snprintf(description + used, sizeof(description) - used, " [%s]", file);
    }
    compared_words(compared, words, sizeof(words));
    (void)json_object_set_new(object, "experiment", ictus_result_text(description));
    (void)json_object_set_new(object, "median_a_s", ictus_result_real(compared->value_a));
    (void)json_object_set_new(object, "median_b_s", ictus_result_real(compared->value_b));
    (void)json_object_set_new(object, "ratio", ictus_result_real(compared->result.ratio));
    (void)json_object_set_new(object, "ratio_low", ictus_result_real(compared->result.low));
    (void)json_object_set_new(object, "ratio_high", ictus_result_real(compared->result.high));
    (void)json_object_set_new(object, "p", ictus_result_real(compare_rounded(compared->result.p)));
    (void)json_object_set_new(object, "p_adjusted",
                              ictus_result_real(compare_rounded(compared->p_adjusted)));
    (void)json_object_set_new(object, "samples_a", json_integer((json_int_t)compared->samples_a));
    (void)json_object_set_new(object, "samples_b", json_integer((json_int_t)compared->samples_b));
    (void)json_object_set_new(object, "launches_a", json_integer((json_int_t)compared->launches_a));
    (void)json_object_set_new(object, "launches_b", json_integer((json_int_t)compared->launches_b));
    compare_set_spread(object, &compared->spread);
    (void)json_object_set_new(object, "method", json_string(compared->method));
    (void)json_object_set_new(object, "verdict", json_string(words));
    return object;
}

/* The experiment of the first file that is the same as this one, and of no other one of this file.
 */
static const struct experiment *compare_find_partner(const struct experiments *base,
                                                     const struct experiments *other,
                                                     const struct experiment *mine, bool *several)
{
    bool again = false;
    const struct experiment *partner = experiments_find(base, mine, several);
    if (partner && experiments_find(other, partner, &again) != mine) {
        *several = true;
        return NULL;
    }
    return partner;
}

static int file_compare(const struct experiments *base, const struct experiments *other,
                        const struct compare_options *options, struct compared_list *list,
                        struct tally *tally)
{
    struct compare_how how = {(size_t)options->resamples, (uint64_t)options->seed,
                              compare_spread(base, other, options->launch_spread)};
    int err = ICTUS_OK;
    for (size_t i = 0; i < other->count && !err; i++, how.seed++) {
        bool several = false;
        const struct experiment *partner =
            compare_find_partner(base, other, &other->list[i], &several);
        if (partner) {
            err = compared_add(list, partner, &other->list[i], other->path, &how);
        } else {
            tally->ambiguous += several;
            tally->missing += !several;
        }
    }
    return err;
}

static void tally_print_summary(const struct tally *tally, const struct compared_list *list)
{
    const struct {
        size_t count;
        const char *words;
    } parts[] = {{tally->slower, "slower"},
                 {tally->faster, "faster"},
                 {tally->same, "the same"},
                 {tally->unclear, "without a shown difference"},
                 {tally->bare, "that cannot be judged"},
                 {tally->host, "not comparable"}};
    char text[200] = "";
    for (size_t i = 0, at = 0; i < sizeof parts / sizeof *parts; i++) {
        if (parts[i].count > 0) {
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%zu %s", at > 0 ? ", " : ": ",
                                   parts[i].count, parts[i].words);
        }
    }
    remark_print(stdout, "%zu experiment%s%s; geometric mean of ratios %.4g", list->count,
                 list->count == 1 ? "" : "s", text, compared_mean_ratio(list));
}

static int compare_put_all(const struct compared_list *list, const struct compare_options *options,
                           const char *baseline, bool several, struct tally *tally,
                           struct ictus_why *why)
{
    struct ictus_output *out = NULL;
    json_t *header = json_pack("{s:s, s:s, s:o}", "version", ICTUS_VERSION, "command", "compare",
                               "baseline", ictus_result_text(baseline));
    int err = ictus_output_open((enum ictus_format)options->results.format, columns,
                                options->results.file, header, &out, why);
    json_t *common = compare_common_members(list);
    json_t *all = compare_all_members(list);
    if (!err && options->results.format == ICTUS_FORMAT_TEXT && list->count > 1) {
        char text[400];
        experiment_describe(common, text, sizeof(text));
        if (text[0]) {
            remark_print(stdout, "all: %s", text);
        }
    }
    for (size_t i = 0; i < list->count && !err; i++) {
        compare_count_verdict(&list->items[i], tally);
        json_t *object = compare_compared_object(&list->items[i], baseline, common, several);
        (void)json_object_update_missing(object, all);
        err = ictus_output_put(out, object);
    }
    json_decref(common);
    json_decref(all);
    if (!err && options->results.format == ICTUS_FORMAT_TEXT) {
        tally_print_summary(tally, list);
    }
    const int closed = ictus_output_close(out);
    if (!err && closed) {
        err = ictus_because(why, closed, "the output could not be written completely");
    }
    return err;
}

/* The experiments whose host changed, and by how much at most. */
static void compare_say_host(const struct compared_list *list)
{
    size_t changed = 0;
    size_t hidden = 0;
    double change = 0.0;
    for (size_t i = 0; i < list->count; i++) {
        const struct compared *item = &list->items[i];
        hidden += item->verdict == VERDICT_HOST;
        changed += item->spread.host && item->verdict != VERDICT_HOST;
        change = fmax(change, item->spread.host ? item->spread.share : 0.0);
    }
    if (hidden > 0) {
        (void)fprintf(stderr,
                      "ictus compare: %zu experiment%s not comparable, because the host itself "
                      "changed by a factor of up to %.2g; measure again, or merge several "
                      "launches\n",
                      hidden, hidden == 1 ? " is" : "s are", exp(change));
    }
    if (changed > 0) {
        (void)fprintf(stderr,
                      "ictus compare: the host itself changed by up to %.3g %% during %zu "
                      "experiment%s, and their intervals allow for it; measure again, or merge "
                      "several launches\n",
                      100 * (fmin(exp(change), 4.0) - 1), changed, changed == 1 ? "" : "s");
    }
}

/* Few launches say little about the next one, and a reader of the verdicts should know that. */
static void compare_say_few_launches(const struct compared_list *list)
{
    size_t single = 0;
    size_t assumed = 0;
    double share = 0.0;
    (void)fflush(stdout); /* results are printed before messages, if both go to the same place */
    for (size_t i = 0; i < list->count; i++) {
        const struct compared *item = &list->items[i];
        single += item->launches_a == 1 || item->launches_b == 1;
        if (!item->spread.host && item->spread.share > 0 && !(item->spread.freedom > 0)) {
            assumed++;
            share = fmax(share, item->spread.share);
        }
    }
    if (single > 0) {
        (void)fprintf(stderr,
                      "ictus compare: experiments with only one launch on a side: %zu; merge "
                      "several launches into one file with 'ictus merge' to learn more\n",
                      single);
    }
    if (assumed > 0) {
        (void)fprintf(stderr,
                      "ictus compare: the intervals assume that launches differ by %.3g %% "
                      "(standard deviation); see --launch-spread\n",
                      100 * share);
    }
    compare_say_host(list);
}

static void compare_say_refused(const struct experiments *experiments)
{
    if (experiments->refused > 0) {
        (void)fprintf(stderr,
                      "ictus compare: %s: rows left out, since they failed the benchmark's own "
                      "validation: %d\n",
                      experiments->path, experiments->refused);
    }
}

static void compare_say_unmatched(const struct tally *tally)
{
    if (tally->missing > 0) {
        (void)fprintf(stderr, "ictus compare: experiments that are not in the first file: %zu\n",
                      tally->missing);
    }
    if (tally->ambiguous > 0) {
        (void)fprintf(stderr,
                      "ictus compare: experiments left out, since they do not match one to one: %zu"
                      "; --reduction=NAME chooses one of several reductions\n",
                      tally->ambiguous);
    }
    if (tally->unlike > 0) {
        (void)fprintf(stderr,
                      "ictus compare: experiments left out, since only one of the files times a "
                      "whole window of messages: %zu\n",
                      tally->unlike);
    }
}

/* Set each further file against the first one, whose objects these are. */
static int files_compare(const struct compare_options *options, json_t *first, int count,
                         char **words, struct tally *tally, struct ictus_why *why)
{
    struct experiments base;
    struct compared_list list = {NULL, 0, 0};
    struct progress_watch watch;
    const char *reduction = options->reduction > 0 ? reductions[options->reduction] : NULL;
    progress_watch_begin(&watch, &options->talk, "compare", count, words);
    int err = experiments_take(first, words[0], reduction, &base, why);
    compare_say_refused(&base);
    for (int i = 1; i < count && !err; i++) {
        struct experiments other;
        err = experiments_read(words[i], reduction, &other, why);
        compare_say_refused(&other);
        if (!err) {
            err = file_compare(&base, &other, options, &list, tally);
        }
        experiments_free(&other);
    }
    if (!err && list.count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT, "the files have no experiment in common%s",
                            tally->ambiguous > 0 ? " that matches only one of the first: see "
                                                   "--reduction"
                            : list.unlike > 0    ? " that is measured in the same units"
                                                 : "");
    }
    if (!err) {
        compared_judge(&list, options->same);
    }
    progress_watch_end(&watch);
    if (!err) {
        err = compare_put_all(&list, options, words[0], count > 2, tally, why);
    }
    if (!err && !options->talk.quiet) {
        compare_say_few_launches(&list);
    }
    tally->unlike = list.unlike;
    compared_free(&list);
    experiments_free(&base);
    return err;
}

/* Waits have no reductions, and their spread is taken from the runs, not drawn. */
static int compare_check_waits(const struct compare_options *options, struct ictus_why *why)
{
    static const char *const idle[] = {"reduction", "launch-spread", "resamples", "seed"};
    for (size_t i = 0; i < sizeof(idle) / sizeof(*idle); i++) {
        if (options_is_set(options_row(rows, idle[i]), options)) {
            return ictus_because(why, ICTUS_ERR_SPEC, "--%s has no effect on results of waits",
                                 idle[i]);
        }
    }
    return ICTUS_OK;
}

/* Print the comparison; how many experiments, or sums of waits, must fail the gate in *failed. */
static int compare_run(const struct compare_options *options, int count, char **words,
                       double fail_above, size_t *failed, struct ictus_why *why)
{
    struct tally tally = {.fail_above = fail_above};
    const struct compare_waits_how how = {&options->results, options->same, fail_above,
                                          options->talk.quiet};
    json_t *first = NULL;
    struct progress_watch watch;
    int skipped = 0;
    progress_watch_begin(&watch, &options->talk, "compare", count, words);
    int err = experiments_read_objects(words[0], &first, &skipped, why);
    progress_watch_end(&watch);
    if (!err && compare_waits_held(first)) {
        err = compare_check_waits(options, why);
        err = err ? err : compare_waits_files(&how, first, count, words, failed, why);
        json_decref(first);
        return err;
    }
    err = err ? err : files_compare(options, first, count, words, &tally, why);
    json_decref(first);
    if (!err) {
        compare_say_unmatched(&tally);
    }
    if (!err && tally.failed > 0) {
        (void)fprintf(stderr, "ictus compare: experiments slower by more than %s: %zu\n",
                      options->fail_above, tally.failed);
    }
    *failed = tally.failed;
    return err;
}

static int compare_command(const void *given, int word_count, char **words)
{
    const struct compare_options *options = given;
    struct ictus_why why = {""};
    size_t failed = 0;
    double fail_above = INFINITY;
    int err = ICTUS_OK;
    if (word_count < 2) {
        err = ictus_because(&why, ICTUS_ERR_ARG, "name at least two result files");
    } else {
        err = options_fail_above(options->fail_above, &fail_above, &why);
    }
    if (!err) {
        err = compare_run(options, word_count, words, fail_above, &failed, &why);
    }
    if (err) {
        return command_fail("compare", err, &why);
    }
    return failed > 0 ? EXIT_BELOW : EXIT_OK;
}

const struct command command_compare = {
    .name = "compare",
    .summary = "find out whether result files differ, and by how much",
    .arguments = "A B [C...]",
    .details = "Each file is compared with the first one. Outputs of OSU, IMB and "
               "ReproMPI are\n"
               "read, too.\n"
               "  ictus compare before.jsonl after.jsonl --fail-above=5%",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct compare_options),
    .run = compare_command,
};

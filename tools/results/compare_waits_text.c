/* SPDX-License-Identifier: BSD-3-Clause */
/* The output of ictus compare for result files of ictus waits. */
#include "results/compare_waits_text.h"

#include "main/text_table.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct ictus_column columns[] = {{"waiting", "waiting", ICTUS_COLUMN_TEXT},
                                              {"wait_a_s", "before us", ICTUS_COLUMN_SECONDS},
                                              {"wait_b_s", "after us", ICTUS_COLUMN_SECONDS},
                                              {"difference_s", "change us", ICTUS_COLUMN_SECONDS},
                                              {"difference_low_s", "95% lo", ICTUS_COLUMN_SECONDS},
                                              {"difference_high_s", "95% hi", ICTUS_COLUMN_SECONDS},
                                              {"verdict", "verdict", ICTUS_COLUMN_TEXT},
                                              {NULL, NULL, ICTUS_COLUMN_TEXT}};

static void waits_change_describe(const json_t *members, char *text, size_t size)
{
    const char *state = json_string_value(json_object_get(members, "state"));
    const char *site = json_string_value(json_object_get(members, "site"));
    const json_t *rank = json_object_get(members, "rank");
    char where[32] = "";
    if (rank) {
        (void)snprintf(where, sizeof where, ", rank %lld", (long long)json_integer_value(rank));
    }
    (void)snprintf(text, size, "%s%s%s%s", state ? state : "all", site ? ", " : "",
                   site ? site : "", where);
}

static const char *verdict_words(enum verdict verdict)
{
    switch (verdict) {
    case VERDICT_SLOWER:
        return "more";
    case VERDICT_FASTER:
        return "less";
    case VERDICT_SAME:
        return "the same";
    case VERDICT_BARE:
        return "cannot be judged";
    default:
        return "no difference shown";
    }
}

static json_t *waits_change_object(const struct wait_changes *changes,
                                   const struct wait_change *change, const char *baseline,
                                   const char *file)
{
    const struct difference *d = &change->difference;
    const bool judged = change->verdict != VERDICT_BARE;
    char text[400];
    waits_change_describe(change->members, text, sizeof text);
    json_t *object = json_pack(
        "{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:I, s:I, s:s}", "type",
        "compare-waits", "baseline", ictus_result_text(baseline), "file", ictus_result_text(file),
        "waiting", ictus_result_text(text), "wait_a_s",
        ictus_result_real(compare_waits_mean(changes, change, 0)), "wait_b_s",
        ictus_result_real(compare_waits_mean(changes, change, 1)), "difference_s",
        ictus_result_real(d->value), "difference_low_s", ictus_result_real(judged ? d->low : NAN),
        "difference_high_s", ictus_result_real(judged ? d->high : NAN), "p",
        ictus_result_real(d->p), "p_adjusted", ictus_result_real(change->p_adjusted), "runs_a",
        (json_int_t)changes->runs[0], "runs_b", (json_int_t)changes->runs[1], "verdict",
        verdict_words(change->verdict));
    (void)json_object_update(object, change->members);
    return object;
}

/* Whether a change must fail a gate; of what cannot be judged only the whole counts. */
static bool waits_change_fails(const struct wait_changes *changes, const struct wait_change *change,
                               double fail_above)
{
    const double before = compare_waits_mean(changes, change, 0);
    const bool whole = json_object_size(change->members) == 0;
    const bool judged =
        change->verdict == VERDICT_SLOWER || (change->verdict == VERDICT_BARE && whole);
    return isfinite(fail_above) && judged && change->difference.value > fail_above * before;
}

static void changes_summarize(const struct wait_changes *changes)
{
    size_t more = 0;
    size_t less = 0;
    for (size_t i = 0; i < changes->count; i++) {
        more += changes->list[i].verdict == VERDICT_SLOWER;
        less += changes->list[i].verdict == VERDICT_FASTER;
    }
    remark_print(stdout,
                 "%zu sums of waits, %zu of them more, %zu less; %zu below 0.1 %% of the ranks' "
                 "time left out",
                 changes->count, more, less, changes->small);
}

static int changes_put(struct ictus_output *out, const struct compare_waits_how *how,
                       const struct wait_changes *changes, const char *baseline, const char *file,
                       size_t *failed)
{
    int err = ICTUS_OK;
    for (size_t i = 0; i < changes->count && !err; i++) {
        *failed += waits_change_fails(changes, &changes->list[i], how->fail_above);
        err =
            ictus_output_put(out, waits_change_object(changes, &changes->list[i], baseline, file));
    }
    if (!err && how->results->format == ICTUS_FORMAT_TEXT) {
        changes_summarize(changes);
    }
    return err;
}

static int waits_read(const char *path, json_t **objects, struct ictus_why *why)
{
    int skipped = 0;
    const int err = experiments_read_objects(path, objects, &skipped, why);
    return err || compare_waits_held(*objects)
               ? err
               : ictus_because(why, ICTUS_ERR_ARG,
                               "'%.200s' holds no waits, but the first file does", path);
}

int compare_waits_files(const struct compare_waits_how *how, const json_t *first, int count,
                        char **words, size_t *failed, struct ictus_why *why)
{
    struct ictus_output *out = NULL;
    bool few = false;
    int err = ICTUS_OK;
    for (int i = 1; i < count && !err; i++) {
        json_t *other = NULL;
        struct wait_changes changes = {.count = 0};
        err = waits_read(words[i], &other, why);
        err = err ? err : compare_waits_find(&changes, first, other, how->same, why);
        if (!err && !out) {
            json_t *header = json_pack("{s:s, s:s, s:o}", "version", ICTUS_VERSION, "command",
                                       "compare", "baseline", ictus_result_text(words[0]));
            err = ictus_output_open((enum ictus_format)how->results->format, columns,
                                    how->results->file, header, &out, why);
        }
        err = err ? err : changes_put(out, how, &changes, words[0], words[i], failed);
        few |= changes.runs[0] + changes.runs[1] < RUNS_JUDGED;
        compare_waits_free(&changes);
        json_decref(other);
    }
    const int closed = out ? ictus_output_close(out) : ICTUS_OK;
    if (!err && closed) {
        err = ictus_because(why, closed, "the output could not be written completely");
    }
    (void)fflush(stdout);
    if (!err && *failed > 0) {
        (void)fprintf(stderr, "ictus compare: sums of waits that grew by more than %.4g %%: %zu\n",
                      100 * how->fail_above, *failed);
    }
    if (!err && few && !how->quiet) {
        (void)fprintf(stderr, "ictus compare: waits differ from run to run; put the results of at "
                              "least two runs a side into one file each with 'ictus merge' to "
                              "learn by how much\n");
    }
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The result objects of `ictus guidelines`: type "guideline", and what they say in words. */
#include "bench/guideline_study.h"

#include "main/command.h"
#include "main/text_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ictus_column guideline_columns[] = {
    {"operation", "operation", ICTUS_COLUMN_TEXT},
    {"bytes", "  bytes", ICTUS_COLUMN_COUNT},
    {"against", "against", ICTUS_COLUMN_TEXT},
    {"median_s", "median us", ICTUS_COLUMN_SECONDS},
    {"against_median_s", "against us", ICTUS_COLUMN_SECONDS},
    {"factor", "factor", ICTUS_COLUMN_NUMBER},
    {"factor_low", "95% lo", ICTUS_COLUMN_NUMBER},
    {"factor_high", "95% hi", ICTUS_COLUMN_NUMBER},
    {"state", "guideline", ICTUS_COLUMN_TEXT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

void guideline_say(const struct guideline_row *row, char *text, size_t size)
{
    char other[128];
    const struct turns_verdict *v = &row->result.verdict;
    const bool monotony = strcmp(row->kind, guideline_kinds[KIND_MONOTONY]) == 0;
    const bool split = strcmp(row->kind, guideline_kinds[KIND_SPLIT]) == 0;
    const char *parts = strstr(row->against, split ? "_in_" : "_as_");
    if (monotony) {
        (void)snprintf(other, sizeof(other), "%llu bytes", (unsigned long long)row->against_bytes);
    } else {
        (void)snprintf(other, sizeof(other), "%s%s", parts ? parts + 4 : row->against,
                       split ? " pieces of it" : "");
    }
    (void)snprintf(text, size, "%s of %llu bytes takes %.2f times (95 %%: %.2f to %.2f) what %s %s",
                   row->operation, (unsigned long long)row->bytes, v->factor, v->low, v->high,
                   other, monotony || split ? "take" : "takes");
}

static void guideline_record_set_real(json_t *object, const char *name, double value)
{
    (void)json_object_set_new(object, name, ictus_result_real(value));
}

json_t *guideline_object(const struct guideline_row *row)
{
    const struct guideline_result *r = &row->result;
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:i, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I}", "type",
                  "guideline", "kind", row->kind, "operation", row->operation, "bytes",
                  (json_int_t)row->bytes, "processes", row->processes, "against", row->against,
                  "against_bytes", (json_int_t)row->against_bytes, "reduction", row->reduction,
                  "scheme", row->scheme, "n", (json_int_t)row->n, "against_n",
                  (json_int_t)row->against_n, "invalid", (json_int_t)row->invalid, "rounds",
                  (json_int_t)row->rounds, "launches", (json_int_t)r->launches);
    if (!object) {
        return NULL;
    }
    guideline_record_set_real(object, "median_s", r->median_s);
    guideline_record_set_real(object, "against_median_s", r->against_s);
    guideline_record_set_real(object, "factor", r->verdict.factor);
    guideline_record_set_real(object, "factor_low", r->verdict.low);
    guideline_record_set_real(object, "factor_high", r->verdict.high);
    guideline_record_set_real(object, "factor_error", r->launches == 1 ? r->ratio.error : NAN);
    guideline_record_set_real(object, "launch_spread", r->verdict.spread);
    (void)json_object_set_new(object, "launch_spread_from",
                              json_string(r->verdict.known ? "files" : "assumed"));
    guideline_record_set_real(object, "p", r->verdict.p);
    guideline_record_set_real(object, "p_adjusted", r->p_adjusted);
    (void)json_object_set_new(object, "state", json_string(guideline_states[r->state]));
    char text[256];
    guideline_say(row, text, sizeof(text));
    (void)json_object_set_new(object, "finding",
                              r->state == GUIDELINE_HOLDS ? json_null() : json_string(text));
    (void)json_object_set_new(object, "verdict", json_null());
    return object;
}

int guideline_put(const struct guideline_options *options, struct ictus_output *out,
                  const struct guideline_row *row, json_t *object, struct guideline_tally *tally)
{
    const enum guideline_state state = row->result.state;
    double fail_above = INFINITY;
    if (!object) {
        return ICTUS_ERR_NOMEM;
    }
    (void)options_fail_above(options->fail_above, &fail_above, NULL); /* was checked */
    tally->tested++;
    tally->open += state == GUIDELINE_OPEN;
    tally->violated += state == GUIDELINE_VIOLATED;
    tally->failed += state == GUIDELINE_VIOLATED && row->result.verdict.factor > 1.0 + fail_above;
    if (state == GUIDELINE_VIOLATED && row->result.verdict.factor > tally->worst) {
        tally->worst = row->result.verdict.factor;
        guideline_say(row, tally->worst_text, sizeof(tally->worst_text));
    }
    const bool hidden =
        options->results.format == ICTUS_FORMAT_TEXT && !options->all && state == GUIDELINE_HOLDS;
    return hidden ? ictus_output_keep(out, object) : ictus_output_put(out, object);
}

static json_t *record_samples(const struct turns *turns)
{
    json_t *array = json_array();
    for (size_t i = 0; i < turns->n; i++) {
        (void)json_array_append_new(array, json_real(turns->values[i]));
    }
    return array;
}

/* Two series of the operation in turn. */
struct pair {
    const struct ictus_operation_info *of, *against;
    enum guideline_kind kind;
    size_t size, against_size;
    const struct turns *turns, *against_turns;
};

static int guideline_record_write_pair(struct guideline_study *study, const struct pair *pair)
{
    struct guideline_row row = {
        .kind = guideline_kinds[pair->kind],
        .operation = pair->of->name,
        .against = pair->against->name,
        .bytes = study->sizes[pair->size],
        .against_bytes = study->sizes[pair->against_size],
        .processes = command_size(),
        .reduction = ictus_reduction_names[study->reduction],
        .scheme = study->options->scheme,
        .n = (int64_t)pair->turns->n,
        .against_n = (int64_t)pair->against_turns->n,
        .invalid = pair->turns->invalid + pair->against_turns->invalid,
    };
    struct guideline_limits limits = study->limits;
    limits.before = guideline_after_find(study->earlier, &row);
    const int err = guideline_compare(pair->turns, pair->against_turns, &limits, &row.result);
    if (err == ICTUS_ERR_SAMPLES) {
        study->tally.unmeasured++;
        return ICTUS_OK;
    }
    if (err) {
        return err;
    }
    row.rounds = (int64_t)row.result.ratio.rounds;
    json_t *object = guideline_object(&row);
    if (object && study->options->raw) {
        (void)json_object_set_new(object, "raw_s", record_samples(pair->turns));
        (void)json_object_set_new(object, "raw_against_s", record_samples(pair->against_turns));
    }
    progress_hide(&study->base.progress);
    return guideline_put(study->options, study->base.out, &row, object, &study->tally);
}

/* Compare with a rival at the same size. */
static int guideline_record_write_rival(struct guideline_study *study,
                                        const struct guideline_operation *op, int rival,
                                        size_t size)
{
    const struct pair pair = {
        .of = &op->rivals[0],
        .against = &op->rivals[rival],
        .kind = op->rivals[rival].pieces ? KIND_SPLIT : KIND_MOCKUP,
        .size = size,
        .against_size = size,
        .turns = &study->turns[size],
        .against_turns = &study->turns[(size_t)rival * study->size_count + size],
    };
    return guideline_record_write_pair(study, &pair);
}

/* Compare with a larger size. */
static int guideline_write_monotony(struct guideline_study *study,
                                    const struct guideline_operation *op, size_t size,
                                    size_t larger)
{
    const struct pair pair = {
        .of = &op->rivals[0],
        .against = &op->rivals[0],
        .kind = KIND_MONOTONY,
        .size = size,
        .against_size = larger,
        .turns = &study->turns[size],
        .against_turns = &study->turns[larger],
    };
    return guideline_record_write_pair(study, &pair);
}

int guideline_study_write(struct guideline_study *study, const struct guideline_operation *op)
{
    int err = ICTUS_OK;
    for (int rival = 1; rival < op->rival_count; rival++) {
        for (size_t size = 0; size < study->size_count && !err; size++) {
            err = guideline_record_write_rival(study, op, rival, size);
        }
    }
    for (size_t size = 0; study->kinds[KIND_MONOTONY] && size < study->size_count; size++) {
        for (size_t larger = size + 1; larger < study->size_count && !err; larger++) {
            err = guideline_write_monotony(study, op, size, larger);
        }
    }
    return err;
}

int guideline_close(const struct guideline_options *options, struct ictus_output *out,
                    const struct guideline_tally *tally)
{
    char text[512];
    (void)snprintf(text, sizeof(text),
                   "%zu of %zu guidelines are violated, and %zu more may be%s%s", tally->violated,
                   tally->tested, tally->open, tally->violated ? "; the worst: " : "",
                   tally->worst_text);
    if (options->results.format == ICTUS_FORMAT_TEXT) {
        remark_print(stdout, "%s", text);
        if (tally->unmeasured) {
            remark_print(stdout, "%zu could not be tested", tally->unmeasured);
        }
        if (tally->launches < TURNS_LAUNCHES_LEAST) {
            remark_print(stdout,
                         "judged from %zu launch%s, allowing for a spread of %.3g %% between "
                         "launches; 'ictus guidelines FILE...' judges several launches together",
                         tally->launches, tally->launches == 1 ? "" : "es",
                         100 * options->launch_spread);
        }
    }
    return ictus_output_put(
        out, json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:s}", "type", "guideline", "processes",
                       tally->processes, "launches", (json_int_t)tally->launches, "tested",
                       (json_int_t)tally->tested, "violated", (json_int_t)tally->violated, "open",
                       (json_int_t)tally->open, "untested", (json_int_t)tally->unmeasured,
                       "verdict", text));
}

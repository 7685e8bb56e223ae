/* SPDX-License-Identifier: BSD-3-Clause */
/* The result objects of `ictus guidelines`: type "guideline", and what they say in words. */
#include "bench/guideline_study.h"

#include "main/command.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct ictus_column guideline_columns[] = {
    {"operation", "operation           ", ICTUS_COLUMN_TEXT},
    {"bytes", "bytes", ICTUS_COLUMN_COUNT},
    {"against", "against                                    ", ICTUS_COLUMN_TEXT},
    {"against_bytes", "bytes", ICTUS_COLUMN_COUNT},
    {"median_s", "median us", ICTUS_COLUMN_SECONDS},
    {"against_median_s", "against", ICTUS_COLUMN_SECONDS},
    {"factor", "factor", ICTUS_COLUMN_NUMBER},
    {"factor_low", "95% low", ICTUS_COLUMN_NUMBER},
    {"factor_high", "95% high", ICTUS_COLUMN_NUMBER},
    {"p_adjusted", "p", ICTUS_COLUMN_NUMBER},
    {"state", "guideline", ICTUS_COLUMN_TEXT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

/* One comparison, to be written. */
struct comparison {
    const struct ictus_operation_info *of, *against;
    enum guideline_kind kind;
    uint64_t bytes, against_bytes;
    const struct guideline_series *series, *against_series;
    struct guideline_result result;
};

static void say(const struct comparison *c, char *text, size_t size)
{
    char other[128];
    const struct guideline_result *r = &c->result;
    if (c->kind == KIND_MONOTONY) {
        (void)snprintf(other, sizeof(other), "%llu bytes", (unsigned long long)c->against_bytes);
    } else if (c->kind == KIND_SPLIT) {
        (void)snprintf(other, sizeof(other), "%d pieces of it", c->against->pieces);
    } else {
        const char *parts = strstr(c->against->name, "_as_");
        (void)snprintf(other, sizeof(other), "%s", parts ? parts + 4 : c->against->name);
    }
    (void)snprintf(text, size, "%s of %llu bytes takes %.2f times (95 %%: %.2f to %.2f) what %s %s",
                   c->of->name, (unsigned long long)c->bytes, r->factor, r->low, r->high, other,
                   c->kind == KIND_MOCKUP ? "takes" : "take");
}

static json_t *samples(const struct guideline_series *series)
{
    json_t *array = json_array();
    for (size_t i = 0; i < series->n; i++) {
        (void)json_array_append_new(array, json_real(series->values[i]));
    }
    return array;
}

static json_t *describe(const struct guideline_study *study, const struct comparison *c)
{
    const struct guideline_result *r = &c->result;
    json_t *object = json_pack(
        "{s:s, s:s, s:s, s:I, s:i, s:s, s:I, s:s, s:s, s:I, s:I, s:I, s:I}", "type", "guideline",
        "kind", guideline_kinds[c->kind], "operation", c->of->name, "bytes", (json_int_t)c->bytes,
        "processes", command_size(), "against", c->against->name, "against_bytes",
        (json_int_t)c->against_bytes, "reduction", ictus_reduction_names[study->reduction],
        "scheme", study->options->scheme, "n", (json_int_t)c->series->n, "against_n",
        (json_int_t)c->against_series->n, "invalid",
        (json_int_t)c->series->invalid + (json_int_t)c->against_series->invalid, "rounds",
        (json_int_t)r->rounds);
    json_t *numbers = json_pack("{s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:s}", "median_s", r->median_s,
                                "against_median_s", r->against_s, "factor", r->factor, "factor_low",
                                r->low, "factor_high", r->high, "p", r->p, "p_adjusted",
                                r->p_adjusted, "state", guideline_states[r->state]);
    if (!object || !numbers) {
        json_decref(object);
        json_decref(numbers);
        return NULL;
    }
    (void)json_object_update(object, numbers);
    json_decref(numbers);
    if (r->state != GUIDELINE_HOLDS) {
        char text[256];
        say(c, text, sizeof(text));
        (void)json_object_set_new(object, "finding", json_string(text));
    }
    if (study->options->raw) {
        (void)json_object_set_new(object, "raw_s", samples(c->series));
        (void)json_object_set_new(object, "raw_against_s", samples(c->against_series));
    }
    return object;
}

/* The terminal sees what needs attention; files and other formats have all. */
static int write_one(struct guideline_study *study, const struct comparison *c)
{
    const enum guideline_state state = c->result.state;
    json_t *object = describe(study, c);
    if (!object) {
        return ICTUS_ERR_NOMEM;
    }
    study->tested++;
    study->open += state == GUIDELINE_OPEN;
    study->violated += state == GUIDELINE_VIOLATED;
    if (state == GUIDELINE_VIOLATED && c->result.factor > study->worst) {
        study->worst = c->result.factor;
        say(c, study->worst_text, sizeof(study->worst_text));
    }
    progress_hide(&study->progress);
    const bool hidden = study->options->format == ICTUS_FORMAT_TEXT && !study->options->all &&
                        state == GUIDELINE_HOLDS;
    return hidden ? ictus_output_keep(study->out, object) : ictus_output_put(study->out, object);
}

/* Compare with a rival at the same size. */
static int write_rival(struct guideline_study *study, const struct guideline_operation *op,
                       int rival, size_t size)
{
    struct comparison c = {
        .of = &op->rivals[0],
        .against = &op->rivals[rival],
        .kind = op->rivals[rival].pieces ? KIND_SPLIT : KIND_MOCKUP,
        .bytes = study->sizes[size],
        .against_bytes = study->sizes[size],
        .series = &study->series[size],
        .against_series = &study->series[(size_t)rival * study->size_count + size],
    };
    const int err = guideline_compare(c.series, c.against_series, &study->limits, &c.result);
    if (err == ICTUS_ERR_SAMPLES) {
        study->unmeasured++;
        return ICTUS_OK;
    }
    return err ? err : write_one(study, &c);
}

/*
 * Compare with all larger sizes; the one against which the factor is largest is told, its p
 * corrected for having been chosen.
 */
static int write_monotony(struct guideline_study *study, const struct guideline_operation *op,
                          size_t size)
{
    struct comparison c = {.of = &op->rivals[0],
                           .against = &op->rivals[0],
                           .kind = KIND_MONOTONY,
                           .bytes = study->sizes[size],
                           .series = &study->series[size]};
    double compared = 0.0;
    for (size_t larger = size + 1; larger < study->size_count; larger++) {
        struct guideline_result result;
        const int err =
            guideline_compare(c.series, &study->series[larger], &study->limits, &result);
        if (err && err != ICTUS_ERR_SAMPLES) {
            return err;
        }
        compared += !err;
        if (!err && (!c.against_series || result.factor > c.result.factor)) {
            c.result = result;
            c.against_bytes = study->sizes[larger];
            c.against_series = &study->series[larger];
        }
    }
    if (!c.against_series) {
        study->unmeasured++;
        return ICTUS_OK;
    }
    c.result.p = fmin(1.0, c.result.p * compared);
    guideline_judge(&study->limits, &c.result);
    return write_one(study, &c);
}

int guideline_study_write(struct guideline_study *study, const struct guideline_operation *op)
{
    int err = ICTUS_OK;
    for (int rival = 1; rival < op->rival_count; rival++) {
        for (size_t size = 0; size < study->size_count && !err; size++) {
            err = write_rival(study, op, rival, size);
        }
    }
    for (size_t size = 0; study->kinds[KIND_MONOTONY] && size + 1 < study->size_count && !err;
         size++) {
        err = write_monotony(study, op, size);
    }
    return err;
}

int guideline_study_close(struct guideline_study *study)
{
    char text[512];
    (void)snprintf(text, sizeof(text), "%zu of %zu guidelines are violated, %zu more may be%s%s",
                   study->violated, study->tested, study->open,
                   study->violated ? "; the worst: " : "", study->worst_text);
    if (study->options->format == ICTUS_FORMAT_TEXT) {
        (void)printf("# %s\n", text);
        if (study->unmeasured) {
            (void)printf("# %zu could not be tested\n", study->unmeasured);
        }
    }
    return ictus_output_put(study->out,
                            json_pack("{s:s, s:i, s:I, s:I, s:I, s:I, s:s}", "type", "guideline",
                                      "processes", command_size(), "tested",
                                      (json_int_t)study->tested, "violated",
                                      (json_int_t)study->violated, "open", (json_int_t)study->open,
                                      "untested", (json_int_t)study->unmeasured, "verdict", text));
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The objects of ictus overlap. */
#include "bench/overlap_record.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const overlap_record_formulas[] = {"h08", "osu", "imb", NULL};
const char *const overlap_record_formula_texts[] = {
    "1 - (init + test + wait) / blocking",
    "max(0, 1 - (overall - (compute - test)) / blocking), means over ranks",
    "clamp01((blocking + compute - overall) / max(blocking, compute)), means over ranks"};

const struct ictus_column overlap_record_columns[] = {
    {"operation", "operation  ", ICTUS_COLUMN_TEXT},
    {"bytes", "  bytes", ICTUS_COLUMN_COUNT},
    {"processes", "procs", ICTUS_COLUMN_COUNT},
    {"strategy", "strategy", ICTUS_COLUMN_TEXT},
    {"tests", "tests", ICTUS_COLUMN_COUNT},
    {"blocking_s", "block us", ICTUS_COLUMN_SECONDS},
    {"overhead_s", "CPU us", ICTUS_COLUMN_SECONDS},
    {"overlap_percent", "overlap %", ICTUS_COLUMN_NUMBER},
    {"note", "note", ICTUS_COLUMN_TEXT},
    {NULL, NULL, ICTUS_COLUMN_TEXT}};

/* Time that no timer saw is worth a note above this share of the blocking time. */
#define UNSEEN_SHARE 0.10
#define UNSEEN_MIN_S 1e-6
/* How far the computation may be from the length that was asked for. */
#define WORK_TOLERANCE 0.02

static double overlap_record_shown(enum overlap_formula formula,
                                   const struct ictus_overlap_result *r)
{
    switch (formula) {
    case OVERLAP_FORMULA_OSU:
        return r->osu;
    case OVERLAP_FORMULA_IMB:
        return r->imb;
    default:
        return r->h08;
    }
}

static const char *overlap_record_doubt(const struct ictus_overlap_result *r)
{
    if (r->unseen_s > UNSEEN_SHARE * r->blocking_s && r->unseen_s > UNSEEN_MIN_S) {
        return "preempted?";
    }
    return r->work_error > WORK_TOLERANCE || r->work_error < -WORK_TOLERANCE ? "work off" : "-";
}

static void overlap_record_set(json_t *object, const char *key, bool concerned, const char *value,
                               const char *usual)
{
    if (concerned && value && strcmp(value, usual) != 0) {
        (void)json_object_set_new(object, key, json_string(value));
    }
}

/* What the data is and who the neighbours are, where that was given: it makes it another
 * experiment. */
static void overlap_record_set_shape(json_t *object, const struct ictus_bench_plan *call)
{
    struct ictus_operation_info info = {0};
    (void)ictus_operation_find(NULL, call->operation, &info, NULL);
    overlap_record_set(object, "datatype", info.has_data, call->datatype, "char");
    overlap_record_set(object, "layout", info.has_data, call->layout, "contiguous");
    overlap_record_set(object, "topology", info.neighborhood, call->topology, "ring");
}

json_t *overlap_record_create(const struct ictus_overlap_plan *plan, int processes,
                              enum overlap_formula formula, const struct ictus_overlap_result *r)
{
    const double overlap = overlap_record_shown(formula, r);
    json_t *object = json_pack(
        "{s:s, s:s, s:I, s:i, s:s, s:s, s:s, s:f, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f,"
        " s:f, s:s, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:s}",
        "type", "overlap", "operation", plan->call.operation, "bytes", (json_int_t)plan->call.bytes,
        "processes", processes, "method", ictus_overlap_method_names[plan->method], "strategy",
        ictus_progress_names[plan->progress], "kernel", ictus_kernel_names[plan->kernel], "factor",
        plan->factor, "interval_bytes", (json_int_t)plan->interval, "tests", (json_int_t)r->tests,
        "blocking_s", r->blocking_s, "compute_s", r->compute_s, "init_s", r->init_s, "test_s",
        r->test_s, "wait_s", r->wait_s, "overhead_s", r->overhead_s, "total_s", r->total_s,
        "overlap", overlap, "overlap_percent", 100.0 * overlap, "formula",
        overlap_record_formula_texts[formula], "overlap_h08", r->h08, "overlap_osu", r->osu,
        "overlap_imb", r->imb, "work_error", r->work_error, "unseen_s", r->unseen_s, "n",
        (json_int_t)r->n, "invalid", (json_int_t)r->invalid, "note", overlap_record_doubt(r));
    if (object) {
        overlap_record_set_shape(object, &plan->call);
    }
    return object;
}

static double overlap_record_overhead(const json_t *object)
{
    return json_real_value(json_object_get(object, "overhead_s"));
}

void overlap_record_mark_best(json_t *const *objects, size_t count)
{
    json_t *best = NULL;
    for (size_t i = 0; i < count; i++) {
        if (objects[i] &&
            (!best || overlap_record_overhead(objects[i]) < overlap_record_overhead(best))) {
            best = objects[i];
        }
    }
    if (best && count > 1) {
        const char *doubt = json_string_value(json_object_get(best, "note"));
        const bool doubtful = doubt && strcmp(doubt, "-") != 0;
        char note[40];
        (void)snprintf(note, sizeof(note), "best interval%s%s", doubtful ? ", " : "",
                       doubtful ? doubt : "");
        (void)json_object_set_new(best, "note", json_string(note));
    }
}

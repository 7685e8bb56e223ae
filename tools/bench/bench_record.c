/* SPDX-License-Identifier: BSD-3-Clause */
/* The result objects of `ictus bench`: type "measurement". */
#include "bench/bench_study.h"

#include "bench/bench_proof.h"

#include "main/progress.h"
#include "results/experiments.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *algorithm_name(const struct bench_study *study, const struct bench_experiment *e)
{
    const char *started = ictus_selector_started(study->ops[e->op].name);
    return e->algorithm >= 0 ? study->algorithms[e->algorithm].name
           : started         ? started
                             : ICTUS_ALGORITHM_DEFAULT;
}

/* Whether algorithms were chosen, now or when the program started. */
static bool study_chose(const struct bench_study *study)
{
    bool chose = study->selector;
    for (int i = 0; i < study->op_count && !chose; i++) {
        chose = ictus_selector_started(study->ops[i].name);
    }
    return chose;
}

/* Rows of 80 columns. What does not fit is in the result file and in --format=json. */
#define COLUMNS_OF_MEDIAN                                                                          \
    {"median_s", "median us", ICTUS_COLUMN_SECONDS},                                               \
        {"ci95_low_s", "95% lo us", ICTUS_COLUMN_SECONDS},                                         \
    {                                                                                              \
        "ci95_high_s", "95% hi us", ICTUS_COLUMN_SECONDS                                           \
    }

const struct ictus_column *bench_study_columns(const struct bench_study *study)
{
    static const struct ictus_column plain[] = {
        {"operation", "operation   ", ICTUS_COLUMN_TEXT}, {"bytes", "   bytes", ICTUS_COLUMN_COUNT},
        {"processes", "procs", ICTUS_COLUMN_COUNT},       {"n", "     n", ICTUS_COLUMN_COUNT},
        {"invalid", "late", ICTUS_COLUMN_COUNT},          COLUMNS_OF_MEDIAN,
        {"p99_s", "p99 us", ICTUS_COLUMN_SECONDS},        {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const struct ictus_column several[] = {{"operation", "operation   ", ICTUS_COLUMN_TEXT},
                                                  {"bytes", "   bytes", ICTUS_COLUMN_COUNT},
                                                  {"processes", "procs", ICTUS_COLUMN_COUNT},
                                                  {"reduction", "over ranks", ICTUS_COLUMN_TEXT},
                                                  {"n", "     n", ICTUS_COLUMN_COUNT},
                                                  COLUMNS_OF_MEDIAN,
                                                  {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const struct ictus_column forced[] = {
        {"operation", "operation", ICTUS_COLUMN_TEXT},
        {"algorithm", "algorithm        ", ICTUS_COLUMN_TEXT},
        {"bytes", "   bytes", ICTUS_COLUMN_COUNT},
        {"processes", "procs", ICTUS_COLUMN_COUNT},
        COLUMNS_OF_MEDIAN,
        {"proven", "proven", ICTUS_COLUMN_TEXT},
        {NULL, NULL, ICTUS_COLUMN_TEXT}};
    static const struct ictus_column forced_several[] = {
        {"operation", "operation", ICTUS_COLUMN_TEXT},
        {"algorithm", "algorithm  ", ICTUS_COLUMN_TEXT},
        {"bytes", "  bytes", ICTUS_COLUMN_COUNT},
        {"processes", "procs", ICTUS_COLUMN_COUNT},
        {"reduction", "over rank", ICTUS_COLUMN_TEXT},
        COLUMNS_OF_MEDIAN,
        {"proven", "proven", ICTUS_COLUMN_TEXT},
        {NULL, NULL, ICTUS_COLUMN_TEXT}};
    int reductions = 0;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        reductions += study->wanted[r];
    }
    if (study_chose(study)) {
        return reductions > 1 ? forced_several : forced;
    }
    return reductions > 1 ? several : plain;
}

/* Below this many repetitions a median's interval says little (hyperfine warns at ten). */
enum { FEW_SAMPLES = 10 };
/* A larger share of outliers points at interference. */
#define MANY_OUTLIERS 0.10

static json_t *bench_record_raw_samples(const double *values, int64_t n)
{
    json_t *array = json_array();
    for (int64_t i = 0; i < n; i++) {
        (void)json_array_append_new(array, json_real(values[i]));
    }
    return array;
}

/* One array of repetitions for each process. */
static json_t *bench_record_raw_ranks(const double *values, int64_t n, int processes)
{
    json_t *ranks = json_array();
    for (int rank = 0; rank < processes; rank++) {
        json_t *row = json_array();
        for (int64_t i = 0; i < n; i++) {
            (void)json_array_append_new(row, json_real(values[i * processes + rank]));
        }
        (void)json_array_append_new(ranks, row);
    }
    return ranks;
}

/* Whether the machine changed its state while it was measured. */
static bool record_drifts(const struct ictus_summary *s)
{
    return ictus_summary_drift(s) > 0.0;
}

/* Warnings that a reader should see before believing the number. */
static json_t *record_warnings(const struct ictus_summary *s,
                               const struct ictus_bench_result *result, bool interrupted)
{
    json_t *list = json_array();
    if (interrupted) {
        (void)json_array_append_new(list,
                                    json_string("interrupted before all repetitions were made"));
    }
    if (s->n < FEW_SAMPLES) {
        (void)json_array_append_new(list, json_string("few samples"));
    }
    if ((double)s->outliers > MANY_OUTLIERS * (double)s->n) {
        (void)json_array_append_new(list, json_string("many outliers: other work may interfere"));
    }
    if (s->p75 > 0.0 && s->median > 0.0 && s->p99 > 10.0 * s->median) {
        (void)json_array_append_new(list,
                                    json_string("heavy tail: p99 is over ten times the median"));
    }
    if (record_drifts(s)) {
        (void)json_array_append_new(
            list, json_string("samples drift: the machine changed during the measurement"));
    }
    if (result->sigma_ns * 1e-9 > 0.1 * s->median) {
        (void)json_array_append_new(list, json_string("clock sigma above a tenth of the median"));
    }
    return list;
}

static json_t *record_statistics(const struct ictus_summary *s,
                                 const struct ictus_bench_result *result)
{
    return json_pack("{s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:f, s:I, "
                     "s:f, s:f, s:f}",
                     "n", (json_int_t)s->n, "invalid", (json_int_t)result->invalid, "median_s",
                     s->median, "ci95_low_s", s->ci95_low, "ci95_high_s", s->ci95_high,
                     "ci95_covered", s->covered, "mean_s", s->mean, "sd_s", s->sd, "min_s", s->min,
                     "max_s", s->max, "p25_s", s->p25, "p75_s", s->p75, "p90_s", s->p90, "p99_s",
                     s->p99, "outliers", (json_int_t)s->outliers, "clock_sigma_ns",
                     result->sigma_ns, "clock_bound_ns", result->bound_ns, "n_effective",
                     s->effective);
}

/* null where the operation has no such member, so that every row of a CSV has the same columns. */
static void bench_record_set_text(json_t *object, const char *name, bool applies, const char *text)
{
    (void)json_object_set_new(object, name, applies ? json_string(text) : json_null());
}

/* How the experiment differs from the plain one, where it does: as text, which tells them apart. */
static void bench_record_set_conditions(json_t *object, const struct bench_study *study,
                                        const struct bench_experiment *e)
{
    const struct bench_options *o = study->options;
    const struct ictus_operation_info *op = &study->ops[e->op];
    if (strcmp(o->arrival, "together") != 0) {
        bench_record_set_text(object, "arrival", true, o->arrival);
    }
    if (o->group > 0) {
        char text[32];
        (void)snprintf(text, sizeof(text), "of %lld", (long long)o->group);
        bench_record_set_text(object, "groups", true, text);
    }
    if (o->in_place) {
        bench_record_set_text(object, "in_place", true, "yes");
    }
    if (o->rotate_root) {
        bench_record_set_text(object, "roots", op->rooted, "rotated");
    }
    if (o->cold) {
        bench_record_set_text(object, "caches", op->has_data, "cold");
    }
    if (o->buffers > 1) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld in turn", (long long)o->buffers);
        bench_record_set_text(object, "buffers", op->has_data, text);
    }
    if (o->messages != BENCH_MESSAGES) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld at once", (long long)o->messages);
        bench_record_set_text(object, "stream", op->streams, text);
    }
    if (o->partitions != BENCH_PARTITIONS) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld", (long long)o->partitions);
        bench_record_set_text(object, "partitions", op->partitioned, text);
    }
    if (op->threaded) {
        char text[32];
        (void)snprintf(text, sizeof(text), "%lld", (long long)o->threads);
        bench_record_set_text(object, "threads", true, text);
    }
    if (strcmp(o->topology, "ring") != 0) {
        bench_record_set_text(object, "topology", op->neighborhood, o->topology);
    }
    if (strcmp(o->layout, "contiguous") != 0) {
        bench_record_set_text(object, "layout", op->has_data, o->layout);
    }
    if (op->one_sided) {
        bench_record_set_text(object, "window", true, ictus_window_kinds[o->window]);
    }
    if (o->placement != PLACE_PACKED) {
        bench_record_set_text(object, "placement", true, group_placements[o->placement]);
    }
}

/* The variables of the experiment: what --resume and ictus compare match by. */
static json_t *record_variables(const struct bench_study *study, const struct bench_experiment *e)
{
    const struct bench_options *o = study->options;
    const struct ictus_operation_info *op = &study->ops[e->op];
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:I, s:i, s:s}", "type", "measurement", "operation", op->name,
                  "algorithm", algorithm_name(study, e), "bytes", (json_int_t)e->bytes, "processes",
                  study->groups[e->group].processes, "scheme", o->scheme);
    if (object) {
        bench_record_set_text(object, "datatype", op->has_data, o->datatype);
        bench_record_set_text(object, "op", op->reduces, o->reduce);
        (void)json_object_set_new(object, "root", op->rooted ? json_integer(o->root) : json_null());
        bench_record_set_conditions(object, study, e);
    }
    return object;
}

/* What a stream of messages is measured for; it has arrived when the slowest process is through. */
static void bench_record_set_rates(json_t *object, const struct bench_study *study,
                                   const struct bench_experiment *e, int reduction,
                                   const struct ictus_summary *s)
{
    const struct ictus_bench_plan plan = bench_study_plan(study, e);
    const int messages = ictus_operation_messages(&plan);
    const double sent = (double)messages * (double)e->bytes;
    const int processes = study->groups[e->group].processes;
    const int group = study->options->group > 0 ? (int)study->options->group : processes;
    const int pairs = (study->ops[e->op].rooted ? group - 1 : group / 2) * (processes / group);
    const bool known = messages > 0 && s->median > 0.0 && reduction == ICTUS_REDUCE_MAX;
    (void)json_object_set_new(object, "messages",
                              messages > 0 ? json_integer(messages) : json_null());
    (void)json_object_set_new(object, "bandwidth_Bps",
                              known ? json_real(sent / s->median) : json_null());
    (void)json_object_set_new(object, "messages_per_s",
                              known ? json_real(pairs * messages / s->median) : json_null());
}

/*
 * Beside a replay of exactly what the application did, how long that took there. How far both are
 * apart is as far as the other times under these arrivals may be from the application's.
 */
static void bench_record_set_traced(json_t *object, struct bench_study *study,
                                    const struct bench_experiment *e, int reduction,
                                    const struct ictus_summary *s)
{
    const struct ictus_arrival_traced *t = &study->traced;
    if (reduction == ICTUS_REDUCE_EXIT && e->algorithm < 0 && e->bytes == t->bytes &&
        study->groups[e->group].processes == t->ranks &&
        strcmp(study->ops[e->op].name, t->operation) == 0 && t->duration_s > 0) {
        (void)json_object_set_new(object, "traced_s", json_real(t->duration_s));
        study->replayed = s->median / t->duration_s;
    }
}

static json_t *record_measurement(struct bench_study *study, const struct bench_experiment *e,
                                  const struct ictus_bench_result *result, int reduction)
{
    const double *values = result->samples_s[reduction];
    struct ictus_summary s;
    if (ictus_summarize_series(values, (size_t)result->n, &s)) {
        return NULL;
    }
    const bool interrupted = study->cut_short && result->n < study->options->repetitions;
    study->written++;
    study->drifting += record_drifts(&s);
    json_t *object = record_variables(study, e);
    json_t *numbers = record_statistics(&s, result);
    if (!object || !numbers) {
        json_decref(object);
        json_decref(numbers);
        return NULL;
    }
    (void)json_object_set_new(object, "reduction", json_string(ictus_reduction_names[reduction]));
    (void)json_object_update(object, numbers);
    json_decref(numbers);
    bench_study_write_proof(study, e, object);
    study->arrival_ranks = result->arrival_ranks;
    if (result->arrival_ranks > 0) {
        (void)json_object_set_new(object, "arrival_ranks", json_integer(result->arrival_ranks));
        if (study->groups[e->group].footprint > 0) {
            (void)json_object_set_new(object, "arrival_footprint",
                                      json_integer(study->groups[e->group].footprint));
        }
        bench_record_set_traced(object, study, e, reduction, &s);
    }
    bench_record_set_rates(object, study, e, reduction, &s);
    (void)json_object_set_new(object, "interrupted", json_boolean(interrupted));
    (void)json_object_set_new(object, "warnings", record_warnings(&s, result, interrupted));
    if (study->options->raw) {
        (void)json_object_set_new(object, "raw_s", bench_record_raw_samples(values, result->n));
    }
    if (result->ranks_s) {
        (void)json_object_set_new(
            object, "raw_ranks_s",
            bench_record_raw_ranks(result->ranks_s, result->n, study->groups[e->group].processes));
    }
    return object;
}

int bench_study_know(struct bench_study *study, const json_t *objects)
{
    size_t i = 0;
    json_t *object = NULL;
    study->done = json_object();
    json_array_foreach((json_t *)objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        if (strcmp(type, "measurement") != 0 ||
            json_is_true(json_object_get(object, "interrupted"))) {
            continue;
        }
        char *identity = experiment_identity(object);
        const int failed = !identity || json_object_set_new(study->done, identity, json_true());
        free(identity);
        if (failed) {
            return ICTUS_ERR_NOMEM;
        }
    }
    return ICTUS_OK;
}

/* Whether the file that is continued has this reduction of the experiment. */
static bool bench_record_has_reduction(const struct bench_study *study,
                                       const struct bench_experiment *e, int reduction)
{
    json_t *wanted = study->done ? record_variables(study, e) : NULL;
    if (!wanted) {
        return false;
    }
    (void)json_object_set_new(wanted, "reduction", json_string(ictus_reduction_names[reduction]));
    char *identity = experiment_identity(wanted);
    const bool found = identity && json_object_get(study->done, identity);
    free(identity);
    json_decref(wanted);
    return found;
}

/* Whether the host changed during the measurement or since another one, apart from MPI. */
static void bench_record_set_trips(json_t *object, const struct bench_trips *trips)
{
    const double freedom = (double)trips->n - 1;
    (void)json_object_set_new(object, "node_trip_s",
                              trips->n > 0 ? json_real(exp(trips->mean)) : json_null());
    (void)json_object_set_new(object, "node_trip_spread",
                              trips->n > 1 ? json_real(sqrt(trips->squares / freedom))
                                           : json_null());
}

int bench_study_write(struct bench_study *study, const struct bench_experiment *e,
                      const struct ictus_bench_result *result, const struct bench_trips *trips)
{
    int err = ICTUS_OK;
    progress_hide(&study->progress);
    for (int r = 0; r < ICTUS_REDUCTIONS && !err; r++) {
        /* A run may have been killed after it wrote one reduction and before it wrote the next. */
        if (study->wanted[r] && !bench_record_has_reduction(study, e, r)) {
            json_t *object = record_measurement(study, e, result, r);
            if (object) {
                bench_record_set_trips(object, trips);
            }
            err = object ? ictus_output_put(study->out, object) : ICTUS_ERR_NOMEM;
        }
    }
    return err;
}

bool bench_study_is_done(const struct bench_study *study, const struct bench_experiment *e)
{
    bool done = study->done != NULL;
    for (int r = 0; r < ICTUS_REDUCTIONS; r++) {
        done = done && (!study->wanted[r] || bench_record_has_reduction(study, e, r));
    }
    return done;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns as objects of a result file; docs/arrivals.md explains their members. */
#include <ictus/arrivals.h>

#include <ictus/result.h>

#include <math.h>
#include <stddef.h>
#include <string.h>

static void json_put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

/*
 * One member of every rank as an array. A column is used instead of an object per rank, because one
 * quantity of all ranks is what is compared and plotted, and thousands of ranks would repeat each
 * name.
 */
static json_t *rank_column(const struct ictus_arrivals *a, size_t member)
{
    json_t *list = json_array();
    for (int r = 0; r < a->ranks; r++) {
        double value;
        memcpy(&value, (const char *)&a->rank[r] + member, sizeof value);
        (void)json_array_append_new(list, ictus_result_real(value));
    }
    return list;
}

static json_t *rank_quantiles(const struct ictus_arrivals *a)
{
    json_t *list = json_array();
    for (int r = 0; r < a->ranks; r++) {
        json_t *row = json_array();
        for (int q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
            (void)json_array_append_new(row, ictus_result_real(a->rank[r].quantiles_ns[q]));
        }
        (void)json_array_append_new(list, row);
    }
    return list;
}

/*
 * The statistics by rank. If there is a table, they add nothing to it. They are for other programs
 * to plot; ictus itself computes them again when reading.
 */
static void json_put_summary(json_t *object, const struct ictus_arrivals *a)
{
    json_put(object, "mean_ns", rank_column(a, offsetof(struct ictus_arrival_rank, mean_ns)));
    json_put(object, "sd_ns", rank_column(a, offsetof(struct ictus_arrival_rank, sd_ns)));
    if (!isnan(a->rank[0].quantiles_ns[0])) {
        json_put(object, "quantiles_ns", rank_quantiles(a));
    }
    json_put(object, "last", rank_column(a, offsetof(struct ictus_arrival_rank, last)));
    json_put(object, "autocorrelation",
             rank_column(a, offsetof(struct ictus_arrival_rank, autocorrelation)));
}

static json_t *json_reals(const double *values, int64_t n)
{
    json_t *list = json_array();
    for (int64_t i = 0; i < n; i++) {
        (void)json_array_append_new(list, ictus_result_real(values[i]));
    }
    return list;
}

/*
 * Write a time for each rank in each row, row-major as in memory. JSON numbers are read as doubles
 * by some programs. These are exact up to 2^53 ns (104 days), and offsets are far below that.
 */
static json_t *json_rows(const struct ictus_arrivals *a, const int64_t *values)
{
    json_t *rows = json_array();
    for (int64_t i = 0; i < a->recorded; i++) {
        json_t *row = json_array();
        for (int r = 0; r < a->ranks; r++) {
            (void)json_array_append_new(row, json_integer(values[i * a->ranks + r]));
        }
        (void)json_array_append_new(rows, row);
    }
    return rows;
}

/*
 * The names of these members begin with "raw", because 'ictus' omits such members from tables for
 * people.
 */
static void json_put_table(json_t *object, const struct ictus_arrivals *a)
{
    json_put(object, "raw_offsets_ns", json_rows(a, a->offsets_ns));
    if (a->gaps_ns) {
        json_put(object, "raw_gaps_ns", json_rows(a, a->gaps_ns));
    }
    if (a->silences_ns) {
        json_put(object, "raw_silences_ns", json_rows(a, a->silences_ns));
    }
    json_put(object, "raw_errors_ns", json_reals(a->errors_ns, a->recorded));
    json_put(object, "raw_durations_s", json_reals(a->durations_s, a->recorded));
    json_t *calls = a->calls ? json_array() : NULL;
    for (int64_t i = 0; calls && i < a->recorded; i++) {
        (void)json_array_append_new(calls, json_integer(a->calls[i]));
    }
    if (calls) {
        json_put(object, "raw_calls", calls);
    }
}

/*
 * NULL: no memory. Times and counts are integers, estimates are real numbers, and unknown values
 * (NaN, which JSON does not have) are null.
 */
json_t *ictus_arrivals_json(const struct ictus_arrivals *a)
{
    json_t *object =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:I, s:i, s:I}", "type", "arrivals", "site", a->site,
                  "call", a->call, "operation", a->operation, "comm", a->comm, "bytes",
                  (json_int_t)a->bytes, "ranks", a->ranks, "instances", (json_int_t)a->instances);
    if (!object) {
        return NULL;
    }
    json_put(object, "root", a->root >= 0 ? json_integer(a->root) : json_null());
    json_put(object, "datatype", a->datatype ? json_string(a->datatype) : json_null());
    json_put(object, "op", a->op ? json_string(a->op) : json_null());
    json_put(object, "in_place", a->in_place >= 0 ? json_boolean(a->in_place) : json_null());
    json_put(object, "duration_s", ictus_result_real(a->duration_s));
    json_put(object, "spread_ns", ictus_result_real(a->spread_ns));
    json_put(object, "error_ns", ictus_result_real(a->error_ns));
    /*
     * How many times the operation would fit into the wait for the last process; for people, never
     * read back.
     */
    json_put(object, "imbalance",
             ictus_result_real(a->duration_s > 0 ? 1e-9 * a->spread_ns / a->duration_s : NAN));
    json_put(object, "persistence", ictus_result_real(a->persistence));
    json_put_summary(object, a);
    if (a->recorded > 0) {
        json_put_table(object, a);
    }
    return object;
}

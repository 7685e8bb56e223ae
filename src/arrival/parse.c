/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reads patterns from the objects of a result file. The file may come from another program, so
 * nothing is trusted: sizes are checked before memory is allocated for them, and members by rank or
 * by row must have as many entries as there are ranks or rows.
 */
#include "arrival/limits.h"
#include "arrival/pattern.h"
#include "core/operands.h"

#include <ictus/arrivals.h>
#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A text that is too long is cut. Only a site that is too long is refused (by shape_parse()),
 * because patterns are found by it.
 */
static void text_parse(const json_t *object, const char *key, char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    (void)snprintf(text, ICTUS_ARRIVALS_TEXT, "%s", value ? value : "");
}

/* NaN if the member is absent or null. */
static double real_parse(const json_t *value)
{
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int parse_wrong_length(const struct ictus_arrivals *a, const char *key, size_t length,
                              struct ictus_why *why)
{
    return ictus_because(why, ICTUS_ERR_FORMAT, "%s: %s has %zu entries, but there are %d ranks",
                         a->site, key, length, a->ranks);
}

/*
 * One member of every rank, which may be absent. `member` is the offset of a double in struct
 * ictus_arrival_rank; memcpy writes it without a cast that would violate aliasing rules. Null
 * entries become NaN, which the checks accept as unknown.
 */
static int column_parse(const json_t *object, const char *key, struct ictus_arrivals *a,
                        size_t member, struct ictus_why *why)
{
    const json_t *list = json_object_get(object, key);
    if (!list) {
        return ICTUS_OK;
    }
    if (json_array_size(list) != (size_t)a->ranks) {
        return parse_wrong_length(a, key, json_array_size(list), why);
    }
    for (int r = 0; r < a->ranks; r++) {
        const double value = real_parse(json_array_get(list, (size_t)r));
        memcpy((char *)&a->rank[r] + member, &value, sizeof value);
    }
    return ICTUS_OK;
}

/*
 * A list with one row per rank of the values at the levels in ictus_arrival_levels (ns). Only its
 * shape is checked here; ictus_arrivals_check() checks that they ascend.
 */
static int quantiles_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    const json_t *list = json_object_get(object, "quantiles_ns");
    if (list && json_array_size(list) != (size_t)a->ranks) {
        return parse_wrong_length(a, "quantiles_ns", json_array_size(list), why);
    }
    for (int r = 0; r < a->ranks && list; r++) {
        const json_t *row = json_array_get(list, (size_t)r);
        if (json_array_size(row) != ICTUS_ARRIVALS_QUANTILES) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%s: quantiles_ns of rank %d must have %d entries", a->site, r,
                                 ICTUS_ARRIVALS_QUANTILES);
        }
        for (size_t q = 0; q < ICTUS_ARRIVALS_QUANTILES; q++) {
            a->rank[r].quantiles_ns[q] = real_parse(json_array_get(row, q));
        }
    }
    return ICTUS_OK;
}

/*
 * Row i of a table with a time for each rank. times_ns is row-major: rank r of row i is at [i *
 * ranks + r]. shape_parse() has determined the size of the table, so a row of another length would
 * be written past its end.
 */
static int row_parse(const json_t *rows, const char *table, const struct ictus_arrivals *a,
                     int64_t i, int64_t *times_ns, struct ictus_why *why)
{
    const json_t *row = json_array_get(rows, (size_t)i);
    char key[64];
    (void)snprintf(key, sizeof key, "instance %lld of %s", (long long)i, table);
    if (json_array_size(row) != (size_t)a->ranks) {
        return parse_wrong_length(a, key, json_array_size(row), why);
    }
    for (int r = 0; r < a->ranks; r++) {
        const json_t *value = json_array_get(row, (size_t)r);
        /* Real numbers would lose nanoseconds if a program writes absolute instants here. */
        if (!json_is_integer(value)) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%s: %s, rank %d: must be an integer number of nanoseconds",
                                 a->site, key, r);
        }
        times_ns[i * a->ranks + r] = json_integer_value(value);
    }
    return ICTUS_OK;
}

/*
 * What the ranks did before they arrived: how long they had computed, or left MPI alone. Such a
 * table may be absent. There must be as many rows as of the offsets, because each of its times
 * belongs to the arrival at the same index. times_ns is owned by the pattern.
 */
static int times_parse(const json_t *object, const char *key, const struct ictus_arrivals *a,
                       int64_t **times_ns, struct ictus_why *why)
{
    const json_t *rows = json_object_get(object, key);
    int err = ICTUS_OK;
    if (!rows || a->recorded == 0) {
        return err;
    }
    if (json_array_size(rows) != (size_t)a->recorded) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: %s has %zu entries, but raw_offsets_ns has %lld", a->site, key,
                             json_array_size(rows), (long long)a->recorded);
    }
    *times_ns = calloc((size_t)a->recorded * (size_t)a->ranks, sizeof **times_ns);
    if (!*times_ns) {
        return ICTUS_ERR_NOMEM;
    }
    for (int64_t i = 0; i < a->recorded && !err; i++) {
        err = row_parse(rows, key, a, i, *times_ns, why);
    }
    return err;
}

/* One number for each row, or none at all. */
static int row_parse_numbers(const json_t *object, const char *key, struct ictus_arrivals *a,
                             double *numbers, struct ictus_why *why)
{
    const json_t *list = json_object_get(object, key);
    if (!list) {
        return ICTUS_OK;
    }
    if (json_array_size(list) != (size_t)a->recorded) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: %s has %zu entries, but raw_offsets_ns has %lld", a->site, key,
                             json_array_size(list), (long long)a->recorded);
    }
    for (int64_t i = 0; i < a->recorded; i++) {
        numbers[i] = real_parse(json_array_get(list, (size_t)i));
        if (numbers[i] < 0) {
            return ictus_because(why, ICTUS_ERR_FORMAT, "%s: %s must not be negative", a->site,
                                 key);
        }
    }
    return ICTUS_OK;
}

/*
 * Which calls the rows belong to; absent if they are consecutive. The numbers must be strictly
 * ascending, because autocorrelation and persistence relate a row to the next one. A gap in the
 * numbers means that calls in between were not recorded, and equal numbers would relate a call to
 * itself.
 */
static int calls_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    const json_t *list = json_object_get(object, "raw_calls");
    if (!list || a->recorded == 0) {
        return ICTUS_OK;
    }
    if (json_array_size(list) != (size_t)a->recorded) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: raw_calls has %zu entries, but raw_offsets_ns has %lld", a->site,
                             json_array_size(list), (long long)a->recorded);
    }
    a->calls = calloc((size_t)a->recorded, sizeof *a->calls);
    for (int64_t i = 0; a->calls && i < a->recorded; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        a->calls[i] = json_integer_value(value);
        if (!json_is_integer(value) || a->calls[i] < 0 ||
            (i > 0 && a->calls[i] <= a->calls[i - 1])) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%s: instance %lld of raw_calls: the numbers of calls must be "
                                 "non-negative integers in ascending order",
                                 a->site, (long long)i);
        }
    }
    return a->calls ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* Offsets are required; gaps, silences, errors, durations and call numbers may be absent. */
static int table_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    const json_t *rows = json_object_get(object, "raw_offsets_ns");
    int err = ICTUS_OK;
    for (int64_t i = 0; i < a->recorded && !err; i++) {
        err = row_parse(rows, "raw_offsets_ns", a, i, a->offsets_ns, why);
    }
    err = err ? err : times_parse(object, "raw_gaps_ns", a, &a->gaps_ns, why);
    err = err ? err : times_parse(object, "raw_silences_ns", a, &a->silences_ns, why);
    err = err ? err : row_parse_numbers(object, "raw_errors_ns", a, a->errors_ns, why);
    err = err ? err : row_parse_numbers(object, "raw_durations_s", a, a->durations_s, why);
    return err ? err : calls_parse(object, a, why);
}

/* The statistics of each rank. If there is a table as well, they are computed from that instead. */
static int summary_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    static const struct {
        const char *key;
        size_t member;
    } columns[] = {
        {"mean_ns", offsetof(struct ictus_arrival_rank, mean_ns)},
        {"sd_ns", offsetof(struct ictus_arrival_rank, sd_ns)},
        {"last", offsetof(struct ictus_arrival_rank, last)},
        {"autocorrelation", offsetof(struct ictus_arrival_rank, autocorrelation)},
    };
    int err = quantiles_parse(object, a, why);
    for (size_t c = 0; c < sizeof columns / sizeof columns[0] && !err; c++) {
        err = column_parse(object, columns[c].key, a, columns[c].member, why);
    }
    return err;
}

/*
 * The size of the pattern, before any memory is allocated. The product of ranks and rows is checked
 * by division, since the product of two numbers from a file may overflow. The limits prevent a
 * malicious file from causing large allocations by a mere number: the cost of reading is
 * proportional to the contents of the file, except for the ranks of a summary, which have a limit
 * of their own.
 */
static int shape_parse(const json_t *object, const char *site, json_int_t *ranks, size_t *rows,
                       struct ictus_why *why)
{
    const json_t *bytes = json_object_get(object, "bytes");
    const json_t *name = json_object_get(object, "site");
    if (json_string_length(name) >= ICTUS_ARRIVALS_TEXT) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%.40s...: the name of a call site (site) is at most %d bytes long",
                             site, ICTUS_ARRIVALS_TEXT - 1);
    }
    if (json_integer_value(bytes) < 0) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s: bytes must not be negative", site);
    }
    *ranks = json_integer_value(json_object_get(object, "ranks"));
    if (*ranks < 1 || *ranks > ARRIVAL_RANKS_MAX) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s: ranks must lie between 1 and %d", site,
                             ARRIVAL_RANKS_MAX);
    }
    const json_t *table = json_object_get(object, "raw_offsets_ns");
    *rows = json_array_size(table);
    if (table && *rows == 0) {
        return ictus_because(why, ICTUS_ERR_FORMAT,
                             "%s: the table of instances (raw_offsets_ns) is empty", site);
    }
    if (*rows > (size_t)ARRIVAL_CELLS_MAX / (size_t)*ranks) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "%s: the table has more than %d offsets", site,
                             ARRIVAL_CELLS_MAX);
    }
    return ICTUS_OK;
}

/* Names that ictus bench does not have count as unknown, so a pattern never says what cannot be. */
static void operands_parse(const json_t *object, struct ictus_arrivals *a)
{
    const json_t *in_place = json_object_get(object, "in_place");
    const enum operands_place known = json_is_true(in_place) ? OPERANDS_IN_PLACE : OPERANDS_APART;
    const uint32_t names =
        ictusi_operands_named(json_string_value(json_object_get(object, "datatype")),
                              json_string_value(json_object_get(object, "op")));
    ictusi_pattern_operands(
        a, names | operands_make(OPERANDS_TYPE_UNKNOWN, OPERANDS_REDUCTION_UNKNOWN,
                                 json_is_boolean(in_place) ? known : OPERANDS_PLACE_UNKNOWN));
}

/* The members that describe the pattern as a whole. */
static void head_parse(const json_t *object, struct ictus_arrivals *a)
{
    const json_t *root = json_object_get(object, "root");
    const json_t *instances = json_object_get(object, "instances");
    text_parse(object, "site", a->site);
    text_parse(object, "call", a->call);
    text_parse(object, "operation", a->operation);
    text_parse(object, "comm", a->comm);
    a->bytes = (uint64_t)json_integer_value(json_object_get(object, "bytes"));
    /*
     * A root that no pattern can have counts as unknown. ictus_arrivals_check() compares the others
     * with the number of ranks.
     */
    const json_int_t rank = json_is_integer(root) ? json_integer_value(root) : -1;
    a->root = rank >= 0 && rank < ARRIVAL_RANKS_MAX ? (int)rank : -1;
    operands_parse(object, a);
    a->instances = json_is_integer(instances) ? json_integer_value(instances) : a->recorded;
    a->duration_s = real_parse(json_object_get(object, "duration_s"));
    a->spread_ns = real_parse(json_object_get(object, "spread_ns"));
    a->error_ns = real_parse(json_object_get(object, "error_ns"));
    a->persistence = real_parse(json_object_get(object, "persistence"));
}

/*
 * If a summary does not state how far the offsets reach, use the largest mean of any rank. The mean
 * of the largest offset is not less than that, so noise is seldom mistaken for a signal.
 */
static void parse_guess_spread(struct ictus_arrivals *a)
{
    const bool known = !isnan(a->spread_ns);
    for (int r = 0; r < a->ranks && !known; r++) {
        a->spread_ns = fmax(a->spread_ns, a->rank[r].mean_ns);
    }
}

/*
 * The order is parse, check, summarise, because the statistics use ranks and offsets as indices and
 * need the check that they are within range.
 */
int ictus_arrivals_parse(const json_t *object, struct ictus_arrivals *arrivals,
                         struct ictus_why *why)
{
    struct ictus_arrivals a;
    char site[ICTUS_ARRIVALS_TEXT];
    json_int_t ranks = 0;
    size_t rows = 0;
    text_parse(object, "site", site);
    int err = shape_parse(object, site, &ranks, &rows, why);
    if (err) {
        return err;
    }
    err = ictus_arrivals_init(&a, (int)ranks, (int64_t)rows);
    if (!err) {
        head_parse(object, &a);
        err = summary_parse(object, &a, why);
    }
    err = err ? err : table_parse(object, &a, why);
    err = err ? err : ictus_arrivals_check(&a, why);
    /* The table takes precedence: everything else is computed from it. */
    err = err ? err : ictus_arrivals_summarize(&a);
    if (err) {
        ictus_arrivals_free(&a);
        return err;
    }
    parse_guess_spread(&a);
    *arrivals = a;
    return ICTUS_OK;
}

/*
 * Append a pattern, unless its site exists already. Each name is compared with all previous ones,
 * which is quadratic in the number of sites; an application has tens of them. The pattern is
 * counted before its name is checked, so that freeing the list also frees it.
 */
static int list_parse_object(struct ictus_arrivals_list *list, const json_t *object,
                             const char *path, struct ictus_why *why)
{
    struct ictus_why inner = {""};
    struct ictus_arrivals *grown = realloc(list->at, (list->count + 1) * sizeof *grown);
    if (!grown) {
        return ICTUS_ERR_NOMEM;
    }
    list->at = grown;
    const int err = ictus_arrivals_parse(object, &grown[list->count], &inner);
    if (err) {
        return ictus_because(why, err, "%.200s: %s", path, inner.text);
    }
    const char *site = grown[list->count++].site;
    for (size_t i = 0; i + 1 < list->count; i++) {
        if (strcmp(grown[i].site, site) == 0) {
            return ictus_because(
                why, ICTUS_ERR_FORMAT,
                "%.200s: two patterns have the site '%.100s'; the name of each site "
                "must be unique",
                path, site);
        }
    }
    return ICTUS_OK;
}

int ictus_arrivals_read(const char *path, struct ictus_arrivals_list *list, struct ictus_why *why)
{
    json_t *objects = NULL;
    struct ictus_arrivals_list found = {.at = NULL};
    int skipped = 0;
    int err = ictus_result_read(path, &objects, &skipped, why);
    /* Unlike results of an interrupted run, patterns are written completely. */
    if (!err && skipped > 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "%.200s: %d %s, so the file is damaged; write it again with 'ictus "
                            "arrivals -o'",
                            path, skipped,
                            skipped == 1 ? "line is not a JSON object with a type"
                                         : "lines are not JSON objects with a type");
    }
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach(objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        if (!err && type && strcmp(type, "arrivals") == 0) {
            err = list_parse_object(&found, object, path, why);
        }
    }
    json_decref(objects);
    if (!err && found.count == 0) {
        err = ictus_because(why, ICTUS_ERR_FORMAT,
                            "%.200s contains no arrival patterns; 'ictus arrivals -o' writes them",
                            path);
    }
    if (err) {
        ictus_arrivals_list_free(&found);
        return err;
    }
    *list = found;
    return ICTUS_OK;
}

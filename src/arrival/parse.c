/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Patterns from the objects of a result file, whoever wrote them. Files may come from other
 * programs, so nothing is believed: sizes are checked before memory is taken for them, and whatever
 * is said by rank or by row must have as many entries as there are ranks or rows.
 */
#include "arrival/limits.h"

#include <ictus/arrivals.h>
#include <ictus/result.h>
#include <ictus/text.h>

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void text_parse(const json_t *object, const char *key, char *text)
{
    const char *value = json_string_value(json_object_get(object, key));
    (void)snprintf(text, ICTUS_ARRIVALS_TEXT, "%s", value ? value : "");
}

/* NaN for what is absent or null. */
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
 * One member of every rank; absent where it is not known. `member` is the offset of a double in
 * struct ictus_arrival_rank; memcpy writes it without a cast that would break aliasing. Entries
 * that are null become NaN, which the checks take for "not known".
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
 * A list of rows, one a rank, with the values at the levels of ictus_arrival_levels (ns). Only the
 * shape is looked at here; that they ascend is checked with the rest (ictus_arrivals_check).
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
 * Row i of a table with a time of each rank. times_ns is row-major: rank r of row i at [i * ranks +
 * r]. The table was given its size by shape_parse before, so a row of another length would be
 * written past its end.
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
        /* Real numbers would lose nanoseconds of instants, which some might write here. */
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
 * How long the ranks had computed; absent where it is not known. Rows as those of the offsets, and
 * as many: a gap belongs to the arrival at the same place.
 */
static int gaps_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    static const char key[] = "raw_gaps_ns";
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
    a->gaps_ns = calloc((size_t)a->recorded * (size_t)a->ranks, sizeof *a->gaps_ns);
    if (!a->gaps_ns) {
        return ICTUS_ERR_NOMEM;
    }
    for (int64_t i = 0; i < a->recorded && !err; i++) {
        err = row_parse(rows, key, a, i, a->gaps_ns, why);
    }
    return err;
}

/* A number for each row, or none at all. */
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
 * Which calls the rows are of; absent where they follow one another. Ascending strictly, since
 * autocorrelation and persistence relate a row to the next one: a gap in the numbers says that
 * calls between were not recorded, and equal numbers would relate a call to itself.
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

/* Offsets are what a pattern is; gaps, errors, durations and numbers of calls may be absent. */
static int table_parse(const json_t *object, struct ictus_arrivals *a, struct ictus_why *why)
{
    const json_t *rows = json_object_get(object, "raw_offsets_ns");
    int err = ICTUS_OK;
    for (int64_t i = 0; i < a->recorded && !err; i++) {
        err = row_parse(rows, "raw_offsets_ns", a, i, a->offsets_ns, why);
    }
    err = err ? err : gaps_parse(object, a, why);
    err = err ? err : row_parse_numbers(object, "raw_errors_ns", a, a->errors_ns, why);
    err = err ? err : row_parse_numbers(object, "raw_durations_s", a, a->durations_s, why);
    return err ? err : calls_parse(object, a, why);
}

/* What is said of each rank. Where there is a table as well, it is found anew from that. */
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
 * How large it is: before any memory is taken. Ranks times rows is bounded by division, since the
 * product of two numbers of a file may overflow. The limits keep a hostile file from asking for
 * memory by a number: what it costs to read is in proportion to what the file holds, except for the
 * ranks of a summary, which are limited themselves.
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

/* What stands for the whole pattern. */
static void head_parse(const json_t *object, struct ictus_arrivals *a)
{
    const json_t *root = json_object_get(object, "root");
    const json_t *instances = json_object_get(object, "instances");
    text_parse(object, "site", a->site);
    text_parse(object, "call", a->call);
    text_parse(object, "operation", a->operation);
    text_parse(object, "comm", a->comm);
    a->bytes = (uint64_t)json_integer_value(json_object_get(object, "bytes"));
    const json_int_t rank = json_is_integer(root) ? json_integer_value(root) : -1;
    a->root = rank >= 0 && rank < ARRIVAL_RANKS_MAX ? (int)rank : -1;
    a->instances = json_is_integer(instances) ? json_integer_value(instances) : a->recorded;
    a->duration_s = real_parse(json_object_get(object, "duration_s"));
    a->spread_ns = real_parse(json_object_get(object, "spread_ns"));
    a->error_ns = real_parse(json_object_get(object, "error_ns"));
    a->persistence = real_parse(json_object_get(object, "persistence"));
}

/*
 * A summary that does not say how far the offsets reach: as far as the latest rank's mean. The
 * largest offset's mean is not below the largest mean, so that noise is seldom taken for a signal.
 */
static void parse_guess_spread(struct ictus_arrivals *a)
{
    const bool known = !isnan(a->spread_ns);
    for (int r = 0; r < a->ranks && !known; r++) {
        a->spread_ns = fmax(a->spread_ns, a->rank[r].mean_ns);
    }
}

/*
 * Parse, check, summarise, in this order: the statistics index by ranks and offsets that only the
 * check has found to be within their ranges.
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
    /* The table is the truth: what else is said of it is found anew. */
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
 * Append, unless its site is there already. Names are compared with all before them, which is
 * quadratic in the number of sites; an application has tens of them. The pattern is counted before
 * its name is judged, so that who frees the list frees it.
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
    if (!err &&
        skipped > 0) { /* unlike results of a run that was cut, patterns are written whole */
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
        err =
            ictus_because(why, ICTUS_ERR_FORMAT,
                          "%.200s holds no arrival pattern; 'ictus arrivals -o' writes them", path);
    }
    if (err) {
        ictus_arrivals_list_free(&found);
        return err;
    }
    *list = found;
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports about archives, as text for people or through the result writer. */
#include "traces/trace_text.h"

#include "main/command.h"
#include "main/output.h"
#include "main/results.h"
#include "main/text_table.h"
#include "traces/trace_words.h"
#include "traces/waits_text.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_SHOWN = 20, CELL_BYTES = 40 };

const char *const trace_formats[] = {"text", "json", NULL};

static void trace_text_write_value(const json_t *value, char *text, size_t size)
{
    *text = '\0';
    if (json_is_string(value)) {
        (void)snprintf(text, size, "%s", json_string_value(value));
    } else if (json_is_integer(value)) {
        (void)snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    } else if (json_is_real(value)) {
        (void)snprintf(text, size, "%.6g", json_real_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(text, size, "%s", json_is_true(value) ? "yes" : "no");
    }
}

static bool trace_text_is_zero(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) == 0;
}

/*
 * A row that counts nothing: numbers that are not counts, like a bin's edge, do not matter. Nor is
 * a row shown whose members are curves, which no cell holds.
 */
static bool trace_text_is_idle(const json_t *row)
{
    const char *key = NULL;
    json_t *value = NULL;
    bool counts = false;
    json_object_foreach((json_t *)row, key, value)
    {
        if (json_is_array(value)) {
            return true;
        }
        counts |= json_is_integer(value) && !trace_text_is_zero(value);
    }
    return !counts;
}

/* What the text shows of a table: the rows with violations come first. */
struct shown {
    const json_t *rows[ROWS_SHOWN];
    size_t count, left_out;
};

static void trace_text_shown_choose(struct shown *shown, const json_t *list)
{
    size_t i = 0;
    json_t *row = NULL;
    *shown = (struct shown){.count = 0};
    for (int violated = 1; violated >= 0; violated--) {
        json_array_foreach(list, i, row)
        {
            const bool first = json_integer_value(json_object_get(row, "violations")) > 0;
            if (trace_text_is_idle(row) || first != violated) {
                continue;
            }
            if (shown->count < ROWS_SHOWN) {
                shown->rows[shown->count++] = row;
            } else {
                shown->left_out++;
            }
        }
    }
}

static void trace_text_print_table(const char *name, const json_t *list)
{
    struct shown shown;
    struct text_table table;
    char text[CELL_BYTES];
    const char *key = NULL;
    json_t *value = NULL;
    trace_text_shown_choose(&shown, list);
    if (shown.count == 0) {
        return;
    }
    text_table_init(&table, 2);
    json_object_foreach((json_t *)shown.rows[0], key, value)
    {
        text_table_column(&table, key, json_is_string(value));
    }
    for (size_t i = 0; i < shown.count; i++) {
        json_object_foreach((json_t *)shown.rows[0], key, value)
        {
            trace_text_write_value(json_object_get(shown.rows[i], key), text, sizeof text);
            text_table_cell(&table, "%s", text);
        }
    }
    printf("\n%s\n", name);
    (void)text_table_print(&table, "  ", stdout);
    if (shown.left_out > 0) {
        printf("  and %zu more; see --format=json\n", shown.left_out);
    }
}

static void trace_text_print_plain(const json_t *object, const char *indent)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_array(value) && !json_is_object(value) && !trace_text_is_zero(value)) {
            char text[PATH_MAX];
            trace_text_write_value(value, text, sizeof text);
            printf("%s%-32s %s\n", indent, key, text);
        }
    }
}

/* Without what is the same as recorded and with the archive's clock offsets. */
static json_t *trace_text_without_twins(const json_t *report)
{
    static const char raw[] = "raw_";
    json_t *rest = json_object();
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)report, key, value)
    {
        const bool twin = strncmp(key, raw, strlen(raw)) == 0 &&
                          json_equal(value, json_object_get(report, key + strlen(raw)));
        if (!twin) {
            (void)json_object_set(rest, key, value);
        }
    }
    return rest;
}

void trace_text_print(const json_t *report)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_t *rest = trace_text_without_twins(report);
    trace_words_print(report);
    trace_text_print_plain(rest, "");
    json_object_foreach(rest, key, value)
    {
        if (json_is_object(value)) {
            printf("\n%s\n", key);
            trace_text_print_plain(value, "  ");
        } else if (json_is_array(value)) {
            trace_text_print_table(key, value);
        }
    }
    json_decref(rest);
}

static bool trace_text_write_line(FILE *file, const json_t *object)
{
    return json_dumpf(object, file, JSON_COMPACT) == 0 && fputc('\n', file) != EOF;
}

/*
 * As JSON lines: one object, or those of an array. Not through the result writer: it keeps members
 * that begin with "raw" to files.
 */
static int trace_text_write_json(FILE *file, const json_t *header, const json_t *report)
{
    json_t *first = json_pack("{s:s, s:s}", "type", "header", "schema", "ictus-result/1");
    (void)json_object_update_missing(first, (json_t *)header);
    bool good = trace_text_write_line(file, first);
    if (json_is_array(report)) {
        for (size_t i = 0; i < json_array_size(report) && good; i++) {
            good = trace_text_write_line(file, json_array_get(report, i));
        }
    } else {
        good = good && trace_text_write_line(file, report);
    }
    json_decref(first);
    return good && fflush(file) != EOF ? ICTUS_OK : ICTUS_ERR_IO;
}

static int trace_text_write_file(const char *path, const json_t *header, const json_t *report,
                                 struct ictus_why *why)
{
    struct output output;
    int err = output_open(&output, path, why);
    if (err) {
        return err;
    }
    err = trace_text_write_json(output.stream, header, report);
    return output_close(&output, err, why);
}

static int trace_text_put_on_first(int format, const char *path, const json_t *header,
                                   const json_t *report, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (format == TRACE_FORMAT_JSON) {
        err = trace_text_write_json(stdout, header, report);
    } else {
        if (json_is_array(report)) {
            waits_text_print(report);
        } else {
            trace_text_print(report);
        }
        err = fflush(stdout) == EOF ? ICTUS_ERR_IO : ICTUS_OK;
    }
    if (err) {
        return ictus_because(why, err, "the report cannot be written to standard output");
    }
    return path ? trace_text_write_file(path, header, report, why) : ICTUS_OK;
}

int trace_text_put(const struct header_facts *facts, int format, const char *path, json_t *report,
                   struct ictus_why *why)
{
    json_t *header = header_create(facts);
    int err =
        command_rank() == 0 ? trace_text_put_on_first(format, path, header, report, why) : ICTUS_OK;
    if (command_size() > 1) {
        err = results_agree(err, why);
    }
    json_decref(header);
    json_decref(report);
    return err;
}

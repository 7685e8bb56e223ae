/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports about archives, as text for people or through the result writer. */
#include "trace_text.h"

#include "command.h"
#include "output.h"
#include "results.h"
#include "trace_words.h"

#include <ictus/error.h>
#include <ictus/text.h>
#include <stdio.h>
#include <string.h>

enum { ROWS_SHOWN = 20 };

const char *const trace_formats[] = {"text", "json", NULL};

static void print_value(const json_t *value, int width)
{
    if (json_is_string(value)) {
        printf("%*s", width, json_string_value(value));
    } else if (json_is_integer(value)) {
        printf("%*" JSON_INTEGER_FORMAT, width, json_integer_value(value));
    } else if (json_is_real(value)) {
        printf("%*.6g", width, json_real_value(value));
    } else if (json_is_boolean(value)) {
        printf("%*s", width, json_is_true(value) ? "yes" : "no");
    }
}

static bool is_zero(const json_t *value)
{
    return json_is_number(value) && json_number_value(value) == 0;
}

/* A row that counts nothing: numbers that are not counts, like a bin's edge, do not matter. */
static bool is_idle(const json_t *row)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)row, key, value)
    {
        if (json_is_integer(value) && !is_zero(value)) {
            return false;
        }
    }
    return true;
}

static void print_names(const json_t *row)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)row, key, value)
    {
        printf("  %16s", key);
    }
    printf("\n");
}

static void print_table(const char *name, const json_t *list)
{
    const char *key = NULL;
    json_t *value = NULL;
    size_t i = 0;
    size_t shown = 0;
    json_t *row = NULL;
    json_array_foreach(list, i, row)
    {
        if (is_idle(row)) {
            continue;
        }
        if (shown == ROWS_SHOWN) {
            printf("  ... more: see --format=json\n");
            break;
        }
        if (shown++ == 0) {
            printf("\n%s\n", name);
            print_names(row);
        }
        json_object_foreach(row, key, value)
        {
            printf("  ");
            print_value(value, 16);
        }
        printf("\n");
    }
}

static void print_plain(const json_t *object, const char *indent)
{
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach((json_t *)object, key, value)
    {
        if (!json_is_array(value) && !json_is_object(value) && !is_zero(value)) {
            printf("%s%-32s ", indent, key);
            print_value(value, 0);
            printf("\n");
        }
    }
}

void trace_text_print(const json_t *report)
{
    const char *key = NULL;
    json_t *value = NULL;
    trace_words_print(report);
    print_plain(report, "");
    json_object_foreach((json_t *)report, key, value)
    {
        if (json_is_object(value)) {
            printf("\n%s\n", key);
            print_plain(value, "  ");
        } else if (json_is_array(value)) {
            print_table(key, value);
        }
    }
}

/* As JSON lines. Not through the result writer: it keeps members that begin with "raw" to files. */
static int write_json(FILE *file, const json_t *header, const json_t *report)
{
    json_t *first = json_pack("{s:s, s:s}", "type", "header", "schema", "ictus-result/1");
    (void)json_object_update_missing(first, (json_t *)header);
    const bool bad = json_dumpf(first, file, JSON_COMPACT) || fputc('\n', file) == EOF ||
                     json_dumpf(report, file, JSON_COMPACT) || fputc('\n', file) == EOF;
    json_decref(first);
    return bad || fflush(file) == EOF ? ICTUS_ERR_IO : ICTUS_OK;
}

static int write_file(const char *path, const json_t *header, const json_t *report,
                      struct ictus_why *why)
{
    struct output output;
    int err = output_open(&output, path, why);
    if (err) {
        return err;
    }
    err = write_json(output.stream, header, report);
    return output_close(&output, err, why);
}

static int put_on_first(int format, const char *path, const json_t *header, const json_t *report,
                        struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (format == TRACE_FORMAT_JSON) {
        err = write_json(stdout, header, report);
    } else {
        trace_text_print(report);
        err = fflush(stdout) == EOF ? ICTUS_ERR_IO : ICTUS_OK;
    }
    if (err) {
        return ictus_because(why, err, "the report cannot be written to standard output");
    }
    return path ? write_file(path, header, report, why) : ICTUS_OK;
}

int trace_text_put(const struct header_facts *facts, int format, const char *path, json_t *report,
                   struct ictus_why *why)
{
    json_t *header = header_create(facts);
    int err = command_rank() == 0 ? put_on_first(format, path, header, report, why) : ICTUS_OK;
    if (command_size() > 1) {
        err = results_agree(err, why);
    }
    json_decref(header);
    json_decref(report);
    return err;
}

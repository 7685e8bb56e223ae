/* SPDX-License-Identifier: BSD-3-Clause */
/* Prints result objects to standard output as table rows, CSV rows or JSON lines. */
#include "print.h"

#include "core/plain.h"

#include <ictus/text.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CELL_MAX = 256, NAME_MAX_BYTES = 512, SCREEN_COLUMNS = 80, WRAP_INDENT = 4 };

bool ictusi_result_is_raw(const char *key)
{
    return strncmp(key, "raw", 3) == 0;
}

/* Each row is printed before the next one is known, so columns have the usual width of their
 * values. */
static int column_width(const struct ictus_column *column)
{
    static const int usual[] = {[ICTUS_COLUMN_TEXT] = 9,
                                [ICTUS_COLUMN_COUNT] = 5,
                                [ICTUS_COLUMN_SECONDS] = 9,
                                [ICTUS_COLUMN_NS] = 9,
                                [ICTUS_COLUMN_NUMBER] = 6};
    const int title = (int)strlen(column->title);
    return title > usual[column->kind] ? title : usual[column->kind];
}

/* Print three decimals, or fewer if the number would not fit into its column. */
static void format_decimals(double number, int width, char *cell)
{
    int length = CELL_MAX;
    for (int decimals = 3; decimals >= 0 && length > width; decimals--) {
        length = snprintf(cell, CELL_MAX, "%.*f", decimals, number);
    }
}

/* Print four significant digits, or fewer if a sign, zeros or an exponent leave no room for
 * them. */
static void format_significant(double number, int width, char *cell)
{
    int length = CELL_MAX;
    if (fabs(number) >= 1e4 && fabs(number) < 1e5) {
        length = snprintf(cell, CELL_MAX, "%.0f", number); /* shorter than 1.234e+04 */
    }
    for (int digits = 4; digits >= 1 && length > width; digits--) {
        length = snprintf(cell, CELL_MAX, "%.*g", digits, number);
    }
    if (length > width) {
        (void)snprintf(cell, CELL_MAX, "%.0e", number); /* shorter than -0.0009 */
    }
}

static void format_number(const struct ictus_column *column, const json_t *value, char *cell)
{
    /* Times are stored in seconds or nanoseconds, and shown in microseconds. */
    const double number = json_number_value(value);
    const int width = column_width(column);
    if (column->kind == ICTUS_COLUMN_SECONDS) {
        format_decimals(number * 1e6, width, cell);
    } else if (column->kind == ICTUS_COLUMN_NS) {
        format_decimals(number * 1e-3, width, cell);
    } else if (json_is_integer(value)) {
        (void)snprintf(cell, CELL_MAX, "%lld", (long long)json_integer_value(value));
    } else if (column->kind == ICTUS_COLUMN_COUNT) {
        (void)snprintf(cell, CELL_MAX, "%.0f", number);
    } else {
        format_significant(number, width, cell);
    }
}

static void format_cell(const struct ictus_column *column, const json_t *value, char *cell)
{
    if (!value || json_is_null(value)) {
        (void)snprintf(cell, CELL_MAX, "-");
    } else if (json_is_string(value)) {
        (void)snprintf(cell, CELL_MAX, "%s", json_string_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(cell, CELL_MAX, "%s", json_is_true(value) ? "yes" : "no");
    } else if (json_is_number(value)) {
        format_number(column, value, cell);
    } else {
        (void)snprintf(cell, CELL_MAX, "...");
    }
}

/* Return where a column begins: after all columns before it and a blank after each. */
static int column_start(const struct printer *printer, const struct ictus_column *column)
{
    int start = 0;
    for (const struct ictus_column *c = printer->columns; c != column; c++) {
        start += column_width(c) + 1;
    }
    return start;
}

/* Print the text that ends a row. It is wrapped into as many lines as a terminal of 80 columns
 * needs. */
static void print_put_last_text(const struct printer *printer, int start, const char *text)
{
    const size_t first = strcspn(text, " ");
    size_t room = start < SCREEN_COLUMNS ? (size_t)(SCREEN_COLUMNS - start) : 0;
    if (first > room && start > WRAP_INDENT) {
        (void)fprintf(printer->stream, "\n%*s", WRAP_INDENT, "");
        room = SCREEN_COLUMNS - WRAP_INDENT;
    }
    while (*text) {
        const size_t length = ictus_text_fit(text, room);
        (void)fprintf(printer->stream, "%.*s", (int)length, text);
        text += length + strspn(text + length, " ");
        if (*text) {
            (void)fprintf(printer->stream, "\n%*s", WRAP_INDENT, "");
            room = SCREEN_COLUMNS - WRAP_INDENT;
        }
    }
}

/* A text that is wider than its column gets a line of its own, and the row continues below it. */
static void printer_put_cell(const struct printer *printer, const struct ictus_column *column,
                             const char *cell)
{
    const bool last = !column[1].key;
    const int width = column_width(column);
    const int start = column_start(printer, column);
    (void)fputs(start > 0 && !(last && !cell[0]) ? " " : "", printer->stream);
    if (column->kind != ICTUS_COLUMN_TEXT) {
        (void)fprintf(printer->stream, "%*s", width, cell);
    } else if (last) {
        print_put_last_text(printer, start, cell);
    } else if ((int)strlen(cell) > width) {
        (void)fprintf(printer->stream, "%s\n%*s", cell, start + width, "");
    } else {
        (void)fprintf(printer->stream, "%-*s", width, cell);
    }
}

static bool print_has_column(const struct printer *printer, const char *key)
{
    for (const struct ictus_column *column = printer->columns; column->key; column++) {
        if (strcmp(column->key, key) == 0) {
            return true;
        }
    }
    return false;
}

static void row_print_as_table(struct printer *printer, const json_t *object)
{
    const struct ictus_column *column = NULL;
    char cell[CELL_MAX];
    if (json_is_string(json_object_get(object, "verdict")) &&
        !print_has_column(printer, "verdict")) {
        return; /* a sentence about the table, which the command itself prints */
    }
    if (!printer->titled) {
        for (column = printer->columns; column->key; column++) {
            printer_put_cell(printer, column, column->title);
        }
        (void)fputc('\n', printer->stream);
        printer->titled = true;
    }
    for (column = printer->columns; column->key; column++) {
        format_cell(column, json_object_get(object, column->key), cell);
        printer_put_cell(printer, column, cell);
    }
    (void)fputc('\n', printer->stream);
}

/* Raw series are only in the file, because they would bury the rest of a line on a screen. With 15
 * significant digits, 0.1 is printed as 0.1; with 17 it would be 0.10000000000000001. */
static int row_print_as_json(const struct printer *printer, const json_t *object)
{
    const char *key = NULL;
    json_t *value = NULL;
    int err = ICTUS_ERR_NOMEM;
    json_t *shown = json_object();
    json_object_foreach((json_t *)object, key, value)
    {
        if (!ictusi_result_is_raw(key)) {
            (void)json_object_set(shown, key, value);
        }
    }
    char *text = json_dumps(shown, JSON_COMPACT | JSON_REAL_PRECISION(15));
    if (text) {
        err = fprintf(printer->stream, "%s\n", text) < 0 ? ICTUS_ERR_IO : ICTUS_OK;
        free(text);
    }
    json_decref(shown);
    return err;
}

/* Print a CSV cell, with quotes where RFC 4180 requires them. */
static void print_put_csv_text(FILE *stream, const char *text)
{
    if (!strpbrk(text, ",\"\n\r")) {
        (void)fputs(text, stream);
        return;
    }
    (void)fputc('"', stream);
    for (; *text; text++) {
        if (*text == '"') {
            (void)fputc('"', stream);
        }
        (void)fputc(*text, stream);
    }
    (void)fputc('"', stream);
}

/* A missing or null value leaves its cell empty, which CSV readers take for a missing value. */
static void print_put_csv_value(FILE *stream, const json_t *value)
{
    if (!value || json_is_null(value)) {
        return;
    }
    if (json_is_string(value)) {
        print_put_csv_text(stream, json_string_value(value));
        return;
    }
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(15));
    print_put_csv_text(stream, text ? text : "");
    free(text);
}

/* Collect the names of an object's columns. Members of nested objects become "outer.inner". What is
 * nested more deeply becomes JSON text in one cell, because a CSV reader expects a flat table. */
static void print_collect_names(const json_t *object, const char *prefix, json_t *names)
{
    const char *key = NULL;
    json_t *value = NULL;
    char name[NAME_MAX_BYTES];
    json_object_foreach((json_t *)object, key, value)
    {
        const bool top = !prefix[0];
        if (top && (ictusi_result_is_raw(key) || strcmp(key, "type") == 0)) {
            continue;
        }
        (void)snprintf(name, sizeof(name), "%s%s%s", prefix, top ? "" : ".", key);
        if (json_is_object(value) && top) {
            print_collect_names(value, name, names);
        } else {
            (void)json_array_append_new(names, json_string(name));
        }
    }
}

/* Find a member by its column name. "outer.inner" is also tried as a single name. */
static const json_t *print_find_member(const json_t *object, const char *name)
{
    const json_t *whole = json_object_get(object, name);
    const char *dot = strchr(name, '.');
    char outer[NAME_MAX_BYTES];
    if (whole || !dot) {
        return whole;
    }
    /* The part before the first dot is the outer object. */
    (void)snprintf(outer, sizeof(outer), "%.*s", (int)(dot - name), name);
    return json_object_get(json_object_get(object, outer), dot + 1);
}

/* The first object of each type decides its columns, and a title row with their names precedes
 * it. A member that a later object lacks leaves its cell empty. */
static int row_print_as_csv(struct printer *printer, const json_t *object)
{
    const char *type = json_string_value(json_object_get(object, "type"));
    const json_t *names = json_object_get(printer->csv_types, type);
    size_t i = 0;
    json_t *name = NULL;
    if (!names) {
        json_t *fresh = json_array();
        if (!fresh) {
            return ICTUS_ERR_NOMEM;
        }
        print_collect_names(object, "", fresh);
        if (json_object_set_new(printer->csv_types, type, fresh)) {
            return ICTUS_ERR_NOMEM;
        }
        names = fresh;
        (void)fputs("type", printer->stream);
        json_array_foreach(names, i, name)
        {
            (void)fputc(',', printer->stream);
            print_put_csv_text(printer->stream, json_string_value(name));
        }
        (void)fputc('\n', printer->stream);
    }
    print_put_csv_text(printer->stream, type);
    json_array_foreach(names, i, name)
    {
        (void)fputc(',', printer->stream);
        print_put_csv_value(printer->stream, print_find_member(object, json_string_value(name)));
    }
    (void)fputc('\n', printer->stream);
    return ICTUS_OK;
}

int ictusi_printer_put(struct printer *printer, const json_t *object)
{
    int err = ICTUS_OK;
    const struct plain plain = plain_begin();
    if (printer->format == ICTUS_FORMAT_CSV) {
        err = row_print_as_csv(printer, object);
    } else if (printer->format == ICTUS_FORMAT_JSON || !printer->columns) {
        err = row_print_as_json(printer, object);
    } else {
        row_print_as_table(printer, object);
    }
    plain_end(&plain);
    /* Each row is flushed, so that a reader of a pipe sees it while the run continues, and a full
     * disk is noticed at the row that it lost. */
    if (!err && (fflush(printer->stream) || ferror(printer->stream))) {
        err = ICTUS_ERR_IO;
    }
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Values as a terminal shows them: with units, as distributions and bars, cut and wrapped to what
 * fits. */
#include "results/report_cells.h"

#include "main/values.h"

#include <langinfo.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SPARK = 16 };

struct step {
    double size;
    const char *unit;
};

static void cell_scaled(double value, const struct step *steps, char *cell)
{
    const struct step *step = steps;
    for (; step[1].unit && fabs(value) >= step[1].size * 0.9995; step++) {
    }
    (void)snprintf(cell, CELL, "%.4g %s", value / step->size, step->unit);
}

static void format_seconds(double value, char *cell)
{
    static const struct step steps[] = {
        {1e-9, "ns"}, {1e-6, "us"}, {1e-3, "ms"}, {1.0, "s"}, {0, NULL}};
    cell_scaled(value, steps, cell);
}

static void format_bytes(double value, char *cell)
{
    static const struct step steps[] = {
        {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {0, NULL}};
    cell_scaled(value, steps, cell);
}

/* The distribution from the least to the 95 % quantile; the rest falls into the last step. */
static void format_spark(const json_t *samples, bool utf8, char *cell)
{
    static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
    const char *const *levels = utf8 ? blocks : signs;
    size_t counts[SPARK] = {0};
    size_t tallest = 1;
    double *values = malloc((json_array_size(samples) + 1) * sizeof(*values));
    const size_t count = values ? values_collect(samples, NULL, values) : 0;
    cell[0] = '\0';
    if (count > 0) {
        const double low = values[0];
        const double high = values[(size_t)(0.95 * (double)(count - 1))];
        const double width = high > low ? (high - low) / (SPARK - 1) : 1.0;
        for (size_t i = 0; i < count; i++) {
            const double at = (values[i] - low) / width;
            const size_t bin = at < SPARK - 1 ? (size_t)at : SPARK - 1;
            counts[bin]++;
            tallest = counts[bin] > tallest ? counts[bin] : tallest;
        }
        for (int i = 0; i < SPARK; i++) {
            const size_t level = (counts[i] * 8 + tallest - 1) / tallest;
            (void)strncat(cell, levels[level], CELL - strlen(cell) - 1);
        }
    }
    free(values);
}

void cell_format(enum look look, const json_t *value, bool utf8, char *cell)
{
    const double number = json_number_value(value);
    if (look == SPARKLINE) {
        format_spark(value, utf8, cell);
    } else if (!value || json_is_null(value)) {
        (void)snprintf(cell, CELL, "-");
    } else if (json_is_string(value)) {
        (void)snprintf(cell, CELL, "%s", json_string_value(value));
    } else if (json_is_boolean(value)) {
        (void)snprintf(cell, CELL, "%s", json_is_true(value) ? "yes" : "no");
    } else if (look == SECONDS) {
        format_seconds(number, cell);
    } else if (look == NS) {
        format_seconds(number * 1e-9, cell);
    } else if (look == BYTES) {
        format_bytes(number, cell);
    } else if (look == SHARE) {
        (void)snprintf(cell, CELL, "%.1f %%", number * 100);
    } else {
        (void)snprintf(cell, CELL, look == NUMBER ? "%.5g" : "%.8g", number);
    }
}

/* Columns that a text takes: UTF-8 continuation bytes take none. */
int cell_columns(const char *text)
{
    int columns = 0;
    for (; *text; text++) {
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return columns;
}

/* The bytes of a text that take at most so many columns. */
static size_t bytes_within(const char *text, int columns)
{
    size_t bytes = 0;
    int taken = 0;
    for (; text[bytes]; bytes++) {
        taken += ((unsigned char)text[bytes] & 0xc0) != 0x80;
        if (taken > columns) {
            break;
        }
    }
    return bytes;
}

void cell_put(const char *text, int width, enum side side)
{
    const int columns = cell_columns(text);
    if (columns > width) { /* the ellipsis shows that something is missing */
        printf("  %.*s~", (int)bytes_within(text, width - 1), text);
        return;
    }
    const int pad = width - columns;
    printf("  %*s%s%*s", side == SIDE_RIGHT ? pad : 0, "", text, side == SIDE_LEFT ? pad : 0, "");
}

void cell_put_bar(double share, int width, bool utf8)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const int eighths = (int)(share * width * 8);
    printf("  ");
    /* The smallest value is still visible. */
    const int whole = utf8 || eighths >= 8 ? eighths / 8 : 1;
    for (int i = 0; i < whole; i++) {
        printf("%s", utf8 ? "█" : "#");
    }
    printf("%s", utf8 ? parts[eighths % 8] : "");
}

void cell_put_wrapped(const char *text, int indent, int width)
{
    const int room = width - indent > 10 ? width - indent : 10;
    while (cell_columns(text) > room) {
        size_t bytes = bytes_within(text, room);
        size_t at = bytes;
        while (at > 0 && text[at] != ' ') {
            at--;
        }
        bytes = at > 0 ? at : bytes;
        printf("%.*s\n%*s", (int)bytes, text, indent, "");
        text += bytes + (text[bytes] == ' ');
    }
    printf("%s\n", text);
}

bool cell_utf8(void)
{
    const locale_t locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    const bool utf8 = locale && strcmp(nl_langinfo_l(CODESET, locale), "UTF-8") == 0;
    if (locale) {
        freelocale(locale);
    }
    return utf8;
}

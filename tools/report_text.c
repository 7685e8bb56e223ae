/* SPDX-License-Identifier: BSD-3-Clause */
/* The report in a terminal: a table for each type of result, with bars and sample distributions. */
#include "report.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CELL = 96, COLUMNS_MAX = 16, SPARK = 16, BAR_LEAST = 10, BAR_MOST = 40 };

enum look { TEXT, COUNT, SECONDS, NS, BYTES, SHARE, NUMBER, SPARKLINE, BAR };

struct column {
    const char *key;
    const char *title;
    enum look look;
};

/* How one type is shown. The bar shows its member on a logarithmic scale. */
struct layout {
    const char *type;
    const char *heading;
    struct column columns[COLUMNS_MAX];
};

static const struct layout layouts[] = {
    {"clock",
     "Time sources",
     {{"clock", "clock", TEXT},
      {"available", "here", TEXT},
      {"resolution_ns", "resolution", NS},
      {"cost_ns", "cost", NS},
      {"monotonic", "monotonic", TEXT},
      {"shared", "shared by", TEXT},
      {"reason", "reason", TEXT}}},
    {"measurement",
     "Operations",
     {{"file", "file", TEXT},
      {"operation", "operation", TEXT},
      {"algorithm", "algorithm", TEXT},
      {"scheme", "scheme", TEXT},
      {"reduction", "reduction", TEXT},
      {"processes", "procs", COUNT},
      {"bytes", "bytes", BYTES},
      {"n", "n", COUNT},
      {"median_s", "median", SECONDS},
      {"ci95_low_s", "95 % low", SECONDS},
      {"ci95_high_s", "high", SECONDS},
      {"p99_s", "99 %", SECONDS},
      {"raw_s", "samples", SPARKLINE},
      {"median_s", "", BAR}}},
    {"matrix",
     "Algorithms and synchronisation",
     {{"operation", "operation", TEXT},
      {"processes", "procs", COUNT},
      {"bytes", "bytes", BYTES},
      {"sync", "synchronisation", TEXT},
      {"algorithm", "algorithm", TEXT},
      {"rank", "place", COUNT},
      {"median_s", "median", SECONDS},
      {"verdict", "verdict", TEXT},
      {"median_s", "", BAR}}},
    {"guideline",
     "Performance guidelines",
     {{"operation", "operation", TEXT},
      {"processes", "procs", COUNT},
      {"bytes", "bytes", BYTES},
      {"against", "against", TEXT},
      {"against_bytes", "bytes", BYTES},
      {"median_s", "median", SECONDS},
      {"against_median_s", "against", SECONDS},
      {"factor", "factor", NUMBER},
      {"p_adjusted", "p", NUMBER},
      {"state", "guideline", TEXT},
      {"verdict", "verdict", TEXT},
      {"factor", "", BAR}}},
    {"sync",
     "Clock synchronisation",
     {{"sync", "sync", TEXT},
      {"clock", "clock", TEXT},
      {"processes", "procs", COUNT},
      {"repetition", "run", COUNT},
      {"wait_s", "after", SECONDS},
      {"duration_s", "duration", SECONDS},
      {"exchanges", "exchanges", COUNT},
      {"max_error_ns", "max error", NS},
      {"rms_error_ns", "rms", NS},
      {"max_sigma_ns", "sigma", NS},
      {"max_error_ns", "", BAR}}},
    {"barrier",
     "Barriers",
     {{"algorithm", "algorithm", TEXT},
      {"processes", "procs", COUNT},
      {"n", "n", COUNT},
      {"skew_median_s", "skew", SECONDS},
      {"skew_p95_s", "95 %", SECONDS},
      {"skew_max_s", "max", SECONDS},
      {"raw_s", "samples", SPARKLINE},
      {"skew_median_s", "", BAR}}},
    {"overlap",
     "Overlap",
     {{"operation", "operation", TEXT},
      {"strategy", "strategy", TEXT},
      {"method", "method", TEXT},
      {"processes", "procs", COUNT},
      {"bytes", "bytes", BYTES},
      {"blocking_s", "blocking", SECONDS},
      {"init_s", "start", SECONDS},
      {"test_s", "tests", SECONDS},
      {"wait_s", "wait", SECONDS},
      {"overlap", "hidden", SHARE},
      {"overhead_s", "", BAR}}},
    {"rtt",
     "Round trips",
     {{"from", "from", COUNT},
      {"to", "to", COUNT},
      {"n", "n", COUNT},
      {"min_s", "least", SECONDS},
      {"median_s", "median", SECONDS},
      {"p99_s", "99 %", SECONDS},
      {"raw_s", "samples", SPARKLINE},
      {"median_s", "", BAR}}},
    {"drift",
     "Drift",
     {{"rank", "rank", COUNT},
      {"slope_ppm", "ppm", NUMBER},
      {"r2", "R2", NUMBER},
      {"holds_s", "line holds", SECONDS},
      {"tolerance_ns", "within", NS}}},
    {"check",
     "Violations in traces",
     {{"archive", "archive", TEXT},
      {"messages", "messages", COUNT},
      {"violations_p2p", "violated", COUNT},
      {"raw_violations_p2p", "raw", COUNT},
      {"collectives", "collectives", COUNT},
      {"violations_collective", "violated", COUNT},
      {"raw_violations_collective", "raw", COUNT},
      {"max_violation_ns", "largest", NS}}},
    {"correct",
     "Corrections",
     {{"archive", "archive", TEXT},
      {"events", "events", COUNT},
      {"moved_events", "moved", COUNT},
      {"passes", "passes", COUNT},
      {"max_shift_ns", "largest shift", NS},
      {"largest_slope", "slope", NUMBER}}},
    {"lock",
     "Network clock",
     {{"server", "server", TEXT},
      {"elapsed_s", "time", SECONDS},
      {"state", "state", TEXT},
      {"offset_ns", "offset", NS},
      {"frequency_ppm", "ppm", NUMBER},
      {"sigma_ns", "sigma", NS},
      {"bound_ns", "bound", NS},
      {"sigma_ns", "", BAR}}},
    {"compare",
     "Comparison",
     {{"operation", "operation", TEXT},
      {"algorithm", "algorithm", TEXT},
      {"processes", "procs", COUNT},
      {"bytes", "bytes", BYTES},
      {"median_a_s", "before", SECONDS},
      {"median_b_s", "after", SECONDS},
      {"ratio", "ratio", NUMBER},
      {"p", "p", NUMBER},
      {"verdict", "verdict", TEXT}}},
};

/* The rows of one type, and the range of what its bar shows. */
struct selection {
    const json_t **rows;
    size_t count;
    double least, most;
};

struct step {
    double size;
    const char *unit;
};

static void scaled(double value, const struct step *steps, char *cell)
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
    scaled(value, steps, cell);
}

static void format_bytes(double value, char *cell)
{
    static const struct step steps[] = {
        {1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}, {0, NULL}};
    scaled(value, steps, cell);
}

static int compare_reals(const void *a, const void *b)
{
    const double x = *(const double *)a;
    const double y = *(const double *)b;
    return (x > y) - (x < y);
}

static size_t finite_samples(const json_t *samples, double *values)
{
    size_t count = 0;
    size_t i = 0;
    json_t *value = NULL;
    json_array_foreach((json_t *)samples, i, value)
    {
        if (json_is_number(value)) {
            values[count++] = json_number_value(value);
        }
    }
    qsort(values, count, sizeof(*values), compare_reals);
    return count;
}

/* The distribution from the least to the 95 % quantile; the rest falls into the last step. */
static void format_spark(const json_t *samples, char *cell)
{
    static const char *const levels[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t counts[SPARK] = {0};
    size_t tallest = 1;
    double *values = malloc((json_array_size(samples) + 1) * sizeof(*values));
    const size_t count = values ? finite_samples(samples, values) : 0;
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

static void format_value(enum look look, const json_t *value, char *cell)
{
    const double number = json_number_value(value);
    if (look == SPARKLINE) {
        format_spark(value, cell);
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
        (void)snprintf(cell, CELL, "%.8g", number);
    }
}

/* Columns that a text takes: UTF-8 continuation bytes take none. */
static int columns_of(const char *text)
{
    int columns = 0;
    for (; *text; text++) {
        columns += ((unsigned char)*text & 0xc0) != 0x80;
    }
    return columns;
}

/* What is the same in every row is said once above the table; what no row has is not said. */
static bool is_same(const struct selection *selected, const char *key)
{
    const json_t *first = json_object_get(selected->rows[0], key);
    for (size_t i = 1; i < selected->count; i++) {
        const json_t *value = json_object_get(selected->rows[i], key);
        if (!first != !value || (first && !json_equal(first, value))) {
            return false;
        }
    }
    return true;
}

static bool is_identity(const struct column *column)
{
    return column->look == TEXT || column->look == BYTES || strcmp(column->key, "processes") == 0;
}

struct table {
    const struct column *columns[COLUMNS_MAX];
    int widths[COLUMNS_MAX];
    int count;
    const struct column *bar;
    int bar_width;
};

static void choose_columns(const struct layout *layout, const struct selection *selected,
                           struct table *table)
{
    char cell[CELL];
    bool said = false;
    printf("%s: %zu\n", layout->heading, selected->count);
    for (int i = 0; i < COLUMNS_MAX && layout->columns[i].key; i++) {
        const struct column *column = &layout->columns[i];
        const json_t *first = json_object_get(selected->rows[0], column->key);
        const bool same = is_same(selected, column->key);
        if (column->look == BAR) {
            table->bar = column;
        } else if (same && (!first || (is_identity(column) && selected->count > 1))) {
            if (first) {
                format_value(column->look, first, cell);
                printf("%s%s %s", said ? ", " : "  all: ", column->title, cell);
                said = true;
            }
        } else {
            table->columns[table->count++] = column;
        }
    }
    printf("%s", said ? "\n" : "");
}

static void measure(const struct selection *selected, struct table *table, int width)
{
    char cell[CELL];
    int total = 2;
    for (int c = 0; c < table->count; c++) {
        int widest = columns_of(table->columns[c]->title);
        for (size_t i = 0; i < selected->count; i++) {
            format_value(table->columns[c]->look,
                         json_object_get(selected->rows[i], table->columns[c]->key), cell);
            widest = columns_of(cell) > widest ? columns_of(cell) : widest;
        }
        table->widths[c] = widest;
        total += widest + 2;
    }
    table->bar_width = width - total < BAR_MOST ? width - total : BAR_MOST;
}

static void put_cell(const char *text, int width, bool left)
{
    const int pad = width - columns_of(text);
    printf("  %*s%s%*s", left || pad < 0 ? 0 : pad, "", text, left && pad > 0 ? pad : 0, "");
}

static void put_bar(const struct selection *selected, const struct table *table, const json_t *row)
{
    static const char *const parts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const json_t *value = json_object_get(row, table->bar->key);
    const double number = json_number_value(value);
    if (table->bar_width < BAR_LEAST || !(number > 0) || !(selected->most > selected->least)) {
        return;
    }
    /* the least gets a twentieth, so that it can be seen */
    const double share = log(number / selected->least) / log(selected->most / selected->least);
    const int eighths = (int)((0.05 + 0.95 * share) * table->bar_width * 8);
    printf("  ");
    for (int i = 0; i < eighths / 8; i++) {
        printf("█");
    }
    printf("%s", parts[eighths % 8]);
}

static void find_range(const char *key, struct selection *selected)
{
    selected->least = INFINITY;
    selected->most = 0.0;
    for (size_t i = 0; i < selected->count; i++) {
        const double value = json_number_value(json_object_get(selected->rows[i], key));
        if (value > 0) {
            selected->least = fmin(selected->least, value);
            selected->most = fmax(selected->most, value);
        }
    }
}

static void print_type(const struct layout *layout, struct selection *selected, int width)
{
    struct table table = {.count = 0};
    char cell[CELL];
    choose_columns(layout, selected, &table);
    measure(selected, &table, width);
    if (table.bar) {
        find_range(table.bar->key, selected);
    }
    for (int c = 0; c < table.count; c++) {
        put_cell(table.columns[c]->title, table.widths[c], table.columns[c]->look == TEXT);
    }
    printf("\n");
    for (size_t i = 0; i < selected->count; i++) {
        for (int c = 0; c < table.count; c++) {
            const struct column *column = table.columns[c];
            format_value(column->look, json_object_get(selected->rows[i], column->key), cell);
            put_cell(cell, table.widths[c], column->look == TEXT || column->look == SPARKLINE);
        }
        if (table.bar) {
            put_bar(selected, &table, selected->rows[i]);
        }
        printf("\n");
    }
    printf("\n");
}

static void print_header(const struct report_file *file)
{
    static const char *const keys[] = {
        "command", "mpi", "processes", "nodes", "clock", "sync", "clock_sigma_ns", "started", NULL};
    const json_t *header = json_array_get(file->objects, 0);
    char cell[CELL];
    printf("%s\n", file->path);
    for (int i = 0; keys[i]; i++) {
        const json_t *value = json_object_get(header, keys[i]);
        if (value) {
            format_value(strstr(keys[i], "_ns") ? NS : NUMBER, value, cell);
            printf("  %-14s %s\n", keys[i], cell);
        }
    }
    printf("\n");
}

/* All objects of one type, each told which file it is from. */
static size_t select_rows(const struct report *report, const char *type, const json_t **rows)
{
    size_t count = 0;
    for (size_t f = 0; f < report->count; f++) {
        size_t i = 0;
        json_t *object = NULL;
        json_array_foreach(report->files[f].objects, i, object)
        {
            if (strcmp(json_string_value(json_object_get(object, "type")), type) == 0) {
                if (report->count > 1) {
                    (void)json_object_set_new(object, "file", json_string(report->files[f].path));
                }
                rows[count++] = object;
            }
        }
    }
    return count;
}

void report_print_text(const struct report *report, int width)
{
    size_t all = 0;
    size_t shown = 0;
    size_t headers = 0;
    for (size_t f = 0; f < report->count; f++) {
        all += json_array_size(report->files[f].objects);
        print_header(&report->files[f]);
    }
    const json_t **rows = malloc((all + 1) * sizeof(const json_t *));
    if (!rows) {
        return;
    }
    for (size_t t = 0; t < sizeof(layouts) / sizeof(layouts[0]); t++) {
        struct selection selected = {rows, select_rows(report, layouts[t].type, rows), 0, 0};
        shown += selected.count;
        if (selected.count > 0) {
            print_type(&layouts[t], &selected, width);
        }
    }
    headers = select_rows(report, "header", rows);
    if (all > shown + headers) {
        printf("results of other types: %zu\n", all - shown - headers);
    }
    free((void *)rows);
}

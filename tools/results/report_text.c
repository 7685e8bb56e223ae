/* SPDX-License-Identifier: BSD-3-Clause */
/* The report in a terminal: a table for each type of result, with bars and sample distributions. */
#include "results/report.h"
#include "results/report_cells.h"

#include <ictus/result.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLUMNS_MAX = 16, BAR_LEAST = 10, BAR_MOST = 40, TEXT_LEAST = 8, WRAPPED = 4 };

struct column {
    const char *key;
    const char *title;
    enum look look;
    int spare; /* on a narrow terminal, columns with the highest number are left out first; 0 always
                  stays */
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
     {{"clock", "clock", TEXT, 0},
      {"available", "here", TEXT, 0},
      {"resolution_ns", "resolution", NS, 3},
      {"cost_ns", "cost", NS, 0},
      {"monotonic", "monotonic", TEXT, 5},
      {"shared", "shared by", TEXT, 0},
      {"reason", "reason", TEXT, 0}}},
    {"measurement",
     "Operations",
     {{"file", "file", TEXT, 0},
      {"operation", "operation", TEXT, 0},
      {"algorithm", "algorithm", TEXT, 0},
      {"ran", "ran", TEXT, 6},
      {"scheme", "scheme", TEXT, 0},
      {"reduction", "reduction", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"n", "n", COUNT, 8},
      {"median_s", "median", SECONDS, 0},
      {"ci95_low_s", "95 % low", SECONDS, 5},
      {"ci95_high_s", "high", SECONDS, 5},
      {"p99_s", "99 %", SECONDS, 7},
      {"raw_s", "samples", SPARKLINE, 9},
      {"median_s", "", BAR, 0}}},
    {"matrix",
     "Algorithms and common starts",
     {{"operation", "operation", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"scheme", "start", TEXT, 0},
      {"algorithm", "algorithm", TEXT, 0},
      {"place", "place", COUNT, 4},
      {"median_s", "median", SECONDS, 0},
      {"median_s", "", BAR, 0}}},
    {"guideline",
     "Performance guidelines",
     {{"operation", "operation", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"against", "against", TEXT, 0},
      {"against_bytes", "bytes", BYTES, 2},
      {"median_s", "median", SECONDS, 4},
      {"against_median_s", "against", SECONDS, 5},
      {"factor", "factor", NUMBER, 0},
      {"p_adjusted", "p", NUMBER, 3},
      {"state", "guideline", TEXT, 0},
      {"factor", "", BAR, 0}}},
    {"sync",
     "Clock synchronisation",
     {{"sync", "sync", TEXT, 0},
      {"clock", "clock", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"repetition", "run", COUNT, 5},
      {"wait_s", "after", SECONDS, 0},
      {"duration_s", "duration", SECONDS, 0},
      {"exchanges", "exchanges", COUNT, 6},
      {"max_error_ns", "max error", NS, 0},
      {"rms_error_ns", "rms", NS, 4},
      {"max_sigma_ns", "sigma", NS, 0},
      {"max_error_ns", "", BAR, 0}}},
    {"barrier",
     "Barriers",
     {{"algorithm", "algorithm", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"n", "n", COUNT, 8},
      {"skew_median_s", "skew", SECONDS, 0},
      {"skew_p95_s", "95 %", SECONDS, 4},
      {"skew_max_s", "max", SECONDS, 5},
      {"raw_s", "samples", SPARKLINE, 9},
      {"skew_median_s", "", BAR, 0}}},
    {"overlap",
     "Overlap",
     {{"operation", "operation", TEXT, 0},
      {"strategy", "strategy", TEXT, 0},
      {"method", "method", TEXT, 6},
      {"processes", "procs", COUNT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"blocking_s", "blocking", SECONDS, 0},
      {"init_s", "start", SECONDS, 5},
      {"test_s", "tests", SECONDS, 5},
      {"wait_s", "wait", SECONDS, 5},
      {"overlap", "hidden", SHARE, 0},
      {"overhead_s", "", BAR, 0}}},
    {"rtt",
     "Round trips",
     {{"from", "from", COUNT, 0},
      {"to", "to", COUNT, 0},
      {"n", "n", COUNT, 8},
      {"min_s", "least", SECONDS, 0},
      {"median_s", "median", SECONDS, 0},
      {"p99_s", "99 %", SECONDS, 7},
      {"raw_s", "samples", SPARKLINE, 9},
      {"median_s", "", BAR, 0}}},
    {"drift",
     "Drift",
     {{"rank", "rank", COUNT, 0},
      {"slope_ppm", "ppm", NUMBER, 0},
      {"r2", "R2", NUMBER, 0},
      {"holds_s", "line holds", SECONDS, 0},
      {"tolerance_ns", "within", NS, 0}}},
    {"check",
     "Violations in traces",
     {{"archive", "archive", TEXT, 0},
      {"messages", "messages", COUNT, 0},
      {"violations_p2p", "violated", COUNT, 0},
      {"raw_violations_p2p", "raw", COUNT, 5},
      {"collectives", "collectives", COUNT, 0},
      {"violations_collective", "violated", COUNT, 0},
      {"raw_violations_collective", "raw", COUNT, 5},
      {"max_violation_ns", "largest", NS, 0}}},
    {"correct",
     "Corrections",
     {{"archive", "archive", TEXT, 0},
      {"events", "events", COUNT, 0},
      {"moved_events", "moved", COUNT, 0},
      {"passes", "passes", COUNT, 5},
      {"max_shift_ns", "largest shift", NS, 0},
      {"largest_slope", "slope", NUMBER, 0}}},
    {"lock",
     "Network clock",
     {{"server", "server", TEXT, 0},
      {"elapsed_s", "time", SECONDS, 0},
      {"state", "state", TEXT, 0},
      {"offset_ns", "offset", NS, 0},
      {"frequency_ppm", "ppm", NUMBER, 5},
      {"sigma_ns", "sigma", NS, 0},
      {"bound_ns", "bound", NS, 0},
      {"sigma_ns", "", BAR, 0}}},
    {"waits",
     "Waits",
     {{"archive", "archive", TEXT, 0},
      {"wait_s", "waiting", SECONDS, 0},
      {"share", "of all", SHARE, 0},
      {"wait_low_s", "95 % low", SECONDS, 4},
      {"wait_high_s", "high", SECONDS, 4},
      {"decidable", "decidable", SHARE, 0},
      {"clock_sigma_ns", "clock sigma", NS, 5}}},
    {"wait-total",
     "Waiting time by state",
     {{"file", "file", TEXT, 0},
      {"state", "state", TEXT, 0},
      {"n", "waits", COUNT, 6},
      {"wait_s", "waiting", SECONDS, 0},
      {"wait_low_s", "95 % low", SECONDS, 4},
      {"wait_high_s", "high", SECONDS, 4},
      {"decidable", "decidable", SHARE, 3},
      {"wait_s", "", BAR, 0}}},
    {"collective-site",
     "Collectives: skew or transfer",
     {{"file", "file", TEXT, 0},
      {"site", "site", TEXT, 0},
      {"time_s", "time", SECONDS, 0},
      {"skew_share", "skew", SHARE, 0},
      {"verdict", "verdict", TEXT, 0}}},
    {"collective-together",
     "Collectives after the last arrival, and together",
     {{"file", "file", TEXT, 0},
      {"site", "site", TEXT, 0},
      {"operation", "operation", TEXT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"program_s", "after last", SECONDS, 0},
      {"together_s", "together", SECONDS, 0},
      {"ratio", "ratio", NUMBER, 0},
      {"ratio_low", "95 % low", NUMBER, 4},
      {"ratio_high", "high", NUMBER, 4}}},
    {"compare",
     "Comparison",
     {{"operation", "operation", TEXT, 0},
      {"algorithm", "algorithm", TEXT, 0},
      {"processes", "procs", COUNT, 0},
      {"bytes", "bytes", BYTES, 0},
      {"median_a_s", "before", SECONDS, 2},
      {"median_b_s", "after", SECONDS, 2},
      {"ratio", "ratio", NUMBER, 1},
      {"p_adjusted", "p", NUMBER, 3},
      {"verdict", "verdict", TEXT, 0}}},
    {"compare-waits",
     "Waits compared",
     {{"file", "file", TEXT, 0},
      {"waiting", "waiting", TEXT, 0},
      {"wait_a_s", "before", SECONDS, 2},
      {"wait_b_s", "after", SECONDS, 2},
      {"difference_s", "change", SECONDS, 0},
      {"difference_low_s", "95 % low", SECONDS, 4},
      {"difference_high_s", "high", SECONDS, 4},
      {"p_adjusted", "p", NUMBER, 3},
      {"verdict", "verdict", TEXT, 0}}},
    {"arrivals",
     "Arrivals",
     {{"file", "file", TEXT, 0},
      {"site", "site", TEXT, 0},
      {"call", "call", TEXT, 3},
      {"ranks", "ranks", COUNT, 0},
      {"instances", "calls", COUNT, 4},
      {"spread_ns", "apart", NS, 0},
      {"error_ns", "+-", NS, 0},
      {"duration_s", "takes", SECONDS, 2},
      {"persistence", "persistence", NUMBER, 1},
      {"spread_ns", "", BAR, 0}}},
};

/* The rows of one type, and the range of what its bar shows. */
struct selection {
    const json_t **rows;
    size_t count;
    double least, most;
};

/* What is the same in every row is said once above the table; what no row has is not said. */
static bool report_text_is_same(const struct selection *selected, const char *key)
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

static bool report_text_is_identity(const struct column *column)
{
    return column->look == TEXT || column->look == BYTES || strcmp(column->key, "processes") == 0;
}

struct table {
    const struct column *columns[COLUMNS_MAX];
    int widths[COLUMNS_MAX];
    int count;
    const struct column *bar;
    int bar_width;
    int width; /* of the terminal */
    bool utf8;
};

static void report_text_choose_columns(const struct layout *layout,
                                       const struct selection *selected, struct table *table)
{
    char cell[CELL];
    char all[8 * CELL] = "";
    printf("%s: %zu\n", layout->heading, selected->count);
    for (int i = 0; i < COLUMNS_MAX && layout->columns[i].key; i++) {
        const struct column *column = &layout->columns[i];
        const json_t *first = json_object_get(selected->rows[0], column->key);
        const bool same = report_text_is_same(selected, column->key);
        if (column->look == BAR) {
            table->bar = column;
        } else if (same && (!first || (report_text_is_identity(column) && selected->count > 1))) {
            if (first) {
                const size_t used = strlen(all);
                cell_format(column->look, first, table->utf8, cell);
                (void)snprintf(all + used, sizeof(all) - used, "%s%s %s", used > 0 ? ", " : "",
                               column->title, cell);
            }
        } else {
            table->columns[table->count++] = column;
        }
    }
    if (all[0]) {
        printf("  all: ");
        cell_put_wrapped(all, 7, table->width);
    }
}

static int report_text_total_width(const struct table *table)
{
    int total = 0;
    for (int c = 0; c < table->count; c++) {
        total += table->widths[c] + 2;
    }
    return total;
}

/* Leave out dispensable columns until the rest fits. Returns whether more could be left out. */
static bool report_text_spare_one(struct table *table)
{
    int most = 0;
    for (int c = 1; c < table->count; c++) {
        most = table->columns[c]->spare >= table->columns[most]->spare ? c : most;
    }
    if (table->count == 0 || table->columns[most]->spare == 0) {
        return false;
    }
    table->count--;
    for (int c = most; c < table->count; c++) {
        table->columns[c] = table->columns[c + 1];
        table->widths[c] = table->widths[c + 1];
    }
    return true;
}

/* Then cut the widest texts. */
static bool report_text_cut_one(struct table *table)
{
    int widest = -1;
    for (int c = 0; c < table->count; c++) {
        const bool text = table->columns[c]->look == TEXT && table->widths[c] > TEXT_LEAST;
        if (text && (widest < 0 || table->widths[c] > table->widths[widest])) {
            widest = c;
        }
    }
    if (widest >= 0) {
        table->widths[widest]--;
    }
    return widest >= 0;
}

static void text_measure(const struct selection *selected, struct table *table)
{
    char cell[CELL];
    for (int c = 0; c < table->count; c++) {
        int widest = cell_columns(table->columns[c]->title);
        for (size_t i = 0; i < selected->count; i++) {
            cell_format(table->columns[c]->look,
                        json_object_get(selected->rows[i], table->columns[c]->key), table->utf8,
                        cell);
            widest = cell_columns(cell) > widest ? cell_columns(cell) : widest;
        }
        table->widths[c] = widest;
    }
    while (report_text_total_width(table) > table->width &&
           (report_text_spare_one(table) || report_text_cut_one(table))) {
    }
    const int room = table->width - report_text_total_width(table) - 2;
    table->bar_width = room < BAR_MOST ? room : BAR_MOST;
    table->bar = room < BAR_LEAST ? NULL : table->bar;
}

static void report_text_put_bar(const struct selection *selected, const struct table *table,
                                const json_t *row)
{
    const double number = json_number_value(json_object_get(row, table->bar->key));
    if (!(number > 0) || !(selected->most > selected->least)) {
        return;
    }
    /* the least gets a twentieth, so that it can be seen */
    const double share = log(number / selected->least) / log(selected->most / selected->least);
    cell_put_bar(0.05 + 0.95 * share, table->bar_width, table->utf8);
}

static void report_text_find_range(const char *key, struct selection *selected)
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

static void report_text_print_row(const struct selection *selected, const struct table *table,
                                  const json_t *row)
{
    char cell[CELL];
    int used = 0;
    for (int c = 0; c < table->count; c++) {
        used += table->widths[c] + 2;
        /* The terminal is too narrow for all columns: continue in a line of its own. */
        if (used > table->width && c > 0) {
            used = table->widths[c] + 2 + WRAPPED;
            printf("\n%*s", WRAPPED, "");
        }
        const struct column *column = table->columns[c];
        const bool left = column->look == TEXT || column->look == SPARKLINE;
        const bool last = c + 1 == table->count && (!row || !table->bar);
        if (row) {
            cell_format(column->look, json_object_get(row, column->key), table->utf8, cell);
        }
        cell_put(row ? cell : column->title, table->widths[c],
                 !left  ? SIDE_RIGHT
                 : last ? SIDE_LAST
                        : SIDE_LEFT);
    }
    if (row && table->bar) {
        report_text_put_bar(selected, table, row);
    }
    printf("\n");
}

/* A verdict about all is no row: told apart, it makes no column of its own. Returns the rows left.
 */
static size_t report_text_take_verdicts(const struct layout *layout, const json_t **rows,
                                        size_t count, const json_t **verdicts)
{
    const struct column *bar = layout->columns;
    size_t left = 0;
    size_t told = 0;
    while (bar->key && bar->look != BAR) {
        bar++;
    }
    for (size_t i = 0; i < count; i++) {
        const bool row = !bar->key || json_object_get(rows[i], bar->key) ||
                         !json_is_string(json_object_get(rows[i], "verdict"));
        if (row) {
            rows[left++] = rows[i];
        } else {
            verdicts[told++] = rows[i];
        }
    }
    verdicts[told] = NULL;
    return left;
}

static void report_print_type(const struct layout *layout, struct selection *selected,
                              const json_t **verdicts, const struct table *terminal)
{
    struct table table = *terminal;
    if (selected->count > 0) {
        report_text_choose_columns(layout, selected, &table);
        text_measure(selected, &table);
        if (table.bar) {
            report_text_find_range(table.bar->key, selected);
        }
        report_text_print_row(selected, &table, NULL);
    }
    for (size_t i = 0; i < selected->count; i++) {
        report_text_print_row(selected, &table, selected->rows[i]);
    }
    for (; *verdicts; verdicts++) {
        printf("  ");
        cell_put_wrapped(json_string_value(json_object_get(*verdicts, "verdict")), 2, table.width);
    }
    printf("\n");
}

static void report_print_header(const struct report_file *file, int width)
{
    static const char *const keys[] = {
        "command", "mpi", "processes", "nodes", "clock", "sync", "clock_sigma_ns", "started", NULL};
    const json_t *header = json_array_get(file->objects, 0);
    char cell[CELL];
    printf("%s\n", file->path);
    for (int i = 0; keys[i]; i++) {
        const json_t *value = json_object_get(header, keys[i]);
        if (value) {
            cell_format(strstr(keys[i], "_ns") ? NS : COUNT, value, false, cell);
            printf("  %-14s ", keys[i]);
            cell_put_wrapped(json_is_string(value) ? json_string_value(value) : cell, 17, width);
        }
    }
    printf("\n");
}

/* All objects of one type, each told which file it is from. */
static size_t report_text_select_rows(const struct report *report, const char *type,
                                      const json_t **rows)
{
    size_t count = 0;
    for (size_t f = 0; f < report->count; f++) {
        size_t i = 0;
        json_t *object = NULL;
        const char *name = report->files[f].label ? report->files[f].label : report->files[f].path;
        json_array_foreach(report->files[f].objects, i, object)
        {
            if (strcmp(json_string_value(json_object_get(object, "type")), type) == 0) {
                if (report->count > 1) {
                    (void)json_object_set_new(object, "file", ictus_result_text(name));
                }
                rows[count++] = object;
            }
        }
    }
    return count;
}

void report_print_text(const struct report *report, int width)
{
    const struct table terminal = {.count = 0, .width = width, .utf8 = cell_utf8()};
    size_t all = 0;
    size_t shown = 0;
    size_t headers = 0;
    for (size_t f = 0; f < report->count; f++) {
        all += json_array_size(report->files[f].objects);
        report_print_header(&report->files[f], width);
    }
    const json_t **rows = malloc((all + 1) * sizeof(const json_t *));
    const json_t **verdicts = malloc((all + 1) * sizeof(const json_t *));
    for (size_t t = 0; t < sizeof(layouts) / sizeof(layouts[0]) && rows && verdicts; t++) {
        const size_t count = report_text_select_rows(report, layouts[t].type, rows);
        struct selection selected = {rows, 0, 0, 0};
        shown += count;
        if (count > 0) {
            selected.count = report_text_take_verdicts(&layouts[t], rows, count, verdicts);
            report_print_type(&layouts[t], &selected, verdicts, &terminal);
        }
    }
    headers = rows ? report_text_select_rows(report, "header", rows) : 0;
    if (rows && all > shown + headers) {
        printf("results of other types: %zu\n", all - shown - headers);
    }
    free((void *)rows);
    free((void *)verdicts);
}

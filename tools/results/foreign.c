/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The tables of other benchmarks. What a column means is told by its title, so that versions and
 * options that add or leave out columns are read alike:
 *   OSU       "# OSU MPI Allreduce Latency Test v7.5", "# Size  Avg Latency(us)  P50 Tail Lat(us)"
 *   IMB       "# Benchmarking Allreduce", "# #processes = 4", "#bytes #repetitions t_min[usec] ..."
 *   ReproMPI  "#@datatype_size_bytes=1", "test nrep count runtime_sec", one row a repetition
 */
#include "results/foreign.h"

#include "main/values.h"
#include "results/foreign_name.h"

#include <ictus/result.h>
#include <ictus/text.h>

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a column becomes. */
enum meaning {
    IGNORED,
    TEST,
    SIZE,
    COUNT,
    REPETITIONS,
    SAMPLE,
    ERRORCODE,
    VALIDATION,
    STATISTIC, /* this and what follows may be missing */
    RATE
};

struct column_meaning {
    enum meaning meaning;
    const char *member; /* of STATISTIC and RATE */
    double unit;        /* seconds in one; of RATE, bytes per second */
};

struct reading {
    json_t *objects;
    const char *program;
    char operation[WORD_MAX + 1];
    long processes;
    long datatype_size;
    long pairs;      /* of processes that share a bandwidth */
    char window[16]; /* kind of a one-sided operation's window; "": not told */
    int epoch_at;    /* where in its name the synchronisation belongs; 0: nowhere */
    int refused;     /* rows that failed the program's own validation */
    struct column_meaning columns[WORDS_MAX];
    int column_count;
    bool skip_table; /* a table in which nothing is recognised */
    json_t *raw;     /* the ReproMPI experiment that rows are being added to; borrowed */
};

/* Titles of OSU have spaces: a title ends with a unit in brackets, or is one of those without. */
static void foreign_split_osu_titles(const char *line, struct words *titles)
{
    static const char *const single[] = {"Size", "Iterations", "Validation",
                                         "MB/s", "Messages/s", NULL};
    struct words words;
    char title[WORD_MAX + 1] = "";
    foreign_name_split(line + strspn(line, "# "), &words);
    titles->count = 0;
    for (int i = 0; i < words.count; i++) {
        const size_t used = strlen(title);
        (void)snprintf(title + used, sizeof(title) - used, "%s%s", used ? " " : "", words.word[i]);
        if (strchr(words.word[i], ')') || foreign_name_is_listed(single, title)) {
            (void)snprintf(titles->word[titles->count++], WORD_MAX + 1, "%s", title);
            title[0] = '\0';
        }
    }
}

struct title_meaning {
    const char *begin; /* of the title */
    struct column_meaning meaning;
};

static const struct title_meaning titles_known[] = {
    {"Size", {SIZE, NULL, 1}},
    {"Validation", {VALIDATION, NULL, 1}},
    {"#bytes", {SIZE, NULL, 1}},
    {"msize_bytes", {SIZE, NULL, 1}},
    {"count", {COUNT, NULL, 1}},
    {"Iterations", {REPETITIONS, NULL, 1}},
    {"#repetitions", {REPETITIONS, NULL, 1}},
    {"valid_nrep", {REPETITIONS, NULL, 1}},
    {"test", {TEST, NULL, 1}},
    {"errorcode", {ERRORCODE, NULL, 1}},
    {"runtime_sec", {SAMPLE, NULL, 1}},
    {"mean_sec", {STATISTIC, "mean_s", 1}},
    {"median_sec", {STATISTIC, "median_s", 1}},
    {"min_sec", {STATISTIC, "min_s", 1}},
    {"max_sec", {STATISTIC, "max_s", 1}},
    {"Avg Lat", {STATISTIC, "mean_s", 1e-6}},
    {"Latency", {STATISTIC, "mean_s", 1e-6}},
    {"Pure Comm", {STATISTIC, "mean_s", 1e-6}},
    {"Min Comm", {STATISTIC, "min_s", 1e-6}},
    {"Max Comm", {STATISTIC, "max_s", 1e-6}},
    {"Bandwidth", {RATE, "mean_s", 1e6}},
    {"MB/s", {RATE, "mean_s", 1e6}},
    {"Min Lat", {STATISTIC, "min_s", 1e-6}},
    {"Max Lat", {STATISTIC, "max_s", 1e-6}},
    {"P50 ", {STATISTIC, "median_s", 1e-6}},
    {"P90 ", {STATISTIC, "p90_s", 1e-6}},
    {"P99 ", {STATISTIC, "p99_s", 1e-6}},
    {"t_avg[usec]", {STATISTIC, "mean_s", 1e-6}},
    {"t[usec]", {STATISTIC, "mean_s", 1e-6}},
    {"t_pure[usec]", {STATISTIC, "mean_s", 1e-6}},
    {"t_min[usec]", {STATISTIC, "min_s", 1e-6}},
    {"t_max[usec]", {STATISTIC, "max_s", 1e-6}},
};

static struct column_meaning meaning_of(const char *title)
{
    for (size_t i = 0; i < sizeof(titles_known) / sizeof(titles_known[0]); i++) {
        if (strncmp(title, titles_known[i].begin, strlen(titles_known[i].begin)) == 0) {
            return titles_known[i].meaning;
        }
    }
    return (struct column_meaning){IGNORED, NULL, 1};
}

static void foreign_begin_table(struct reading *reading, const struct words *titles)
{
    bool times = false;
    reading->column_count = titles->count;
    for (int i = 0; i < titles->count; i++) {
        reading->columns[i] = meaning_of(titles->word[i]);
        times = times || reading->columns[i].meaning == SAMPLE ||
                reading->columns[i].meaning == STATISTIC || reading->columns[i].meaning == RATE;
    }
    reading->skip_table = !times;
    reading->raw = NULL;
}

/* "# OSU MPI <name> Latency Test v7.5" */
static bool foreign_take_osu_title(struct reading *reading, const char *line)
{
    static const char begin[] = "# OSU MPI";
    char name[2 * WORD_MAX];
    if (strncmp(line, begin, strlen(begin)) != 0) {
        return false;
    }
    const char *from = line + strlen(begin);
    const char *end = strstr(from, " Test");
    (void)snprintf(name, sizeof(name), "%.*s", end ? (int)(end - from) : 0, from);
    reading->epoch_at = foreign_name_osu(name, reading->operation);
    reading->program = "OSU micro-benchmarks";
    reading->processes = 0;
    reading->pairs = 1;
    reading->window[0] = '\0';
    reading->skip_table = true; /* until titles come */
    return true;
}

/* What OSU says of a table between its title and its columns, and what osu_init prints. */
static bool foreign_take_osu_remark(struct reading *reading, const char *line)
{
    static const char window[] = "# Window creation: MPI_Win_";
    static const char epoch[] = "# Synchronization: MPI_Win_";
    static const char pairs[] = "# [ pairs: ";
    if (strncmp(line, window, strlen(window)) == 0) {
        const char *kind = line + strlen(window);
        (void)snprintf(reading->window, sizeof(reading->window), "%.*s",
                       (int)strcspn(kind, " \t\r\n"), kind);
        return true;
    }
    if (strncmp(line, epoch, strlen(epoch)) == 0) {
        foreign_name_set_epoch(line + strlen(epoch), &reading->epoch_at, reading->operation);
        return true;
    }
    if (strncmp(line, pairs, strlen(pairs)) == 0) {
        const long count = strtol(line + strlen(pairs), NULL, 10);
        reading->pairs = count > 0 ? count : 1;
        reading->processes = 2 * reading->pairs;
        return true;
    }
    return false;
}

static bool foreign_take_imb_title(struct reading *reading, const char *line)
{
    static const char begin[] = "# Benchmarking ";
    const char *processes = strstr(line, "#processes = ");
    const char *mode = strstr(line, "MODE: ");
    if (strncmp(line, begin, strlen(begin)) == 0) {
        foreign_name_normalise(line + strlen(begin), reading->operation);
        reading->program = "Intel MPI benchmarks";
        reading->skip_table = true;
        return true;
    }
    if (processes && line[0] == '#') {
        reading->processes = strtol(processes + strlen("#processes = "), NULL, 10);
        return true;
    }
    if (mode && line[0] == '#') { /* of one-sided operations: each has a table for itself */
        char name[2 * WORD_MAX];
        (void)snprintf(name, sizeof(name), "%s_%s", reading->operation, mode + strlen("MODE: "));
        foreign_name_normalise(name, reading->operation);
        return true;
    }
    return false;
}

static bool foreign_take_setting(struct reading *reading, const char *line)
{
    static const char size[] = "#@datatype_size_bytes=";
    static const char processes[] = "#@nprocs=";
    if (strncmp(line, "#@", 2) != 0) {
        return false;
    }
    reading->program = "ReproMPI";
    if (strncmp(line, size, strlen(size)) == 0) {
        reading->datatype_size = strtol(line + strlen(size), NULL, 10);
    } else if (strncmp(line, processes, strlen(processes)) == 0) {
        reading->processes = strtol(line + strlen(processes), NULL, 10);
    }
    return true;
}

static bool foreign_take_titles(struct reading *reading, const char *line)
{
    struct words words;
    foreign_name_split(line, &words);
    const char *first = words.count > 0 ? words.word[0] : "";
    if (strcmp(first, "#bytes") == 0 || strcmp(first, "#repetitions") == 0 ||
        (strcmp(first, "test") == 0 && words.count >= 4)) {
        foreign_begin_table(reading, &words);
        return true;
    }
    const char *text = line + strspn(line, "# \t"); /* some of OSU's titles lack the sign */
    if (strncmp(text, "Size ", 5) == 0 || strncmp(text, "Avg Latency(", 12) == 0 ||
        strncmp(text, "Overall(", 8) == 0) {
        foreign_split_osu_titles(line, &words);
        foreign_begin_table(reading, &words);
        return true;
    }
    return false;
}

struct row {
    char operation[WORD_MAX + 1];
    double size, sample, errorcode;
    double repetitions;
    bool sized, invalid;
    json_t *statistics;
};

/* Beyond this, a double cannot represent every integer. */
static const double most = 9007199254740992.0;

/* The time of a message, or of one each way where both directions are counted, of each pair. */
static void foreign_add_rate(const struct reading *reading, struct row *row,
                             const struct column_meaning *column, double value)
{
    const double ways = strstr(row->operation, "bibandwidth") ? 2.0 : 1.0;
    (void)json_object_set_new(
        row->statistics, column->member,
        json_real(ways * (double)reading->pairs * row->size / (value * column->unit)));
    (void)json_object_set_new(row->statistics, "messages", json_integer(1));
}

static bool foreign_take_cell(const struct reading *reading, const struct column_meaning *column,
                              const char *word, struct row *row)
{
    double value = 0.0;
    if (column->meaning == TEST) {
        foreign_name_normalise(strncmp(word, "MPI_", 4) == 0 ? word + 4 : word, row->operation);
        return true;
    }
    if (ictus_parse_real(word, &value)) { /* "nan" among other statistics is one less */
        return column->meaning == IGNORED || column->meaning >= STATISTIC;
    }
    if (column->meaning == SIZE || column->meaning == COUNT) {
        const long each = column->meaning == COUNT ? reading->datatype_size : 1;
        row->size = value * (double)(each > 0 ? each : 1);
        row->sized = true;
        return row->size >= 0 && row->size <= most;
    } else if (column->meaning == REPETITIONS) {
        row->repetitions = value;
        return value <= most;
    } else if (column->meaning == SAMPLE) {
        row->sample = value * column->unit;
    } else if (column->meaning == ERRORCODE) {
        row->errorcode = value;
    } else if (column->meaning == STATISTIC) {
        (void)json_object_set_new(row->statistics, column->member, json_real(value * column->unit));
    } else if (column->meaning == RATE) {
        foreign_add_rate(reading, row, column, value);
    }
    return true;
}

static json_t *foreign_new_measurement(const struct reading *reading, const struct row *row)
{
    json_t *object = json_pack("{s:s, s:s, s:s, s:I}", "type", "measurement", "program",
                               reading->program ? reading->program : "unknown", "operation",
                               row->operation, "bytes", (json_int_t)(row->sized ? row->size : 0));
    if (reading->processes > 0) {
        (void)json_object_set_new(object, "processes", json_integer(reading->processes));
    }
    if (reading->window[0]) {
        (void)json_object_set_new(object, "window", ictus_result_text(reading->window));
    }
    return object;
}

static bool foreign_is_same_test(const json_t *object, const struct row *row)
{
    return json_object_get(object, "raw_s") &&
           strcmp(json_string_value(json_object_get(object, "operation")), row->operation) == 0 &&
           json_integer_value(json_object_get(object, "bytes")) == (json_int_t)row->size;
}

/* A repetition of ReproMPI: goes to the experiment of its test and size, wherever that began. */
static int foreign_add_sample(struct reading *reading, const struct row *row)
{
    size_t i = json_array_size(reading->objects);
    while (!foreign_is_same_test(reading->raw, row) && i-- > 0) {
        reading->raw = json_array_get(reading->objects, i);
    }
    if (!foreign_is_same_test(reading->raw, row)) {
        reading->raw = foreign_new_measurement(reading, row);
        if (json_object_set_new(reading->raw, "raw_s", json_array()) ||
            json_object_set_new(reading->raw, "invalid", json_integer(0)) ||
            json_array_append_new(reading->objects, reading->raw)) {
            return ICTUS_ERR_NOMEM;
        }
    }
    if (row->errorcode != 0) {
        json_t *invalid = json_object_get(reading->raw, "invalid");
        return json_integer_set(invalid, json_integer_value(invalid) + 1) ? ICTUS_ERR_NOMEM
                                                                          : ICTUS_OK;
    }
    json_t *samples = json_object_get(reading->raw, "raw_s");
    return json_array_append_new(samples, json_real(row->sample)) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static int foreign_add_statistics(struct reading *reading, const struct row *row)
{
    json_t *object = foreign_new_measurement(reading, row);
    if (row->repetitions > 0) {
        (void)json_object_set_new(object, "n", json_integer((json_int_t)row->repetitions));
    }
    if (json_object_update(object, row->statistics) ||
        json_array_append_new(reading->objects, object)) {
        return ICTUS_ERR_NOMEM;
    }
    return ICTUS_OK;
}

static int foreign_take_row(struct reading *reading, const char *line)
{
    struct words words;
    struct row row = {.statistics = json_object()};
    bool sampled = false;
    int err = ICTUS_OK;
    foreign_name_split(line, &words);
    bool good = words.count >= reading->column_count && words.count > 0;
    (void)snprintf(row.operation, sizeof(row.operation), "%s", reading->operation);
    for (int i = 0; i < reading->column_count && good; i++) {
        const bool verdict = reading->columns[i].meaning == VALIDATION;
        row.invalid = row.invalid || (verdict && strcmp(words.word[i], "Fail") == 0);
        good = verdict || foreign_take_cell(reading, &reading->columns[i], words.word[i], &row);
        sampled = sampled || reading->columns[i].meaning == SAMPLE;
    }
    if (good && row.invalid) {
        reading->refused++;
        good = false;
    }
    if (good && row.operation[0] && (sampled || json_object_size(row.statistics) > 0)) {
        err = sampled ? foreign_add_sample(reading, &row) : foreign_add_statistics(reading, &row);
    }
    json_decref(row.statistics);
    return err;
}

/* "nprocs: 2, min: 444 ms, max: 478 ms, avg: 461 ms", which is all that osu_init prints. */
static int foreign_take_init(struct reading *reading, const char *line)
{
    long processes = 0;
    double time[3] = {0, 0, 0};
    /* NOLINTNEXTLINE(cert-err34-c): what cannot be converted leaves 0, which is refused */
    if (sscanf(line, "nprocs: %ld, min: %lf ms, max: %lf ms, avg: %lf ms", &processes, &time[0],
               &time[1], &time[2]) != 4 ||
        !(processes > 0 && time[0] > 0 && time[1] > 0 && time[2] > 0)) {
        return ICTUS_OK;
    }
    struct row row = {.statistics = json_pack("{s:f, s:f, s:f}", "min_s", 1e-3 * time[0], "max_s",
                                              1e-3 * time[1], "mean_s", 1e-3 * time[2])};
    (void)snprintf(row.operation, sizeof(row.operation), "%s", reading->operation);
    reading->processes = processes;
    const int err = foreign_add_statistics(reading, &row);
    json_decref(row.statistics);
    return err;
}

static int foreign_take_line(struct reading *reading, const char *line)
{
    if (foreign_take_osu_title(reading, line) || foreign_take_osu_remark(reading, line) ||
        foreign_take_imb_title(reading, line) || foreign_take_setting(reading, line) ||
        foreign_take_titles(reading, line)) {
        return ICTUS_OK;
    }
    if (strcmp(reading->operation, "init") == 0) {
        return foreign_take_init(reading, line);
    }
    if (line[0] == '#' || reading->skip_table || reading->column_count == 0) {
        return ICTUS_OK;
    }
    return foreign_take_row(reading, line);
}

/* What the other programs print of their samples, so that both kinds can be compared. */
static int foreign_summarise(json_t *object)
{
    const json_t *samples = json_object_get(object, "raw_s");
    const size_t n = json_array_size(samples);
    double *values = malloc((n + 1) * sizeof(*values));
    double sum = 0.0;
    if (!values) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = json_number_value(json_array_get(samples, i));
        sum += values[i];
    }
    int failed = json_object_set_new(object, "n", json_integer((json_int_t)n));
    if (n > 0) {
        values_sort(values, n);
        failed = failed ||
                 json_object_set_new(object, "median_s", json_real(values_median(values, n))) ||
                 json_object_set_new(object, "mean_s", json_real(sum / (double)n)) ||
                 json_object_set_new(object, "min_s", json_real(values[0])) ||
                 json_object_set_new(object, "max_s", json_real(values[n - 1]));
    }
    free(values);
    return failed ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static int foreign_summarise_all(json_t *objects)
{
    size_t i = 0;
    json_t *object = NULL;
    int err = ICTUS_OK;
    json_array_foreach(objects, i, object)
    {
        if (!err && json_object_get(object, "raw_s")) {
            err = foreign_summarise(object);
        }
    }
    return err;
}

static int foreign_add_header(struct reading *reading)
{
    json_t *header = json_pack("{s:s, s:s}", "type", "header", "program",
                               reading->program ? reading->program : "unknown");
    if (reading->refused > 0) {
        (void)json_object_set_new(header, "refused", json_integer(reading->refused));
    }
    return json_array_insert_new(reading->objects, 0, header) ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static int foreign_explain_nothing(const struct reading *reading, const char *path,
                                   struct ictus_why *why)
{
    if (reading->refused > 0) {
        return ictus_because(why, ICTUS_ERR_CORRUPT,
                             "'%.200s': every row failed the benchmark's own validation", path);
    }
    return ictus_because(why, ICTUS_ERR_FORMAT, "'%.200s' holds no table that ictus knows", path);
}

int foreign_read(const char *path, json_t **objects, struct ictus_why *why)
{
    struct reading reading = {.objects = json_array(), .pairs = 1};
    char *line = NULL;
    size_t room = 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        json_decref(reading.objects);
        return ictus_because(why, ICTUS_ERR_IO, "cannot read '%.200s': %s", path, strerror(errno));
    }
    int err = reading.objects ? ICTUS_OK : ICTUS_ERR_NOMEM;
    while (!err && getline(&line, &room, file) >= 0) {
        err = foreign_take_line(&reading, line + strspn(line, " \t"));
    }
    free(line);
    (void)fclose(file);
    if (!err && json_array_size(reading.objects) == 0) {
        err = foreign_explain_nothing(&reading, path, why);
    }
    err = err ? err : foreign_summarise_all(reading.objects);
    if (!err) {
        err = foreign_add_header(&reading);
    }
    if (err) {
        json_decref(reading.objects);
        return err;
    }
    *objects = reading.objects;
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus arrivals: when the processes of a program came to its collectives, call site by call site.
 */
#include "main/command.h"
#include "main/header.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/text_table.h"
#include "traces/keep_memory.h"

#include <ictus/arrivals.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <ictus/waits.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct arrivals_options {
    struct results_options results;
    const char *site;
    int64_t instances;
    struct progress_options talk;
};

#define AT(member) offsetof(struct arrivals_options, member)

static const struct option_row rows[] = {{"site", 0, OPTION_TEXT, AT(site), NULL, 0, 0, NULL,
                                          "NAME", "show only this call site, rank by rank"},
                                         {"instances", 0, OPTION_INT, AT(instances), "10000", 0,
                                          1e9, NULL, "N",
                                          "keep the last N instances of each site; 0 means all"},
                                         ROWS_RESULTS(AT(results)),
                                         ROWS_PROGRESS(AT(talk)),
                                         ROW_END};

/* A directory or an anchor file is an archive; other files are results. */
static bool is_archive(const char *path)
{
    static const char anchor[] = ".otf2";
    const size_t length = strlen(path);
    struct stat status;
    return (stat(path, &status) == 0 && S_ISDIR(status.st_mode)) ||
           (length >= strlen(anchor) && strcmp(path + length - strlen(anchor), anchor) == 0);
}

/* Rank and share: "2 (98 %)", or what can be said instead. */
static void describe_latest(const struct ictus_arrivals *a, char *text, size_t size)
{
    int latest = 0;
    for (int r = 1; r < a->ranks; r++) {
        latest = a->rank[r].last > a->rank[latest].last ? r : latest;
    }
    if (ictus_arrivals_signal(a, NULL)) {
        (void)snprintf(text, size, "noise");
    } else if (isnan(a->rank[latest].last)) {
        (void)snprintf(text, size, "-");
    } else {
        (void)snprintf(text, size, "%d (%.0f %%)", latest, 100 * a->rank[latest].last);
    }
}

static void put_titles(struct text_table *table)
{
    text_table_init(table, 2);
    text_table_column(table, "site", true);
    text_table_column(table, "operation", true);
    text_table_column(table, "bytes", false);
    text_table_column(table, "ranks", false);
    text_table_column(table, "n", false);
    text_table_column(table, "spread us", false);
    text_table_column(table, "+- us", false);
    text_table_column(table, "then us", false);
    text_table_column(table, "persists", false);
    text_table_column(table, "last rank", true);
}

static void put_row(const struct ictus_arrivals *a, const char *latest, struct text_table *table)
{
    text_table_cell(table, "%s", a->site);
    text_table_cell(table, "%s", a->operation);
    text_table_cell(table, "%" PRIu64, a->bytes);
    text_table_cell(table, "%d", a->ranks);
    text_table_cell(table, "%" PRId64, a->instances);
    text_table_cell(table, "%.3f", 1e-3 * a->spread_ns);
    text_table_cell(table, isnan(a->error_ns) ? "-" : "%.3f", 1e-3 * a->error_ns);
    text_table_cell(table, "%.3f", 1e6 * a->duration_s);
    text_table_cell(table, isnan(a->persistence) ? "-" : "%.2f", a->persistence);
    text_table_cell(table, "%s", latest);
}

static int print_ranks(const struct ictus_arrivals *a)
{
    static const char *const titles[] = {"mean us", "sd us",  "median us",   "5 % us",
                                         "95 % us", "last %", "persists r1", NULL};
    struct text_table table;
    text_table_init(&table, 1);
    text_table_column(&table, "rank", false);
    for (int i = 0; titles[i]; i++) {
        text_table_column(&table, titles[i], false);
    }
    for (int r = 0; r < a->ranks; r++) {
        const struct ictus_arrival_rank *k = &a->rank[r];
        const double times_ns[] = {k->mean_ns, k->sd_ns, k->quantiles_ns[3], k->quantiles_ns[1],
                                   k->quantiles_ns[5]};
        text_table_cell(&table, "%d", r);
        for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
            text_table_cell(&table, "%.3f", 1e-3 * times_ns[i]);
        }
        text_table_cell(&table, "%.1f", 100 * k->last);
        text_table_cell(&table, "%.2f", k->autocorrelation);
    }
    printf("\n");
    return text_table_print(&table, "", stdout);
}

/* How a benchmark plays it. */
static void print_replay(const struct ictus_arrivals *a, const char *file)
{
    if (file && ictus_arrivals_signal(a, NULL) == ICTUS_OK) {
        printf("\nreplay: mpirun -n %d ictus bench --ops=%s --sizes=%" PRIu64
               " --arrival=file:%s,site=%s\n",
               a->ranks, a->operation, a->bytes, file, a->site);
    }
}

/* On a terminal a table whose rows are all known; in other formats a row for each object. */
static int put_list(const struct arrivals_options *o, const struct ictus_arrivals_list *list,
                    struct ictus_why *why)
{
    const struct header_facts facts = {.command = "arrivals", .rows = rows, .options = o};
    const bool as_text = o->results.format == ICTUS_FORMAT_TEXT;
    struct ictus_output *out = NULL;
    struct text_table table;
    int err = results_open(&o->results, NULL, header_create(&facts), &out, why);
    put_titles(&table);
    for (size_t i = 0; i < list->count && !err; i++) {
        char text[40];
        if (o->site && strcmp(list->at[i].site, o->site) != 0) {
            continue;
        }
        json_t *object = ictus_arrivals_json(&list->at[i]);
        describe_latest(&list->at[i], text, sizeof text);
        (void)json_object_set_new(object, "latest", json_string(text));
        put_row(&list->at[i], text, &table);
        err = !object ? ICTUS_ERR_NOMEM
                      : (as_text ? ictus_output_keep : ictus_output_put)(out, object);
    }
    if (!err && as_text) {
        err = text_table_print(&table, "", stdout);
    }
    text_table_fini(&table);
    return results_close(out, o->results.file, err, why);
}

static int put_all(const struct arrivals_options *o, const struct ictus_arrivals_list *list,
                   const char *word, struct ictus_why *why)
{
    const struct ictus_arrivals *one = o->site ? ictus_arrivals_find(list, o->site, why) : NULL;
    if (o->site && !one) {
        return ICTUS_ERR_ARG;
    }
    int err = put_list(o, list, why);
    if (!err && o->results.format == ICTUS_FORMAT_TEXT) {
        err = one ? print_ranks(one) : ICTUS_OK;
        if (one || list->count > 0) {
            print_replay(one ? one : &list->at[0], o->results.file    ? o->results.file
                                                   : is_archive(word) ? NULL
                                                                      : word);
        }
    }
    return err;
}

static void say_left(const struct ictus_arrivals_left *left)
{
    if (left->incomplete + left->muted + left->inter > 0) {
        (void)fprintf(stderr,
                      "ictus arrivals: left out: %" PRId64
                      " instances without all members, %" PRId64 " not recorded whole, %" PRId64
                      " calls on inter-communicators\n",
                      left->incomplete, left->muted, left->inter);
    }
}

static int run_arrivals(const void *options, int word_count, char **words)
{
    const struct arrivals_options *o = options;
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_arrivals_left left = {0};
    struct ictus_why why = {""};
    struct progress_watch watch;
    int err = ICTUS_OK;
    if (word_count != 1) {
        err = ictus_because(&why, ICTUS_ERR_ARG,
                            "name one archive (a directory or its anchor file) or a file of "
                            "patterns");
    } else if (is_archive(words[0])) {
        keep_memory();
        progress_watch_begin(&watch, &o->talk, "arrivals", word_count, words);
        err = ictus_arrivals_extract(words[0], o->instances, &list, &left, &why);
        progress_watch_end(&watch);
    } else {
        err = ictus_arrivals_read(words[0], &list, &why);
    }
    if (!err && list.count == 0) {
        err =
            ictus_because(&why, ICTUS_ERR_SAMPLES,
                          "%.200s contains no collective in which all members took part", words[0]);
    }
    err = err ? err : put_all(o, &list, words[0], &why);
    ictus_arrivals_list_free(&list);
    if (err) {
        const int code = command_fail("arrivals", err, &why);
        const bool input = err == ICTUS_ERR_FORMAT || err == ICTUS_ERR_CORRUPT;
        return code == EXIT_FAILED && input ? EXIT_USAGE : code;
    }
    say_left(&left);
    return EXIT_OK;
}

const struct command command_arrivals = {
    .name = "arrivals",
    .summary = "find out when processes came to a traced program's collectives",
    .arguments = "ARCHIVE|FILE",
    .details = "Patterns of an archive, or of a file that -o wrote; ictus bench replays them:\n"
               "  ictus arrivals ictus-trace -o patterns.jsonl\n"
               "  mpirun -n 4 ictus bench --arrival=file:patterns.jsonl,site=solver.c:120",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct arrivals_options),
    .run = run_arrivals,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus arrivals: when the processes of a program came to its collectives, call site by call site.
 */
#include "main/command.h"
#include "main/header.h"
#include "main/interrupt.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "main/text_table.h"
#include "traces/keep_memory.h"

#include <ictus/arrivals.h>
#include <ictus/result.h>
#include <ictus/tallies.h>
#include <ictus/text.h>
#include <ictus/waits.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct arrivals_options {
    struct results_options results;
    const char *site;
    int64_t instances;
    struct progress_options talk;
    bool follow;
    double every_s;
};

#define AT(member) offsetof(struct arrivals_options, member)

static const struct option_row rows[] = {
    {"site", 0, OPTION_TEXT, AT(site), NULL, 0, 0, NULL, "NAME",
     "show only this call site, rank by rank"},
    {"instances", 0, OPTION_INT, AT(instances), "10000", 0, 1e9, NULL, "N",
     "keep the last N instances of each site; 0 means all"},
    {"follow", 0, OPTION_FLAG, AT(follow), NULL, 0, 0, NULL, NULL,
     "show the latest calls of a job while it runs"},
    {"every", 0, OPTION_SECONDS, AT(every_s), NULL, 0.01, 86400, NULL, "TIME",
     "time between two tables of --follow; by default 1 s"},
    ROWS_RESULTS(AT(results)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

#define EVERY_DEFAULT_S 1.0

/* The name of the file into which statistics are written at the end. */
static const char arrivals_file[] = "arrivals.jsonl";

static bool arrivals_is_directory(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

/* A directory or an anchor file is an archive; other files are results. */
static bool arrivals_is_archive(const char *path)
{
    static const char anchor[] = ".otf2";
    const size_t length = strlen(path);
    return arrivals_is_directory(path) ||
           (length >= strlen(anchor) && strcmp(path + length - strlen(anchor), anchor) == 0);
}

/* Whether a directory holds a file of this name; path gets its path. */
static bool directory_holds(const char *directory, const char *name, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", directory, name);
    return arrivals_is_directory(directory) && access(path, F_OK) == 0;
}

/* Rank and share, "2 (98 %)"; "noise" if the clocks cannot tell, a dash if nothing is known. */
static void arrivals_describe_latest(const struct ictus_arrivals *a, char *text, size_t size)
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

static void arrivals_put_titles(struct text_table *table)
{
    text_table_init(table, 2);
    text_table_column(table, "site", true);
    text_table_column(table, "operation", true);
    text_table_column(table, "bytes", false);
    text_table_column(table, "ranks", false);
    text_table_column(table, "n", false);
    text_table_column(table, "spread us", false);
    text_table_column(table, "+- us", false);
    text_table_column(table, "exit us", false);
    text_table_column(table, "persists", false);
    text_table_column(table, "last rank", true);
}

/* A dash stands for what is not known. */
static void arrivals_put_number(struct text_table *table, int digits, double value)
{
    if (isnan(value)) {
        text_table_cell(table, "-");
    } else {
        text_table_cell(table, "%.*f", digits, value);
    }
}

static void arrivals_put_row(const struct ictus_arrivals *a, const char *latest,
                             struct text_table *table)
{
    text_table_cell(table, "%s", a->site);
    text_table_cell(table, "%s", a->operation);
    text_table_cell(table, "%" PRIu64, a->bytes);
    text_table_cell(table, "%d", a->ranks);
    text_table_cell(table, "%" PRId64, a->instances);
    arrivals_put_number(table, 3, 1e-3 * a->spread_ns);
    arrivals_put_number(table, 3, 1e-3 * a->error_ns);
    arrivals_put_number(table, 3, 1e6 * a->duration_s);
    arrivals_put_number(table, 2, a->persistence);
    text_table_cell(table, "%s", latest);
}

static int arrivals_print_ranks(const struct ictus_arrivals *a)
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
            arrivals_put_number(&table, 3, 1e-3 * times_ns[i]);
        }
        arrivals_put_number(&table, 1, 100 * k->last);
        arrivals_put_number(&table, 2, k->autocorrelation);
    }
    printf("\n");
    return text_table_print(&table, "", stdout);
}

/*
 * Print a text as a part of a word of the shell, as it is if no character means anything there.
 * Names of functions contain parentheses and blanks, and names of files whatever they like.
 */
static void arrivals_print_quoted(const char *text)
{
    if (!text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                           "%+,-./:=@_")]) {
        printf("%s", text);
        return;
    }
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'') {
            printf("'\\''");
        } else {
            putchar(*text);
        }
    }
    putchar('\'');
}

/*
 * The command that replays the pattern in a benchmark, as a shell reads it. Offsets that are too
 * long for a replay are shrunk.
 */
static void arrivals_print_replay(const struct ictus_arrivals *a, const char *file)
{
    if (!file || !a->operation[0] || ictus_arrivals_signal(a, NULL)) {
        return;
    }
    printf("\nreplay: mpirun -n %d ictus bench --ops=", a->ranks);
    arrivals_print_quoted(a->operation);
    printf(" --sizes=%" PRIu64, a->bytes);
    if (a->datatype) {
        printf(" --datatype=%s", a->datatype);
    }
    if (a->op) {
        printf(" --op=%s", a->op);
    }
    if (a->root >= 0) {
        printf(" --root=%d", a->root);
    }
    printf("%s --arrival=file:%s", a->in_place == 1 ? " --in-place" : "",
           strchr(file, '=') ? "path=" : "");
    arrivals_print_quoted(file);
    printf(",site=");
    arrivals_print_quoted(a->site);
    if (ictus_arrivals_scale(a) < 1) {
        printf(",scale=%.1g", ictus_arrivals_scale(a));
    }
    printf("\n");
}

static int arrivals_open_output(const struct arrivals_options *o, struct ictus_output **out,
                                struct ictus_why *why)
{
    const struct header_facts facts = {.command = "arrivals", .rows = rows, .options = o};
    return results_open_untold(&o->results, NULL, header_create(&facts), out, why);
}

/*
 * On a terminal a table, whose columns are as wide as all rows need; in other formats a row for
 * each object, as it comes, so that --follow can be read by a program.
 */
static int arrivals_put_list(const struct arrivals_options *o,
                             const struct ictus_arrivals_list *list, struct ictus_output *out)
{
    const bool as_text = o->results.format == ICTUS_FORMAT_TEXT;
    struct text_table table;
    int err = ICTUS_OK;
    arrivals_put_titles(&table);
    for (size_t i = 0; i < list->count && !err; i++) {
        char text[40];
        if (o->site && strcmp(list->at[i].site, o->site) != 0) {
            continue;
        }
        json_t *object = ictus_arrivals_json(&list->at[i]);
        arrivals_describe_latest(&list->at[i], text, sizeof text);
        (void)json_object_set_new(object, "latest", json_string(text));
        arrivals_put_row(&list->at[i], text, &table);
        err = !object ? ICTUS_ERR_NOMEM
                      : (as_text ? ictus_output_keep : ictus_output_put)(out, object);
    }
    if (!err && as_text) {
        err = text_table_print(&table, "", stdout);
    }
    text_table_fini(&table);
    return err;
}

/* The site that was asked for, or else the first; NULL: there is no such site. */
static const struct ictus_arrivals *arrivals_choose_site(const struct arrivals_options *o,
                                                         const struct ictus_arrivals_list *list,
                                                         struct ictus_why *why)
{
    return o->site ? ictus_arrivals_find(list, o->site, why) : &list->at[0];
}

static int arrivals_put_all(const struct arrivals_options *o,
                            const struct ictus_arrivals_list *list, const char *word,
                            struct ictus_why *why)
{
    const struct ictus_arrivals *one = arrivals_choose_site(o, list, why);
    struct ictus_output *out = NULL;
    if (!one) {
        return ICTUS_ERR_ARG;
    }
    int err = arrivals_open_output(o, &out, why);
    err = err ? err : arrivals_put_list(o, list, out);
    err = results_close(out, o->results.file, err, why);
    if (!err && o->results.format == ICTUS_FORMAT_TEXT) {
        err = o->site ? arrivals_print_ranks(one) : ICTUS_OK;
        arrivals_print_replay(one, o->results.file             ? o->results.file
                                   : arrivals_is_archive(word) ? NULL
                                                               : word);
    }
    return err;
}

static void arrivals_say_left(const struct ictus_arrivals_left *left)
{
    if (left->incomplete + left->muted + left->inter > 0) {
        (void)fprintf(
            stderr,
            "ictus arrivals: left out: %" PRId64
            " instances without all members or with more than an hour between them, %" PRId64
            " not recorded whole, %" PRId64 " calls on inter-communicators\n",
            left->incomplete, left->muted, left->inter);
    }
}

static void arrivals_say_state(const struct ictus_tallies_state *state)
{
    if (state->missing > 0) {
        (void)fprintf(stderr, "ictus arrivals: %d of %d processes have left nothing to read\n",
                      state->missing, state->processes);
    }
    if (state->full + state->inter > 0) {
        (void)fprintf(stderr,
                      "ictus arrivals: left out: %" PRIu64 " calls of more call sites than there "
                      "is room for, %" PRIu64 " calls on inter-communicators\n",
                      state->full, state->inter);
    }
}

/*
 * What a job's processes have kept so far, whether it runs, has ended, or was killed before it
 * wrote its file. @return ICTUS_ERR_IO: nothing is there
 */
static int arrivals_read_tallies(const char *directory, int64_t most,
                                 struct ictus_arrivals_list *list, struct ictus_why *why)
{
    struct ictus_tallies *tallies = NULL;
    struct ictus_tallies_state state;
    int err = ictus_tallies_open(directory, &tallies, why);
    if (!err) {
        err = ictus_tallies_read(tallies, 0, most, list, &state, why);
        ictus_tallies_close(tallies);
    }
    if (!err) {
        arrivals_say_state(&state);
    }
    return err;
}

/* Patterns that were written already are read as they are. */
static int arrivals_read_written(const struct arrivals_options *o, const char *path,
                                 struct ictus_arrivals_list *list, struct ictus_why *why)
{
    if (options_is_set(options_row(rows, "instances"), o)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--instances has no effect on '%.200s', whose instances have been "
                             "chosen",
                             path);
    }
    return ictus_arrivals_read(path, list, why);
}

/* Read what the word names: an archive, the statistics of a job, or a file of patterns. */
static int arrivals_read_patterns(const struct arrivals_options *o, const char *word,
                                  struct ictus_arrivals_list *list,
                                  struct ictus_arrivals_left *left, struct ictus_why *why)
{
    char path[4352];
    struct ictus_why unheard = {""};
    if (!arrivals_is_archive(word)) {
        return arrivals_read_written(o, word, list, why);
    }
    if (!directory_holds(word, "traces.otf2", path, sizeof path)) {
        if (directory_holds(word, arrivals_file, path, sizeof path)) {
            return arrivals_read_written(o, path, list, why);
        }
        const int err = arrivals_is_directory(word)
                            ? arrivals_read_tallies(word, o->instances, list, &unheard)
                            : ICTUS_ERR_IO;
        if (err != ICTUS_ERR_IO) {
            return unheard.text[0] ? ictus_because(why, err, "%s", unheard.text) : err;
        }
    }
    struct progress_watch watch;
    char *words[] = {(char *)(uintptr_t)word, NULL};
    keep_memory();
    progress_watch_begin(&watch, &o->talk, "arrivals", 1, words);
    const int err = ictus_arrivals_extract(word, o->instances, list, left, why);
    progress_watch_end(&watch);
    return err;
}

/*
 * One table of what happened last, and who is late at the site that was asked for, or where most
 * time is lost. The output is opened with the first table and kept, so that a file has one header.
 */
static int arrivals_follow_show(const struct arrivals_options *o,
                                const struct ictus_arrivals_list *list, struct ictus_output **out,
                                struct ictus_why *why)
{
    const bool as_text = o->results.format == ICTUS_FORMAT_TEXT;
    const struct ictus_arrivals *one = arrivals_choose_site(o, list, why);
    char now[16];
    const time_t seconds = time(NULL);
    struct tm parts;
    int err = one ? ICTUS_OK : ICTUS_ERR_ARG;
    if (!err && !*out) {
        err = arrivals_open_output(o, out, why);
    }
    (void)strftime(now, sizeof now, "%H:%M:%S", localtime_r(&seconds, &parts));
    if (!err && as_text) {
        printf("%s# %s, the latest calls\n", isatty(STDOUT_FILENO) ? "\033[H\033[J" : "", now);
    }
    err = err ? err : arrivals_put_list(o, list, *out);
    if (!err && as_text && ictus_arrivals_signal(one, NULL) == ICTUS_OK) {
        char latest[40];
        arrivals_describe_latest(one, latest, sizeof latest);
        printf("straggler now: rank %s of %s at %s, %.3f us after the first\n\n", latest, one->comm,
               one->site, 1e-3 * one->spread_ns);
    }
    (void)fflush(stdout);
    return err;
}

/* Sleep, but no longer than until a signal comes. */
static void arrivals_follow_sleep(double seconds)
{
    const double step_s = 0.05;
    for (double left = seconds; left > 0 && !interrupt_here(); left -= step_s) {
        const struct timespec pause = {0, (long)(1e9 * fmin(left, step_s))};
        (void)nanosleep(&pause, NULL);
    }
}

/*
 * A job that was dead from the beginning is the caller's mistake (exit code 2); one that dies while
 * it is followed is news (1).
 */
static int arrivals_follow_killed(const char *directory, const struct ictus_tallies_state *state,
                                  bool began, struct ictus_why *why)
{
    return ictus_because(why, began ? ICTUS_ERR_TIMEOUT : ICTUS_ERR_ARG,
                         "the job in %.200s no longer runs, and some of its %d processes did not "
                         "reach MPI_Finalize; without --follow its statistics are shown",
                         directory, state->processes);
}

/* Until the job ends, or a signal comes. */
static int arrivals_follow_job(const struct arrivals_options *o, const char *directory,
                               struct ictus_why *why)
{
    char path[4352];
    struct ictus_tallies *tallies = NULL;
    struct ictus_tallies_state state = {.stage = ICTUS_TALLIES_RUNNING};
    struct ictus_output *out = NULL;
    if (o->results.file) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--follow writes no file; write one without it, with -o alone");
    }
    if (directory_holds(directory, arrivals_file, path, sizeof path)) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "the job in %.200s has ended; without --follow its arrivals are shown",
                             directory);
    }
    int err = ictus_tallies_open(directory, &tallies, why);
    err = err == ICTUS_ERR_IO ? ICTUS_ERR_FORMAT : err;
    bool began = false;
    interrupt_watch();
    while (!err && !interrupt_here()) {
        struct ictus_arrivals_list list = {.at = NULL};
        err = ictus_tallies_read(tallies, 1, 0, &list, &state, why);
        if (!err && state.stage == ICTUS_TALLIES_KILLED) {
            err = arrivals_follow_killed(directory, &state, began, why);
        } else if (!err && list.count > 0) {
            err = arrivals_follow_show(o, &list, &out, why);
        }
        began = true;
        ictus_arrivals_list_free(&list);
        if (err || state.stage != ICTUS_TALLIES_RUNNING) {
            break;
        }
        arrivals_follow_sleep(isnan(o->every_s) ? EVERY_DEFAULT_S : o->every_s);
    }
    ictus_tallies_close(tallies);
    return results_close(out, NULL, err, why);
}

static int arrivals_end(int err, const struct ictus_why *why)
{
    const int code = command_fail("arrivals", err, why);
    const bool input = err == ICTUS_ERR_FORMAT || err == ICTUS_ERR_CORRUPT;
    return code == EXIT_FAILED && input ? EXIT_USAGE : code;
}

static int arrivals_check_options(const struct arrivals_options *o, int word_count,
                                  struct ictus_why *why)
{
    if (word_count != 1) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "name one archive (a directory or its anchor file) or a file of "
                             "patterns");
    }
    if (o->site && !o->site[0]) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--site= names no call site; give one of the table, or leave it out");
    }
    return ICTUS_OK;
}

static int arrivals_run(const void *options, int word_count, char **words)
{
    const struct arrivals_options *o = options;
    struct ictus_arrivals_list list = {.at = NULL};
    struct ictus_arrivals_left left = {0};
    struct ictus_why why = {""};
    int err = arrivals_check_options(o, word_count, &why);
    if (!err && o->follow) {
        err = arrivals_follow_job(o, words[0], &why);
        return err ? arrivals_end(err, &why) : interrupt_here() ? EXIT_INTERRUPTED : EXIT_OK;
    }
    if (!err) {
        err = arrivals_read_patterns(o, words[0], &list, &left, &why);
    }
    if (!err && list.count == 0) {
        err =
            ictus_because(&why, ICTUS_ERR_SAMPLES,
                          "%.200s contains no collective in which all members took part", words[0]);
    }
    err = err ? err : arrivals_put_all(o, &list, words[0], &why);
    ictus_arrivals_list_free(&list);
    if (err) {
        return arrivals_end(err, &why);
    }
    arrivals_say_left(&left);
    return EXIT_OK;
}

const struct command command_arrivals = {
    .name = "arrivals",
    .summary = "find out when processes arrive at a traced program's collectives",
    .arguments = "DIR|ARCHIVE|FILE",
    .details = "Patterns of an archive, of a job under ictus trace --statistics, or of a\n"
               "file that -o wrote; ictus bench replays them:\n"
               "  ictus arrivals ictus-trace -o patterns.jsonl\n"
               "  mpirun -n 4 ictus bench --arrival=file:patterns.jsonl,site=solver.c:120",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct arrivals_options),
    .run = arrivals_run,
};

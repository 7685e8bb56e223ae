/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus report: pictures of result files, as one web page or in the terminal. */
#include "main/command.h"
#include "main/output.h"
#include "main/shared_rows.h"
#include "results/experiments.h"
#include "results/report.h"
#include "results/report_patterns.h"
#include "results/report_template.h"
#include "results/timeline.h"

#include <errno.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <ictus/timeline.h>

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

struct report_options {
    const char *output;
    const char *page;
    const char *labels;
    bool force;
    int format;
    int64_t samples;
    int64_t width;
    struct progress_options talk;
};

enum { REPORT_PAGE, REPORT_TEXT };
static const char *const report_formats[] = {"page", "text", NULL};

#define AT(member) offsetof(struct report_options, member)

static const struct option_row rows[] = {
    ROW_FORMAT(AT(format), "page", report_formats,
               "page: a web page; text: tables and small charts in the terminal"),
    ROW_OUTPUT(AT(output), "FILE", "page to write; - means standard output"),
    ROW_FORCE(AT(force)),
    {"label", 0, OPTION_TEXT, AT(labels), NULL, 0, 0, NULL, "NAME,...",
     "names of the files in legends, separated by commas"},
    {"columns", 0, OPTION_INT, AT(width), "0", 0, 1000, NULL, "N",
     "width of the text in columns; 0 means as wide as the terminal"},
    {"samples", 0, OPTION_INT, AT(samples), "500000", 1, 1e8, NULL, "N",
     "largest number of raw samples; of more, every k-th is kept"},
    {"template", 0, OPTION_TEXT, AT(page), NULL, 0, 0, NULL, "FILE",
     "page template to fill instead of the built-in one"},
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

/* Slices of a trace in the page, which shall stay below 5 MB. */
static const size_t most_slices = 80000;

static void report_free_files(struct report *report)
{
    for (size_t i = 0; i < report->count; i++) {
        json_decref(report->files[i].objects);
        free(report->files[i].label);
    }
    free(report->files);
}

static bool report_is_archive(const char *path)
{
    struct stat status;
    const size_t length = strlen(path);
    const bool anchor = length > 5 && strcmp(path + length - 5, ".otf2") == 0;
    return anchor || (stat(path, &status) == 0 && S_ISDIR(status.st_mode));
}

#ifdef ICTUS_WITH_OTF2
static int report_read_archive(const char *path, json_t **objects, struct ictus_why *why)
{
    json_t *timeline = NULL;
    const int err = ictus_timeline_read(path, most_slices, &timeline, why);
    if (err) {
        return err;
    }
    (void)json_object_set_new(timeline, "archive", ictus_result_text(path));
    *objects = json_pack("[{s:s}, o]", "type", "header", timeline);
    return *objects ? ICTUS_OK : ICTUS_ERR_NOMEM;
}
#else
static int report_read_archive(const char *path, json_t **objects, struct ictus_why *why)
{
    (void)objects;
    return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                         "'%.200s' is an OTF2 archive, and this program was built without OTF2",
                         path);
}
#endif

static int report_read_file(struct report_file *file, struct ictus_why *why)
{
    if (report_is_archive(file->path)) {
        return report_read_archive(file->path, &file->objects, why);
    }
    if (timeline_is_trace(file->path)) {
        return timeline_read(file->path, most_slices, &file->objects, why);
    }
    const int err = experiments_read_objects(file->path, &file->objects, &file->skipped, why);
    if (!err) {
        report_thin_patterns(file->objects);
    }
    return err;
}

/* The i-th of some names that commas separate; NULL where there is none. *length is set. */
static const char *report_label_at(const char *names, int i, size_t *length)
{
    for (; names && i > 0; i--) {
        names = strchr(names, ',');
        names = names ? names + 1 : NULL;
    }
    *length = names ? strcspn(names, ",") : 0;
    return *length > 0 ? names : NULL;
}

/* One name for each file, before any file is read. */
static int report_check_labels(const char *names, int count, struct ictus_why *why)
{
    size_t length = 0;
    int given = 1;
    if (!names) {
        return ICTUS_OK;
    }
    for (const char *c = names; *c; c++) {
        given += *c == ',';
    }
    for (int i = 0; i < given && given == count; i++) {
        if (!report_label_at(names, i, &length)) {
            return ictus_because(why, ICTUS_ERR_ARG, "--label=%.200s: name %d is empty", names,
                                 i + 1);
        }
    }
    if (given != count) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--label names %d of %d files: give a name for each, separated by "
                             "commas",
                             given, count);
    }
    return ICTUS_OK;
}

static int report_read_files(int count, char **words, const char *labels, struct report *report,
                             struct ictus_why *why)
{
    report->files = calloc((size_t)count, sizeof(*report->files));
    if (!report->files) {
        return ICTUS_ERR_NOMEM;
    }
    for (int i = 0; i < count; i++) {
        struct report_file *file = &report->files[i];
        size_t length = 0;
        const char *label = report_label_at(labels, i, &length);
        file->path = words[i];
        file->label = label ? strndup(label, length) : NULL;
        length = strlen(words[i]);
        if (length > 1 && words[i][length - 1] == '/') {
            words[i][length - 1] = '\0'; /* "run1/" means run1 */
        }
        const int err = report_read_file(file, why);
        if (err) {
            return err;
        }
        report->count++;
    }
    return ICTUS_OK;
}

/* The page beside the first file: x.ictus.jsonl becomes x.html. */
static int default_output(const char *first, char *path, size_t size, struct ictus_why *why)
{
    static const char *const ends[] = {".ictus.jsonl", ".jsonl", ".json", ".txt", NULL};
    size_t length = strlen(first);
    for (int i = 0; ends[i]; i++) {
        const size_t end = strlen(ends[i]);
        if (length > end && strcmp(first + length - end, ends[i]) == 0) {
            length -= end;
            break;
        }
    }
    const int wanted = snprintf(path, size, "%.*s.html", (int)length, first);
    if (wanted < 0 || (size_t)wanted >= size) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "the file's name is too long; name the page with -o FILE");
    }
    return ICTUS_OK;
}

/* Whether the file is a report page, or empty, and so may be replaced. */
static bool report_is_page(const char *path)
{
    static const char start[] = "<!doctype html";
    char begin[sizeof(start)] = "";
    FILE *file = fopen(path, "re");
    const size_t got = file ? fread(begin, 1, sizeof(begin) - 1, file) : 0;
    if (file) {
        (void)fclose(file);
    }
    return got == 0 || strncasecmp(begin, start, sizeof(start) - 1) == 0;
}

static int report_refuse_overwrite(const char *output, bool force, int count, char **words,
                                   struct ictus_why *why)
{
    const int err = output_allowed(output, true, count, words, why);
    struct stat out;
    if (err || force || stat(output, &out) || !S_ISREG(out.st_mode) || report_is_page(output)) {
        return err;
    }
    return ictus_because(why, ICTUS_ERR_EXISTS,
                         "'%.200s' exists and is not a report page; use --force to replace it",
                         output);
}

static int report_read_page(const char *path, char **text, size_t *size, struct ictus_why *why)
{
    errno = 0;
    FILE *file = fopen(path, "re");
    size_t used = 0;
    size_t room = 1 << 16;
    char *bytes = file ? malloc(room) : NULL;
    while (bytes) {
        const size_t got = fread(bytes + used, 1, room - used, file);
        used += got;
        if (got == 0) {
            break;
        }
        if (used == room) {
            room *= 2;
            char *more = realloc(bytes, room);
            if (!more) {
                free(bytes);
            }
            bytes = more;
        }
    }
    const bool failed = !bytes || ferror(file);
    const int reason = errno;
    if (file) {
        (void)fclose(file);
    }
    if (failed) {
        free(bytes);
        return ictus_because(why, ICTUS_ERR_ARG, "--template: cannot read '%.200s': %s", path,
                             strerror(reason ? reason : EIO));
    }
    *text = bytes;
    *size = used;
    return ICTUS_OK;
}

static int page_write(const struct report *report, const struct report_options *options,
                      const char *output, struct ictus_why *why)
{
    if (options->page) {
        char *text = NULL;
        size_t size = 0;
        int err = report_read_page(options->page, &text, &size, why);
        if (!err) {
            err = report_write_page(report, output, text, size, why);
        }
        free(text);
        return err;
    }
    if (report_template_size == 0) {
        return ictus_because(why, ICTUS_ERR_UNSUPPORTED,
                             "this build has no report page: %s; use --format=text",
                             report_template_why);
    }
    return report_write_page(report, output, (const char *)report_template, report_template_size,
                             why);
}

/* --columns, else $COLUMNS, else the terminal's own width; 80 where nothing tells. */
static int terminal_width(int64_t wanted)
{
    enum { COLUMNS_DEFAULT = 80, COLUMNS_MAX = 1000 };
    struct winsize window;
    const char *text = getenv("COLUMNS");
    char *end = NULL;
    const long told = text ? strtol(text, &end, 10) : 0;
    if (wanted > 0) {
        return (int)wanted;
    }
    if (told > 0 && told <= COLUMNS_MAX && *end == '\0') {
        return (int)told;
    }
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) {
        return window.ws_col;
    }
    return COLUMNS_DEFAULT;
}

static int report_make_page(const struct report *report, const struct report_options *options,
                            int count, char **words, struct ictus_why *why)
{
    char beside[4096];
    const char *output = options->output;
    int err = ICTUS_OK;
    if (!output) {
        err = default_output(words[0], beside, sizeof(beside), why);
        output = beside;
    }
    if (!err) {
        err = report_refuse_overwrite(output, options->force, count, words, why);
    }
    if (!err) {
        err = page_write(report, options, output, why);
    }
    if (!err && strcmp(output, "-") != 0) {
        printf("%s\n", output);
    }
    return err;
}

static int report_command(const void *given, int word_count, char **words)
{
    const struct report_options *options = given;
    struct report report = {NULL, 0, options->samples};
    struct ictus_why why = {""};
    struct progress_watch watch;
    if (word_count < 1) {
        const int err = ictus_because(&why, ICTUS_ERR_ARG,
                                      "name a result file, such as 'ictus bench -o FILE' writes");
        return command_fail("report", err, &why);
    }
    int err = report_check_labels(options->labels, word_count, &why);
    if (!err && options->format == REPORT_TEXT && options->output) {
        err = ictus_because(&why, ICTUS_ERR_ARG,
                            "--output names the page, but --format=text prints on standard "
                            "output; redirect that");
    }
    if (!err) {
        progress_watch_begin(&watch, &options->talk, "report", word_count, words);
        err = report_read_files(word_count, words, options->labels, &report, &why);
        progress_watch_end(&watch);
    }
    if (err == ICTUS_ERR_IO || err == ICTUS_ERR_CORRUPT) {
        err = ICTUS_ERR_FORMAT; /* what cannot be read is bad input: nothing was written yet */
    }
    if (!err) {
        for (size_t i = 0; i < report.count && !options->talk.quiet; i++) {
            experiments_tell_skipped("report", report.files[i].path, report.files[i].skipped);
        }
        if (options->format == REPORT_TEXT) {
            report_print_text(&report, terminal_width(options->width));
        } else {
            err = report_make_page(&report, options, word_count, words, &why);
        }
    }
    report_free_files(&report);
    return err ? command_fail("report", err, &why) : EXIT_OK;
}

const struct command command_report = {
    .name = "report",
    .summary = "draw result files: one web page that needs no network, or text",
    .arguments = "FILE...",
    .details = "Several files are compared. Without -o the page goes next to the first file:\n"
               "  ictus report run.jsonl            writes run.html\n"
               "  ictus report a.jsonl b.jsonl --label=before,after -o both.html\n"
               "  ictus report run1                 the archive of 'ictus trace -o run1'\n"
               "  ictus report --format=text run.jsonl",
    .options = rows,
    .flags = READS_FILES | REMAKES_OUTPUT,
    .options_size = sizeof(struct report_options),
    .run = report_command,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus at: start a command at an agreed instant of the locked clock (M00's synchronised RESET). */
#include "main/command.h"
#include "main/header.h"
#include "main/shared_rows.h"

#include <errno.h>
#include <ictus/lock_daemon.h>
#include <ictus/result.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct at_options {
    struct ictus_at_when when;
    const char *name, *directory, *output;
    double tolerance_s;
    bool bound, quiet, force;
};

#define AT(member) offsetof(struct at_options, member)

static const struct option_row rows[] = {
    {"when", 0, OPTION_TEXT, AT(when.when), NULL, 0, 0, NULL, "INSTANT",
     "+2min, 2026-12-01T12:00:30Z, @1795000000.5"},
    {"next-odd-minute", 0, OPTION_INT, AT(when.odd_minute_s), NULL, 0, 59, NULL, "SECOND",
     "start at this second of the next odd-numbered minute"},
    {"align", 0, OPTION_SECONDS, AT(when.align_s), "0s", 0, 86400, NULL, "TIME",
     "round the instant up to a multiple of this"},
    {"tolerance", 0, OPTION_SECONDS, AT(tolerance_s), "100us", 0, 10, NULL, "TIME",
     "refuse to start if the clock's +- (2 sigma) is larger"},
    {"bound", 0, OPTION_FLAG, AT(bound), NULL, 0, 0, NULL, NULL,
     "compare the hard bound with --tolerance instead"},
    ROW_NAME(AT(name)),
    ROW_DIRECTORY(AT(directory)),
    ROW_OUTPUT(AT(output), "FILE", "also write a result file (JSON lines)"),
    ROW_FORCE(AT(force)),
    ROW_QUIET(AT(quiet), "do not print how late the command started"),
    ROW_END};

struct start {
    const struct at_options *options;
    FILE *file; /* the command owns standard output, so results go to a file alone */
};

static int at_put(FILE *file, json_t *object)
{
    const int bad = !object || json_dumpf(object, file, JSON_COMPACT | JSON_REAL_PRECISION(15)) ||
                    fputc('\n', file) == EOF || fflush(file) == EOF;
    json_decref(object);
    return bad ? ICTUS_ERR_IO : ICTUS_OK;
}

static int at_open_results(const char *path, FILE **file, struct ictus_why *why)
{
    const struct header_facts facts = {.command = "at"};
    *file = fopen(path, "we");
    if (!*file) {
        return ictus_because(why, ICTUS_ERR_IO, "cannot write %.200s: %s", path, strerror(errno));
    }
    json_t *header = header_create(&facts);
    if (header) {
        (void)json_object_set_new(header, "schema", json_string("ictus-result/1"));
    }
    return at_put(*file, header);
}

static void at_print_instant(struct ictus_time instant, char text[48])
{
    const time_t seconds = (time_t)(instant.ns / ICTUS_NS_PER_S);
    struct tm utc;
    char date[32] = "";
    if (gmtime_r(&seconds, &utc)) {
        (void)strftime(date, sizeof(date), "%Y-%m-%dT%H:%M:%S", &utc);
    }
    (void)snprintf(text, 48, "%s.%09" PRId64 "Z", date, instant.ns % ICTUS_NS_PER_S);
}

/* The command owns standard output. */
static void at_on_start(const struct ictus_at_report *report, void *context)
{
    const struct start *start = context;
    char text[48];
    at_print_instant(report->instant, text);
    if (!start->options->quiet) {
        (void)fprintf(stderr,
                      "ictus at: %s: %.3f us late, running %.3f us later; clock +-%.3f us, bound "
                      "%.3f us\n",
                      text, report->lateness_ns / 1e3, report->exec_ns / 1e3,
                      2.0 * report->sigma_ns / 1e3, report->bound_ns / 1e3);
    }
    if (start->file) {
        char host[256] = "";
        (void)gethostname(host, sizeof(host) - 1);
        (void)at_put(start->file,
                     json_pack("{s:s, s:o, s:I, s:f, s:f, s:f, s:f}", "type", "at", "host",
                               ictus_result_text(host), "instant_ns",
                               (json_int_t)report->instant.ns, "lateness_ns", report->lateness_ns,
                               "exec_ns", report->exec_ns, "sigma_ns", report->sigma_ns, "bound_ns",
                               report->bound_ns));
    }
}

static int at_exit_code(int status)
{
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int at_fail(int err, const struct ictus_why *why)
{
    const int code = command_fail("at", err, why);
    return err == ICTUS_ERR_TOLERANCE || err == ICTUS_ERR_CLOCK ? EXIT_BELOW : code;
}

static int at_start_command(const struct at_options *o, struct ictus_lock *lock, char **command,
                            FILE *file)
{
    struct start start = {.options = o, .file = file};
    struct ictus_at_report report;
    struct ictus_lock_reading now;
    struct ictus_time instant;
    struct ictus_why why = {""};
    int err = ictus_lock_now(lock, &now);
    if (err) {
        (void)ictus_because(&why, ICTUS_ERR_CLOCK, "the clock is not locked yet");
        return at_fail(ICTUS_ERR_CLOCK, &why);
    }
    err = ictus_at_instant(&o->when, now.time, &instant, &why);
    if (!err) {
        char text[48];
        at_print_instant(instant, text);
        if (!o->quiet) {
            (void)fprintf(stderr, "ictus at: waiting for %s\n", text);
        }
        const struct ictus_at_start at = {.instant = instant,
                                          .command = command,
                                          .tolerance_ns = o->tolerance_s * 1e9,
                                          .use_bound = o->bound,
                                          .on_start = at_on_start,
                                          .context = &start};
        err = ictus_at_run(lock, &at, &report, &why);
    }
    return err ? at_fail(err, &why) : at_exit_code(report.status);
}

static int at_start(const struct at_options *o, char **command)
{
    FILE *file = NULL;
    struct ictus_lock *lock = NULL;
    struct ictus_why why = {""};
    /* A mistake in the command line is reported whatever state the clock is in. */
    int err = ictus_at_check(&o->when, &why);
    err = err ? err : ictus_lock_open_guarded(o->name, o->directory, &lock, &why);
    if (err) {
        return command_fail("at", err, &why);
    }
    if (o->output) {
        err = at_open_results(o->output, &file, &why);
    }
    int code = err ? command_fail("at", err, &why) : at_start_command(o, lock, command, file);
    if (file && (ferror(file) || fclose(file)) && code == EXIT_OK) {
        code = command_fail("at", ICTUS_ERR_IO, NULL);
    }
    ictus_lock_close(lock);
    return code;
}

static int at_run(const void *options, int word_count, char **words)
{
    struct ictus_why why = {""};
    if (word_count < 1) {
        (void)ictus_because(&why, ICTUS_ERR_SPEC,
                            "the command to start is missing: ictus at --when=+10s -- date");
        return command_fail("at", ICTUS_ERR_SPEC, &why);
    }
    char **command = calloc((size_t)word_count + 1, sizeof(*command)); /* ends with NULL */
    if (!command) {
        return command_fail("at", ICTUS_ERR_NOMEM, NULL);
    }
    memcpy(command, words, (size_t)word_count * sizeof(*command));
    const int code = at_start(options, command);
    free(command);
    return code;
}

const struct command command_at = {
    .name = "at",
    .summary = "start a command at an agreed instant of the locked clock",
    .arguments = "-- COMMAND...",
    .details = "  ictus at --when=+10s --align=10s -- ./measure\n"
               "  ictus at --next-odd-minute=30 --tolerance=5us -- ./measure",
    .options = rows,
    .flags = 0,
    .options_size = sizeof(struct at_options),
    .run = at_run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus trace: run a program under the tracer. */
#include "main/command.h"
#include "main/output.h"
#include "main/shared_rows.h"
#include "traces/trace_target.h"

#include <ictus/study.h>
#include <ictus/text.h>
#include <ictus/trace.h>

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct trace_options {
    const char *output, *clock, *sync, *filter, *metrics, *scratch;
    double metrics_every_s, resync_every_s;
    int64_t resync_barriers, requests;
    uint64_t buffer, window, limit;
    bool force, keep, defer, off, quiet, statistics;
};

#define AT(member) offsetof(struct trace_options, member)

static const struct option_row rows[] = {
    ROW_OUTPUT(AT(output), "DIR", "directory to write the archive to (required)"),
    ROW_FORCE(AT(force)),
    {"clock", 'c', OPTION_TEXT, AT(clock), NULL, 0, 0, NULL, "SRC",
     "time source; by default the time stamp counter if it is usable"},
    ROW_SYNC(AT(sync)),
    {"resync-every", 0, OPTION_SECONDS, AT(resync_every_s), "0", 0, 1e6, NULL, "TIME",
     "how often to synchronise again, at the next world collective; 0 means "
     "never"},
    {"resync-barriers", 0, OPTION_INT, AT(resync_barriers), "0", 0, 1e9, NULL, "N",
     "synchronise again at every N-th barrier of MPI_COMM_WORLD"},
    {"statistics", 0, OPTION_FLAG, AT(statistics), NULL, 0, 0, NULL, NULL,
     "no events: only when processes arrive at collectives"},
    {"filter", 0, OPTION_TEXT, AT(filter), NULL, 0, 0, NULL, "LIST",
     "functions and groups to record: p2p,coll or -MPI_Iprobe,-type"},
    {"off", 0, OPTION_FLAG, AT(off), NULL, 0, 0, NULL, NULL,
     "do not record before MPI_Pcontrol(1)"},
    {"metrics", 0, OPTION_TEXT, AT(metrics), NULL, 0, 0, NULL, "LIST",
     "counters to record: page_faults,context_switches,cycles,..."},
    {"metrics-every", 0, OPTION_SECONDS, AT(metrics_every_s), "1ms", 0, 3600, NULL, "TIME",
     "time between two samples of a thread's counters"},
    {"buffer", 0, OPTION_BYTES, AT(buffer), "16M", 8388608, 1e12, NULL, "BYTES",
     "memory that tracing may add to a process"},
    {"window", 0, OPTION_BYTES, AT(window), "0", 0, 1e12, NULL, "BYTES",
     "part of it for the events of each thread; 0 means a share"},
    {"limit", 0, OPTION_BYTES, AT(limit), "0", 0, 1e18, NULL, "BYTES",
     "largest size of a thread's raw events; 0 means no limit"},
    {"requests", 0, OPTION_INT, AT(requests), "0", 0, 1e9, NULL, "N",
     "active requests to follow at a time; 0 means as many as --buffer "
     "allows"},
    {"scratch", 0, OPTION_TEXT, AT(scratch), NULL, 0, 0, NULL, "DIR",
     "directory for the raw files, such as one on a local disk"},
    {"keep", 0, OPTION_FLAG, AT(keep), NULL, 0, 0, NULL, NULL, "keep the raw files"},
    {"defer", 0, OPTION_FLAG, AT(defer), NULL, 0, 0, NULL, NULL,
     "only write raw files; 'ictus recover' makes the archive later"},
    ROW_QUIET(AT(quiet), "print no summary at the end"),
    ROW_END};

/* Every process has the same fault, and one of them reports it. */
static int trace_fail(int err, const struct ictus_why *why)
{
    if (command_launched_rank() == 0) {
        return command_fail("trace", err, why);
    }
    (void)command_speaks();
    return EXIT_USAGE;
}

static void trace_set_text(const char *name, const char *value)
{
    if (value && value[0]) {
        (void)setenv(name, value, 1);
    } else {
        (void)unsetenv(name);
    }
}

static void trace_set_number(const char *name, const char *format, double value)
{
    char text[64];
    (void)snprintf(text, sizeof(text), format, value);
    (void)setenv(name, text, 1);
}

static void trace_set_path(const char *name, const char *path)
{
    char here[PATH_MAX];
    char whole[2 * PATH_MAX];
    if (path && path[0] != '/' && getcwd(here, sizeof(here))) {
        (void)snprintf(whole, sizeof(whole), "%s/%s", here, path);
        trace_set_text(name, whole);
    } else {
        trace_set_text(name, path);
    }
}

/* Put a text in front of a variable that is a list. */
static void trace_put_before(const char *name, const char *text)
{
    char whole[4 * PATH_MAX];
    const char *before = getenv(name);
    const bool more = before && before[0];
    (void)snprintf(whole, sizeof(whole), "%s%s%s", text, more ? ":" : "", more ? before : "");
    (void)setenv(name, whole, 1);
}

/*
 * LD_PRELOAD is split at blanks and LD_LIBRARY_PATH is not, so a library whose path has a blank is
 * found by name.
 */
static void trace_set_preload(const char *library)
{
    char directory[PATH_MAX];
    const char *last = strrchr(library, '/');
    if (!last || !strchr(library, ' ')) {
        trace_put_before("LD_PRELOAD", library);
        return;
    }
    (void)snprintf(directory, sizeof(directory), "%.*s", (int)(last - library), library);
    trace_put_before("LD_LIBRARY_PATH", directory);
    trace_put_before("LD_PRELOAD", last + 1);
}

static void trace_set_environment(const struct trace_options *o, const char *library)
{
    trace_set_path("ICTUS_TRACE_OUTPUT", o->output);
    trace_set_path("ICTUS_TRACE_SCRATCH", o->scratch);
    trace_set_text("ICTUS_TRACE_SYNC", o->sync);
    trace_set_text("ICTUS_TRACE_CLOCK", o->clock);
    trace_set_text("ICTUS_TRACE_FILTER", o->filter);
    trace_set_text("ICTUS_TRACE_METRICS", o->metrics);
    trace_set_number("ICTUS_TRACE_METRICS_EVERY", "%.9f", o->metrics_every_s);
    trace_set_number("ICTUS_TRACE_RESYNC_EVERY", "%.9f", o->resync_every_s);
    trace_set_number("ICTUS_TRACE_RESYNC_BARRIERS", "%.0f", (double)o->resync_barriers);
    trace_set_number("ICTUS_TRACE_BUFFER", "%.0f", (double)o->buffer);
    trace_set_number("ICTUS_TRACE_WINDOW", "%.0f", (double)o->window);
    trace_set_number("ICTUS_TRACE_LIMIT", "%.0f", (double)o->limit);
    trace_set_number("ICTUS_TRACE_REQUESTS", "%.0f", (double)o->requests);
    trace_set_text("ICTUS_TRACE_FORCE", o->force ? "1" : NULL);
    trace_set_text("ICTUS_TRACE_KEEP", o->keep ? "1" : NULL);
    trace_set_text("ICTUS_TRACE_DEFER", o->defer ? "1" : NULL);
    trace_set_text("ICTUS_TRACE_STATISTICS", o->statistics ? "1" : NULL);
    trace_set_text("ICTUS_TRACE_OFF", o->off ? "1" : NULL);
    trace_set_text("ICTUS_TRACE_QUIET", o->quiet ? "1" : NULL);
    trace_set_number("ICTUS_TRACE_PID", "%.0f", (double)getpid());
    trace_set_preload(library);
}

static int trace_check_directory(const struct trace_options *o, struct ictus_why *why)
{
    char path[PATH_MAX];
    static const char *const results[] = {"traces.otf2", "arrivals.jsonl"};
    /*
     * Every process looks: one that went on alone would wait for the others in MPI_Init for ever
     * where the launcher lets it (MPICH's). None can be too late, since the archive is written when
     * all of them finalize.
     */
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", o->output, results[i]);
        if (!o->force && access(path, F_OK) == 0) {
            return ictus_because(why, ICTUS_ERR_EXISTS,
                                 "%.200s already holds %s; use --force to replace it", o->output,
                                 i == 0 ? "an archive" : results[i]);
        }
    }
    return output_possible_directory(o->scratch, why);
}

/* The value that the tracer will use: the option's, else the variable's. NULL if neither is set. */
static const char *trace_given_text(const char *option, const char *variable)
{
    const char *text = option && option[0] ? option : getenv(variable);
    return text && text[0] ? text : NULL;
}

/*
 * The tracer must never end a program because of a wrong option, but this command, which starts
 * both, can refuse to.
 */
static int trace_check_words(const struct trace_options *o, struct ictus_why *why)
{
    const char *clock = trace_given_text(o->clock, "ICTUS_CLOCK");
    const char *sync = trace_given_text(o->sync, "ICTUS_SYNC");
    int err = clock ? ictus_source_check(clock, why) : ICTUS_OK;
    if (!err && sync) {
        err = ictus_sync_check(sync, why);
    }
    if (!err && o->filter) {
        err = ictus_trace_filter_check(o->filter, why);
    }
    return !err && o->metrics ? ictus_trace_metrics_check(o->metrics, why) : err;
}

static int trace_check_options(const struct trace_options *o, struct ictus_why *why)
{
    if (!o->output) {
        return ictus_because(why, ICTUS_ERR_ARG, "name the directory of the archive with -o DIR");
    }
    if (o->statistics && o->metrics && o->metrics[0]) {
        return ictus_because(why, ICTUS_ERR_ARG,
                             "--metrics samples counters as events, of which --statistics records "
                             "none; leave one of them out");
    }
    return trace_check_words(o, why);
}

static int trace_run_program(const struct trace_options *o, char **words)
{
    char library[PATH_MAX];
    struct ictus_why why = {""};
    int err = trace_check_options(o, &why);
    if (err) {
        return trace_fail(err, &why);
    }
    err = trace_target_check(words[0], &why);
    if (!err && why.text[0] && command_launched_rank() == 0) {
        (void)fprintf(stderr, "ictus trace: %s\n", why.text);
    }
    if (!err) {
        err = trace_check_directory(o, &why);
    }
    if (!err) {
        err = trace_target_library(library, sizeof(library), &why);
    }
    if (err) {
        return trace_fail(err, &why);
    }
    trace_set_environment(o, library);
    (void)execvp(words[0], words);
    (void)ictus_because(&why, ICTUS_ERR_IO, "cannot run '%.200s': %s", words[0], strerror(errno));
    return trace_fail(ICTUS_ERR_IO, &why);
}

static int trace_run(const void *options, int word_count, char **words)
{
    const struct trace_options *o = options;
    struct ictus_why why = {""};
    if (word_count == 0) {
        (void)ictus_because(&why, ICTUS_ERR_ARG,
                            "the program to trace is missing: ictus trace -o DIR -- ./app");
        return trace_fail(ICTUS_ERR_ARG, &why);
    }
    words[word_count] = NULL;
    return trace_run_program(o, words);
}

const struct command command_trace = {
    .name = "trace",
    .summary = "trace an unchanged MPI program into an OTF2 archive on one clock",
    .arguments = "-- PROGRAM [ARGUMENT...]",
    .details = "mpirun -n 4 ictus trace -o run1 -- ./app\n"
               "ictus report run1",
    .options = rows,
    .flags = 0,
    .options_size = sizeof(struct trace_options),
    .run = trace_run,
};

/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus correct: repair the timestamps of an OTF2 archive. */
#include "main/command.h"
#include "main/output.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "traces/archive_word.h"
#include "traces/keep_memory.h"
#include "traces/trace_text.h"

#include <ictus/correct.h>
#include <ictus/text.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct correct_options {
    const char *output, *truth, *report, *latency, *node_latency;
    int presync, format;
    double gamma, slope, error;
    int64_t passes;
    bool force;
    struct progress_options talk;
};

static const char *const presyncs[] = {"auto",    "none",     "offset", "linear",
                                       "archive", "messages", NULL};

#define AT(member) offsetof(struct correct_options, member)

static const struct option_row rows[] = {
    ROW_OUTPUT(AT(output), "DIR", "directory to write the archive to (required)"),
    {"presync", 0, OPTION_CHOICE, AT(presync), "auto", 0, 0, presyncs, "KIND",
     "bring clocks together by: none, offset, linear, archive, messages, auto"},
    {"gamma", 0, OPTION_REAL, AT(gamma), "0.99", 0, 0.9999999, NULL, "X",
     "rate at which clocks run after a jump, in the first pass"},
    {"passes", 0, OPTION_INT, AT(passes), "3", 1, 20, NULL, "N",
     "largest number of passes, each with a smaller gamma"},
    {"max-error", 0, OPTION_SECONDS, AT(error), "1ms", 0, 1e9, NULL, "TIME",
     "make another pass if the last event is later by more than this"},
    {"slope", 0, OPTION_RATIO, AT(slope), "1%", 1e-9, 1, NULL, "RATIO",
     "how much intervals before a jump may be stretched"},
    {"latency", 0, OPTION_TEXT, AT(latency), "estimate", 0, 0, NULL, "TIME",
     "smallest delay between processes, or 'estimate'"},
    {"node-latency", 0, OPTION_TEXT, AT(node_latency), NULL, 0, 0, NULL, "TIME",
     "smallest delay within a node; as --latency"},
    {"truth", 0, OPTION_TEXT, AT(truth), NULL, 0, 0, NULL, "ARCHIVE",
     "archive with the true times, to compare the result with"},
    {"report", 0, OPTION_TEXT, AT(report), NULL, 0, 0, NULL, "FILE",
     "also write a result file (JSON lines)"},
    {"force", 0, OPTION_FLAG, AT(force), NULL, 0, 0, NULL, NULL,
     "replace an existing file of --report"},
    ROW_FORMAT(AT(format), "text", trace_formats, "format of standard output: text, json"),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

/* A least delay: a time, or a negative number for "estimate" and nothing. */
static int correct_read_latency(const char *text, double *seconds, struct ictus_why *why)
{
    *seconds = -1;
    if (!text || strcmp(text, "estimate") == 0) {
        return ICTUS_OK;
    }
    if (ictus_parse_seconds(text, seconds) || *seconds < 0) {
        return ictus_because(why, ICTUS_ERR_SPEC, "'%s' is not a latency; write a time such as 1us",
                             text);
    }
    return ICTUS_OK;
}

static int correct_fill(const struct correct_options *o, const char *in,
                        struct ictus_correct_options *options, struct ictus_why *why)
{
    ictus_correct_defaults(options);
    options->in = in;
    options->out = o->output;
    options->truth = o->truth;
    options->presync = (enum ictus_presync)o->presync;
    options->gamma = o->gamma;
    options->passes = (int)o->passes;
    options->error_s = o->error;
    options->slope = o->slope;
    if (o->passes == 1 && options_is_set(options_row(rows, "max-error"), o)) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "--max-error has an effect only with --passes of 2 or more");
    }
    const int err = correct_read_latency(o->latency, &options->latency_s, why);
    return err ? err : correct_read_latency(o->node_latency, &options->node_latency_s, why);
}

/* Collective: rank 0 looks, since it writes the file while others may still be on their way. */
static int report_allowed(const struct correct_options *o, char *in, struct ictus_why *why)
{
    int err = ICTUS_OK;
    if (command_rank() == 0) {
        err = output_possible(o->report, why);
        err = err ? err : output_allowed(o->report, o->force, 1, &in, why);
    }
    return results_agree(err, why);
}

static int correct_run(const void *options, int word_count, char **words)
{
    const struct correct_options *o = options;
    struct ictus_correct_options wanted;
    struct ictus_why why = {""};
    struct progress_watch watch;
    json_t *report = NULL;
    int err = archive_word_require_output(word_count, o->output, &why);
    err = err ? err : correct_fill(o, words[0], &wanted, &why);
    err = err ? err : report_allowed(o, words[0], &why);
    keep_memory();
    if (!err) {
        progress_watch_begin(&watch, &o->talk, "correct", word_count, words);
        err = command_size() > 1 ? ictus_correct_mpi(MPI_COMM_WORLD, &wanted, &report, &why)
                                 : ictus_correct(&wanted, &report, &why);
        progress_watch_end(&watch);
    }
    if (err) {
        const int code = command_fail("correct", err, &why);
        return err == ICTUS_ERR_CORRUPT || err == ICTUS_ERR_FORMAT ? EXIT_USAGE : code;
    }
    const struct header_facts facts = {.command = "correct", .rows = rows, .options = options};
    err = trace_text_put(&facts, o->format, o->report, report, &why);
    return err ? command_fail("correct", err, &why) : EXIT_OK;
}

const struct command command_correct = {
    .name = "correct",
    .summary = "repair the timestamps of an OTF2 archive",
    .arguments = "ARCHIVE",
    .details = "Uses the extended controlled logical clock; only times are changed.\n"
               "example: ictus correct scorep-run -o corrected\n"
               "         mpirun -n 8 ictus correct scorep-run -o corrected",
    .options = rows,
    .flags = USES_MPI | READS_FILES,
    .options_size = sizeof(struct correct_options),
    .run = correct_run,
};

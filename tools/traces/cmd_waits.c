/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus waits: who waited for whom in a traced program, and how sure that is. */
#include "main/command.h"
#include "main/shared_rows.h"
#include "traces/analysis.h"
#include "traces/together.h"
#include "traces/trace_text.h"

#include <ictus/waits.h>
#include <stddef.h>

struct waits_options {
    int format;
    const char *output;
    const char *bench;
    double fail_above;
    bool force;
    struct progress_options talk;
};

#define AT(member) offsetof(struct waits_options, member)

static const struct option_row rows[] = {
    {"bench", 0, OPTION_TEXT, AT(bench), NULL, 0, 0, NULL, "FILE",
     "compare collectives with what they cost in this result of ictus bench"},
    {"fail-above", 0, OPTION_RATIO, AT(fail_above), "100%", 0, 1, NULL, "RATIO",
     "exit with code 3 if more of the time is certainly waiting, e.g. 20%"},
    ROW_FORMAT(AT(format), "text", trace_formats, "format of standard output: text, json"),
    ROW_OUTPUT(AT(output), "FILE", "also write a result file (JSON lines)"),
    ROW_FORCE(AT(force)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static int waits_command_find(const char *archive, const void *options, json_t **report,
                              struct ictus_why *why)
{
    const struct waits_options *o = options;
    json_t *results = NULL;
    int err = o->bench ? together_read(o->bench, &results, why) : ICTUS_OK;
    err = err ? err : ictus_waits(archive, report, why);
    if (!err && results) {
        err = together_add(archive, results, *report, why);
        if (!err && !o->talk.quiet) {
            together_tell_missing(o->bench, *report);
        }
    }
    json_decref(results);
    return err;
}

/* Whether the least share that the waits may have is larger than is allowed. */
static bool waits_exceed(const json_t *report, const void *options)
{
    const struct waits_options *o = options;
    const json_t *whole = json_array_get(report, 0);
    const double time = json_number_value(json_object_get(whole, "rank_time_s"));
    return time > 0 &&
           json_number_value(json_object_get(whole, "wait_low_s")) / time > o->fail_above;
}

static int waits_run_analysis(const void *options, int word_count, char **words)
{
    const struct waits_options *o = options;
    const struct analysis analysis = {
        .facts = {.command = "waits", .rows = rows, .options = options},
        .talk = &o->talk,
        .format = o->format,
        .output = o->output,
        .find = waits_command_find,
        .exceeds = waits_exceed,
    };
    return analysis_run(&analysis, word_count, words);
}

const struct command command_waits = {
    .name = "waits",
    .summary = "find out who waited for whom in a traced program",
    .arguments = "ARCHIVE",
    .details = "Wait states of any OTF2 archive, each with its 95 % interval.\n"
               "Exit code 3: more waiting than --fail-above; 2: the archive cannot be read.\n"
               "example: ictus waits ictus-trace --fail-above=20%",
    .options = rows,
    .flags = USES_MPI | READS_FILES,
    .options_size = sizeof(struct waits_options),
    .run = waits_run_analysis,
};

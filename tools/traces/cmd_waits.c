/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus waits: who waited for whom in a traced program, and how sure that is. */
#include "main/command.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "traces/keep_memory.h"
#include "traces/lead.h"
#include "traces/trace_text.h"

#include <ictus/text.h>
#include <ictus/waits.h>
#include <stddef.h>

struct waits_options {
    int format;
    const char *output;
    double fail_above;
    bool force;
    struct progress_options talk;
};

#define AT(member) offsetof(struct waits_options, member)

static const struct option_row rows[] = {
    {"fail-above", 0, OPTION_RATIO, AT(fail_above), "100%", 0, 1, NULL, "RATIO",
     "exit with code 3 if more of the time is certainly waiting, e.g. 20%"},
    ROW_FORMAT(AT(format), "text", trace_formats, "format of standard output: text, json"),
    ROW_OUTPUT(AT(output), "FILE", "also write a result file (JSON lines)"),
    ROW_FORCE(AT(force)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

/* The least share that the waits may have. */
static double waits_certain_share(const json_t *report)
{
    const json_t *whole = json_array_get(report, 0);
    const double time = json_number_value(json_object_get(whole, "rank_time_s"));
    return time > 0 ? json_number_value(json_object_get(whole, "wait_low_s")) / time : 0;
}

static int waits_run_report(const void *options, int word_count, char **words)
{
    const struct waits_options *o = options;
    struct ictus_why why = {""};
    struct progress_watch watch;
    json_t *report = NULL;
    int err = ICTUS_OK;
    if (word_count != 1) {
        (void)ictus_because(&why, ICTUS_ERR_ARG,
                            "name one archive, by its directory or its anchor file");
        return command_fail("waits", ICTUS_ERR_ARG, &why);
    }
    keep_memory();
    if (lead_begin()) {
        progress_watch_begin(&watch, &o->talk, "waits", word_count, words);
        err = ictus_waits(words[0], &report, &why);
        progress_watch_end(&watch);
    }
    lead_end();
    err = results_agree(err, &why);
    if (err) {
        const int code = command_fail("waits", err, &why);
        return code == EXIT_FAILED && err != ICTUS_ERR_NOMEM ? EXIT_USAGE : code;
    }
    const bool above = lead_agree(waits_certain_share(report) > o->fail_above);
    const struct header_facts facts = {.command = "waits", .rows = rows, .options = options};
    err = trace_text_put(&facts, o->format, o->output, report, &why);
    if (err) {
        return command_fail("waits", err, &why);
    }
    return above ? EXIT_BELOW : EXIT_OK;
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
    .run = waits_run_report,
};

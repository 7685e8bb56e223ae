/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus check: count clock-condition violations in an OTF2 archive. */
#include "main/command.h"
#include "main/results.h"
#include "main/shared_rows.h"
#include "traces/keep_memory.h"
#include "traces/lead.h"
#include "traces/trace_text.h"

#include <ictus/correct.h>
#include <ictus/text.h>
#include <stddef.h>

struct check_options {
    int format;
    const char *output;
    bool force;
    struct progress_options talk;
};

#define AT(member) offsetof(struct check_options, member)

static const struct option_row rows[] = {
    ROW_FORMAT(AT(format), "text", trace_formats, "format of standard output: text, json"),
    ROW_OUTPUT(AT(output), "FILE", "also write a result file (JSON lines)"), ROW_FORCE(AT(force)),
    ROWS_PROGRESS(AT(talk)), ROW_END};

static json_int_t report_violations(const json_t *report)
{
    static const char *const keys[] = {"violations_p2p", "violations_collective",
                                       "violations_openmp", "violations_rma"};
    json_int_t sum = 0;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        sum += json_integer_value(json_object_get(report, keys[i]));
    }
    return sum;
}

static int check_run(const void *options, int word_count, char **words)
{
    const struct check_options *o = options;
    struct ictus_why why = {""};
    struct progress_watch watch;
    json_t *report = NULL;
    int err = ICTUS_OK;
    if (word_count != 1) {
        (void)ictus_because(&why, ICTUS_ERR_ARG,
                            "name one archive, by its directory or its anchor file");
        return command_fail("check", ICTUS_ERR_ARG, &why);
    }
    keep_memory();
    if (lead_begin()) {
        progress_watch_begin(&watch, &o->talk, "check", word_count, words);
        err = ictus_check(words[0], &report, &why);
        progress_watch_end(&watch);
    }
    lead_end();
    err = results_agree(err, &why);
    if (err) {
        const int code = command_fail("check", err, &why);
        return code == EXIT_FAILED && err != ICTUS_ERR_NOMEM ? EXIT_USAGE : code;
    }
    const bool found = lead_agree(report_violations(report) > 0);
    const struct header_facts facts = {.command = "check", .rows = rows, .options = options};
    err = trace_text_put(&facts, o->format, o->output, report, &why);
    if (err) {
        return command_fail("check", err, &why);
    }
    return found ? EXIT_BELOW : EXIT_OK;
}

const struct command command_check = {
    .name = "check",
    .summary = "count clock-condition violations in an OTF2 archive",
    .arguments = "ARCHIVE",
    .details = "Counts them as recorded, and with the archive's own clock offsets "
               "applied.\n"
               "Exit code 0: no violation is left with the offsets; 3: some are; 2: the\n"
               "archive cannot be read.\n"
               "example: ictus check scorep-run/traces.otf2",
    .options = rows,
    .flags = USES_MPI | READS_FILES,
    .options_size = sizeof(struct check_options),
    .run = check_run,
};

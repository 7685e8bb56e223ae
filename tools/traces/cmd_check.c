/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus check: count clock-condition violations in an OTF2 archive. */
#include "main/command.h"
#include "main/shared_rows.h"
#include "traces/analysis.h"
#include "traces/trace_text.h"

#include <ictus/correct.h>
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

static int check_find(const char *archive, const void *options, json_t **report,
                      struct ictus_why *why)
{
    (void)options;
    return ictus_check(archive, report, why);
}

/* Whether any violation is left. */
static bool check_exceeds(const json_t *report, const void *options)
{
    static const char *const keys[] = {"violations_p2p", "violations_collective",
                                       "violations_openmp", "violations_rma"};
    json_int_t sum = 0;
    (void)options;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        sum += json_integer_value(json_object_get(report, keys[i]));
    }
    return sum > 0;
}

static int check_run(const void *options, int word_count, char **words)
{
    const struct check_options *o = options;
    const struct analysis analysis = {
        .facts = {.command = "check", .rows = rows, .options = options},
        .talk = &o->talk,
        .format = o->format,
        .output = o->output,
        .find = check_find,
        .exceeds = check_exceeds,
    };
    return analysis_run(&analysis, word_count, words);
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

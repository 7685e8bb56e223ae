/* SPDX-License-Identifier: BSD-3-Clause */
#include "traces/analysis.h"

#include "main/command.h"
#include "main/results.h"
#include "traces/archive_word.h"
#include "traces/keep_memory.h"
#include "traces/lead.h"
#include "traces/trace_text.h"

#include <ictus/text.h>

/* An archive that cannot be read is a wrong argument. */
static int analysis_exit_code(const char *command, int err, struct ictus_why *why)
{
    const int code = command_fail(command, err, why);
    return code == EXIT_FAILED && err != ICTUS_ERR_NOMEM ? EXIT_USAGE : code;
}

int analysis_run(const struct analysis *analysis, int word_count, char **words)
{
    const char *command = analysis->facts.command;
    struct ictus_why why = {""};
    struct progress_watch watch;
    json_t *report = NULL;
    int err = archive_word_require(word_count, &why);
    if (err) {
        return command_fail(command, err, &why);
    }
    keep_memory();
    if (lead_begin()) {
        progress_watch_begin(&watch, analysis->talk, command, word_count, words);
        err = analysis->find(words[0], analysis->facts.options, &report, &why);
        progress_watch_end(&watch);
    }
    lead_end();
    err = results_agree(err, &why);
    if (err) {
        return analysis_exit_code(command, err, &why);
    }
    const bool exceeded = lead_agree(analysis->exceeds(report, analysis->facts.options));
    err = trace_text_put(&analysis->facts, analysis->format, analysis->output, report, &why);
    if (err) {
        return command_fail(command, err, &why);
    }
    return exceeded ? EXIT_BELOW : EXIT_OK;
}

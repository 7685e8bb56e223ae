/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus trace-skew: skew an archive's clocks by known functions. */
#include "main/command.h"
#include "main/shared_rows.h"
#include "traces/archive_word.h"
#include "traces/keep_memory.h"
#include "traces/trace_text.h"

#include <ictus/correct.h>
#include <ictus/text.h>
#include <stddef.h>

struct skew_options {
    const char *output, *skew;
    int format;
    struct progress_options talk;
};

static const struct option_row rows[] = {
    ROW_OUTPUT(offsetof(struct skew_options, output), "DIR",
               "directory to write the archive to (required)"),
    {"skew", 0, OPTION_TEXT, offsetof(struct skew_options, skew), "", 0, 0, NULL, "SPEC",
     "errors: offset=, drift=, walk=, sine=, period=, seed=, scope=, ..."},
    ROW_FORMAT(offsetof(struct skew_options, format), "text", trace_formats,
               "format of standard output: text, json"),
    ROWS_PROGRESS(offsetof(struct skew_options, talk)),
    ROW_END};

static int skew_run(const void *options, int word_count, char **words)
{
    const struct skew_options *o = options;
    struct ictus_why why = {""};
    struct progress_watch watch;
    json_t *report = NULL;
    int err = archive_word_require_output(word_count, o->output, &why);
    if (!err) {
        keep_memory();
        progress_watch_begin(&watch, &o->talk, "trace-skew", word_count, words);
        err = ictus_trace_skew(words[0], o->output, o->skew, &report, &why);
        progress_watch_end(&watch);
    }
    if (err) {
        return command_fail("trace-skew", err == ICTUS_ERR_CORRUPT ? ICTUS_ERR_FORMAT : err, &why);
    }
    const struct header_facts facts = {.command = "trace-skew", .rows = rows, .options = options};
    err = trace_text_put(&facts, o->format, NULL, report, &why);
    return err ? command_fail("trace-skew", err, &why) : EXIT_OK;
}

const struct command command_trace_skew = {
    .name = "trace-skew",
    .summary = "skew an OTF2 archive's clocks by known functions",
    .arguments = "ARCHIVE",
    .details = "Makes test archives with known true times; each clock but the first "
               "draws its\n"
               "errors from plus or minus the values. Without --skew, it copies every "
               "record.\n"
               "example: ictus trace-skew good -o bad "
               "--skew=drift=20ppm,offset=1ms,seed=7\n"
               "         ictus correct bad -o fixed --truth=good",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct skew_options),
    .run = skew_run,
};

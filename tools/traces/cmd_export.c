/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus export: an archive in a format that other programs draw. */
#include "main/command.h"
#include "main/output.h"
#include "main/shared_rows.h"
#include "traces/archive_word.h"

#include <ictus/text.h>
#include <ictus/trace.h>
#include <ictus/waits.h>

#include <stdbool.h>

struct export_options {
    const char *output;
    int format;
    bool force, waits;
    struct progress_options talk;
};

#define AT(member) offsetof(struct export_options, member)

static const char *const formats[] = {"perfetto", NULL};

static const struct option_row rows[] = {
    ROW_FORMAT(AT(format), "perfetto", formats,
               "format: perfetto (Trace Event JSON, for ui.perfetto.dev)"),
    ROW_OUTPUT(AT(output), "FILE", "file to write instead of standard output"),
    {"waits", 0, OPTION_FLAG, AT(waits), NULL, 0, 0, NULL, NULL,
     "mark the longest waits, as ictus waits finds them"},
    ROW_FORCE(AT(force)),
    ROWS_PROGRESS(AT(talk)),
    ROW_END};

static int export_run(const void *options, int word_count, char **words)
{
    const struct export_options *o = options;
    struct ictus_why why = {""};
    struct output output;
    struct progress_watch watch;
    json_t *waits = NULL;
    int err = archive_word_require(word_count, &why);
    err = err ? err : output_open(&output, o->output, &why);
    if (!err) {
        progress_watch_begin(&watch, &o->talk, "export", word_count, words);
        err = o->waits ? ictus_waits(words[0], &waits, &why) : ICTUS_OK;
        err = err ? err : ictus_trace_export_perfetto(words[0], waits, output.stream, &why);
        json_decref(waits);
        progress_watch_end(&watch);
        err = output_close(&output, err == ICTUS_ERR_CORRUPT ? ICTUS_ERR_FORMAT : err, &why);
    }
    return err ? command_fail("export", err, &why) : EXIT_OK;
}

const struct command command_export = {
    .name = "export",
    .summary = "write an archive in a format that other programs can draw",
    .arguments = "ARCHIVE",
    .details = "  ictus export run1 --waits -o run1.json",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct export_options),
    .run = export_run,
};

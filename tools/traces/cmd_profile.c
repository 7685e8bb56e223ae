/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus profile: how often and how long each region of an archive ran. */
#include "main/command.h"
#include "main/shared_rows.h"
#include "traces/archive_word.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <stdio.h>
#include <stdlib.h>

struct profile_options {
    struct progress_options talk;
};

static const struct option_row rows[] = {ROWS_PROGRESS(offsetof(struct profile_options, talk)),
                                         ROW_END};

/* The table is printed only when the whole archive has been read, since it may be damaged. */
static int profile_print(const struct profile_options *o, char **words, struct ictus_why *why)
{
    struct progress_watch watch;
    char *text = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (!memory) {
        return ICTUS_ERR_NOMEM;
    }
    progress_watch_begin(&watch, &o->talk, "profile", 1, words);
    int err = ictus_trace_print_profile(words[0], memory, why);
    progress_watch_end(&watch);
    if (fclose(memory) && !err) {
        err = ICTUS_ERR_NOMEM;
    }
    if (!err) {
        /* A failure is noticed when standard output is closed at the end. */
        (void)fwrite(text, 1, size, stdout);
    }
    free(text);
    return err == ICTUS_ERR_CORRUPT ? ICTUS_ERR_FORMAT : err;
}

static int profile_run(const void *options, int word_count, char **words)
{
    struct ictus_why why = {""};
    int err = archive_word_require(word_count, &why);
    err = err ? err : profile_print(options, words, &why);
    return err ? command_fail("profile", err, &why) : EXIT_OK;
}

const struct command command_profile = {
    .name = "profile",
    .summary = "print how often and how long each region of an archive ran",
    .arguments = "ARCHIVE",
    .details = "  ictus profile run1",
    .options = rows,
    .flags = READS_FILES,
    .options_size = sizeof(struct profile_options),
    .run = profile_run,
};

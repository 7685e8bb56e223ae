/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus profile: how often and how long each region of an archive ran. */
#include "main/command.h"
#include "main/shared_rows.h"

#include <ictus/text.h>
#include <ictus/trace.h>

#include <stdio.h>

static const struct option_row rows[] = {ROW_END};

static int profile_run(const void *options, int word_count, char **words)
{
    struct ictus_why why = {""};
    (void)options;
    const int err = word_count == 1
                        ? ictus_trace_print_profile(words[0], stdout, &why)
                        : ictus_because(&why, ICTUS_ERR_ARG, "name one archive by its directory");
    return err ? command_fail("profile", err, &why) : EXIT_OK;
}

const struct command command_profile = {
    .name = "profile",
    .summary = "print how often and how long each region of an archive ran",
    .arguments = "ARCHIVE",
    .details = "  ictus profile run1",
    .options = rows,
    .flags = READS_FILES,
    .options_size = 1,
    .run = profile_run,
};

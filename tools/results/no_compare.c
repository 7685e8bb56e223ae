/* SPDX-License-Identifier: BSD-3-Clause */
/* ictus compare in a build without GSL: it says so. */
#include "main/command.h"

#include <ictus/text.h>

static const struct option_row rows[] = {{NULL, 0, OPTION_FLAG, 0, NULL, 0, 0, NULL, NULL, NULL}};

static int no_compare_command(const void *given, int word_count, char **words)
{
    struct ictus_why why;
    (void)given;
    (void)word_count;
    (void)words;
    return command_fail("compare",
                        ictus_because(&why, ICTUS_ERR_UNSUPPORTED,
                                      "GSL (libgsl-dev) was not found when this program was built"),
                        &why);
}

const struct command command_compare = {
    .name = "compare",
    .summary = "find out whether result files differ (not in this build: no GSL)",
    .arguments = "",
    .details = NULL,
    .options = rows,
    .flags = 0,
    .options_size = 0,
    .run = no_compare_command,
};

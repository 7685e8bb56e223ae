/* SPDX-License-Identifier: BSD-3-Clause */
/* The one word of commands that work on an archive. */
#include "traces/archive_word.h"

#include <ictus/text.h>

int archive_word_require(int word_count, struct ictus_why *why)
{
    return word_count == 1 ? ICTUS_OK
                           : ictus_because(why, ICTUS_ERR_ARG,
                                           "name one archive, by its directory or its anchor file");
}

int archive_word_require_output(int word_count, const char *output, struct ictus_why *why)
{
    const int err = archive_word_require(word_count, why);
    if (err || output) {
        return err;
    }
    return ictus_because(why, ICTUS_ERR_ARG, "name the output directory with -o DIR");
}

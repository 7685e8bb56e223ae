/* SPDX-License-Identifier: BSD-3-Clause */
/* The one word of commands that work on an archive. */
#ifndef ICTUS_TOOLS_ARCHIVE_WORD_H
#define ICTUS_TOOLS_ARCHIVE_WORD_H

#include <ictus/error.h>

/* ICTUS_OK if there is exactly one word, else ICTUS_ERR_ARG and what would be right. */
int archive_word_require(int word_count, struct ictus_why *why);

/* The same for commands that write another archive, which have no default for its directory. */
int archive_word_require_output(int word_count, const char *output, struct ictus_why *why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* What a report about an archive found, in words. */
#ifndef ICTUS_TOOLS_TRACE_WORDS_H
#define ICTUS_TOOLS_TRACE_WORDS_H

#include <jansson.h>

/* Print a few sentences and an empty line about a "check" or "correct"; nothing for other types. */
void trace_words_print(const json_t *report);

#endif

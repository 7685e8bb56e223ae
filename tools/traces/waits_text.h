/* SPDX-License-Identifier: BSD-3-Clause */
/* The answer of ictus waits in words: 20 lines of 80 columns. */
#ifndef ICTUS_TOOLS_WAITS_TEXT_H
#define ICTUS_TOOLS_WAITS_TEXT_H

#include <jansson.h>

/* Print the objects of ictus_waits(). */
void waits_text_print(const json_t *report);

#endif

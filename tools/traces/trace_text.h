/* SPDX-License-Identifier: BSD-3-Clause */
/* Reports about archives, as text for people or through the result writer. */
#ifndef ICTUS_TOOLS_TRACE_TEXT_H
#define ICTUS_TOOLS_TRACE_TEXT_H

#include "main/header.h"

#include <ictus/error.h>
#include <jansson.h>

/* For option tables: --format=... */
enum { TRACE_FORMAT_TEXT, TRACE_FORMAT_JSON };
extern const char *const trace_formats[];

/*
 * Print what was found in words, then "name  value" for each plain member that is not zero, and
 * each list of objects as a table, without the rows that count nothing.
 */
void trace_text_print(const json_t *report);

/*
 * Collective: put a report out on rank 0, as text or as JSON lines with a header; to the file too
 * if one is named, there always as JSON lines. The report, one object or the array of objects of
 * ictus_waits(), is taken over. Errors: ICTUS_ERR_IO.
 */
int trace_text_put(const struct header_facts *facts, int format, const char *path, json_t *report,
                   struct ictus_why *why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrival patterns as a page draws them. */
#ifndef ICTUS_TOOLS_REPORT_PATTERNS_H
#define ICTUS_TOOLS_REPORT_PATTERNS_H

#include <jansson.h>

/*
 * Give each pattern of arrivals among these objects a table of at most 20000 offsets (offsets_ns):
 * every k-th row of its own, k being offsets_every.
 */
void report_thin_patterns(json_t *objects);

#endif

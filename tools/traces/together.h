/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a traced program's collectives cost, next to what they cost in a benchmark in which all
 * processes start together, or arrive as they did in the program.
 */
#ifndef ICTUS_TOOLS_TOGETHER_H
#define ICTUS_TOOLS_TOGETHER_H

#include <ictus/error.h>
#include <jansson.h>

/*
 * Read the results of ictus bench, or a table of another benchmark. Errors: those of reading,
 * ICTUS_ERR_FORMAT (there is no measurement).
 */
int together_read(const char *path, json_t **results, struct ictus_why *why);

/*
 * Add an object "collective-together" for each call site of collectives to the report of
 * ictus_waits(). Its cost is the time from the last arrival to the last exit, the median over its
 * calls; the benchmark's is that of the same operation, size and number of processes. Reads the
 * archive. Errors: those of ictus_arrivals_extract(), ICTUS_ERR_NOMEM.
 */
int together_add(const char *archive, const json_t *results, json_t *report, struct ictus_why *why);

/* Say on standard error how many of a report's call sites the results do not measure, if any. */
void together_tell_missing(const char *path, const json_t *report);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Commands that analyse one archive and report what they found: check, waits. */
#ifndef ICTUS_TOOLS_ANALYSIS_H
#define ICTUS_TOOLS_ANALYSIS_H

#include "main/header.h"
#include "main/progress.h"

#include <ictus/error.h>
#include <jansson.h>
#include <stdbool.h>

struct analysis {
    struct header_facts facts; /* command, rows and options */
    const struct progress_options *talk;
    int format;         /* of standard output, as in trace_formats */
    const char *output; /* a result file as well; may be NULL */
    int (*find)(const char *archive, const void *options, json_t **report, struct ictus_why *why);
    bool (*exceeds)(const json_t *report, const void *options); /* what the exit code tells */
};

/*
 * Collective where MPI is up. Analyse the archive that the only word names, on rank 0, and put the
 * report out. Returns the exit code, the same on all processes.
 */
int analysis_run(const struct analysis *analysis, int word_count, char **words);

#endif

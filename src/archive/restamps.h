/* SPDX-License-Identifier: BSD-3-Clause */
/* Restamps the event files of an archive (restamp.h), several locations at a time. */
#ifndef ICTUS_ARCHIVE_RESTAMPS_H
#define ICTUS_ARCHIVE_RESTAMPS_H

#include "archive/copy.h"

/* The number of locations that are restamped together; each has a walk, which takes memory. */
enum { RESTAMPS_TOGETHER = 256 };

struct restamps {
    const struct copy_job *job;
    char *in, *out; /* stems of the event files' paths */
    uint64_t chunk; /* chunk size of event files in bytes */
    uint32_t from;  /* the first of the present locations */
    struct restamps_try *tries;
};

/* target: the path of the output's anchor without its suffix. Errors: ICTUS_ERR_NOMEM. */
int ictusi_restamps_init(struct restamps *restamps, const struct copy_job *job, const char *target,
                         uint64_t chunk);
void ictusi_restamps_fini(struct restamps *restamps);

/* Try those of the locations [from, to), at most RESTAMPS_TOGETHER, that belong to the job. */
void ictusi_restamps_run(struct restamps *restamps, uint32_t from, uint32_t to);

/*
 * The result for one location. Call once for each, in order. dropped: the result no longer matters.
 * Errors: ICTUS_ERR_UNSUPPORTED (use the OTF2 library instead), ICTUS_ERR_IO, ICTUS_ERR_NOMEM, and
 * those of ictusi_archive_beyond().
 */
int ictusi_restamps_settle(struct restamps *restamps, uint32_t location, bool dropped,
                           struct ictus_why *why);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Restamping the event files of an archive (restamp.h), several locations at a time. */
#ifndef ICTUS_ARCHIVE_RESTAMPS_H
#define ICTUS_ARCHIVE_RESTAMPS_H

#include "archive/copy.h"

/* Locations that are restamped together: each has a walk, which takes memory. */
enum { RESTAMPS_TOGETHER = 256 };

struct restamps {
    const struct copy_job *job;
    char *in, *out; /* paths that event files' names are added to */
    uint64_t chunk; /* bytes of a chunk of events */
    uint32_t from;  /* the first of the locations at hand */
    struct restamps_try *tries;
};

/* target: path of the output's anchor without its suffix. Errors: ICTUS_ERR_NOMEM. */
int ictusi_restamps_init(struct restamps *restamps, const struct copy_job *job, const char *target,
                         uint64_t chunk);
void ictusi_restamps_fini(struct restamps *restamps);

/* Try those of the locations [from, to), at most RESTAMPS_TOGETHER, that are the job's. */
void ictusi_restamps_run(struct restamps *restamps, uint32_t from, uint32_t to);

/*
 * What came of one of them, to be asked once of each, in order; dropped: it does not matter any
 * more. Errors: ICTUS_ERR_UNSUPPORTED (nothing came: ask the OTF2 library), ICTUS_ERR_IO,
 * ICTUS_ERR_NOMEM, those of ictusi_archive_beyond().
 */
int ictusi_restamps_settle(struct restamps *restamps, uint32_t location, bool dropped,
                           struct ictus_why *why);

#endif

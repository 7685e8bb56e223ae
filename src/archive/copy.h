/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes an archive again with other times: definitions, events, markers, snapshots, and the files
 * next to the archive. The output appears under its final name only when it is complete.
 */
#ifndef ICTUS_ARCHIVE_COPY_H
#define ICTUS_ARCHIVE_COPY_H

#include "archive/copy_callbacks.h"
#include "archive/trace.h"
#include "causality/team.h"

/* What the definitions of the output state about its clock. */
struct copy_definitions {
    /* Called after all events: sets the new properties {resolution, offset, length, real time}. */
    void (*properties)(void *self, uint64_t clock[4]);
    /* Returns the clock offsets to write for a location, at most two. NULL: there are none. */
    uint32_t (*new_offsets)(void *self, uint32_t location, struct clock_offset list[2]);
    void *self;
    /* value of the property THREAD_CLOCKS (archive/trace.h); NULL: as in the input */
    const char *thread_clocks;
    bool process_clocks; /* set the property PROCESS_CLOCKS; false: as in the input */
    bool keep_offsets;   /* keep the input's clock offsets */
    int64_t raised;      /* ticks that were added to all times */
};

struct copy_job {
    struct trace *trace;
    const char *out;  /* directory to create */
    const bool *mine; /* by location; NULL: all locations */
    struct copy_clock clock;
    struct copy_definitions definitions;
    struct team *team; /* NULL: this process works alone */
    int threads;       /* number of threads that write; up to 1: only the caller */
    bool restamp;      /* replace stamps within the encoded file if its format allows it */
};

/*
 * Refuse an output that exists, that is the input, or that cannot be made. Errors:
 * ICTUS_ERR_EXISTS, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM.
 */
int ictusi_output_copy_check(const char *in, const char *out, struct ictus_why *why);

/*
 * Write the archive. On failure the incomplete output is removed. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_UNSUPPORTED (records that would be lost; the message names them),
 * ICTUS_ERR_NOMEM.
 */
int ictusi_copy_run(const struct copy_job *job, struct ictus_why *why);

#endif

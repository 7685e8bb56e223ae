/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing an archive again with other times: definitions, events, markers, snapshots, files
 * beside the archive. The output appears under its name only when it is whole.
 */
#ifndef ICTUS_ARCHIVE_COPY_H
#define ICTUS_ARCHIVE_COPY_H

#include "archive/copy_callbacks.h"
#include "archive/trace.h"
#include "causality/team.h"

/* What the definitions of the output say of its clock. */
struct copy_definitions {
    /* After all events: the new properties {resolution, offset, length, real time}. */
    void (*properties)(void *self, uint64_t clock[4]);
    /* Clock offsets to write for a location, at most two; may be NULL: none. */
    uint32_t (*new_offsets)(void *self, uint32_t location, struct clock_offset list[2]);
    void *self;
    const char *thread_clocks; /* value of that property (archive/trace.h); NULL: as in the input */
    bool keep_offsets;         /* those of the input */
    int64_t raised;            /* ticks by which all times are later */
};

struct copy_job {
    struct trace *trace;
    const char *out;  /* directory to make */
    const bool *mine; /* by location; NULL: all */
    struct copy_clock clock;
    struct copy_definitions definitions;
    struct team *team; /* NULL: alone */
    bool events;       /* false: definitions only */
    int threads;       /* that write at a time; up to 1: the caller alone */
    bool restamp;      /* put new times in the place of the old ones where a file allows */
};

/*
 * Refuse an output that exists, or that is the input. Errors: ICTUS_ERR_EXISTS, ICTUS_ERR_ARG.
 */
int ictusi_output_copy_check(const char *in, const char *out, struct ictus_why *why);

/*
 * Write the archive. On failure the half-written output is removed. Errors: ICTUS_ERR_IO,
 * ICTUS_ERR_CORRUPT, ICTUS_ERR_UNSUPPORTED (records that would be lost, by name), ICTUS_ERR_NOMEM.
 */
int ictusi_copy_run(const struct copy_job *job, struct ictus_why *why);

#endif

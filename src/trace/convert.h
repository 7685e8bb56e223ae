/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts one thread's records to OTF2 events on the common clock. */
#ifndef ICTUS_TRACE_CONVERT_H
#define ICTUS_TRACE_CONVERT_H

#include "trace/convert_teams.h"
#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/functions.h"

#include <otf2/otf2.h>

/* What to convert, and the results. */
struct conversion {
    const struct rawlog *log;
    struct timeline timeline; /* a copy of the log's, with a cursor of its own */
    const struct trace_map *map;
    struct team_index teams;
    int64_t shift_ns;
    bool local; /* keep times on the local clock */
    int counters;
    /* The results. first and last are over all files converted with this structure. */
    uint64_t events, raw_bytes, clamped, unnamed; /* unnamed: calls of unknown functions */
    int64_t first_local, last_local;
    uint64_t last;
};

/*
 * Convert an event file. Regions that a killed process left open are closed at its last event.
 * Errors: ICTUS_ERR_IO, ICTUS_ERR_FORMAT (not an event file, or from another version),
 * ICTUS_ERR_NOMEM.
 */
int ictusi_convert(const char *path, struct conversion *c, OTF2_EvtWriter *writer,
                   struct ictus_why *why);

/*
 * The attributes that ictus defines. CALL_SITE: of a call's enter, the place it was made from.
 * SENDERS: of the record of a collective or of its request, one bit per rank that this process
 * received from, 64 ranks each. OFFSET: of an operation on a file, its first byte in the file.
 * TEAM_REGION: of a thread that begins in a team, the number of the team's region. OPERANDS: of the
 * record of a collective's end, its datatype, operator and place (core/operands.h).
 */
enum {
    ATTRIBUTE_CALL_SITE = 0,
    ATTRIBUTE_OFFSET = 1,
    ATTRIBUTE_TEAM_REGION = 2,
    ATTRIBUTE_OPERANDS = 3,
    ATTRIBUTE_SENDERS = 4 /* several attributes, numbered from here; so it is the last */
};

/*
 * The archive's numbers of the metric classes: the clock's, the counters' if any are sampled, and
 * then the user's.
 */
enum { METRIC_REF_CLOCK = 0, METRIC_REF_COUNTERS = 1 };

static inline uint32_t metric_ref_user(int counters)
{
    return counters > 0 ? 2 : 1;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* From one thread's records to OTF2 events on the common clock. */
#ifndef ICTUS_TRACE_CONVERT_H
#define ICTUS_TRACE_CONVERT_H

#include "trace/convert_teams.h"
#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/functions.h"

#include <otf2/otf2.h>

/* What is to be converted, and what came of it. */
struct conversion {
    const struct rawlog *log;
    struct timeline timeline; /* a view of the log's, with a place of its own */
    const struct trace_map *map;
    struct team_index teams;
    int64_t shift_ns;
    bool local; /* leave times on the local clock */
    int counters;
    /* Results; first and last hold over all files converted with this structure. */
    uint64_t events, raw_bytes, clamped, unnamed; /* unnamed: calls of unknown functions */
    int64_t first_local, last_local;
    uint64_t last;
};

/*
 * Convert an event file. What a killed process had not closed is closed at its last event.
 * Errors: ICTUS_ERR_IO, ICTUS_ERR_FORMAT (not such a file, or of another version), ICTUS_ERR_NOMEM.
 */
int ictusi_convert(const char *path, struct conversion *c, OTF2_EvtWriter *writer,
                   struct ictus_why *why);

/*
 * Attributes: of a call's enter, the place it was made from; of the record of a collective (or of
 * its request), a bit for each of 64 ranks from which this process received; of an operation on a
 * file, the byte at which it begins there; of a thread that begins in a team, which of the team's
 * regions that is.
 */
enum {
    ATTRIBUTE_CALL_SITE = 0,
    ATTRIBUTE_OFFSET = 1,
    ATTRIBUTE_TEAM_REGION = 2,
    ATTRIBUTE_SENDERS = 3 /* the last, being many */
};

/* Archive numbers of metric classes: the clock's, the counters' if any are sampled, the user's. */
enum { METRIC_REF_CLOCK = 0, METRIC_REF_COUNTERS = 1 };

static inline uint32_t metric_ref_user(int counters)
{
    return counters > 0 ? 2 : 1;
}

#endif

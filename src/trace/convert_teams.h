/* SPDX-License-Identifier: BSD-3-Clause */
/* Converts records of OpenMP teams to OTF2 thread events. */
#ifndef ICTUS_TRACE_CONVERT_TEAMS_H
#define ICTUS_TRACE_CONVERT_TEAMS_H

#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/record.h"

#include <otf2/otf2.h>
#include <stdbool.h>

/* From this region on, regions that a thread forks with this number of members have this team. */
struct team_since {
    uint64_t key; /* forking thread << 32 | members */
    uint64_t region;
    uint32_t comm; /* number in the archive, or KEYMAP_NONE */
};

/* The rows of one process, sorted. */
struct team_index {
    struct team_since *rows;
    size_t count;
};

/* Errors: ICTUS_ERR_NOMEM. Call ictusi_teams_free() afterwards. */
int ictusi_teams_index(struct team_index *index, const struct rawlog *log,
                       const struct trace_map *map);

void ictusi_teams_free(struct team_index *index);

static inline bool record_is_team(unsigned kind)
{
    return kind >= RECORD_FORK && kind <= RECORD_TEAM_END;
}

/*
 * Write the event of a record. attributes: an empty list, which the event may fill. @return whether
 * the record has an event; *code is the result of writing it
 */
bool ictusi_convert_team(OTF2_EvtWriter *writer, const struct team_index *index, const uint64_t *p,
                         OTF2_TimeStamp at, OTF2_AttributeList *attributes, OTF2_ErrorCode *code);

/*
 * Define the teams, if there are any: their groups from number `group` on, and their communicators
 * after all others. none and name are string references.
 */
OTF2_ErrorCode ictusi_teams_define(OTF2_GlobalDefWriter *writer, const struct unified *unified,
                                   OTF2_GroupRef group, OTF2_StringRef none, OTF2_StringRef name);

#endif

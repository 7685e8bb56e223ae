/* SPDX-License-Identifier: BSD-3-Clause */
/* Records of OpenMP's teams as OTF2's events of threads. */
#ifndef ICTUS_TRACE_CONVERT_TEAMS_H
#define ICTUS_TRACE_CONVERT_TEAMS_H

#include "trace/rawlog.h"
#include "trace/unify.h"
#include "tracer/record.h"

#include <otf2/otf2.h>
#include <stdbool.h>

/* From a region on, the regions that a thread forks with so many members have this team. */
struct team_since {
    uint64_t key; /* forking thread << 32 | members */
    uint64_t region;
    uint32_t comm; /* of the archive, or KEYMAP_NONE */
};

/* Of one process; sorted. */
struct team_index {
    struct team_since *rows;
    size_t count;
};

/* Errors: ICTUS_ERR_NOMEM. Released by ictusi_teams_free(). */
int ictusi_teams_index(struct team_index *index, const struct rawlog *log,
                       const struct trace_map *map);

void ictusi_teams_free(struct team_index *index);

static inline bool record_is_team(unsigned kind)
{
    return kind >= RECORD_FORK && kind <= RECORD_TEAM_END;
}

/*
 * Write the event of a record. attributes: an empty list for those of its own.
 * @return whether there was one to be written; *code says how that went
 */
bool ictusi_convert_team(OTF2_EvtWriter *writer, const struct team_index *index, const uint64_t *p,
                         OTF2_TimeStamp at, OTF2_AttributeList *attributes, OTF2_ErrorCode *code);

/*
 * Define the teams: their groups from number group on, their communicators after all others; names
 * are numbers of strings. Nothing where there are none.
 */
OTF2_ErrorCode ictusi_teams_define(OTF2_GlobalDefWriter *writer, const struct unified *unified,
                                   OTF2_GroupRef group, OTF2_StringRef none, OTF2_StringRef name);

#endif

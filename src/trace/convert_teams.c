/* SPDX-License-Identifier: BSD-3-Clause */
/* The members of thread teams, from the log: for the events and for the definitions. */
#include "trace/convert_teams.h"

#include "trace/convert.h"
#include "trace/write_archive.h"

#include <stdlib.h>

/* Sort by key, then by the first region for which the row holds. */
static int team_compare_since(const void *a, const void *b)
{
    const struct team_since *x = a;
    const struct team_since *y = b;
    if (x->key != y->key) {
        return x->key < y->key ? -1 : 1;
    }
    return (x->region > y->region) - (x->region < y->region);
}

/*
 * A team's key may refer to other threads from some region on, so rows are sorted by key and
 * region. The log has a line ('J') only where the members of a team change. The index makes that a
 * lookup for each region.
 */
int ictusi_teams_index(struct team_index *index, const struct rawlog *log,
                       const struct trace_map *map)
{
    size_t count = 0;
    for (size_t i = 0; i < log->item_count; i++) {
        count += log->items[i].kind == 'J';
    }
    index->count = 0;
    index->rows = calloc(count + 1, sizeof(*index->rows));
    if (!index->rows) {
        return ICTUS_ERR_NOMEM;
    }
    for (size_t i = 0; i < log->item_count; i++) {
        const struct raw_item *item = &log->items[i];
        if (item->kind == 'J') {
            index->rows[index->count++] = (struct team_since){
                item->key, (uint64_t)item->a, ictusi_unify_map_get(map, MAP_TEAM, item->number)};
        }
    }
    qsort(index->rows, index->count, sizeof(*index->rows), team_compare_since);
    return ICTUS_OK;
}

void ictusi_teams_free(struct team_index *index)
{
    free(index->rows);
    *index = (struct team_index){NULL, 0};
}

/*
 * The team of a region: that of the last row with its key that does not come after the region.
 * Invariant: rows below low are not after the wanted (key, region), rows from high on are.
 */
static uint32_t team_of(const struct team_index *index, uint64_t key, uint64_t region)
{
    const struct team_since wanted = {key, region, 0};
    size_t low = 0;
    size_t high = index->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (team_compare_since(&index->rows[middle], &wanted) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && index->rows[low - 1].key == key ? index->rows[low - 1].comm : KEYMAP_NONE;
}

/*
 * Add the number of the team's region that a thread begins. Without it, readers have to count
 * regions, and some may be missing. The forking thread counts its regions and passes the number to
 * all members.
 */
static OTF2_AttributeList *convert_teams_with_region(OTF2_AttributeList *attributes,
                                                     uint64_t region)
{
    OTF2_AttributeValue value;
    value.uint64 = region;
    return OTF2_AttributeList_AddAttribute(attributes, ATTRIBUTE_TEAM_REGION, OTF2_TYPE_UINT64,
                                           value) == OTF2_SUCCESS
               ? attributes
               : NULL;
}

/*
 * Write a team event. Words 2 and 3 of the record are the team's key (forking thread and size) and
 * region. A team with unknown members is left out: its region stays, but no thread depends on
 * another.
 */
bool ictusi_convert_team(OTF2_EvtWriter *writer, const struct team_index *index, const uint64_t *p,
                         OTF2_TimeStamp at, OTF2_AttributeList *attributes, OTF2_ErrorCode *code)
{
    const unsigned kind = record_kind(*p);
    if (kind == RECORD_FORK) {
        *code = OTF2_EvtWriter_ThreadFork(writer, NULL, at, OTF2_PARADIGM_OPENMP, (uint32_t)p[2]);
        return true;
    }
    if (kind == RECORD_JOIN) {
        *code = OTF2_EvtWriter_ThreadJoin(writer, NULL, at, OTF2_PARADIGM_OPENMP);
        return true;
    }
    const uint32_t comm = team_of(index, p[2], p[3]);
    if (comm == KEYMAP_NONE) {
        return false;
    }
    *code = kind == RECORD_TEAM_BEGIN
                ? OTF2_EvtWriter_ThreadTeamBegin(
                      writer, convert_teams_with_region(attributes, p[3]), at, comm)
                : OTF2_EvtWriter_ThreadTeamEnd(writer, NULL, at, comm);
    return true;
}

/* A subtraction would not do: locations have 64 bits, and an int cannot hold their difference. */
static int location_compare(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/*
 * The index of a location, which must be in the list. locations[low] <= location always holds. A
 * branchless search: the location is among `count` elements from low on, and count is halved each
 * time.
 */
static size_t location_place(const uint64_t *locations, size_t count, uint64_t location)
{
    size_t low = 0;
    while (count > 1) {
        const size_t half = count / 2;
        low += locations[low + half] <= location ? half : 0;
        count -= half;
    }
    return low;
}

/*
 * All locations that are in teams, in ascending order without duplicates. OTF2 describes teams by
 * indices into a single list of all locations that are in any team. @return NULL: no memory
 */
static uint64_t *team_locations(const struct unified *u, size_t *count)
{
    size_t room = 1;
    size_t used = 0;
    for (uint32_t i = 0; i < u->team_keys.count; i++) {
        room += u->teams[i].count;
    }
    uint64_t *all = malloc(room * sizeof(*all));
    for (uint32_t i = 0; all && i < u->team_keys.count; i++) {
        for (uint32_t k = 0; k < u->teams[i].count; k++) {
            all[used++] = trace_location(u->teams[i].rank, (int)u->teams[i].threads[k]);
        }
    }
    *count = 0;
    if (all) {
        qsort(all, used, sizeof(*all), location_compare);
    }
    for (size_t i = 0; all && i < used; i++) {
        if (*count == 0 || all[*count - 1] != all[i]) {
            all[(*count)++] = all[i];
        }
    }
    return all;
}

/*
 * Define a team: a group of locations and its communicator. The group's members are indices into
 * the list of all team locations, as OTF2_GROUP_TYPE_COMM_GROUP requires.
 */
static OTF2_ErrorCode team_define(OTF2_GlobalDefWriter *writer, const struct unified_team *team,
                                  const uint64_t *all, size_t count, OTF2_GroupRef group,
                                  OTF2_StringRef none, OTF2_StringRef name, OTF2_CommRef comm)
{
    uint64_t *members = malloc(team->count * sizeof(*members));
    if (!members) {
        return OTF2_ERROR_MEM_ALLOC_FAILED;
    }
    for (uint32_t k = 0; k < team->count; k++) {
        members[k] = location_place(all, count, trace_location(team->rank, (int)team->threads[k]));
    }
    OTF2_ErrorCode code = OTF2_GlobalDefWriter_WriteGroup(
        writer, group, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
        team->count, members);
    free(members);
    if (code == OTF2_SUCCESS) {
        code = OTF2_GlobalDefWriter_WriteComm(writer, comm, name, group, OTF2_UNDEFINED_COMM,
                                              OTF2_COMM_FLAG_NONE);
    }
    return code;
}

/*
 * Groups are numbered from `group` on: first the list of locations, then one group per team. The
 * communicators follow those of MPI.
 */
OTF2_ErrorCode ictusi_teams_define(OTF2_GlobalDefWriter *writer, const struct unified *u,
                                   OTF2_GroupRef group, OTF2_StringRef none, OTF2_StringRef name)
{
    size_t count = 0;
    if (u->team_keys.count == 0) {
        return OTF2_SUCCESS;
    }
    uint64_t *all = team_locations(u, &count);
    OTF2_ErrorCode code =
        all ? OTF2_GlobalDefWriter_WriteGroup(writer, group, none, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                              OTF2_PARADIGM_OPENMP, OTF2_GROUP_FLAG_NONE,
                                              (uint32_t)count, all)
            : OTF2_ERROR_MEM_ALLOC_FAILED;
    for (uint32_t i = 0; i < u->team_keys.count && code == OTF2_SUCCESS; i++) {
        code = team_define(writer, &u->teams[i], all, count, group + 1 + i, none, name,
                           u->comm_keys.count + i);
    }
    free(all);
    return code;
}

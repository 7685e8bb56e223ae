/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading an archive's definitions. */
#include "trace/reading.h"

#include <ictus/text.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Room for one more element of an array that grows by doubling; false without memory. */
static bool grow(struct reading *r, void **array, uint32_t count, size_t bytes)
{
    if (count == KEYMAP_NONE) {
        r->failed = ICTUS_ERR_NOMEM;
        return false;
    }
    if ((count & (count - 1)) == 0) {
        void *wider = realloc(*array, (size_t)(count ? count * 2 : 1) * bytes);
        if (!wider) {
            r->failed = ICTUS_ERR_NOMEM;
            return false;
        }
        *array = wider;
    }
    return true;
}

/* A place for a new number. Numbers begin at 0: keys are one more. KEYMAP_NONE: known or failed */
static uint32_t place(struct reading *r, struct keymap *keys, uint64_t number, void **array,
                      size_t bytes)
{
    bool fresh = false;
    const uint32_t at = ictusi_keymap_put(keys, number + 1, &fresh);
    return fresh && grow(r, array, at, bytes) ? at : KEYMAP_NONE;
}

#define PLACE(r, keys, number, array)                                                              \
    place(r, &(r)->keys, number, (void **)&(r)->array, sizeof(*(r)->array))

static OTF2_CallbackCode on_clock(void *user, uint64_t resolution, uint64_t offset, uint64_t length,
                                  uint64_t realtime)
{
    struct reading *r = user;
    (void)realtime;
    r->resolution = resolution;
    r->offset = offset;
    r->length = length;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_string(void *user, OTF2_StringRef self, const char *string)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, string_keys, self, strings);
    if (at != KEYMAP_NONE) {
        r->strings[at] = strdup(string);
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_region(void *user, OTF2_RegionRef self, OTF2_StringRef name,
                                   OTF2_StringRef canonical, OTF2_StringRef description,
                                   OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                   OTF2_RegionFlag flags, OTF2_StringRef file, uint32_t begin,
                                   uint32_t end)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, region_keys, self, regions);
    (void)canonical;
    (void)description;
    (void)role;
    (void)paradigm;
    (void)flags;
    (void)file;
    (void)begin;
    (void)end;
    if (at != KEYMAP_NONE) {
        r->regions[at] = (struct reading_pair){self, name};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_process(void *user, OTF2_LocationGroupRef self, OTF2_StringRef name,
                                    OTF2_LocationGroupType type, OTF2_SystemTreeNodeRef parent,
                                    OTF2_LocationGroupRef creator)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, process_keys, self, processes);
    (void)type;
    (void)parent;
    (void)creator;
    if (at != KEYMAP_NONE) {
        r->processes[at] = (struct reading_pair){self, name};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_location(void *user, OTF2_LocationRef self, OTF2_StringRef name,
                                     OTF2_LocationType type, uint64_t events,
                                     OTF2_LocationGroupRef group)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, location_keys, self, locations);
    (void)type;
    (void)events;
    if (at != KEYMAP_NONE) {
        r->locations[at] = (struct reading_location){self, group, name};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_group(void *user, OTF2_GroupRef self, OTF2_StringRef name,
                                  OTF2_GroupType type, OTF2_Paradigm paradigm, OTF2_GroupFlag flags,
                                  uint32_t count, const uint64_t *members)
{
    struct reading *r = user;
    (void)name;
    (void)flags;
    const bool wanted = paradigm == OTF2_PARADIGM_MPI &&
                        (type == OTF2_GROUP_TYPE_COMM_LOCATIONS ||
                         type == OTF2_GROUP_TYPE_COMM_GROUP || type == OTF2_GROUP_TYPE_COMM_SELF);
    const uint32_t at = wanted ? PLACE(r, group_keys, self, groups) : KEYMAP_NONE;
    if (at != KEYMAP_NONE) {
        struct reading_group *group = &r->groups[at];
        *group = (struct reading_group){.id = self, .type = type};
        group->members = calloc((size_t)count + 1, sizeof(*group->members));
        if (group->members && count > 0) {
            memcpy(group->members, members, count * sizeof(*group->members));
            group->count = count;
        }
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_comm(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                 OTF2_GroupRef group, OTF2_CommRef parent, OTF2_CommFlag flags)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, comm_keys, self, comms);
    (void)name;
    (void)parent;
    (void)flags;
    if (at != KEYMAP_NONE) {
        r->comms[at] = (struct reading_comm){self, group, KEYMAP_NONE};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_inter(void *user, OTF2_CommRef self, OTF2_StringRef name,
                                  OTF2_GroupRef a, OTF2_GroupRef b, OTF2_CommRef common,
                                  OTF2_CommFlag flags)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, comm_keys, self, comms);
    (void)name;
    (void)common;
    (void)flags;
    if (at != KEYMAP_NONE) {
        r->comms[at] = (struct reading_comm){self, a, b};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_parameter(void *user, OTF2_ParameterRef self, OTF2_StringRef name,
                                      OTF2_ParameterType type)
{
    struct reading *r = user;
    const uint32_t at = PLACE(r, parameter_keys, self, parameters);
    (void)type;
    if (at != KEYMAP_NONE) {
        r->parameters[at] = (struct reading_pair){self, name};
    }
    return OTF2_CALLBACK_SUCCESS;
}

static int read_definitions(struct reading *r)
{
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(r->reader);
    OTF2_GlobalDefReaderCallbacks *c = OTF2_GlobalDefReaderCallbacks_New();
    uint64_t count = 0;
    if (!reader || !c) {
        OTF2_GlobalDefReaderCallbacks_Delete(c);
        return ICTUS_ERR_FORMAT;
    }
    (void)OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(c, on_clock);
    (void)OTF2_GlobalDefReaderCallbacks_SetStringCallback(c, on_string);
    (void)OTF2_GlobalDefReaderCallbacks_SetRegionCallback(c, on_region);
    (void)OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(c, on_process);
    (void)OTF2_GlobalDefReaderCallbacks_SetLocationCallback(c, on_location);
    (void)OTF2_GlobalDefReaderCallbacks_SetGroupCallback(c, on_group);
    (void)OTF2_GlobalDefReaderCallbacks_SetCommCallback(c, on_comm);
    (void)OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(c, on_inter);
    (void)OTF2_GlobalDefReaderCallbacks_SetParameterCallback(c, on_parameter);
    OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(r->reader, reader, c, r);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllGlobalDefinitions(r->reader, reader, &count);
    }
    OTF2_GlobalDefReaderCallbacks_Delete(c);
    if (r->failed) {
        return r->failed;
    }
    return code == OTF2_SUCCESS && r->resolution ? ICTUS_OK : ICTUS_ERR_FORMAT;
}

int ictusi_reading_open(const char *archive, struct reading *r, struct ictus_why *why)
{
    char path[4096];
    struct stat what;
    *r = (struct reading){0};
    const bool directory = stat(archive, &what) == 0 && S_ISDIR(what.st_mode);
    (void)snprintf(path, sizeof(path), "%s%s", archive, directory ? "/traces.otf2" : "");
    if (stat(path, &what) != 0) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: no archive there", path);
    }
    r->reader = OTF2_Reader_Open(path);
    if (!r->reader || OTF2_Reader_SetSerialCollectiveCallbacks(r->reader) != OTF2_SUCCESS) {
        ictusi_reading_close(r);
        return ictus_because(why, ICTUS_ERR_FORMAT, "%.200s: not an OTF2 archive", path);
    }
    const int err = read_definitions(r);
    if (err) {
        ictusi_reading_close(r);
        return ictus_because(why, err, "%.200s: its definitions cannot be read", path);
    }
    return ICTUS_OK;
}

/* Every location takes part; its local definitions are read for the clock's offsets. */
static int select_all(struct reading *r)
{
    for (uint32_t i = 0; i < r->location_keys.count; i++) {
        (void)OTF2_Reader_SelectLocation(r->reader, r->locations[i].id);
    }
    const bool local = OTF2_Reader_OpenDefFiles(r->reader) == OTF2_SUCCESS;
    if (OTF2_Reader_OpenEvtFiles(r->reader) != OTF2_SUCCESS) {
        return ICTUS_ERR_FORMAT;
    }
    for (uint32_t i = 0; i < r->location_keys.count; i++) {
        uint64_t count = 0;
        OTF2_DefReader *definitions =
            local ? OTF2_Reader_GetDefReader(r->reader, r->locations[i].id) : NULL;
        if (definitions) {
            (void)OTF2_Reader_ReadAllLocalDefinitions(r->reader, definitions, &count);
            (void)OTF2_Reader_CloseDefReader(r->reader, definitions);
        }
        (void)OTF2_Reader_GetEvtReader(r->reader, r->locations[i].id);
    }
    if (local) {
        (void)OTF2_Reader_CloseDefFiles(r->reader);
    }
    return ICTUS_OK;
}

int ictusi_reading_events(struct reading *r, OTF2_GlobalEvtReaderCallbacks *callbacks, void *user,
                          struct ictus_why *why)
{
    uint64_t count = 0;
    if (select_all(r)) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "the archive's events cannot be opened");
    }
    OTF2_GlobalEvtReader *reader = OTF2_Reader_GetGlobalEvtReader(r->reader);
    if (!reader ||
        OTF2_Reader_RegisterGlobalEvtCallbacks(r->reader, reader, callbacks, user) !=
            OTF2_SUCCESS ||
        OTF2_Reader_ReadAllGlobalEvents(r->reader, reader, &count) != OTF2_SUCCESS) {
        return ictus_because(why, ICTUS_ERR_FORMAT, "the archive's events cannot be read");
    }
    (void)OTF2_Reader_CloseGlobalEvtReader(r->reader, reader);
    (void)OTF2_Reader_CloseEvtFiles(r->reader);
    return ICTUS_OK;
}

void ictusi_reading_close(struct reading *r)
{
    if (r->reader) {
        (void)OTF2_Reader_Close(r->reader);
    }
    for (uint32_t i = 0; i < r->string_keys.count; i++) {
        free(r->strings[i]);
    }
    for (uint32_t i = 0; i < r->group_keys.count; i++) {
        free(r->groups[i].members);
    }
    free(r->strings);
    free(r->regions);
    free(r->processes);
    free(r->parameters);
    free(r->locations);
    free(r->comms);
    free(r->groups);
    ictusi_keymap_free(&r->string_keys);
    ictusi_keymap_free(&r->region_keys);
    ictusi_keymap_free(&r->process_keys);
    ictusi_keymap_free(&r->location_keys);
    ictusi_keymap_free(&r->comm_keys);
    ictusi_keymap_free(&r->group_keys);
    ictusi_keymap_free(&r->parameter_keys);
    *r = (struct reading){0};
}

const char *ictusi_reading_string(const struct reading *r, uint32_t string)
{
    const uint32_t at = ictusi_keymap_find(&r->string_keys, (uint64_t)string + 1);
    return at != KEYMAP_NONE && r->strings[at] ? r->strings[at] : "";
}

const char *ictusi_reading_region(const struct reading *r, uint32_t region)
{
    const uint32_t at = ictusi_keymap_find(&r->region_keys, (uint64_t)region + 1);
    return at != KEYMAP_NONE ? ictusi_reading_string(r, r->regions[at].name) : "";
}

const char *ictusi_reading_parameter(const struct reading *r, uint32_t parameter)
{
    const uint32_t at = ictusi_keymap_find(&r->parameter_keys, (uint64_t)parameter + 1);
    return at != KEYMAP_NONE ? ictusi_reading_string(r, r->parameters[at].name) : "";
}

const struct reading_location *ictusi_reading_location(const struct reading *r, uint64_t id)
{
    const uint32_t at = ictusi_keymap_find(&r->location_keys, id + 1);
    return at != KEYMAP_NONE ? &r->locations[at] : NULL;
}

static const struct reading_group *group_of(const struct reading *r, uint32_t group)
{
    const uint32_t at = ictusi_keymap_find(&r->group_keys, (uint64_t)group + 1);
    return at != KEYMAP_NONE ? &r->groups[at] : NULL;
}

/* The group whose members are the locations that other groups' members are indices of. */
static const struct reading_group *locations_of(const struct reading *r)
{
    for (uint32_t i = 0; i < r->group_keys.count; i++) {
        if (r->groups[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS) {
            return &r->groups[i];
        }
    }
    return NULL;
}

static uint64_t member(const struct reading_group *all, const struct reading_group *group,
                       uint32_t rank)
{
    if (rank >= group->count || group->members[rank] >= all->count) {
        return UINT64_MAX;
    }
    return all->members[group->members[rank]];
}

static bool is_member(const struct reading *r, const struct reading_group *all,
                      const struct reading_group *group, const struct reading_location *who)
{
    for (uint32_t i = 0; i < group->count; i++) {
        const struct reading_location *one = ictusi_reading_location(r, member(all, group, i));
        if (one && one->group == who->group) {
            return true;
        }
    }
    return false;
}

uint64_t ictusi_reading_peer(const struct reading *r, uint64_t location, uint32_t comm,
                             uint32_t rank)
{
    const uint32_t at = ictusi_keymap_find(&r->comm_keys, (uint64_t)comm + 1);
    const struct reading_group *all = locations_of(r);
    const struct reading_location *who = ictusi_reading_location(r, location);
    if (at == KEYMAP_NONE || !all || !who) {
        return UINT64_MAX;
    }
    const struct reading_group *group = group_of(r, r->comms[at].group_a);
    if (group && group->type == OTF2_GROUP_TYPE_COMM_SELF) {
        return location;
    }
    if (r->comms[at].group_b != KEYMAP_NONE && group && is_member(r, all, group, who)) {
        group = group_of(r, r->comms[at].group_b);
    }
    return group ? member(all, group, rank) : UINT64_MAX;
}

uint64_t ictusi_reading_ns(const struct reading *r, uint64_t time)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t since = time > r->offset ? time - r->offset : 0;
    return r->resolution == 1000000000 ? since
                                       : (uint64_t)((wide)since * 1000000000 / r->resolution);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an archive's definitions into a struct trace. */
#include "archive/definitions.h"
#include "archive/metric_names.h"
#include "core/array.h"
#include "core/utf8.h"

#include <ictus/text.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static OTF2_CallbackCode definitions_on_clock(void *data, uint64_t resolution, uint64_t offset,
                                              uint64_t length, uint64_t realtime)
{
    struct trace *trace = data;
    trace->layout.resolution = resolution;
    trace->global_offset = offset;
    trace->layout.length = length;
    trace->realtime = realtime;
    return OTF2_CALLBACK_SUCCESS;
}

/* If a reference is defined twice, the first definition counts. */
static int definitions_names_add(struct name_table *table, uint64_t ref, uint32_t string)
{
    if (ictusi_idmap_get(&table->index, ref, 0) != IDMAP_NONE) {
        return ICTUS_OK;
    }
    const uint64_t index = table->count;
    struct name_row *row = array_append((void **)&table->rows, &table->count, sizeof *row);
    if (!row || ictusi_idmap_put(&table->index, ref, 0, (int64_t)index)) {
        return ICTUS_ERR_NOMEM;
    }
    *row = (struct name_row){ref, string};
    return ICTUS_OK;
}

static OTF2_CallbackCode definitions_on_string(void *data, OTF2_StringRef self, const char *text)
{
    struct trace *trace = data;
    const uint64_t index = trace->string_count;
    if (ictusi_idmap_get(&trace->string_index, self, 0) != IDMAP_NONE) {
        return OTF2_CALLBACK_SUCCESS;
    }
    char **string = array_append((void **)&trace->strings, &trace->string_count, sizeof *string);
    if (!string || ictusi_idmap_put(&trace->string_index, self, 0, (int64_t)index)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    *string = strdup(text ? text : "");
    if (!*string) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    ictusi_utf8_mend(*string); /* the text is written to result files */
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_tree_node(void *data, OTF2_SystemTreeNodeRef self,
                                                  OTF2_StringRef name, OTF2_StringRef class_name,
                                                  OTF2_SystemTreeNodeRef parent)
{
    struct trace *trace = data;
    (void)name;
    const bool node = strcmp(ictusi_archive_string(trace, class_name), "node") == 0;
    if (ictusi_idmap_put(&trace->links.tree_parent, self, 0, parent) ||
        ictusi_idmap_put(&trace->links.tree_class, self, 0, node)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_process(void *data, OTF2_LocationGroupRef self,
                                                OTF2_StringRef name, OTF2_LocationGroupType type,
                                                OTF2_SystemTreeNodeRef parent,
                                                OTF2_LocationGroupRef creator)
{
    struct trace *trace = data;
    struct trace_links *links = &trace->links;
    const uint64_t index = trace->layout.process_count;
    struct layout_process *process = array_append((void **)&trace->layout.processes,
                                                  &trace->layout.process_count, sizeof *process);
    struct process_link *link =
        array_append((void **)&links->processes, &links->process_count, sizeof *link);
    if (!process || !link || definitions_names_add(&trace->processes, self, name) ||
        ictusi_idmap_put(&trace->process_index, self, 0, (int64_t)index)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    const bool made = type == OTF2_LOCATION_GROUP_TYPE_ACCELERATOR;
    *link = (struct process_link){parent, made ? creator : OTF2_UNDEFINED_LOCATION_GROUP};
    process->ref = self;
    process->creator = LAYOUT_NONE;
    process->rank_location = LAYOUT_NONE;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_location(void *data, OTF2_LocationRef self,
                                                 OTF2_StringRef name, OTF2_LocationType type,
                                                 uint64_t events, OTF2_LocationGroupRef group)
{
    struct trace *trace = data;
    (void)type;
    if (ictusi_idmap_get(&trace->location_index, self, 0) != IDMAP_NONE) {
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint64_t index = trace->layout.location_count;
    struct layout_location *location = array_append(
        (void **)&trace->layout.locations, &trace->layout.location_count, sizeof *location);
    if (!location || definitions_names_add(&trace->locations, self, name) ||
        ictusi_idmap_put(&trace->location_index, self, 0, (int64_t)index)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    const int64_t process = ictusi_idmap_get(&trace->process_index, group, 0);
    location->ref = self;
    location->events = events;
    location->process = process == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)process;
    return OTF2_CALLBACK_SUCCESS;
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode definitions_on_region(void *data, OTF2_RegionRef self, OTF2_StringRef name,
                                               OTF2_StringRef canonical, OTF2_StringRef description,
                                               OTF2_RegionRole role, OTF2_Paradigm paradigm,
                                               OTF2_RegionFlag flags, OTF2_StringRef file,
                                               uint32_t begin, uint32_t end)
{
    struct trace *trace = data;
    (void)canonical;
    (void)description;
    (void)flags;
    (void)file;
    (void)begin;
    (void)end;
    const bool barrier =
        role == OTF2_REGION_ROLE_BARRIER || role == OTF2_REGION_ROLE_IMPLICIT_BARRIER;
    if (definitions_names_add(&trace->regions, self, name) ||
        ictusi_idmap_put(&trace->region_traits, self, 0, (int64_t)role | (int64_t)paradigm << 8) ||
        (barrier && paradigm == OTF2_PARADIGM_OPENMP &&
         ictusi_idmap_put(&trace->region_barrier, self, 0, 1))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_attribute(void *data, OTF2_AttributeRef self,
                                                  OTF2_StringRef name, OTF2_StringRef description,
                                                  OTF2_Type type)
{
    struct trace *trace = data;
    (void)description;
    static const char from[] = "ICTUS::RECEIVED_FROM::";
    const char *text = ictusi_archive_string(trace, name);
    int err = ICTUS_OK;
    if (type == OTF2_TYPE_CALLING_CONTEXT && strcmp(text, "ICTUS::CALL_SITE") == 0) {
        err = ictusi_idmap_put(&trace->places.attribute, 0, 0, self);
    } else if (type == OTF2_TYPE_UINT64 && strncmp(text, from, sizeof from - 1) == 0) {
        err = ictusi_idmap_put(&trace->senders, self, 0, 1);
    } else if (type == OTF2_TYPE_UINT64 && strcmp(text, "ICTUS::TEAM_REGION") == 0) {
        err = ictusi_idmap_put(&trace->team_region, 0, 0, self);
    } else if (type == OTF2_TYPE_UINT32 && strcmp(text, "ICTUS::OPERANDS") == 0) {
        err = ictusi_idmap_put(&trace->operands, 0, 0, self);
    }
    return err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_source(void *data, OTF2_SourceCodeLocationRef self,
                                               OTF2_StringRef file, uint32_t line)
{
    struct trace *trace = data;
    return ictusi_idmap_put(&trace->places.file, self, 0, file) ||
                   ictusi_idmap_put(&trace->places.line, self, 0, line)
               ? OTF2_CALLBACK_INTERRUPT
               : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_context(void *data, OTF2_CallingContextRef self,
                                                OTF2_RegionRef region,
                                                OTF2_SourceCodeLocationRef source,
                                                OTF2_CallingContextRef parent)
{
    struct trace *trace = data;
    (void)parent;
    return ictusi_idmap_put(&trace->places.region, self, 0, region) ||
                   ictusi_idmap_put(&trace->places.source, self, 0, source)
               ? OTF2_CALLBACK_INTERRUPT
               : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_group(void *data, OTF2_GroupRef self, OTF2_StringRef name,
                                              OTF2_GroupType type, OTF2_Paradigm paradigm,
                                              OTF2_GroupFlag flags, uint32_t count,
                                              const uint64_t *members)
{
    struct trace *trace = data;
    (void)name;
    const uint64_t index = trace->group_count;
    struct trace_group *group =
        array_append((void **)&trace->groups, &trace->group_count, sizeof *group);
    if (!group || ictusi_idmap_put(&trace->group_index, self, 0, (int64_t)index)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    group->ref = self;
    group->type = type;
    group->paradigm = paradigm;
    group->global_members = flags & OTF2_GROUP_FLAG_GLOBAL_MEMBERS;
    group->members = malloc((count + 1UL) * sizeof *members);
    if (!group->members) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    group->count = count;
    if (count) {
        memcpy(group->members, members, count * sizeof *members);
    }
    return OTF2_CALLBACK_SUCCESS;
}

/* Add a communicator, or something with members like one, and store its index in a map. */
static OTF2_CallbackCode definitions_add_comm(struct trace *trace, struct idmap *map, uint32_t self,
                                              const struct layout_comm *made,
                                              const struct comm_link *groups)
{
    const uint64_t index = trace->layout.comm_count;
    struct layout_comm *comm =
        array_append((void **)&trace->layout.comms, &trace->layout.comm_count, sizeof *comm);
    struct comm_link *link =
        array_append((void **)&trace->links.comms, &trace->links.comm_count, sizeof *link);
    if (!comm || !link || ictusi_idmap_put(map, self, 0, (int64_t)index)) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    *comm = *made;
    *link = *groups;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode definitions_on_comm(void *data, OTF2_CommRef self, OTF2_StringRef name,
                                             OTF2_GroupRef group, OTF2_CommRef parent,
                                             OTF2_CommFlag flags)
{
    struct trace *trace = data;
    (void)parent;
    (void)flags;
    const struct layout_comm comm = {.ref = self};
    const struct comm_link groups = {.group_a = group, .group_b = OTF2_UNDEFINED_GROUP};
    return definitions_names_add(&trace->comms, self, name)
               ? OTF2_CALLBACK_INTERRUPT
               : definitions_add_comm(trace, &trace->comm_index, self, &comm, &groups);
}

static OTF2_CallbackCode definitions_on_intercomm(void *data, OTF2_CommRef self,
                                                  OTF2_StringRef name, OTF2_GroupRef a,
                                                  OTF2_GroupRef b, OTF2_CommRef common,
                                                  OTF2_CommFlag flags)
{
    struct trace *trace = data;
    const struct layout_comm comm = {.ref = self, .inter = true};
    const struct comm_link groups = {.group_a = a, .group_b = b};
    (void)name;
    (void)common;
    (void)flags;
    return definitions_add_comm(trace, &trace->comm_index, self, &comm, &groups);
}

static OTF2_CallbackCode definitions_on_window(void *data, OTF2_RmaWinRef self, OTF2_StringRef name,
                                               OTF2_CommRef comm, OTF2_RmaWinFlag flags)
{
    struct trace *trace = data;
    const struct layout_comm window = {.ref = comm};
    const struct comm_link groups = {.window = true};
    (void)name;
    (void)flags;
    return definitions_add_comm(trace, &trace->window_index, self, &window, &groups);
}

static OTF2_CallbackCode definitions_on_parameter(void *data, OTF2_ParameterRef self,
                                                  OTF2_StringRef name, OTF2_ParameterType type)
{
    struct trace *trace = data;
    (void)type;
    return definitions_names_add(&trace->parameters, self, name) ? OTF2_CALLBACK_INTERRUPT
                                                                 : OTF2_CALLBACK_SUCCESS;
}

static void definitions_set_global_callbacks(OTF2_GlobalDefReaderCallbacks *set)
{
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(set, definitions_on_clock);
    OTF2_GlobalDefReaderCallbacks_SetStringCallback(set, definitions_on_string);
    OTF2_GlobalDefReaderCallbacks_SetSystemTreeNodeCallback(set, definitions_on_tree_node);
    OTF2_GlobalDefReaderCallbacks_SetLocationGroupCallback(set, definitions_on_process);
    OTF2_GlobalDefReaderCallbacks_SetLocationCallback(set, definitions_on_location);
    OTF2_GlobalDefReaderCallbacks_SetRegionCallback(set, definitions_on_region);
    OTF2_GlobalDefReaderCallbacks_SetAttributeCallback(set, definitions_on_attribute);
    OTF2_GlobalDefReaderCallbacks_SetSourceCodeLocationCallback(set, definitions_on_source);
    OTF2_GlobalDefReaderCallbacks_SetCallingContextCallback(set, definitions_on_context);
    OTF2_GlobalDefReaderCallbacks_SetGroupCallback(set, definitions_on_group);
    OTF2_GlobalDefReaderCallbacks_SetCommCallback(set, definitions_on_comm);
    OTF2_GlobalDefReaderCallbacks_SetInterCommCallback(set, definitions_on_intercomm);
    OTF2_GlobalDefReaderCallbacks_SetRmaWinCallback(set, definitions_on_window);
    OTF2_GlobalDefReaderCallbacks_SetParameterCallback(set, definitions_on_parameter);
    ictusi_metric_names_register(set);
}

/*
 * The number of definitions is also compared with the one stated in the anchor, because a file that
 * is cut off between two records looks complete.
 */
int ictusi_definitions_read_global(struct trace *trace)
{
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(trace->reader);
    OTF2_GlobalDefReaderCallbacks *set = OTF2_GlobalDefReaderCallbacks_New();
    uint64_t read = 0;
    if (!reader || !set) {
        OTF2_GlobalDefReaderCallbacks_Delete(set);
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_CORRUPT,
                             "%s: its global definitions cannot be read", trace->path);
    }
    definitions_set_global_callbacks(set);
    OTF2_ErrorCode code = OTF2_Reader_RegisterGlobalDefCallbacks(trace->reader, reader, set, trace);
    OTF2_GlobalDefReaderCallbacks_Delete(set);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllGlobalDefinitions(trace->reader, reader, &read);
    }
    OTF2_Reader_CloseGlobalDefReader(trace->reader, reader);
    if (code == OTF2_ERROR_INTERRUPTED_BY_CALLBACK) {
        return ICTUS_ERR_NOMEM; /* the only reason for which the callbacks stop */
    }
    if (code == OTF2_SUCCESS && read == trace->definitions && trace->layout.resolution == 0) {
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_CORRUPT,
                             "%s: the length of a clock tick is not defined", trace->path);
    }
    if (code != OTF2_SUCCESS || read != trace->definitions) {
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_CORRUPT,
                             "%s: its global definitions are damaged (%llu of %llu read)",
                             trace->path, (unsigned long long)read,
                             (unsigned long long)trace->definitions);
    }
    return ICTUS_OK;
}

static OTF2_CallbackCode definitions_on_offset(void *data, OTF2_TimeStamp time, int64_t offset,
                                               double sd)
{
    struct layout_location *location = data;
    uint64_t count = location->offset_count;
    struct clock_offset *added = array_append((void **)&location->offsets, &count, sizeof *added);
    if (!added) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    *added = (struct clock_offset){time, offset, sd};
    location->offset_count = (uint32_t)count;
    return OTF2_CALLBACK_SUCCESS;
}

/* Larger values would leave no room for sums of stamps and offsets within 64 bits. */
static int definitions_check_offsets(const struct trace *trace,
                                     const struct layout_location *location)
{
    const int64_t most = INT64_C(1) << STAMP_BITS;
    for (uint32_t i = 0; i < location->offset_count; i++) {
        const struct clock_offset *o = &location->offsets[i];
        if (o->time >> STAMP_BITS || o->offset > most || o->offset < -most || isnan(o->sd)) {
            return ictus_because(trace->why, ICTUS_ERR_CORRUPT,
                                 "%s: location %llu has an impossible clock offset", trace->path,
                                 (unsigned long long)location->ref);
        }
    }
    return ICTUS_OK;
}

static int definitions_read_local(struct trace *trace, struct layout_location *location,
                                  const OTF2_DefReaderCallbacks *set)
{
    const bool said = trace->said;
    OTF2_DefReader *reader = OTF2_Reader_GetDefReader(trace->reader, location->ref);
    uint64_t read = 0;
    if (!reader) {
        trace->said = said; /* a location may have no definitions of its own */
        return ICTUS_OK;
    }
    OTF2_ErrorCode code = OTF2_Reader_RegisterDefCallbacks(trace->reader, reader, set, location);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllLocalDefinitions(trace->reader, reader, &read);
    }
    OTF2_Reader_CloseDefReader(trace->reader, reader);
    if (code == OTF2_ERROR_INTERRUPTED_BY_CALLBACK) {
        return ICTUS_ERR_NOMEM; /* as above */
    }
    if (code != OTF2_SUCCESS) {
        return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_CORRUPT,
                             "%s: the definitions of location %llu are damaged", trace->path,
                             (unsigned long long)location->ref);
    }
    return definitions_check_offsets(trace, location);
}

int ictusi_definitions_read_local(struct trace *trace)
{
    OTF2_DefReaderCallbacks *set = OTF2_DefReaderCallbacks_New();
    int err = ICTUS_OK;
    if (!set) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        (void)OTF2_Reader_SelectLocation(trace->reader, trace->layout.locations[i].ref);
    }
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(set, definitions_on_offset);
    if (OTF2_Reader_OpenDefFiles(trace->reader) == OTF2_SUCCESS) {
        for (uint64_t i = 0; i < trace->layout.location_count && !err; i++) {
            err = definitions_read_local(trace, &trace->layout.locations[i], set);
        }
        (void)OTF2_Reader_CloseDefFiles(trace->reader);
    }
    OTF2_DefReaderCallbacks_Delete(set);
    return err;
}

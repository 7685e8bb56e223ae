/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the global definitions of an archive. */
#include "trace/write_archive.h"

#include "archive/trace.h"
#include "core/plain.h"
#include "trace/convert.h"
#include "trace/convert_files.h"
#include "trace/convert_teams.h"
#include "tracer/ops.h"
#include "tracer/record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The state that all functions share. */
struct writing {
    OTF2_GlobalDefWriter *w;
    const struct trace_world *world;
    struct keymap strings;
    OTF2_ErrorCode failed;
};

static void write_check(struct writing *g, OTF2_ErrorCode code)
{
    if (code != OTF2_SUCCESS && g->failed == OTF2_SUCCESS) {
        g->failed = code;
    }
}

/* The number of a text, which is written when first used. */
static OTF2_StringRef string_write(struct writing *g, const char *text)
{
    bool fresh = false;
    const uint32_t number = ictusi_keymap_put(&g->strings, ictusi_keymap_hash(text), &fresh);
    if (number == KEYMAP_NONE) {
        write_check(g, OTF2_ERROR_MEM_ALLOC_FAILED);
    } else if (fresh) {
        write_check(g, OTF2_GlobalDefWriter_WriteString(g->w, number, text));
    }
    return number;
}

/* Texts are written here one after the other, so that their numbers depend on no compiler's order.
 */
static void attribute_write(struct writing *g, OTF2_AttributeRef attribute, const char *name,
                            const char *description, OTF2_Type type)
{
    const OTF2_StringRef called = string_write(g, name);
    const OTF2_StringRef described = string_write(g, description);
    write_check(g, OTF2_GlobalDefWriter_WriteAttribute(g->w, attribute, called, described, type));
}

static OTF2_RegionRole definitions_role_of(const struct trace_function *function)
{
    static const struct {
        const char *group;
        OTF2_RegionRole role;
    } roles[] = {{"p2p", OTF2_REGION_ROLE_POINT2POINT},
                 {"request", OTF2_REGION_ROLE_POINT2POINT},
                 {"coll", OTF2_REGION_ROLE_COLL_OTHER},
                 {"rma", OTF2_REGION_ROLE_RMA},
                 {"io", OTF2_REGION_ROLE_FILE_IO}};
    switch (function->op) {
    case COLL_BARRIER:
        return OTF2_REGION_ROLE_BARRIER;
    case COLL_BCAST:
    case COLL_SCATTER:
    case COLL_SCATTERV:
        return OTF2_REGION_ROLE_COLL_ONE2ALL;
    case COLL_GATHER:
    case COLL_GATHERV:
    case COLL_REDUCE:
        return OTF2_REGION_ROLE_COLL_ALL2ONE;
    case COLL_SCAN:
    case COLL_EXSCAN:
    case COLL_CREATE_HANDLE:
        return OTF2_REGION_ROLE_COLL_OTHER;
    case -1:
        break;
    default:
        return OTF2_REGION_ROLE_COLL_ALL2ALL;
    }
    for (size_t i = 0; i < sizeof(roles) / sizeof(roles[0]); i++) {
        if (strcmp(roles[i].group, function->group) == 0) {
            return roles[i].role;
        }
    }
    return OTF2_REGION_ROLE_FUNCTION;
}

static OTF2_RegionRole openmp_role(uint32_t function)
{
    if (function == FUNCTION_OMP_parallel) {
        return OTF2_REGION_ROLE_PARALLEL;
    }
    return function == FUNCTION_OMP_barrier ? OTF2_REGION_ROLE_BARRIER
                                            : OTF2_REGION_ROLE_IMPLICIT_BARRIER;
}

static void region_write(struct writing *g, uint32_t number, const char *name, OTF2_RegionRole role,
                         OTF2_Paradigm paradigm, const char *file)
{
    const OTF2_StringRef called = string_write(g, name);
    const OTF2_StringRef none = string_write(g, "");
    const OTF2_StringRef from = string_write(g, file);
    write_check(g, OTF2_GlobalDefWriter_WriteRegion(g->w, number, called, called, none, role,
                                                    paradigm, OTF2_REGION_FLAG_NONE, from, 0, 0));
}

static void regions_write(struct writing *g)
{
    const struct unified *u = g->world->unified;
    for (uint32_t i = 0; i < u->region_keys.count; i++) {
        const struct unified_name *region = &u->regions[i];
        if (region->function < TRACE_FUNCTIONS) {
            const struct trace_function *function = &ictusi_tracer_functions[region->function];
            const bool openmp = strcmp(function->group, "openmp") == 0;
            region_write(g, i, function->name,
                         openmp ? openmp_role(region->function) : definitions_role_of(function),
                         openmp ? OTF2_PARADIGM_OPENMP : OTF2_PARADIGM_MPI, openmp ? "" : "MPI");
        } else if (strcmp(region->name, TRACE_REGION_SYNC) == 0) {
            region_write(g, i, region->name, OTF2_REGION_ROLE_ARTIFICIAL,
                         OTF2_PARADIGM_MEASUREMENT_SYSTEM, "");
        } else {
            region_write(g, i, region->name, OTF2_REGION_ROLE_CODE, OTF2_PARADIGM_USER, "");
        }
    }
}

/* Functions that call MPI are numbered after the regions, one for each function and file. */
static uint32_t caller_write(struct writing *g, struct keymap *callers,
                             const struct symbol_site *site)
{
    bool fresh = false;
    char key[48];
    const char *file = site->file ? site->file : "";
    (void)snprintf(key, sizeof(key), "%llx %llx",
                   (unsigned long long)ictusi_keymap_hash(site->function),
                   (unsigned long long)ictusi_keymap_hash(file));
    const uint32_t number = ictusi_keymap_put(callers, ictusi_keymap_hash(key), &fresh) +
                            g->world->unified->region_keys.count;
    if (fresh) {
        region_write(g, number, site->function, OTF2_REGION_ROLE_FUNCTION, OTF2_PARADIGM_UNKNOWN,
                     file);
    }
    return number;
}

/*
 * Each call site becomes a calling context, made of the calling function and the line of the call.
 * The attribute of an enter refers to it.
 */
static void sites_write(struct writing *g)
{
    const struct symbols *symbols = &g->world->unified->symbols;
    struct keymap callers = {NULL, NULL, 0, 0};
    attribute_write(g, ATTRIBUTE_CALL_SITE, "ICTUS::CALL_SITE",
                    "the place from which the region was called", OTF2_TYPE_CALLING_CONTEXT);
    OTF2_SourceCodeLocationRef lines = 0; /* numbered without gaps, as readers require */
    for (uint32_t i = 0; i < symbols->count; i++) {
        const struct symbol_site *site = &symbols->sites[i];
        const uint32_t caller = caller_write(g, &callers, site);
        OTF2_SourceCodeLocationRef line = OTF2_UNDEFINED_SOURCE_CODE_LOCATION;
        if (site->file && site->line) {
            line = lines++;
            write_check(g, OTF2_GlobalDefWriter_WriteSourceCodeLocation(
                               g->w, line, string_write(g, site->file), site->line));
        }
        write_check(g, OTF2_GlobalDefWriter_WriteCallingContext(g->w, i, caller, line,
                                                                OTF2_UNDEFINED_CALLING_CONTEXT));
    }
    ictusi_keymap_free(&callers);
}

/*
 * The position of an operation in a file, the number that distinguishes the regions of an OpenMP
 * team, and what a collective was given.
 */
static void numbers_write(struct writing *g)
{
    attribute_write(g, ATTRIBUTE_OFFSET, "ICTUS::FILE_OFFSET",
                    "the first byte of the file that is read or written", OTF2_TYPE_UINT64);
    attribute_write(g, ATTRIBUTE_TEAM_REGION, "ICTUS::TEAM_REGION",
                    "which region of its team the thread begins", OTF2_TYPE_UINT64);
    attribute_write(g, ATTRIBUTE_OPERANDS, "ICTUS::OPERANDS",
                    "the datatype, operator and place of a collective's buffers", OTF2_TYPE_UINT32);
}

static void teams_write(struct writing *g)
{
    const struct unified *u = g->world->unified;
    if (u->team_keys.count > 0) {
        const OTF2_StringRef none = string_write(g, "");
        const OTF2_StringRef team = string_write(g, "OpenMP team");
        write_check(g, ictusi_teams_define(g->w, u, u->group_count + 2, none, team));
    }
}

/*
 * Attributes for the ranks data was received from, where totals do not tell: one for each 64 ranks
 * of a group.
 */
static void senders_write(struct writing *g)
{
    char name[64];
    char text[96];
    const int ranks = g->world->size < SENDERS_RANKS_MAX ? g->world->size : SENDERS_RANKS_MAX;
    for (int i = 0; i < (ranks + 63) / 64; i++) {
        (void)snprintf(name, sizeof(name), "ICTUS::RECEIVED_FROM::%d", i);
        (void)snprintf(text, sizeof(text), "bit k: data was received from rank %d + k", 64 * i);
        attribute_write(g, (OTF2_AttributeRef)(ATTRIBUTE_SENDERS + i), name, text,
                        OTF2_TYPE_UINT64);
    }
}

/*
 * Write one node per host, in the order of their lowest rank. hosts[p] becomes the node of process
 * p.
 */
static void tree_write(struct writing *g, uint32_t *hosts)
{
    struct keymap nodes = {NULL, NULL, 0, 0};
    const OTF2_StringRef class_name = string_write(g, "node");
    write_check(g, OTF2_GlobalDefWriter_WriteSystemTreeNode(g->w, 0, string_write(g, "machine"),
                                                            string_write(g, "machine"),
                                                            OTF2_UNDEFINED_SYSTEM_TREE_NODE));
    write_check(g, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(g->w, 0,
                                                                  OTF2_SYSTEM_TREE_DOMAIN_MACHINE));
    for (int p = 0; p < g->world->size; p++) {
        if (!g->world->logs[p].text) {
            continue;
        }
        bool fresh = false;
        const char *host = g->world->results[p].host;
        const uint32_t node = ictusi_keymap_put(&nodes, ictusi_keymap_hash(host), &fresh);
        hosts[p] = node + 1;
        if (fresh) {
            write_check(g, OTF2_GlobalDefWriter_WriteSystemTreeNode(
                               g->w, node + 1, string_write(g, host), class_name, 0));
            write_check(g, OTF2_GlobalDefWriter_WriteSystemTreeNodeDomain(
                               g->w, node + 1, OTF2_SYSTEM_TREE_DOMAIN_SHARED_MEMORY));
        }
    }
    ictusi_keymap_free(&nodes);
}

static void locations_write(struct writing *g, const uint32_t *hosts)
{
    char text[64];
    const uint64_t *events = g->world->events;
    for (int p = 0; p < g->world->size; p++) {
        if (!g->world->logs[p].text) {
            continue;
        }
        (void)snprintf(text, sizeof(text), "MPI Rank %d", p);
        write_check(g,
                    OTF2_GlobalDefWriter_WriteLocationGroup(
                        g->w, (OTF2_LocationGroupRef)p, string_write(g, text),
                        OTF2_LOCATION_GROUP_TYPE_PROCESS, hosts[p], OTF2_UNDEFINED_LOCATION_GROUP));
        for (int t = 0; t < g->world->results[p].threads; t++) {
            if (t == 0) {
                (void)snprintf(text, sizeof(text), "Master thread");
            } else {
                (void)snprintf(text, sizeof(text), "Thread %d", t);
            }
            write_check(g, OTF2_GlobalDefWriter_WriteLocation(
                               g->w, trace_location(p, t), string_write(g, text),
                               OTF2_LOCATION_TYPE_CPU_THREAD, *events++, (OTF2_LocationGroupRef)p));
        }
    }
}

/* The locations of the communicators' members. Processes that left no events have no location. */
static void groups_write(struct writing *g, const int *place)
{
    const struct unified *u = g->world->unified;
    const OTF2_StringRef none = string_write(g, "");
    uint64_t *members = calloc((size_t)g->world->size + 1, sizeof(*members));
    uint32_t count = 0;
    if (!members) {
        write_check(g, OTF2_ERROR_MEM_ALLOC_FAILED);
        return;
    }
    for (int p = 0; p < g->world->size; p++) {
        if (g->world->logs[p].text) {
            members[count++] = trace_location(p, 0);
        }
    }
    write_check(g, OTF2_GlobalDefWriter_WriteGroup(g->w, 0, none, OTF2_GROUP_TYPE_COMM_LOCATIONS,
                                                   OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, count,
                                                   members));
    write_check(g,
                OTF2_GlobalDefWriter_WriteGroup(g->w, 1, none, OTF2_GROUP_TYPE_COMM_SELF,
                                                OTF2_PARADIGM_MPI, OTF2_GROUP_FLAG_NONE, 0, NULL));
    for (uint32_t i = 0; i < u->group_count; i++) {
        const struct unified_group *group = &u->groups[i];
        uint64_t *mapped = calloc((size_t)group->count + 1, sizeof(*mapped));
        for (uint32_t m = 0; mapped && m < group->count; m++) {
            const bool known = group->members[m] < (uint64_t)g->world->size;
            mapped[m] = known ? (uint64_t)place[group->members[m]] : 0;
        }
        write_check(g, OTF2_GlobalDefWriter_WriteGroup(
                           g->w, i + 2, none, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                           OTF2_GROUP_FLAG_NONE, mapped ? group->count : 0, mapped));
        free(mapped);
    }
    free(members);
}

static void comms_write(struct writing *g)
{
    const struct unified *u = g->world->unified;
    for (uint32_t i = 0; i < u->comm_keys.count; i++) {
        const struct unified_comm *comm = &u->comms[i];
        const OTF2_StringRef name = string_write(g, comm->name);
        if (comm->self) {
            write_check(g, OTF2_GlobalDefWriter_WriteComm(g->w, i, name, 1, OTF2_UNDEFINED_COMM,
                                                          OTF2_COMM_FLAG_NONE));
        } else if (comm->other != KEYMAP_NONE && comm->group != KEYMAP_NONE) {
            write_check(g, OTF2_GlobalDefWriter_WriteInterComm(g->w, i, name, comm->group + 2,
                                                               comm->other + 2, OTF2_UNDEFINED_COMM,
                                                               OTF2_COMM_FLAG_NONE));
        } else if (comm->group != KEYMAP_NONE) {
            write_check(g,
                        OTF2_GlobalDefWriter_WriteComm(g->w, i, name, comm->group + 2,
                                                       OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE));
        }
    }
    for (uint32_t i = 0; i < u->window_keys.count; i++) {
        write_check(g,
                    OTF2_GlobalDefWriter_WriteRmaWin(g->w, i, string_write(g, u->windows[i].name),
                                                     u->windows[i].comm, OTF2_RMA_WIN_FLAG_NONE));
    }
}

static void metric_write(struct writing *g, OTF2_MetricMemberRef member, const char *name,
                         const char *unit, bool counter)
{
    const OTF2_StringRef called = string_write(g, name);
    const OTF2_StringRef measured = string_write(g, unit);
    write_check(g,
                OTF2_GlobalDefWriter_WriteMetricMember(
                    g->w, member, called, called,
                    counter ? OTF2_METRIC_TYPE_PAPI : OTF2_METRIC_TYPE_USER,
                    counter ? OTF2_METRIC_ACCUMULATED_START : OTF2_METRIC_ABSOLUTE_POINT,
                    counter ? OTF2_TYPE_UINT64 : OTF2_TYPE_DOUBLE, OTF2_BASE_DECIMAL, 0, measured));
}

static void class_write(struct writing *g, OTF2_MetricRef class, uint8_t count,
                        const OTF2_MetricMemberRef *members)
{
    write_check(g, OTF2_GlobalDefWriter_WriteMetricClass(g->w, class, count, members,
                                                         OTF2_METRIC_ASYNCHRONOUS,
                                                         OTF2_RECORDER_KIND_CPU));
}

static void metrics_write(struct writing *g)
{
    const struct unified *u = g->world->unified;
    OTF2_MetricMemberRef members[RECORD_WORDS_MAX];
    OTF2_MetricMemberRef next = 0;
    uint8_t count = 0;
    metric_write(g, next, "clock sigma", "ns", false);
    members[0] = next++;
    class_write(g, METRIC_REF_CLOCK, 1, members);
    for (size_t i = 0; u->counters && i < u->counters->item_count; i++) {
        const struct raw_item *item = &u->counters->items[i];
        if (item->kind == 'M' && count < RECORD_WORDS_MAX) {
            metric_write(g, next, item->text, strstr(item->text, "_ns") ? "ns" : "#", true);
            members[count++] = next++;
        }
    }
    if (count > 0) {
        class_write(g, METRIC_REF_COUNTERS, count, members);
    }
    for (uint32_t i = 0; i < u->metric_keys.count; i++) {
        metric_write(g, next, u->metrics[i].name, u->metrics[i].unit, false);
        members[0] = next++;
        class_write(g, metric_ref_user(count) + i, 1, members);
    }
    for (uint32_t i = 0; i < u->event_keys.count; i++) {
        write_check(g,
                    OTF2_GlobalDefWriter_WriteParameter(g->w, i, string_write(g, u->events[i].name),
                                                        OTF2_PARAMETER_TYPE_UINT64));
    }
}

/* The files of MPI-IO by name, and the handles. Which nodes share a file is unknown. */
static void files_write(struct writing *g)
{
    const struct unified *u = g->world->unified;
    const OTF2_StringRef way = string_write(g, "MPI-IO");
    if (u->file_keys.count == 0) {
        return;
    }
    write_check(g, OTF2_GlobalDefWriter_WriteIoParadigm(
                       g->w, IO_PARADIGM_MPI, way, way, OTF2_IO_PARADIGM_CLASS_PARALLEL,
                       OTF2_IO_PARADIGM_FLAG_NONE, 0, NULL, NULL, NULL));
    for (uint32_t i = 0; i < u->file_keys.count; i++) {
        write_check(g, OTF2_GlobalDefWriter_WriteIoRegularFile(
                           g->w, i, string_write(g, u->files[i].name), 0));
    }
    for (uint32_t i = 0; i < u->handle_keys.count; i++) {
        const struct unified_file *open = &u->handles[i];
        write_check(g, OTF2_GlobalDefWriter_WriteIoHandle(
                           g->w, i, string_write(g, u->files[open->file].name), open->file,
                           IO_PARADIGM_MPI, OTF2_IO_HANDLE_FLAG_NONE, open->comm,
                           OTF2_UNDEFINED_IO_HANDLE));
    }
}

/*
 * Times are in nanoseconds. The first instant of the trace is tied to the wall clock of a process.
 */
static void clock_write(struct writing *g, const struct trace_writing *options)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    uint64_t realtime = OTF2_UNDEFINED_TIMESTAMP;
    for (int p = 0; p < g->world->size; p++) {
        const struct process_result *r = &g->world->results[p];
        if (g->world->logs[p].text && r->first <= r->last) {
            first = r->first < first ? r->first : first;
            last = r->last > last ? r->last : last;
        }
    }
    first = first == UINT64_MAX ? 0 : first;
    for (int p = 0; p < g->world->size; p++) {
        const struct rawlog *log = &g->world->logs[p];
        if (log->text) {
            struct timeline view = log->timeline;
            const int64_t at =
                options->local ? log->local_anchor : ictusi_timeline_map(&view, log->local_anchor);
            realtime =
                (uint64_t)log->realtime_anchor + first - (uint64_t)at - (uint64_t)options->shift_ns;
            break;
        }
    }
    write_check(g, OTF2_GlobalDefWriter_WriteClockProperties(
                       g->w, 1000000000, first, last > first ? last - first : 0, realtime));
}

static void definitions_set_property(OTF2_Archive *archive, const char *name, const char *format,
                                     double value)
{
    char text[64];
    const struct plain plain = plain_begin();
    (void)snprintf(text, sizeof(text), format, value);
    plain_end(&plain);
    (void)OTF2_Archive_SetProperty(archive, name, text, true);
}

/*
 * Whether some process of a node reads another clock than the node's first one. nodes[p] is the
 * node of process p, numbered from 1; first has a zero for each node.
 */
static bool definitions_clocks_differ(const struct trace_world *world, const uint32_t *nodes,
                                      int *first)
{
    for (int p = 0; p < world->size; p++) {
        int *leader = &first[nodes[p]]; /* its rank and 1 */
        *leader = *leader ? *leader : p + 1;
        if (world->logs[p].text &&
            !ictusi_rawlog_share_clock(&world->logs[*leader - 1], &world->logs[p])) {
            return true;
        }
    }
    return false;
}

static void definitions_set_properties(OTF2_Archive *archive, const struct trace_writing *options,
                                       const struct trace_world *world,
                                       const struct ictus_trace_summary *summary)
{
    for (int p = 0; p < world->size; p++) {
        if (world->logs[p].text) {
            (void)OTF2_Archive_SetDescription(archive, world->logs[p].program);
            (void)OTF2_Archive_SetProperty(archive, "ICTUS::CLOCK::SPEC", world->logs[p].clock,
                                           true);
            (void)OTF2_Archive_SetMachineName(archive, world->results[p].host);
            break;
        }
    }
    (void)OTF2_Archive_SetProperty(archive, "ICTUS::CLOCK::TIMESTAMPS",
                                   options->local ? "local" : "global", true);
    definitions_set_property(archive, "ICTUS::CLOCK::SIGMA_NS", "%.1f", summary->sigma_ns);
    definitions_set_property(archive, "ICTUS::CLOCK::BOUND_NS", "%.1f", summary->bound_ns);
    definitions_set_property(archive, "ICTUS::CLOCK::SHIFT_NS", "%.0f", (double)options->shift_ns);
    definitions_set_property(archive, "ICTUS::PROCESSES::CUT", "%.0f", (double)summary->cut);
}

int ictusi_trace_write_global(OTF2_Archive *archive, const struct trace_writing *options,
                              const struct trace_world *world, struct ictus_trace_summary *summary)
{
    struct writing g = {
        OTF2_Archive_GetGlobalDefWriter(archive), world, {NULL, NULL, 0, 0}, OTF2_SUCCESS};
    uint32_t *hosts = calloc((size_t)world->size + 1, sizeof(*hosts));
    int *place = calloc((size_t)world->size + 1, sizeof(*place));
    int *first = calloc((size_t)world->size + 1, sizeof(*first));
    ictusi_trace_summarise(world, summary);
    if (g.w && hosts && place && first) {
        for (int p = 0, next = 0; p < world->size; p++) {
            place[p] = next;
            next += world->logs[p].text != NULL;
        }
        clock_write(&g, options);
        regions_write(&g);
        sites_write(&g);
        numbers_write(&g);
        senders_write(&g);
        tree_write(&g, hosts);
        locations_write(&g, hosts);
        groups_write(&g, place);
        comms_write(&g);
        teams_write(&g);
        files_write(&g);
        metrics_write(&g);
        write_check(&g, OTF2_Archive_CloseGlobalDefWriter(archive, g.w));
        definitions_set_properties(archive, options, world, summary);
        if (definitions_clocks_differ(world, hosts, first)) {
            (void)OTF2_Archive_SetProperty(archive, PROCESS_CLOCKS, "1", true);
        }
    } else {
        g.failed = OTF2_ERROR_MEM_ALLOC_FAILED;
    }
    ictusi_keymap_free(&g.strings);
    free(hosts);
    free(place);
    free(first);
    return g.failed == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_IO;
}

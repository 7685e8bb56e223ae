/* SPDX-License-Identifier: BSD-3-Clause */
/* The relations between an archive's definitions: nodes of processes, ranks, members. */
#include "../check.h"
#include "written_archive.h"

#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/error.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES = 4, LOCATIONS = 6, EVENTS = 1, NOWHERE = 555, STRAY = 105 };
enum { MACHINE = 3, NODE_A, NODE_B, BOARD, CIRCLE, LOST }; /* places in the system */
enum { ALL = 20, PAIR, GLOBAL, SELF, BEYOND };             /* groups */
enum { WORLD = 30, REVERSED, LONE, BETWEEN, UNKNOWN };     /* communicators */
enum { WINDOW = 7, ADRIFT = 9 };

static char root[CHECK_PATH];

/*
 * Process 1 has two threads, of which the second is its rank; then comes a GPU stream. The process
 * of the last location is not defined, nor is one of the locations that are ranks.
 */
static const uint64_t refs[LOCATIONS] = {100, 101, 102, 103, 104, STRAY};
static const uint32_t process_of[LOCATIONS] = {10, 11, 11, 12, 13, 99};
static const uint64_t ranks[] = {100, 102, 103, NOWHERE, STRAY};

static void places_write(OTF2_GlobalDefWriter *d)
{
    static const struct {
        uint32_t self, class, parent;
    } places[] = {{MACHINE, 1, OTF2_UNDEFINED_SYSTEM_TREE_NODE},
                  {NODE_A, 2, MACHINE},
                  {NODE_B, 2, MACHINE},
                  {BOARD, 3, NODE_A},
                  {CIRCLE, 3, LOST},
                  {LOST, 3, CIRCLE}}; /* the tree of a damaged archive may have a cycle */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        OTF2_GlobalDefWriter_WriteSystemTreeNode(d, places[i].self, 0, places[i].class,
                                                 places[i].parent);
    }
}

static void groups_write(OTF2_GlobalDefWriter *d, bool damaged)
{
    static const uint64_t pair[] = {2, 0}, global[] = {101, 103, NOWHERE}, beyond[] = {0, 5};
    OTF2_GlobalDefWriter_WriteGroup(d, ALL, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, sizeof ranks / sizeof *ranks, ranks);
    OTF2_GlobalDefWriter_WriteGroup(d, PAIR, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 2, pair);
    OTF2_GlobalDefWriter_WriteGroup(d, GLOBAL, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_GLOBAL_MEMBERS, 3, global);
    OTF2_GlobalDefWriter_WriteGroup(d, SELF, 0, OTF2_GROUP_TYPE_COMM_SELF, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, 0, NULL);
    if (damaged) {
        OTF2_GlobalDefWriter_WriteGroup(d, BEYOND, 0, OTF2_GROUP_TYPE_COMM_GROUP, OTF2_PARADIGM_MPI,
                                        OTF2_GROUP_FLAG_NONE, 2, beyond);
        OTF2_GlobalDefWriter_WriteComm(d, 77, 0, BEYOND, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    }
}

static void comms_write(OTF2_GlobalDefWriter *d)
{
    OTF2_GlobalDefWriter_WriteComm(d, WORLD, 0, ALL, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, REVERSED, 0, PAIR, WORLD, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, LONE, 0, SELF, OTF2_UNDEFINED_COMM, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteInterComm(d, BETWEEN, 0, PAIR, GLOBAL, WORLD, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteComm(d, UNKNOWN, 0, 999, WORLD, OTF2_COMM_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteRmaWin(d, WINDOW, 0, BETWEEN, OTF2_RMA_WIN_FLAG_NONE);
    OTF2_GlobalDefWriter_WriteRmaWin(d, ADRIFT, 0, 998, OTF2_RMA_WIN_FLAG_NONE);
}

static const struct {
    const char *name;
    bool neighbors;
} regions[] = {
    {"MPI_Neighbor_alltoall", true},   {"MPI_Ineighbor_allgatherv_init", true},
    {"MPI_Alltoall", false},           {"MPI_Neighbor", false},
    {"PMPI_Neighbor_alltoall", false}, {"neighbor_search", false},
};
/* What attributes mean is told by their names and types together. */
static const struct {
    const char *name;
    OTF2_Type type;
    char means; /* a call site, a sender, a team's region, operands; 0: nothing */
} attributes[] = {
    {"ICTUS::CALL_SITE", OTF2_TYPE_UINT32, 0},
    {"ICTUS::CALL_SITE", OTF2_TYPE_CALLING_CONTEXT, 'c'},
    {"ICTUS::CALL_SITES", OTF2_TYPE_CALLING_CONTEXT, 0},
    {"ICTUS::RECEIVED_FROM::3", OTF2_TYPE_UINT32, 0},
    {"ICTUS::RECEIVED_FROM::3", OTF2_TYPE_UINT64, 's'},
    {"ICTUS::RECEIVED_FROM::4", OTF2_TYPE_UINT64, 's'},
    {"ICTUS::RECEIVED_FROM:", OTF2_TYPE_UINT64, 0},
    {"ICTUS::TEAM_REGION", OTF2_TYPE_UINT64, 't'},
    {"ICTUS::TEAM_REGION", OTF2_TYPE_UINT32, 0},
    {"ICTUS::TEAM_REGIONS", OTF2_TYPE_UINT64, 0},
    {"ICTUS::OPERANDS", OTF2_TYPE_UINT32, 'o'},
    {"ICTUS::OPERANDS", OTF2_TYPE_UINT64, 0},
    {"OPERANDS", OTF2_TYPE_UINT32, 0},
};
enum { ATTRIBUTES = sizeof attributes / sizeof *attributes, ATTRIBUTE = 60, TITLES = 70 };
enum { REGIONS = sizeof regions / sizeof *regions, REGION = 40, NAMES = 20, FIRST = 19 };

static void regions_write(OTF2_GlobalDefWriter *d)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        OTF2_GlobalDefWriter_WriteString(d, NAMES + i, regions[i].name);
        OTF2_GlobalDefWriter_WriteRegion(d, REGION + i, NAMES + i, 0, 0, OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_MPI, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
}

static void attributes_write(OTF2_GlobalDefWriter *d)
{
    for (uint32_t i = 0; i < ATTRIBUTES; i++) {
        OTF2_GlobalDefWriter_WriteString(d, TITLES + i, attributes[i].name);
        OTF2_GlobalDefWriter_WriteAttribute(d, ATTRIBUTE + i, TITLES + i, 0, attributes[i].type);
    }
}

static void definitions_write(OTF2_GlobalDefWriter *d, bool damaged)
{
    static const char *const strings[] = {"", "machine", "node", "board"};
    static const uint32_t parents[PROCESSES] = {NODE_B, BOARD, NODE_A, CIRCLE};
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 0, 10000, 0);
    OTF2_GlobalDefWriter_WriteString(d, FIRST, "first"); /* not what undefined names are */
    for (uint32_t i = 0; i < 4; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    }
    OTF2_GlobalDefWriter_WriteString(d, 2, "no node"); /* the first definition counts */
    places_write(d);
    regions_write(d);
    attributes_write(d);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        const bool gpu = p + 1 == PROCESSES;
        OTF2_GlobalDefWriter_WriteLocationGroup(d, 10 + p, 0,
                                                gpu ? OTF2_LOCATION_GROUP_TYPE_ACCELERATOR
                                                    : OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                parents[p], gpu ? 11 : 12);
    }
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocation(d, refs[l], 0, OTF2_LOCATION_TYPE_CPU_THREAD, EVENTS,
                                           process_of[l]);
    }
    groups_write(d, damaged);
    comms_write(d);
}

static void archive_write(const char *path, bool damaged)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, refs[l]);
        OTF2_EvtWriter_Enter(writer, NULL, 1000, 0);
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    definitions_write(d, damaged);
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/*
 * A node is the ancestor of the node class, whatever lies between; if there is none, the outermost
 * ancestor. Nodes are numbered in the order in which processes refer to them.
 */
static void processes_have_nodes(const struct layout *layout)
{
    static const uint32_t nodes[PROCESSES] = {0, 1, 1, 2};
    static const uint32_t rank_locations[PROCESSES] = {0, 2, 3, LAYOUT_NONE};
    REQUIRE(layout->process_count == PROCESSES && layout->node_count == 3);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        const struct layout_process *process = &layout->processes[p];
        CHECK(process->ref == 10 + p && process->node == nodes[p]);
        CHECK(process->rank_location == rank_locations[p]);
        /*
         * Only an accelerator belongs to another process; for processes, this says who started
         * them.
         */
        CHECK(process->creator == (p + 1 == PROCESSES ? 1 : LAYOUT_NONE));
    }
    REQUIRE(layout->location_count == LOCATIONS);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        const struct layout_location *location = &layout->locations[l];
        CHECK(location->ref == refs[l] && location->events == EVENTS);
        CHECK(location->process == (refs[l] == STRAY ? LAYOUT_NONE : process_of[l] - 10));
    }
}

static void members_are(const struct layout_comm *comm, const uint32_t *wanted, uint32_t a,
                        uint32_t b)
{
    REQUIRE(comm->size_a == a && comm->size_b == b && comm->members && !comm->self);
    for (uint32_t i = 0; i < a + b; i++) {
        CHECK(comm->members[i] == wanted[i]);
        if (wanted[i] != LAYOUT_NONE) {
            CHECK(ictusi_idmap_get((struct idmap *)&comm->ranks, wanted[i], 0) == (int64_t)i ||
                  (b && i < a));
        }
    }
}

/* Members are indices among those of the paradigm, unless they are declared as locations. */
static void communicators_have_members(const struct trace *trace)
{
    static const uint32_t world[] = {0, 2, 3, LAYOUT_NONE, 5}, reversed[] = {3, 0};
    static const uint32_t between[] = {3, 0, 1, 3, LAYOUT_NONE};
    const struct layout_comm *comms = trace->layout.comms;
    members_are(&comms[ictusi_archive_comm(trace, WORLD)], world, 5, 0);
    members_are(&comms[ictusi_archive_comm(trace, REVERSED)], reversed, 2, 0);
    members_are(&comms[ictusi_archive_comm(trace, BETWEEN)], between, 2, 3);
    CHECK(comms[ictusi_archive_comm(trace, BETWEEN)].inter);
    CHECK(!comms[ictusi_archive_comm(trace, WORLD)].inter);
    const struct layout_comm *lone = &comms[ictusi_archive_comm(trace, LONE)];
    CHECK(lone->self && lone->size_a == 1 && lone->size_b == 0 && !lone->members);
    CHECK(!comms[ictusi_archive_comm(trace, UNKNOWN)].members);
    CHECK(ictusi_archive_comm(trace, 997) == LAYOUT_NONE);
    /* A window has the members of its communicator but is not one itself. */
    const uint32_t window = ictusi_archive_window(trace, WINDOW);
    REQUIRE(window != LAYOUT_NONE && window != ictusi_archive_comm(trace, BETWEEN));
    members_are(&comms[window], between, 2, 3);
    CHECK(comms[window].ref == BETWEEN && comms[window].inter);
    CHECK(!comms[ictusi_archive_window(trace, ADRIFT)].members);
    CHECK(ictusi_archive_window(trace, BETWEEN) == LAYOUT_NONE);
}

/* In neighbourhood collectives processes depend on their neighbours only. */
static void neighborhoods_are_told_by_names(const struct trace *trace)
{
    for (uint32_t i = 0; i < REGIONS; i++) {
        CHECK_STR(ictusi_archive_name(trace, &trace->regions, REGION + i), regions[i].name);
        CHECK((ictusi_idmap_get(&trace->region_neighbors, REGION + i, 0) == 1) ==
              regions[i].neighbors);
    }
}

static void attributes_have_meanings(const struct trace *trace)
{
    const struct {
        const struct idmap *map;
        char means;
    } single[] = {
        {&trace->places.attribute, 'c'}, {&trace->team_region, 't'}, {&trace->operands, 'o'}};
    for (size_t k = 0; k < sizeof single / sizeof *single; k++) {
        const int64_t found = ictusi_idmap_get(single[k].map, 0, 0);
        REQUIRE(found >= ATTRIBUTE && found < ATTRIBUTE + ATTRIBUTES);
        CHECK(attributes[found - ATTRIBUTE].means == single[k].means);
    }
    for (uint32_t i = 0; i < ATTRIBUTES; i++) {
        CHECK((ictusi_idmap_get(&trace->senders, ATTRIBUTE + i, 0) == 1) ==
              (attributes[i].means == 's'));
    }
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char path[128];
    struct trace *trace = NULL;
    struct ictus_why why = {""};
    REQUIRE(mkdtemp(check_scratch(root, "definitions")));
    (void)snprintf(path, sizeof path, "%s/whole", root);
    archive_write(path, false);
    const int err = ictusi_archive_open(path, &trace, &why);
    if (err) {
        printf("%s\n", why.text);
    }
    REQUIRE(!err);
    processes_have_nodes(&trace->layout);
    communicators_have_members(trace);
    neighborhoods_are_told_by_names(trace);
    attributes_have_meanings(trace);
    CHECK_STR(ictusi_archive_string(trace, 2), "node");
    CHECK_STR(ictusi_archive_string(trace, FIRST), "first");
    CHECK_STR(ictusi_archive_string(trace, 4), "");
    CHECK_STR(ictusi_archive_name(trace, &trace->locations, refs[0]), "");
    ictusi_archive_close(trace);
    (void)snprintf(path, sizeof path, "%s/damaged", root);
    archive_write(path, true);
    CHECK(ictusi_archive_open(path, &trace, &why) == ICTUS_ERR_CORRUPT);
    CHECK(strstr(why.text, "communicator 77 has a member that does not exist"));
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

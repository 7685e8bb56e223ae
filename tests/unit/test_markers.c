/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markers of an archive that is written again: they move with the clock of what they mark, unless
 * the archive keeps or states its clock offsets, by which readers move them.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/copy.h"
#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/error.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <unistd.h>

enum { LOCATIONS = 3, EVENTS = 5, FIRST = 10000, STEP = 100, RAISED = 7, KINDS = 2 };

static char root[CHECK_PATH];

/* Each location is a process, whose number is 50 more. Its clock is moved by this, and stretched.
 */
static uint64_t moved(uint32_t location, uint64_t time)
{
    return time + 1000 * (location + 1) + (time - FIRST) / 2;
}

static const struct marked {
    OTF2_MarkerScope scope;
    uint64_t ref, begin, duration;
    uint32_t location; /* LOCATIONS: of none */
} markers[] = {
    {OTF2_MARKER_SCOPE_LOCATION, 1, FIRST + STEP, 2 * STEP, 1},
    {OTF2_MARKER_SCOPE_LOCATION_GROUP, 52, FIRST, STEP, 2},
    {OTF2_MARKER_SCOPE_GLOBAL, 0, FIRST + STEP, 3 * STEP, LOCATIONS},
    {OTF2_MARKER_SCOPE_LOCATION, 0, FIRST + 2 * STEP, 0, 0},
    {OTF2_MARKER_SCOPE_SYSTEM_TREE_NODE, 0, FIRST + 11, STEP, LOCATIONS},
    {OTF2_MARKER_SCOPE_LOCATION, 1, FIRST + 3 * STEP, STEP, 1},
    {OTF2_MARKER_SCOPE_LOCATION, 2, FIRST, 4 * STEP, 2},
};
enum { MARKERS = sizeof markers / sizeof *markers };

static void markers_write(OTF2_Archive *archive)
{
    OTF2_MarkerWriter *writer = OTF2_Archive_GetMarkerWriter(archive);
    REQUIRE(writer);
    for (uint32_t kind = 0; kind < KINDS; kind++) {
        OTF2_MarkerWriter_WriteDefMarker(writer, kind, "group", kind ? "odd" : "even",
                                         OTF2_SEVERITY_LOW);
    }
    for (uint32_t i = 0; i < MARKERS; i++) {
        char text[16];
        (void)snprintf(text, sizeof text, "marker %u", i);
        OTF2_MarkerWriter_WriteMarker(writer, markers[i].begin, markers[i].duration, i % KINDS,
                                      markers[i].scope, markers[i].ref, text);
    }
    OTF2_Archive_CloseMarkerWriter(archive, writer);
}

static void archive_write(const char *path)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, l);
        for (uint64_t i = 0; i < EVENTS; i++) {
            OTF2_EvtWriter_Enter(writer, NULL, FIRST + i * STEP, 0);
        }
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
    OTF2_GlobalDefWriter *d = written_archive_define(archive, 100000);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, 50 + l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, EVENTS, 50 + l);
    }
    static const uint64_t all[LOCATIONS] = {0, 1, 2}; /* which threads are the processes' ranks */
    OTF2_GlobalDefWriter_WriteGroup(d, 0, 0, OTF2_GROUP_TYPE_COMM_LOCATIONS, OTF2_PARADIGM_MPI,
                                    OTF2_GROUP_FLAG_NONE, LOCATIONS, all);
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    markers_write(archive);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

static void *clock_open(void *self, uint32_t location)
{
    (void)self;
    uint32_t *walk = malloc(sizeof *walk);
    REQUIRE(walk);
    *walk = location;
    return walk;
}

static uint64_t clock_event(void *walk, uint64_t stamp)
{
    return moved(*(const uint32_t *)walk, stamp);
}

static uint64_t clock_other(const void *walk, uint64_t stamp)
{
    return moved(*(const uint32_t *)walk, stamp);
}

static bool clock_close(void *self, void *walk, bool copied)
{
    (void)self, (void)copied;
    free(walk);
    return true;
}

static void properties_keep(void *self, uint64_t clock[4])
{
    (void)self, (void)clock;
}

static uint32_t offsets_none(void *self, uint32_t location, struct clock_offset list[2])
{
    (void)self, (void)location, (void)list;
    return 0;
}

/* What is found in a copy. */
struct found {
    bool moves;
    uint32_t count, kinds;
};

static OTF2_CallbackCode kind_found(void *data, OTF2_MarkerRef self, const char *group,
                                    const char *category, OTF2_MarkerSeverity severity)
{
    struct found *found = data;
    CHECK(self == found->kinds++ && severity == OTF2_SEVERITY_LOW);
    CHECK_STR(group, "group");
    CHECK_STR(category, self ? "odd" : "even");
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode marker_found(void *data, OTF2_TimeStamp stamp, OTF2_TimeStamp duration,
                                      OTF2_MarkerRef kind, OTF2_MarkerScope scope, uint64_t ref,
                                      const char *text)
{
    struct found *found = data;
    char wanted[16];
    REQUIRE(found->count < MARKERS);
    const struct marked *m = &markers[found->count];
    const bool is_of_none = m->location == LOCATIONS;
    const uint64_t end = m->begin + m->duration;
    const uint64_t begins = !found->moves ? m->begin
                            : is_of_none  ? m->begin + RAISED
                                          : moved(m->location, m->begin);
    const uint64_t ends = !found->moves ? end : is_of_none ? end + RAISED : moved(m->location, end);
    (void)snprintf(wanted, sizeof wanted, "marker %u", found->count);
    CHECK(stamp == begins && stamp + duration == ends);
    CHECK(kind == found->count % KINDS && scope == m->scope && ref == m->ref);
    CHECK_STR(text, wanted);
    found->count++;
    return OTF2_CALLBACK_SUCCESS;
}

static void markers_are(const char *path, bool move)
{
    char anchor[256];
    struct found found = {.moves = move};
    uint64_t read = 0;
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    REQUIRE(reader && OTF2_Reader_SetSerialCollectiveCallbacks(reader) == OTF2_SUCCESS);
    OTF2_MarkerReader *markers_of = OTF2_Reader_GetMarkerReader(reader);
    OTF2_MarkerReaderCallbacks *set = OTF2_MarkerReaderCallbacks_New();
    REQUIRE(markers_of && set);
    OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(set, kind_found);
    OTF2_MarkerReaderCallbacks_SetMarkerCallback(set, marker_found);
    OTF2_Reader_RegisterMarkerCallbacks(reader, markers_of, set, &found);
    CHECK(OTF2_Reader_ReadAllMarkers(reader, markers_of, &read) == OTF2_SUCCESS);
    CHECK(found.count == MARKERS && found.kinds == KINDS);
    OTF2_MarkerReaderCallbacks_Delete(set);
    OTF2_Reader_CloseMarkerReader(reader, markers_of);
    OTF2_Reader_Close(reader);
}

/* Those of processes and threads move with their clocks; others are raised like all times. */
static void markers_are_copied(const char *in, bool keeps, bool states)
{
    char out[128];
    struct ictus_why why = {""};
    struct trace *trace = NULL;
    (void)snprintf(out, sizeof out, "%s/out%d%d", root, keeps, states);
    REQUIRE(!ictusi_archive_open(in, &trace, &why));
    const struct copy_job job = {.trace = trace,
                                 .out = out,
                                 .clock = {clock_open, clock_event, clock_other, clock_close, NULL},
                                 .definitions = {.properties = properties_keep,
                                                 .new_offsets = states ? offsets_none : NULL,
                                                 .keep_offsets = keeps,
                                                 .raised = RAISED}};
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_OK);
    ictusi_archive_close(trace);
    markers_are(out, !keeps && !states);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char in[128];
    REQUIRE(mkdtemp(check_scratch(root, "markers")));
    (void)snprintf(in, sizeof in, "%s/in", root);
    archive_write(in);
    for (int i = 0; i < 4; i++) {
        markers_are_copied(in, i & 1, i & 2);
    }
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

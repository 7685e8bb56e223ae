/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Archives that are written again: what the copy says of itself, of its clock and of each location
 * is what the input says, or what the job asks for instead; whatever cannot be copied is refused
 * and leaves nothing behind.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/copy.h"
#include "archive/trace_open.h"

#include <ftw.h>
#include <ictus/error.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LOCATIONS = 3, FIRST = 5000, STEP = 10, LATER = 700, LENGTH = 100000 };
enum { MAPPED = 2 };                            /* the location that numbers regions by itself */
enum { CHUNK = 1 << 18, CHUNK_DEFS = 1 << 19 }; /* neither is what OTF2 chooses */

/* The second location has no events and no event file. */
static const uint64_t refs[LOCATIONS] = {3, 4, 70000000001};
static const uint64_t events[LOCATIONS] = {4, 0, 6};
static const struct clock_offset offsets[] = {{FIRST, 17, 2.5}, {FIRST + 100, -4, 0.5}};
enum { OFFSETS = sizeof offsets / sizeof *offsets };
static const char *const properties[][2] = {{"A::B", "first"}, {"C::D", "second"}};
enum { PROPERTIES = sizeof properties / sizeof *properties };

static char root[CHECK_PATH];

/* As its events say it: a number of its own or that of the archive. */
static uint32_t region_of(int location)
{
    return location == MAPPED ? 5 : 0;
}

static void local_write(OTF2_Archive *archive, int l)
{
    OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, refs[l]);
    for (int i = 0; i < OFFSETS; i++) {
        OTF2_DefWriter_WriteClockOffset(local, offsets[i].time + (uint64_t)l, offsets[i].offset,
                                        offsets[i].sd);
    }
    if (l == MAPPED) {
        const uint32_t pairs[] = {5, 8};
        OTF2_IdMap *map = OTF2_IdMap_Create(OTF2_ID_MAP_SPARSE, 1);
        OTF2_IdMap_AddIdPair(map, pairs[0], pairs[1]);
        OTF2_DefWriter_WriteMappingTable(local, OTF2_MAPPING_REGION, map);
        OTF2_IdMap_Free(map);
    }
    OTF2_Archive_CloseDefWriter(archive, local);
}

static void archive_write(const char *path, bool thumbnail)
{
    OTF2_Archive *archive =
        OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, CHUNK, CHUNK_DEFS,
                          OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    REQUIRE(archive);
    OTF2_Archive_SetFlushCallbacks(archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_SetMachineName(archive, "machine");
    OTF2_Archive_SetCreator(archive, "creator");
    OTF2_Archive_SetDescription(archive, "description");
    for (int i = 0; i < PROPERTIES; i++) {
        OTF2_Archive_SetProperty(archive, properties[i][0], properties[i][1], true);
    }
    OTF2_Archive_OpenEvtFiles(archive);
    OTF2_Archive_OpenDefFiles(archive);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_EvtWriter *writer = events[l] ? OTF2_Archive_GetEvtWriter(archive, refs[l]) : NULL;
        for (uint64_t i = 0; i < events[l]; i++) {
            OTF2_EvtWriter_Enter(writer, NULL, FIRST + i * STEP, region_of(l));
        }
        if (writer) {
            OTF2_Archive_CloseEvtWriter(archive, writer);
        }
        local_write(archive, l);
    }
    OTF2_Archive_CloseDefFiles(archive);
    OTF2_GlobalDefWriter *d = written_archive_define(archive, LENGTH);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, refs[l], 0, OTF2_LOCATION_TYPE_CPU_THREAD, events[l],
                                           l);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    if (thumbnail) {
        const uint64_t nothing = 0;
        OTF2_ThumbWriter *writer = OTF2_Archive_GetThumbWriter(
            archive, "name", "of the test", OTF2_THUMBNAIL_TYPE_REGION, 1, 1, &nothing);
        REQUIRE(writer && OTF2_ThumbWriter_WriteSample(writer, 0, 1, &nothing) == OTF2_SUCCESS);
    }
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/* The clock adds a number to all times; what is told of walks is counted. */
static struct {
    int opened, copied, dropped;
    bool beyond; /* the clock cannot tell a time */
    uint64_t asked[4];
    int agreed, attached;
} said;

static void *clock_open(void *self, uint32_t location)
{
    (void)self;
    uint32_t *walk = malloc(sizeof *walk);
    REQUIRE(walk && location < LOCATIONS);
    *walk = location;
    said.opened++;
    return walk;
}

static uint64_t clock_event(void *walk, uint64_t stamp)
{
    (void)walk;
    return stamp + LATER;
}

static uint64_t clock_other(const void *walk, uint64_t stamp)
{
    (void)walk;
    return stamp + LATER;
}

static bool clock_close(void *self, void *walk, bool copied)
{
    (void)self;
    free(walk);
    said.copied += copied;
    said.dropped += !copied;
    return !said.beyond;
}

static void clock_changes(void *self, uint64_t clock[4])
{
    (void)self;
    memcpy(said.asked, clock, sizeof said.asked);
    for (uint64_t i = 0; i < 4; i++) {
        clock[i] += i * i; /* the resolution stays */
    }
}

/* As many as the location's number. */
static uint32_t offsets_new(void *self, uint32_t location, struct clock_offset list[2])
{
    (void)self;
    for (uint32_t i = 0; i < location; i++) {
        list[i] = (struct clock_offset){1000 * (location + i), -(int64_t)location, 0.25};
    }
    return location;
}

static int team_agree(struct team *team, int err)
{
    (void)team;
    said.agreed++;
    return err;
}

static int team_attach(struct team *team, void *archive)
{
    (void)team;
    said.attached++;
    return OTF2_Archive_SetSerialCollectiveCallbacks(archive) != OTF2_SUCCESS;
}

/* What is found in an archive. */
struct found {
    uint64_t clock[4];
    struct clock_offset offsets[LOCATIONS][4];
    int offset_count[LOCATIONS], maps[LOCATIONS], location;
    uint64_t events[LOCATIONS], wrong;
};

static OTF2_CallbackCode clock_found(void *data, uint64_t resolution, uint64_t offset,
                                     uint64_t length, uint64_t realtime)
{
    struct found *f = data;
    const uint64_t clock[4] = {resolution, offset, length, realtime};
    memcpy(f->clock, clock, sizeof clock);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode offset_found(void *data, OTF2_TimeStamp time, int64_t offset, double sd)
{
    struct found *f = data;
    REQUIRE(f->offset_count[f->location] < 4);
    f->offsets[f->location][f->offset_count[f->location]++] =
        (struct clock_offset){time, offset, sd};
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode map_found(void *data, OTF2_MappingType type, const OTF2_IdMap *map)
{
    struct found *f = data;
    uint64_t global = 0;
    CHECK(type == OTF2_MAPPING_REGION);
    CHECK(OTF2_IdMap_GetGlobalId(map, 5, &global) == OTF2_SUCCESS && global == 8);
    f->maps[f->location]++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode enter_found(OTF2_LocationRef ref, OTF2_TimeStamp time, uint64_t position,
                                     void *data, OTF2_AttributeList *attributes,
                                     OTF2_RegionRef region)
{
    struct found *f = data;
    (void)ref;
    (void)attributes;
    f->wrong += position != f->events[f->location] + 1 || region != region_of(f->location) ||
                time != FIRST + f->events[f->location] * STEP + LATER;
    f->events[f->location]++;
    return OTF2_CALLBACK_SUCCESS;
}

static void locations_find(OTF2_Reader *reader, struct found *f)
{
    OTF2_DefReaderCallbacks *of_definitions = OTF2_DefReaderCallbacks_New();
    OTF2_EvtReaderCallbacks *of_events = OTF2_EvtReaderCallbacks_New();
    uint64_t read = 0;
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(of_definitions, offset_found);
    OTF2_DefReaderCallbacks_SetMappingTableCallback(of_definitions, map_found);
    OTF2_EvtReaderCallbacks_SetEnterCallback(of_events, enter_found);
    for (int l = 0; l < LOCATIONS; l++) {
        OTF2_Reader_SelectLocation(reader, refs[l]);
    }
    OTF2_Reader_OpenDefFiles(reader);
    OTF2_Reader_OpenEvtFiles(reader);
    for (f->location = 0; f->location < LOCATIONS; f->location++) {
        OTF2_DefReader *local = OTF2_Reader_GetDefReader(reader, refs[f->location]);
        if (local) {
            OTF2_Reader_RegisterDefCallbacks(reader, local, of_definitions, f);
            CHECK(OTF2_Reader_ReadAllLocalDefinitions(reader, local, &read) == OTF2_SUCCESS);
            OTF2_Reader_CloseDefReader(reader, local);
        }
        OTF2_EvtReader *of = OTF2_Reader_GetEvtReader(reader, refs[f->location]);
        if (of) {
            OTF2_EvtReader_ApplyClockOffsets(of, false);
            OTF2_EvtReader_ApplyMappingTables(of, false);
            OTF2_Reader_RegisterEvtCallbacks(reader, of, of_events, f);
            OTF2_Reader_ReadAllLocalEvents(reader, of, &read);
            OTF2_Reader_CloseEvtReader(reader, of);
        }
    }
    OTF2_Reader_CloseEvtFiles(reader);
    OTF2_Reader_CloseDefFiles(reader);
    OTF2_DefReaderCallbacks_Delete(of_definitions);
    OTF2_EvtReaderCallbacks_Delete(of_events);
}

static void text_is(OTF2_ErrorCode code, char **text, const char *wanted)
{
    REQUIRE(code == OTF2_SUCCESS && *text);
    CHECK_STR(*text, wanted);
    free(*text);
}

/* What the anchor says; there are so many properties more than the input has. */
static void anchor_is(OTF2_Reader *reader, uint32_t more, const char *clocks)
{
    char *text = NULL;
    char **names = NULL;
    uint32_t count = 0;
    uint64_t chunk = 0;
    uint64_t chunk_definitions = 0;
    text_is(OTF2_Reader_GetMachineName(reader, &text), &text, "machine");
    text_is(OTF2_Reader_GetCreator(reader, &text), &text, "creator");
    text_is(OTF2_Reader_GetDescription(reader, &text), &text, "description");
    for (int i = 0; i < PROPERTIES; i++) {
        text_is(OTF2_Reader_GetProperty(reader, properties[i][0], &text), &text, properties[i][1]);
    }
    REQUIRE(OTF2_Reader_GetPropertyNames(reader, &count, &names) == OTF2_SUCCESS);
    CHECK(count == PROPERTIES + more);
    free(names);
    if (clocks) {
        text_is(OTF2_Reader_GetProperty(reader, THREAD_CLOCKS, &text), &text, clocks);
        text_is(OTF2_Reader_GetProperty(reader, PROCESS_CLOCKS, &text), &text, "1");
    }
    CHECK(OTF2_Reader_GetChunkSize(reader, &chunk, &chunk_definitions) == OTF2_SUCCESS);
    CHECK(chunk == CHUNK && chunk_definitions == CHUNK_DEFS);
}

static void archive_find(const char *path, uint32_t more, const char *clocks, struct found *f)
{
    char anchor[192];
    uint64_t read = 0;
    *f = (struct found){.wrong = 0};
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    REQUIRE(reader && OTF2_Reader_SetSerialCollectiveCallbacks(reader) == OTF2_SUCCESS);
    anchor_is(reader, more, clocks);
    OTF2_GlobalDefReader *global = OTF2_Reader_GetGlobalDefReader(reader);
    OTF2_GlobalDefReaderCallbacks *set = OTF2_GlobalDefReaderCallbacks_New();
    OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(set, clock_found);
    OTF2_Reader_RegisterGlobalDefCallbacks(reader, global, set, f);
    CHECK(OTF2_Reader_ReadAllGlobalDefinitions(reader, global, &read) == OTF2_SUCCESS);
    CHECK(read == 3 + 2 * LOCATIONS);
    OTF2_GlobalDefReaderCallbacks_Delete(set);
    OTF2_Reader_CloseGlobalDefReader(reader, global);
    locations_find(reader, f);
    OTF2_Reader_Close(reader);
}

static struct copy_job job_of(struct trace *trace, const char *out)
{
    memset(&said, 0, sizeof said);
    return (struct copy_job){.trace = trace,
                             .out = out,
                             .clock = {clock_open, clock_event, clock_other, clock_close, NULL},
                             .definitions = {.properties = clock_changes}};
}

/* Whether there is something in the test's directory under this name. */
static bool exists(const char *name, const char *suffix)
{
    char path[256];
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/%s%s", root, name, suffix);
    return stat(path, &st) == 0;
}

static struct trace *opened(const char *path)
{
    static struct ictus_why why; /* the trace keeps it */
    struct trace *trace = NULL;
    REQUIRE(ictusi_archive_open(path, &trace, &why) == ICTUS_OK);
    return trace;
}

/* The offsets of a location are those of the input, if they are kept, and then the new ones. */
static void offsets_are(const struct found *f, bool kept, bool stated)
{
    for (int l = 0; l < LOCATIONS; l++) {
        const int old = kept ? OFFSETS : 0;
        REQUIRE(f->offset_count[l] == old + (stated ? l : 0));
        for (int i = 0; i < f->offset_count[l]; i++) {
            const struct clock_offset *o = &f->offsets[l][i];
            const struct clock_offset was = offsets[i < old ? i : 0];
            const uint64_t wanted =
                i < old ? was.time + (uint64_t)l : 1000 * (uint64_t)(l + i - old);
            CHECK(o->time == wanted && o->offset == (i < old ? was.offset : -l));
            CHECK_NEAR(o->sd, i < old ? was.sd : 0.25, 0);
        }
    }
}

/* How a copy is made. */
struct way {
    bool kept, stated;     /* offsets: those of the input, and new ones */
    bool teamed, together; /* by the first of a team; what is said of clocks, in place */
};

static void way_go(const char *in, const char *out, const struct way *way)
{
    struct team team = {.rank = 0, .size = 1, .agree = team_agree, .attach = team_attach};
    struct ictus_why why = {""};
    struct trace *trace = opened(in);
    struct copy_job job = job_of(trace, out);
    job.definitions.keep_offsets = way->kept;
    job.definitions.new_offsets = way->stated ? offsets_new : NULL;
    job.definitions.thread_clocks = way->together ? "drifting" : NULL;
    job.definitions.process_clocks = way->together;
    job.team = way->teamed ? &team : NULL;
    job.restamp = way->together;
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_OK);
    CHECK_STR(why.text, "");
    ictusi_archive_close(trace);
    CHECK(said.copied == LOCATIONS && said.opened == LOCATIONS + said.dropped);
    CHECK(way->together || said.dropped == 0);
    CHECK(said.attached == way->teamed && (said.agreed >= 9) == way->teamed);
}

/* However it is made, a copy has the same events, at other times. */
static void copies_say_the_same(const char *in)
{
    static const uint64_t asked[4] = {1000000000, 0, LENGTH, 0};
    static const uint64_t clock[4] = {1000000000, 1, LENGTH + 4, 9};
    for (int i = 0; i < 16; i++) {
        const struct way way = {i & 1, (i & 3) == 2, i & 4, i & 8};
        struct found f;
        char out[128];
        (void)snprintf(out, sizeof out, "%s/copy%d", root, i);
        way_go(in, out, &way);
        CHECK(memcmp(said.asked, asked, sizeof asked) == 0);
        archive_find(out, way.together ? 2 : 0, way.together ? "drifting" : NULL, &f);
        CHECK(memcmp(f.clock, clock, sizeof clock) == 0);
        CHECK(f.wrong == 0 && memcmp(f.events, events, sizeof events) == 0);
        CHECK(f.maps[0] == 0 && f.maps[1] == 0 && f.maps[MAPPED] == 1);
        offsets_are(&f, way.kept, way.stated);
        (void)snprintf(out, sizeof out, "copy%d", i);
        CHECK(exists(out, "") && !exists(out, ".incomplete"));
    }
}

/* A process writes its own locations only. */
static void locations_may_be_left_out(const char *in)
{
    static const bool mine[LOCATIONS] = {true, true, false};
    struct ictus_why why = {""};
    struct trace *trace = opened(in);
    char out[128];
    (void)snprintf(out, sizeof out, "%s/parts", root);
    struct copy_job job = job_of(trace, out);
    job.mine = mine;
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_OK);
    CHECK(said.opened == 2 && said.copied == 2);
    ictusi_archive_close(trace);
    CHECK(exists("parts", "/traces/3.evt") && !exists("parts", "/traces/70000000001.evt"));
    CHECK(exists("parts", "/traces/3.def") && !exists("parts", "/traces/70000000001.def"));
}

/* An error is told, and neither the output nor what there was of it remains. */
static void refused(struct copy_job *job, int wanted, const char *reason)
{
    struct ictus_why why = {""};
    job->trace->why = &why;
    job->trace->said = false;
    CHECK(ictusi_copy_run(job, &why) == wanted);
    if (!strstr(why.text, reason)) {
        CHECK_STR(why.text, reason);
    }
    CHECK(said.opened == said.copied + said.dropped);
    CHECK(!exists("refused", "") && !exists("refused", ".incomplete"));
}

/* The library reports damage on standard error; the test's own messages are enough. */
static OTF2_ErrorCode keep_quiet(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)data, (void)file, (void)line, (void)function, (void)format, (void)arguments;
    return code;
}

static void losses_are_refused(const char *in)
{
    char out[128];
    (void)snprintf(out, sizeof out, "%s/refused", root);
    struct trace *trace = opened(in);
    struct copy_job job = job_of(trace, out);
    said.beyond = true;
    refused(&job, ICTUS_ERR_CORRUPT, "location 3 has time stamps beyond");
    job = job_of(trace, out);
    trace->layout.locations[2].events++; /* as if the end of the file were missing */
    refused(&job, ICTUS_ERR_CORRUPT, "the input is damaged or cut off");
    CHECK(said.copied == 2 && said.dropped == 1);
    trace->layout.locations[2].events -= 2;
    job = job_of(trace, out);
    refused(&job, ICTUS_ERR_CORRUPT, "the input is damaged or cut off");
    ictusi_archive_close(trace);
    trace = opened(in);
    trace->layout.locations[1].events = 1; /* which has no file */
    job = job_of(trace, out);
    refused(&job, ICTUS_ERR_CORRUPT, "");
    ictusi_archive_close(trace);
}

static void places_are_refused(const char *in)
{
    char out[128], partial[160];
    struct ictus_why why = {""};
    (void)snprintf(out, sizeof out, "%s/busy", root);
    (void)snprintf(partial, sizeof partial, "%s.incomplete", out);
    struct trace *trace = opened(in);
    REQUIRE(mkdir(partial, 0777) == 0);
    struct copy_job job = job_of(trace, out);
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_ERR_EXISTS);
    CHECK(strstr(why.text, "another run is writing it"));
    CHECK(exists("busy", ".incomplete") && !exists("busy", "") && said.opened == 0);
    (void)snprintf(out, sizeof out, "%s/no/where", root);
    job = job_of(trace, out);
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_ERR_ARG && said.opened == 0);
    ictusi_archive_close(trace);
}

/* Thumbnails hold no times: their files are the same, and one that is missing is missed. */
static void thumbnails_are_kept(void)
{
    char in[128], out[128], file[192];
    struct ictus_why why = {""};
    uint32_t count = 0;
    (void)snprintf(in, sizeof in, "%s/pictured", root);
    (void)snprintf(out, sizeof out, "%s/repictured", root);
    archive_write(in, true);
    struct trace *trace = opened(in);
    struct copy_job job = job_of(trace, out);
    CHECK(ictusi_copy_run(&job, &why) == ICTUS_OK);
    (void)snprintf(file, sizeof file, "%s/traces.otf2", out);
    OTF2_Reader *reader = OTF2_Reader_Open(file);
    REQUIRE(reader && OTF2_Reader_GetNumberOfThumbnails(reader, &count) == OTF2_SUCCESS);
    CHECK(count == 1 && exists("repictured", "/traces.0.thumb"));
    OTF2_Reader_Close(reader);
    (void)snprintf(file, sizeof file, "%s/traces.0.thumb", in);
    REQUIRE(unlink(file) == 0);
    (void)snprintf(out, sizeof out, "%s/refused", root);
    job = job_of(trace, out);
    refused(&job, ICTUS_ERR_CORRUPT, "a thumbnail of the input is missing");
    ictusi_archive_close(trace);
}

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char in[128];
    REQUIRE(mkdtemp(check_scratch(root, "copy")));
    (void)snprintf(in, sizeof in, "%s/in", root);
    archive_write(in, false);
    copies_say_the_same(in);
    locations_may_be_left_out(in);
    (void)OTF2_Error_RegisterCallback(keep_quiet, NULL);
    losses_are_refused(in);
    places_are_refused(in);
    if (!CHECK_SANITIZED) { /* the library loses the name of a thumbnail's file */
        thumbnails_are_kept();
    }
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of regions: how often and how long each ran on all threads, and what went to files. */
#include "../check.h"

#include "archive/flush.h"

#include <ftw.h>
#include <ictus/error.h>
#include <ictus/trace.h>
#include <otf2/otf2.h>
#include <unistd.h>

/* Two threads of one process and one of another. A tick is 1000 ns. */
enum { ORIGIN = 100, RUN = 4000, LOCATIONS = 3, TEXT = 4000, DEEP = 100 };
enum { SHORT, LONGER, NEVER, DEEPEST, HUGE, REGIONS };

static const char *const names[REGIONS] = {"short", "a name that is longer than its column is wide",
                                           "never", "deepest", "exactly_24_characters_xx"};
static uint64_t event_counts[LOCATIONS];
static OTF2_EvtWriter *writers[LOCATIONS];

static void enter(int l, uint64_t ticks, uint32_t region)
{
    event_counts[l]++;
    OTF2_EvtWriter_Enter(writers[l], NULL, ORIGIN + ticks, region);
}

static void leave(int l, uint64_t ticks, uint32_t region)
{
    event_counts[l]++;
    OTF2_EvtWriter_Leave(writers[l], NULL, ORIGIN + ticks, region);
}

static void io_begin(int l, uint64_t ticks, uint32_t handle, OTF2_IoOperationMode mode,
                     uint64_t number)
{
    event_counts[l]++;
    OTF2_EvtWriter_IoOperationBegin(writers[l], NULL, ORIGIN + ticks, handle, mode,
                                    OTF2_IO_OPERATION_FLAG_NONE, 999, number);
}

static void io_end(int l, uint64_t ticks, uint32_t handle, uint64_t bytes, uint64_t number)
{
    event_counts[l]++;
    OTF2_EvtWriter_IoOperationComplete(writers[l], NULL, ORIGIN + ticks, handle, bytes, number);
}

static void events_write(void)
{
    leave(0, 0, SHORT); /* entered before recording began */
    enter(0, 10, LONGER);
    enter(0, 20, SHORT);
    leave(0, 25, SHORT);
    leave(0, 30, NEVER); /* not what is open */
    enter(0, 40, SHORT);
    leave(0, 43, SHORT);
    leave(0, 50, LONGER);
    enter(0, 60, 77); /* a region that is not defined */
    leave(0, 61, 77);
    for (uint64_t i = 0; i < DEEP; i++) {
        enter(1, 100 + i, DEEPEST);
    }
    for (uint64_t i = 0; i < DEEP; i++) {
        leave(1, 200 + i, DEEPEST);
    }
    enter(2, 0, HUGE);
    enter(2, 5, SHORT);
    leave(2, 15, SHORT);
    leave(2, 3999, HUGE);
    enter(2, 4000, SHORT); /* never left */
}

/* Operations of one number on two processes, one that ends in another thread, and others. */
static void files_write(void)
{
    io_begin(0, 300, 5, OTF2_IO_OPERATION_MODE_WRITE, 8);
    io_begin(2, 4000, 5, OTF2_IO_OPERATION_MODE_READ, 8);
    io_end(2, 4001, 5, 70, 8);
    io_begin(0, 301, 5, OTF2_IO_OPERATION_MODE_WRITE, 9);
    io_end(1, 4002, 5, 3, 8);
    io_end(0, 4003, 5, 40, 9);
    io_end(0, 4004, 5, 1000, 9); /* it has ended */
    io_begin(0, 4005, 6, OTF2_IO_OPERATION_MODE_FLUSH, 10);
    io_end(0, 4006, 6, 2000, 10);
    io_begin(0, 4007, 6, OTF2_IO_OPERATION_MODE_READ, 11); /* never ends */
    io_end(2, 4008, 6, 4000, 12);                          /* never began */
}

static void run_write(const char *path, void (*more)(void))
{
    OTF2_Archive *archive = OTF2_Archive_Open(path, "traces", OTF2_FILEMODE_WRITE, 1 << 18,
                                              OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT,
                                              OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    REQUIRE(archive);
    memset(event_counts, 0, sizeof event_counts);
    OTF2_Archive_SetFlushCallbacks(archive, &archive_flush_callbacks, NULL);
    OTF2_Archive_SetSerialCollectiveCallbacks(archive);
    OTF2_Archive_OpenEvtFiles(archive);
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        writers[l] = OTF2_Archive_GetEvtWriter(archive, l);
    }
    events_write();
    if (more) {
        more();
    }
    for (uint64_t l = 0; l < LOCATIONS; l++) {
        OTF2_Archive_CloseEvtWriter(archive, writers[l]);
    }
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000, ORIGIN, RUN + 10,
                                              OTF2_UNDEFINED_TIMESTAMP);
    OTF2_GlobalDefWriter_WriteString(d, 0, "");
    for (uint32_t r = 0; r < REGIONS; r++) {
        OTF2_GlobalDefWriter_WriteString(d, 1 + r, names[r]);
        OTF2_GlobalDefWriter_WriteRegion(d, r, 1 + r, 1 + r, 0, OTF2_REGION_ROLE_FUNCTION,
                                         OTF2_PARADIGM_USER, OTF2_REGION_FLAG_NONE, 0, 0, 0);
    }
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t p = 0; p < 2; p++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, p, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
    }
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocation(d, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD, event_counts[l],
                                           l / 2);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

static void profile_is(const char *path, const char *wanted)
{
    char *text = NULL;
    size_t length = 0;
    struct ictus_why why = {""};
    FILE *out = open_memstream(&text, &length);
    REQUIRE(out);
    CHECK(ictus_trace_print_profile(path, out, &why) == ICTUS_OK);
    (void)fclose(out);
    CHECK_STR(text, wanted);
    free(text);
}

/* From the longest in all on; what never ended is not counted. */
#define TABLE                                                                                      \
    "region                      calls      total us     min us    mean us     max us\n"           \
    "deepest                       100     10000.000      1.000    100.000    199.000\n"           \
    "exactly_24_characters_xx        1      3999.000   3999.000   3999.000   3999.000\n"           \
    "a name that is longer than its column is wide\n"                                              \
    "                                1        40.000     40.000     40.000     40.000\n"           \
    "short                           3        18.000      3.000      6.000     10.000\n"

static int entry_remove(const char *path, const struct stat *st, int type, struct FTW *at)
{
    (void)st, (void)type, (void)at;
    return remove(path);
}

int main(void)
{
    char root[CHECK_PATH], path[CHECK_PATH + 8];
    REQUIRE(mkdtemp(check_scratch(root, "profile")));
    (void)snprintf(path, sizeof path, "%s/calls", root);
    run_write(path, NULL);
    profile_is(path, TABLE);
    (void)snprintf(path, sizeof path, "%s/files", root);
    run_write(path, files_write);
    profile_is(path, TABLE "read from files                 1 operations            70 bytes\n"
                           "written to files                2 operations            43 bytes\n");
    CHECK(ictus_trace_print_profile(NULL, stdout, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_trace_print_profile(path, NULL, NULL) == ICTUS_ERR_ARG);
    CHECK(ictus_trace_print_profile("/no/where", stdout, NULL) != ICTUS_OK);
    (void)nftw(root, entry_remove, 8, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

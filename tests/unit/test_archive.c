/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Small archives as the OTF2 library writes them: their definitions are read, and missing parts are
 * detected.
 */
#include "../check.h"
#include "written_archive.h"

#include "archive/copy.h"
#include "archive/metric_names.h"
#include "archive/output.h"
#include "archive/trace_open.h"
#include "archive/verify.h"

#include <errno.h>
#include <ftw.h>
#include <math.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { LOCATIONS = 3, EVENTS = 3, OFFSETS = 3 };
enum { SILENT = 2 }; /* a location without events and without an event file */
enum { MEMBER_BINARY = 5, MEMBER_DECIMAL = 6, CLASS = 3, INSTANCE = 9 };
enum { MEMBERS_MORE = 40, MEMBER_FIRST = 100, CLASS_FIRST = 1000 };

static const uint64_t refs[LOCATIONS] = {7, 70000000001, 8};
static const int64_t edge = INT64_C(1) << STAMP_BITS;
static char root[CHECK_PATH];

static void says(const struct ictus_why *why, const char *part)
{
    if (!strstr(why->text, part)) {
        CHECK_STR(why->text, part);
    }
}

static void write_location(OTF2_Archive *archive, int location, const struct clock_offset *offsets)
{
    OTF2_EvtWriter *writer =
        location == SILENT ? NULL : OTF2_Archive_GetEvtWriter(archive, refs[location]);
    OTF2_DefWriter *local = OTF2_Archive_GetDefWriter(archive, refs[location]);
    for (uint64_t i = 0; writer && i < EVENTS; i++) {
        OTF2_EvtWriter_Enter(writer, NULL, 1000 + i, 0);
    }
    for (int i = 0; i < OFFSETS; i++) {
        OTF2_DefWriter_WriteClockOffset(local, offsets[i].time, offsets[i].offset, offsets[i].sd);
    }
    OTF2_Archive_CloseDefWriter(archive, local);
    if (writer) {
        OTF2_Archive_CloseEvtWriter(archive, writer);
    }
}

static void write_metrics(OTF2_GlobalDefWriter *d)
{
    static const OTF2_MetricMemberRef members[] = {MEMBER_DECIMAL, MEMBER_BINARY};
    static const char *const strings[] = {"", "memory", "KiB", "energy", "mJ"};
    for (uint32_t i = 0; i < sizeof strings / sizeof *strings; i++) {
        OTF2_GlobalDefWriter_WriteString(d, i, strings[i]);
    }
    OTF2_GlobalDefWriter_WriteMetricMember(d, MEMBER_BINARY, 1, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64,
                                           OTF2_BASE_BINARY, 10, 2);
    OTF2_GlobalDefWriter_WriteMetricMember(d, MEMBER_DECIMAL, 3, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_DOUBLE,
                                           OTF2_BASE_DECIMAL, -3, 4);
    OTF2_GlobalDefWriter_WriteMetricMember(d, MEMBER_BINARY, 3, 0, OTF2_METRIC_TYPE_USER,
                                           OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64,
                                           OTF2_BASE_DECIMAL, 1, 4); /* the first one counts */
    OTF2_GlobalDefWriter_WriteMetricClass(d, CLASS, 2, members, OTF2_METRIC_ASYNCHRONOUS,
                                          OTF2_RECORDER_KIND_ABSTRACT);
    for (uint32_t i = 0; i < MEMBERS_MORE; i++) {
        const OTF2_MetricMemberRef member = MEMBER_FIRST + i;
        OTF2_GlobalDefWriter_WriteMetricMember(
            d, member, 1, 0, OTF2_METRIC_TYPE_USER, OTF2_METRIC_ABSOLUTE_POINT, OTF2_TYPE_UINT64,
            i % 2 ? OTF2_BASE_BINARY : OTF2_BASE_DECIMAL, i % 7, 2);
        OTF2_GlobalDefWriter_WriteMetricClass(
            d, CLASS_FIRST + i, 1, &member, OTF2_METRIC_ASYNCHRONOUS, OTF2_RECORDER_KIND_ABSTRACT);
    }
    OTF2_GlobalDefWriter_WriteMetricInstance(d, INSTANCE, CLASS, refs[0], OTF2_SCOPE_LOCATION,
                                             refs[0]);
}

static void write_archive(const char *path, const struct clock_offset *offsets)
{
    OTF2_Archive *archive = written_archive_open(path, 1 << 18);
    OTF2_Archive_OpenDefFiles(archive);
    for (int l = 0; l < LOCATIONS; l++) {
        write_location(archive, l, offsets);
    }
    OTF2_Archive_CloseDefFiles(archive);
    OTF2_Archive_CloseEvtFiles(archive);
    OTF2_GlobalDefWriter *d = OTF2_Archive_GetGlobalDefWriter(archive);
    OTF2_GlobalDefWriter_WriteClockProperties(d, 1000000000, 0, 10000000, 0);
    write_metrics(d);
    OTF2_GlobalDefWriter_WriteSystemTreeNode(d, 0, 0, 0, OTF2_UNDEFINED_SYSTEM_TREE_NODE);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(d, l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS, 0,
                                                OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(d, refs[l], 0, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           l == SILENT ? 0 : EVENTS, l);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, d);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/* The clock offsets of a location are read as they were written, in the same order. */
static void offsets_are_read(const char *path, const struct clock_offset *offsets)
{
    struct ictus_why why = {""};
    struct trace *trace = NULL;
    REQUIRE(ictusi_archive_open(path, &trace, &why) == ICTUS_OK);
    REQUIRE(trace->layout.location_count == LOCATIONS);
    for (int l = 0; l < LOCATIONS; l++) {
        const struct layout_location *location = &trace->layout.locations[l];
        CHECK(location->ref == refs[l]);
        REQUIRE(location->offset_count == OFFSETS);
        for (int i = 0; i < OFFSETS; i++) {
            CHECK(location->offsets[i].time == offsets[i].time);
            CHECK(location->offsets[i].offset == offsets[i].offset);
            CHECK_NEAR(location->offsets[i].sd, offsets[i].sd, 0);
        }
    }
    ictusi_archive_close(trace);
}

/*
 * If times, offsets or deviations are impossible for a clock, the archive is refused and the
 * location named.
 */
static void offsets_are_judged(void)
{
    static const struct clock_offset fine[OFFSETS] = {{1000, 5, 2.5}, {2000, -7, 0}, {3000, 0, 1}};
    const struct clock_offset odd[] = {{(uint64_t)edge, 0, 1},
                                       {UINT64_MAX, 0, 1},
                                       {3000, edge + 1, 1},
                                       {500, -edge - 1, 1},
                                       {3000, 0, NAN}};
    const struct clock_offset extreme[OFFSETS] = {
        {0, -edge, 0}, {1, edge, 0}, {(uint64_t)edge - 1, 0, 0}};
    char path[128];
    (void)snprintf(path, sizeof path, "%s/extreme", root);
    write_archive(path, extreme);
    offsets_are_read(path, extreme);
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++) {
        struct clock_offset offsets[OFFSETS];
        struct ictus_why why = {""};
        struct trace *trace = NULL;
        memcpy(offsets, fine, sizeof offsets);
        offsets[odd[i].time < 1000 ? 0 : OFFSETS - 1] = odd[i]; /* they must ascend */
        (void)snprintf(path, sizeof path, "%s/odd%zu", root, i);
        write_archive(path, offsets);
        CHECK(ictusi_archive_open(path, &trace, &why) == ICTUS_ERR_CORRUPT);
        says(&why, "location 7 has an impossible clock offset");
    }
}

/* A metric is a class or an instance of one; its values are in the units of its members. */
static void metrics_are_read(const char *path)
{
    struct ictus_why why = {""};
    struct trace *trace = NULL;
    REQUIRE(ictusi_archive_open(path, &trace, &why) == ICTUS_OK);
    const uint32_t energy = ictusi_metric_member(trace, CLASS, 0);
    const uint32_t memory = ictusi_metric_member(trace, INSTANCE, 1);
    REQUIRE(energy != LAYOUT_NONE && memory != LAYOUT_NONE);
    CHECK(energy == ictusi_metric_member(trace, INSTANCE, 0));
    CHECK(memory == ictusi_metric_member(trace, CLASS, 1));
    CHECK(ictusi_metric_member(trace, CLASS, 2) == LAYOUT_NONE);
    CHECK(ictusi_metric_member(trace, CLASS + 1, 0) == LAYOUT_NONE);
    const struct trace_metric *members = trace->metrics.members;
    CHECK_STR(ictusi_archive_string(trace, members[energy].name), "energy");
    CHECK_STR(ictusi_archive_string(trace, members[energy].unit), "mJ");
    CHECK_STR(ictusi_archive_string(trace, members[memory].name), "memory");
    CHECK_STR(ictusi_archive_string(trace, members[memory].unit), "KiB");
    const OTF2_MetricValue real = {.floating_point = 2500}, natural = {.unsigned_int = 3};
    const OTF2_MetricValue whole = {.signed_int = -4};
    CHECK_NEAR(ictusi_metric_value(trace, energy, OTF2_TYPE_DOUBLE, real), 2.5, 1e-12);
    CHECK_NEAR(ictusi_metric_value(trace, memory, OTF2_TYPE_UINT64, natural), 3072, 0);
    CHECK_NEAR(ictusi_metric_value(trace, memory, OTF2_TYPE_INT64, whole), -4096, 0);
    for (uint32_t i = 0; i < MEMBERS_MORE; i++) { /* however many there are, each has its own */
        const uint32_t member = ictusi_metric_member(trace, CLASS_FIRST + i, 0);
        REQUIRE(member != LAYOUT_NONE);
        CHECK_NEAR(ictusi_metric_value(trace, member, OTF2_TYPE_UINT64, natural),
                   3 * pow(i % 2 ? 2 : 10, i % 7), 1e-6);
    }
    /* A name that nothing defines is empty. */
    CHECK_STR(ictusi_archive_string(trace, OTF2_UNDEFINED_STRING), "");
    CHECK_STR(ictusi_archive_string(trace, 999), "");
    CHECK_STR(ictusi_archive_name(trace, &trace->regions, 999), "");
    ictusi_archive_close(trace);
}

/* Whether an archive has this many events in its two locations, and its global definitions. */
static int verified(const char *path, uint64_t first, uint64_t second, struct ictus_why *why)
{
    char anchor[256];
    const struct archive_count counts[LOCATIONS] = {
        {refs[0], first, false}, {refs[1], second, false}, {refs[SILENT], 0, false}};
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    (void)snprintf(why->text, sizeof why->text, "%s", "");
    return ictusi_archive_verify(anchor, counts, LOCATIONS, true, why);
}

static void missing_events_are_noticed(const char *path)
{
    struct ictus_why why;
    char anchor[256];
    CHECK(verified(path, EVENTS, EVENTS, &why) == ICTUS_OK);
    (void)snprintf(anchor, sizeof anchor, "%s/traces/8.evt", path);
    FILE *empty = fopen(anchor, "wx"); /* zero events are the same with or without a file */
    REQUIRE(empty && !fclose(empty));
    CHECK(verified(path, EVENTS, EVENTS, &why) == ICTUS_OK);
    CHECK(verified(path, EVENTS + 1, EVENTS, &why) == ICTUS_ERR_IO);
    says(&why, "location 7 is cut off");
    CHECK(verified(path, EVENTS, EVENTS - 1, &why) == ICTUS_ERR_IO);
    says(&why, "location 70000000001 is cut off");
    CHECK(verified(path, 0, EVENTS, &why) == ICTUS_ERR_IO);
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    /* Events that are known to exist are not counted again. */
    const struct archive_count sure = {refs[0], EVENTS + 1, true};
    CHECK(ictusi_archive_verify(anchor, &sure, 1, true, &why) == ICTUS_OK);
    /*
     * A rank that does not write the anchor need not see it yet. Opening a missing one leaks inside
     * the library.
     */
    if (!CHECK_SANITIZED) {
        CHECK(ictusi_archive_verify("/nowhere/traces.otf2", &sure, 1, false, &why) == ICTUS_OK);
        CHECK(ictusi_archive_verify("/nowhere/traces.otf2", &sure, 1, true, &why) == ICTUS_ERR_IO);
    }
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *state)
{
    (void)st;
    (void)type;
    (void)state;
    return remove(path);
}

static void remove_tree(const char *path)
{
    (void)nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
}

/* The library reports damage on standard error; the test's own messages are enough. */
static OTF2_ErrorCode keep_quiet(void *data, const char *file, uint64_t line, const char *function,
                                 OTF2_ErrorCode code, const char *format, va_list arguments)
{
    (void)data;
    (void)file;
    (void)line;
    (void)function;
    (void)format;
    (void)arguments;
    return code;
}

/* Cut a file of a new archive in half. */
static void cut(const char *name, const struct clock_offset *offsets, const char *wanted)
{
    char path[128];
    char file[256];
    struct ictus_why why;
    struct stat st;
    (void)snprintf(path, sizeof path, "%s/cut", root);
    (void)snprintf(file, sizeof file, "%s/%s", path, name);
    write_archive(path, offsets);
    CHECK(verified(path, EVENTS, EVENTS, &why) == ICTUS_OK);
    REQUIRE(!stat(file, &st) && !truncate(file, st.st_size / 2));
    CHECK(verified(path, EVENTS, EVENTS, &why) == ICTUS_ERR_IO);
    says(&why, wanted);
    remove_tree(path);
}

/* A directory in which nothing may be made; root may do so anywhere. */
static const char *locked;

int __wrap_access(const char *path, int mode);
int __real_access(const char *path, int mode);

int __wrap_access(const char *path, int mode)
{
    if (locked && (mode & W_OK) && strcmp(path, locked) == 0) {
        errno = EACCES;
        return -1;
    }
    return __real_access(path, mode);
}

static ssize_t most_written; /* most bytes written by one call; 0: as the kernel decides */

/* Like the kernel's write(), which may write less than it was given, as on an almost full disk. */
ssize_t write(int fd, const void *bytes, size_t count)
{
    const size_t most = (size_t)most_written;
    return (ssize_t)syscall(SYS_write, fd, bytes, most_written && count > most ? most : count);
}

static void file_is(const char *name, size_t bytes)
{
    FILE *file = fopen(name, "r");
    REQUIRE(file);
    size_t wrong = 0;
    size_t count = 0;
    for (int c = 0; (c = fgetc(file)) != EOF; count++) {
        wrong += c != (int)(count % 251);
    }
    CHECK(wrong == 0 && count == bytes);
    (void)fclose(file);
}

/* The next descriptor that is free: greater after something that leaves files open. */
static int next_descriptor(void)
{
    const int next = dup(STDERR_FILENO);
    REQUIRE(next >= 0 && close(next) == 0);
    return next;
}

/*
 * Files that lie beside an archive are copied completely, however little is written at a time.
 * Files that do not belong to the archive are not copied.
 */
static void companions_are_copied(void)
{
    enum { BYTES = 2 * 65536 + 1 }; /* the last piece of which is a single byte */
    static const char *const names[] = {"MANIFEST.md",   "scorep.cfg", "traces.a.thumb",
                                        "traces.thumb",  "notes",      "other.a.thumb",
                                        "tracesa.thumb", "traces.txt", "x.scorep"};
    enum { NAMES = sizeof names / sizeof *names, COPIED = 4 };
    char anchor[128], partial[128], out[128], name[128];
    struct ictus_why why = {""};
    (void)snprintf(anchor, sizeof anchor, "%s/beside/traces.otf2", root);
    (void)snprintf(partial, sizeof partial, "%s/copy.incomplete", root);
    (void)snprintf(out, sizeof out, "%s/copy/", root);
    (void)snprintf(name, sizeof name, "%s/beside", root);
    REQUIRE(mkdir(name, 0777) == 0);
    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "%s/beside/%s", root, names[i]);
        FILE *file = fopen(name, "w");
        REQUIRE(file);
        for (int k = 0; k < BYTES; k++) {
            (void)fputc(k % 251, file);
        }
        REQUIRE(fclose(file) == 0);
    }
    struct stat st;
    const mode_t mask = umask(027);
    REQUIRE(ictusi_output_start(partial, &why) == ICTUS_OK);
    CHECK(stat(partial, &st) == 0 && (st.st_mode & 07777) == 0750);
    most_written = 999;
    const int free_before = next_descriptor();
    CHECK(ictusi_output_finish(anchor, partial, out, &why) == ICTUS_OK);
    most_written = 0;
    (void)umask(mask);
    CHECK(next_descriptor() == free_before);
    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(name, sizeof name, "%s/copy/%s", root, names[i]);
        if (i < COPIED) {
            file_is(name, BYTES);
            CHECK(stat(name, &st) == 0 && (st.st_mode & 07777) == (0666 & ~(mode_t)027));
        } else {
            CHECK(access(name, F_OK) != 0);
        }
    }
    CHECK(access(partial, F_OK) != 0);
}

/* A file is beside its anchor if it has the anchor's name, with another suffix. */
static void siblings_are_seen(const char *path)
{
    char anchor[192], other[192];
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    (void)snprintf(other, sizeof other, "%s/run.otf2", path);
    CHECK(ictusi_output_sibling(anchor, ".def"));
    CHECK(!ictusi_output_sibling(anchor, ".marker"));
    CHECK(!ictusi_output_sibling(other, ".def"));
}

/* With all that is in it, and nothing that its links name. */
static void outputs_are_removed(void)
{
    char partial[192], within[224], link[224], kept[192];
    (void)snprintf(partial, sizeof partial, "%s/removed.incomplete", root);
    (void)snprintf(within, sizeof within, "%s/traces", partial);
    (void)snprintf(link, sizeof link, "%s/traces/kept", partial);
    (void)snprintf(kept, sizeof kept, "%s/kept", root);
    REQUIRE(mkdir(partial, 0777) == 0 && mkdir(within, 0777) == 0 && mkdir(kept, 0777) == 0);
    REQUIRE(symlink(kept, link) == 0);
    ictusi_output_remove(partial);
    CHECK(access(partial, F_OK) != 0);
    CHECK(access(kept, F_OK) == 0);
}

/* What an output is called while it is incomplete, whatever slashes end its name. */
static void partial_is(const char *out, const char *wanted)
{
    char *name = ictusi_output_partial(out);
    CHECK_STR(name, wanted);
    free(name);
}

/* An anchor's name without its last extension, unless that is all of it. */
static void base_is(const char *anchor, const char *wanted)
{
    char *name = ictusi_output_base(anchor);
    CHECK_STR(name, wanted);
    free(name);
}

static void names_are_derived(void)
{
    partial_is("copy", "copy.incomplete");
    partial_is("copy/", "copy.incomplete");
    partial_is("a/b//", "a/b.incomplete");
    partial_is("a/", "a.incomplete");
    partial_is("/", "/.incomplete");
    partial_is("//", "/.incomplete");
    partial_is("", ".incomplete");
    base_is("traces.otf2", "traces");
    base_is("/some/where/run.1.otf2", "run.1");
    base_is("some.where/run", "run");
    base_is(".otf2", ".otf2");
    base_is("x/.otf2", ".otf2");
}

/* An anchor is a regular file with that name: neither a directory nor a file with another name. */
static void anchors_are_files(const char *path)
{
    char file[192], directory[192], within[224], gone[192];
    (void)snprintf(file, sizeof file, "%s/traces.def", path);
    (void)snprintf(directory, sizeof directory, "%s/d.otf2", root);
    (void)snprintf(within, sizeof within, "%s/traces.otf2", directory);
    (void)snprintf(gone, sizeof gone, "%s/gone.otf2", root);
    REQUIRE(mkdir(directory, 0777) == 0);
    const struct {
        const char *path;
        int err;
        const char *reason;
    } cases[] = {{file, ICTUS_ERR_FORMAT, "is not an OTF2 anchor file"},
                 {directory, ICTUS_ERR_ARG, "No such file"},
                 {gone, ICTUS_ERR_ARG, "No such file"}};
    struct trace *trace = NULL;
    struct ictus_why why;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK(ictusi_archive_open(cases[i].path, &trace, &why) == cases[i].err);
        says(&why, cases[i].reason);
    }
    REQUIRE(mkdir(within, 0777) == 0);
    CHECK(ictusi_archive_open(directory, &trace, &why) == ICTUS_ERR_FORMAT);
    says(&why, "is not an OTF2 anchor file");
}

/*
 * A copy never overwrites its own input, however either is named, and never replaces anything. What
 * cannot be made is refused before any work, too.
 */
static void copies_need_a_place(const char *path)
{
    char anchor[192], other[192], gone[192], dangling[192], within[192], fresh[192], left[192];
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    (void)snprintf(other, sizeof other, "%s/extreme", root);
    (void)snprintf(within, sizeof within, "%s/traces.otf2/fresh", path);
    (void)snprintf(fresh, sizeof fresh, "%s/fresh//", root);
    (void)snprintf(left, sizeof left, "%s/left.incomplete", root);
    REQUIRE(mkdir(left, 0777) == 0);
    (void)snprintf(left, sizeof left, "%s/left/", root);
    (void)snprintf(gone, sizeof gone, "%s/gone/traces.otf2", root);
    (void)snprintf(dangling, sizeof dangling, "%s/dangling", root);
    REQUIRE(symlink(gone, dangling) == 0);
    const struct {
        const char *in, *out;
        int err;
        const char *reason;
    } cases[] = {{path, path, ICTUS_ERR_ARG, "must not be the input"},
                 {anchor, path, ICTUS_ERR_ARG, "must not be the input"},
                 {anchor, anchor, ICTUS_ERR_EXISTS, "exists already"},
                 {path, other, ICTUS_ERR_EXISTS, "exists already"},
                 {anchor, other, ICTUS_ERR_EXISTS, "exists already"},
                 {gone, other, ICTUS_ERR_EXISTS, "exists already"},
                 {path, dangling, ICTUS_ERR_EXISTS, "exists already"},
                 {"/none.otf2", "/", ICTUS_ERR_ARG, "must not be the input"},
                 {"none.otf2", ".", ICTUS_ERR_ARG, "must not be the input"},
                 {path, NULL, ICTUS_ERR_ARG, "-o DIR"},
                 {path, "", ICTUS_ERR_ARG, "-o DIR"},
                 {path, gone, ICTUS_ERR_ARG, "/gone"},
                 {path, within, ICTUS_ERR_ARG, "there is no directory"},
                 {path, left, ICTUS_ERR_EXISTS, "left.incomplete exists: another run"},
                 {path, "fresh", ICTUS_OK, ""},
                 {path, fresh, ICTUS_OK, ""}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ictus_why why = {""};
        CHECK(ictusi_output_copy_check(cases[i].in, cases[i].out, &why) == cases[i].err);
        says(&why, cases[i].reason);
    }
    struct ictus_why why = {""};
    locked = root;
    CHECK(ictusi_output_copy_check(path, fresh, &why) == ICTUS_ERR_ARG);
    says(&why, "Permission denied");
    locked = NULL;
}

/* A directory stands for the only anchor in it, whatever its name; if there are two, for none. */
static void anchors_are_found(const char *path)
{
    char anchor[192], other[192], second[192];
    struct trace *trace = NULL;
    struct ictus_why why = {""};
    (void)snprintf(anchor, sizeof anchor, "%s/traces.otf2", path);
    (void)snprintf(other, sizeof other, "%s/a.otf2", path);
    (void)snprintf(second, sizeof second, "%s/b.otf2", path);
    REQUIRE(rename(anchor, other) == 0 && link(other, second) == 0);
    CHECK(ictusi_archive_open(path, &trace, &why) != ICTUS_OK);
    CHECK(strstr(why.text, "traces.otf2") != NULL);
    REQUIRE(unlink(second) == 0);
    /* The other files have the old name. */
    CHECK(ictusi_archive_open(path, &trace, &why) != ICTUS_OK);
    CHECK(strstr(why.text, "a.otf2: ") != NULL);
    REQUIRE(rename(other, anchor) == 0);
}

int main(void)
{
    names_are_derived();
    static const struct clock_offset offsets[OFFSETS] = {
        {1000, 5, 2.5}, {2000, -7, 0}, {3000, 1 << 30, 1}};
    char path[128];
    REQUIRE(mkdtemp(check_scratch(root, "archive")));
    (void)snprintf(path, sizeof path, "%s/whole", root);
    write_archive(path, offsets);
    offsets_are_read(path, offsets);
    offsets_are_judged();
    metrics_are_read(path);
    (void)OTF2_Error_RegisterCallback(keep_quiet, NULL);
    anchors_are_found(path);
    anchors_are_files(path);
    copies_need_a_place(path);
    siblings_are_seen(path);
    outputs_are_removed();
    missing_events_are_noticed(path);
    cut("traces/7.evt", offsets, "location 7 is cut off");
    cut("traces/70000000001.def", offsets, "location 70000000001 is cut off");
    cut("traces.def", offsets, "its definitions are cut off");
    companions_are_copied();
    remove_tree(root);
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Event files with new times: the same bytes as the OTF2 library writes, or left to the library. */
#include "../check.h"
#include "written_archive.h"

#include "archive/copy.h"
#include "archive/restamp.h"
#include "archive/restamps.h"
#include "archive/trace_open.h"

#include <errno.h>
#include <ftw.h>
#include <ictus/error.h>
#include <otf2/otf2.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CHUNK = 1 << 18, EVENTS = 60000, SHARED = 4, SHIFT = 12345, FLUSH = 77 };
enum { PLAIN, LONG, UNDEFINED, LOCATIONS }; /* LONG: a record of more than 254 bytes */

static char root[CHECK_PATH];

/* Times move by SHIFT; where split, events with the same stamp get different ones. */
struct shift {
    bool split;
    atomic_int opened;
    int copied, dropped;
};

/* The changes along a location. */
struct steps {
    bool split;
    uint32_t location;
    uint64_t last, run;
};

static void *shift_open(void *self, uint32_t location)
{
    struct shift *shift = self;
    struct steps *steps = malloc(sizeof *steps);
    REQUIRE(steps);
    *steps = (struct steps){.split = shift->split, .location = location};
    shift->opened++;
    return steps;
}

/* The shift also depends on the location, so that none uses another one's walk. */
static uint64_t shift_event(void *walk, uint64_t stamp)
{
    struct steps *steps = walk;
    steps->run = stamp == steps->last ? steps->run + 1 : 0;
    steps->last = stamp;
    return stamp + SHIFT + steps->location + (steps->split ? steps->run : 0);
}

static uint64_t shift_other(const void *walk, uint64_t stamp)
{
    (void)walk;
    return stamp + SHIFT;
}

static bool shift_close(void *self, void *walk, bool copied)
{
    struct shift *shift = self;
    shift->copied += copied;
    shift->dropped += !copied;
    free(walk);
    return true;
}

static void keep_properties(void *self, uint64_t clock[4])
{
    (void)self;
    (void)clock;
}

static void write_events(OTF2_Archive *archive, int location)
{
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, (uint64_t)location);
    OTF2_AttributeList *attributes = OTF2_AttributeList_New();
    uint64_t time = 1000;
    for (uint32_t i = 0; i < EVENTS; i++) {
        time += i % SHARED == 0 ? 10 + i % 7 : 0;
        if (i % 5 == 0) {
            OTF2_AttributeList_AddUint64(attributes, 0, (uint64_t)i << 40);
        }
        if (i % 1000 == 999) {
            OTF2_EvtWriter_BufferFlush(writer, attributes, time, time + FLUSH);
        } else if (i % 2) {
            OTF2_EvtWriter_Leave(writer, attributes, time, i % 300);
        } else {
            OTF2_EvtWriter_MpiSend(writer, attributes, time, i % 3, 0, i, i * UINT64_C(1000));
        }
    }
    if (location == LONG) {
        uint8_t types[40];
        OTF2_MetricValue values[40];
        memset(types, OTF2_TYPE_UINT64, sizeof types);
        memset(values, 0x55, sizeof values);
        OTF2_EvtWriter_Metric(writer, NULL, time + 10, 0, 40, types, values);
    } else if (location == UNDEFINED) {
        OTF2_EvtWriter_Enter(writer, NULL, time + 10, OTF2_UNDEFINED_REGION);
    } else {
        OTF2_EvtWriter_Enter(writer, NULL, time + 10, 0);
    }
    OTF2_AttributeList_Delete(attributes);
    OTF2_Archive_CloseEvtWriter(archive, writer);
}

static void write_archive(const char *path)
{
    OTF2_Archive *archive = written_archive_open(path, CHUNK);
    for (int l = 0; l < LOCATIONS; l++) {
        write_events(archive, l);
    }
    OTF2_GlobalDefWriter *definitions = written_archive_define(archive, 10000000);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        OTF2_GlobalDefWriter_WriteLocationGroup(definitions, l, 0, OTF2_LOCATION_GROUP_TYPE_PROCESS,
                                                0, OTF2_UNDEFINED_LOCATION_GROUP);
        OTF2_GlobalDefWriter_WriteLocation(definitions, l, 0, OTF2_LOCATION_TYPE_CPU_THREAD,
                                           EVENTS + 1, l);
    }
    OTF2_Archive_CloseGlobalDefWriter(archive, definitions);
    REQUIRE(OTF2_Archive_Close(archive) == OTF2_SUCCESS);
}

/*
 * Copy the archive. Locations are opened once if they are restamped or not tried, and else twice.
 * threads: the number that restamp; 0: none.
 */
static void copy(const char *in, const char *out, int threads, bool split, int opened)
{
    struct ictus_why why = {""};
    struct trace *trace = NULL;
    struct shift shift = {.split = split};
    REQUIRE(ictusi_archive_open(in, &trace, &why) == ICTUS_OK);
    const struct copy_job job = {
        .trace = trace,
        .out = out,
        .clock = {shift_open, shift_event, shift_other, shift_close, &shift},
        .definitions = {.properties = keep_properties},
        .threads = threads,
        .restamp = threads > 0};
    const int err = ictusi_copy_run(&job, &why);
    CHECK(err == ICTUS_OK);
    if (err) {
        printf("%s\n", why.text);
    }
    CHECK(shift.opened == opened);
    CHECK(shift.copied == LOCATIONS && shift.dropped == opened - LOCATIONS);
    ictusi_archive_close(trace);
}

static bool same_files(const char *a, const char *b)
{
    FILE *one = fopen(a, "r");
    FILE *two = fopen(b, "r");
    REQUIRE(one && two);
    int c = 0;
    int d = 0;
    while (c == d && c != EOF) {
        c = getc(one);
        d = getc(two);
    }
    (void)fclose(one);
    (void)fclose(two);
    return c == d;
}

static void check_same(const char *a, const char *b)
{
    for (int l = 0; l < LOCATIONS; l++) {
        char left[256];
        char right[256];
        (void)snprintf(left, sizeof left, "%s/%s/traces/%d.evt", root, a, l);
        (void)snprintf(right, sizeof right, "%s/%s/traces/%d.evt", root, b, l);
        CHECK(same_files(left, right));
    }
}

static void test_copies(const char *in)
{
    static const char *const names[] = {"records", "restamped", "together", "split-records",
                                        "split"};
    enum { COPIES = sizeof names / sizeof *names };
    char out[COPIES][256];
    for (int i = 0; i < COPIES; i++) {
        (void)snprintf(out[i], sizeof out[i], "%s/%s", root, names[i]);
    }
    copy(in, out[0], 0, false, LOCATIONS);
    copy(in, out[1], 1, false, LOCATIONS + 2); /* all except the two that cannot be handled */
    check_same(names[0], names[1]);
    copy(in, out[2], 3, false, LOCATIONS + 2);
    check_same(names[0], names[2]);
    copy(in, out[3], 0, true, LOCATIONS);
    copy(in, out[4], 3, true, 2 * LOCATIONS);
    check_same(names[3], names[4]);
}

/*
 * Of the locations, only those that have events and belong to this process are tried. The others
 * are left to the library without opening a walk, and nothing is written.
 */
static void test_left_out(const char *in)
{
    static const bool mine[LOCATIONS] = {true, false, true};
    static const int wanted[LOCATIONS] = {ICTUS_OK, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_UNSUPPORTED};
    struct ictus_why why = {""};
    struct shift shift = {.split = false};
    struct trace *trace = NULL;
    struct restamps restamps;
    char stem[160];
    REQUIRE(ictusi_archive_open(in, &trace, &why) == ICTUS_OK);
    trace->layout.locations[UNDEFINED].events = 0;
    const struct copy_job job = {
        .trace = trace,
        .mine = mine,
        .clock = {shift_open, shift_event, shift_other, shift_close, &shift},
        .threads = 2};
    (void)snprintf(stem, sizeof stem, "%s/part", root);
    REQUIRE(mkdir(stem, 0777) == 0 && !ictusi_restamps_init(&restamps, &job, stem, CHUNK));
    ictusi_restamps_run(&restamps, 0, LOCATIONS);
    CHECK(shift.opened == 1);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        char out[200];
        (void)snprintf(out, sizeof out, "%s/%u.evt", stem, l);
        CHECK(ictusi_restamps_settle(&restamps, l, false, &why) == wanted[l]);
        CHECK((access(out, F_OK) == 0) == (wanted[l] == ICTUS_OK));
    }
    CHECK(shift.copied == 1 && shift.dropped == 0);
    ictusi_restamps_fini(&restamps);
    ictusi_archive_close(trace);
}

/* Write a location's file, cut to this length, and with a changed byte if at is not negative. */
static void damage(const char *from, const char *to, long at, long size)
{
    FILE *in = fopen(from, "r");
    FILE *out = fopen(to, "w");
    REQUIRE(in && out);
    for (long i = 0; i < size; i++) {
        const int c = getc(in);
        (void)fputc(c == EOF ? 0 : i == at ? c ^ 1 : c, out);
    }
    (void)fclose(in);
    (void)fclose(out);
}

static long size_of(const char *path)
{
    struct stat st;
    REQUIRE(stat(path, &st) == 0);
    return (long)st.st_size;
}

/* A file that cannot be handled leaves nothing behind. */
static void refuse(const char *in, uint64_t chunk, uint64_t events)
{
    char out[256];
    struct shift shift = {.split = false};
    const struct copy_clock clock = {shift_open, shift_event, shift_other, shift_close, &shift};
    (void)snprintf(out, sizeof out, "%s/refused", root);
    const struct restamp job = {in, out, chunk, events, &clock, shift_open(&shift, 0)};
    CHECK(ictusi_restamp_run(&job) == ICTUS_ERR_UNSUPPORTED);
    CHECK(access(out, F_OK) != 0);
    free(job.walk);
}

static void test_damage(const char *whole)
{
    char bad[256];
    const long size = size_of(whole);
    (void)snprintf(bad, sizeof bad, "%s/bad.evt", root);
    refuse(whole, CHUNK, EVENTS);         /* one event more than there should be */
    refuse(whole, CHUNK / 2, EVENTS + 1); /* another chunk size than the archive's */
    refuse(whole, 4, EVENTS + 1);
    refuse(root, CHUNK, EVENTS + 1);
    refuse("/nowhere/0.evt", CHUNK, EVENTS + 1);
    /*
     * Byte order, first and last event of both chunks, the mark of the first stamp, the length of a
     * record.
     */
    static const long at[] = {0, 1, 2, 10, 18, CHUNK, CHUNK + 2, CHUNK + 10, 28};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        damage(whole, bad, at[i], size);
        refuse(bad, CHUNK, EVENTS + 1);
    }
    static const long cuts[] = {0, 1, 17, 18, 20, 1000, CHUNK, CHUNK + 9};
    for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
        damage(whole, bad, -1, cuts[i]);
        refuse(bad, CHUNK, EVENTS + 1);
    }
    damage(whole, bad, -1, (size / CHUNK + 2) * CHUNK);
    refuse(bad, CHUNK, EVENTS + 1); /* more after the end */
}

static void test_no_room(const char *in)
{
    struct shift shift = {.split = false};
    const struct copy_clock clock = {shift_open, shift_event, shift_other, shift_close, &shift};
    const struct restamp nowhere = {in,         "/nowhere/0.evt", CHUNK,
                                    EVENTS + 1, &clock,           shift_open(&shift, 0)};
    CHECK(ictusi_restamp_run(&nowhere) == ICTUS_ERR_IO);
    CHECK(errno == ENOENT);
    free(nowhere.walk);
}

/* Calls of close() and write() until one fails; 0: none does. */
static int fails_in;

static bool fails_now(void)
{
    return fails_in > 0 && --fails_in == 0;
}

/* Like the kernel's; that a quota is exceeded may become known as late as here. */
int close(int fd)
{
    const bool fails = fails_now();
    const int code = (int)syscall(SYS_close, fd);
    errno = fails ? EDQUOT : errno;
    return fails ? -1 : code;
}

/* Bytes that read() and write() do at a time, each after an interruption; 0: all at once. */
static size_t piece;

static bool piece_comes(size_t *count)
{
    static bool interrupted;
    interrupted = piece > 0 && !interrupted;
    *count = piece > 0 && *count > piece ? piece : *count;
    errno = interrupted ? EINTR : errno;
    return !interrupted;
}

ssize_t write(int fd, const void *bytes, size_t count)
{
    if (fails_now()) {
        errno = ENOSPC;
        return -1;
    }
    return piece_comes(&count) ? (ssize_t)syscall(SYS_write, fd, bytes, count) : -1;
}

ssize_t read(int fd, void *bytes, size_t count)
{
    return piece_comes(&count) ? (ssize_t)syscall(SYS_read, fd, bytes, count) : -1;
}

/* A small file, written by hand: a head, items as in a text, and the end of the file. */
struct small {
    uint8_t bytes[600];
    size_t size;
};

static void small_number(struct small *file, uint64_t value)
{
    memcpy(file->bytes + file->size, &value, sizeof value);
    file->size += sizeof value;
}

/*
 * 's': a stamp, 1000 times how many there are by then; 'r': a record of one byte; 'R': one of 254;
 * 'L': one that says 255; 'a': attributes; 'f', 'g', 'h': a flush of 8, 7 and 9 bytes. All times
 * are moved.
 */
static struct small small_file(const char *items, uint64_t last, uint64_t moved)
{
    struct small file = {.bytes = {3, 'B'}, .size = 2};
    uint64_t stamps = 0;
    small_number(&file, 1);
    small_number(&file, last);
    for (const char *at = items; *at; at++) {
        const uint8_t lengths[] = {
            ['r'] = 1, ['R'] = 254, ['L'] = 255, ['a'] = 3, ['f'] = 8, ['g'] = 7, ['h'] = 9};
        const bool flush = *at >= 'f' && *at <= 'h';
        if (*at == 's') {
            file.bytes[file.size++] = 5;
            small_number(&file, ++stamps * 1000 + moved);
            continue;
        }
        file.bytes[file.size++] = (uint8_t)(*at == 'a' ? 6 : flush ? 10 : 12);
        file.bytes[file.size++] = lengths[(int)*at];
        const size_t end = file.size + lengths[(int)*at];
        if (flush) {
            small_number(&file, 77 + moved);
        }
        file.size = end;
    }
    file.bytes[file.size++] = 2;
    return file;
}

static void small_write(const char *path, const struct small *file)
{
    FILE *out = fopen(path, "w");
    REQUIRE(out && fwrite(file->bytes, 1, file->size, out) == file->size && fclose(out) == 0);
}

static int lowest_free(void)
{
    const int fd = dup(STDERR_FILENO);
    (void)close(fd);
    return fd;
}

/*
 * What is supported, item by item; the rest is left to the library. The result is the same however
 * little is read and written at a time, and all descriptors are given back.
 */
static void test_items(void)
{
    static const struct {
        const char *items;
        uint64_t last;
        bool moved;
    } cases[] = {
        {"sr", 1, true},   {"srr", 2, true},  {"srsr", 2, true}, {"sar", 1, true},
        {"sfr", 2, true},  {"sR", 1, true},   {"", 0, true},     {"r", 1, false},
        {"ssr", 1, false}, {"srs", 1, false}, {"sgr", 2, false}, {"shr", 2, false},
        {"sL", 1, false},  {"srr", 1, false}, {"srr", 3, false}, {"s", 0, false},
    };
    char in[256], out[256], wanted[256];
    (void)snprintf(in, sizeof in, "%s/small.evt", root);
    (void)snprintf(out, sizeof out, "%s/small-out.evt", root);
    (void)snprintf(wanted, sizeof wanted, "%s/small-wanted.evt", root);
    const int before = lowest_free();
    for (size_t i = 0; i < 3 * sizeof cases / sizeof *cases; i++) {
        const char *items = cases[i / 3].items;
        const struct small file = small_file(items, cases[i / 3].last, 0);
        const struct small there = small_file(items, cases[i / 3].last, SHIFT);
        struct shift shift = {.split = false};
        const struct copy_clock clock = {shift_open, shift_event, shift_other, shift_close, &shift};
        const struct restamp job = {
            in, out, sizeof file.bytes, cases[i / 3].last, &clock, shift_open(&shift, 0)};
        small_write(in, &file);
        small_write(wanted, &there);
        piece = i % 3; /* all, one byte, two */
        const mode_t mask = umask(027);
        const int err = ictusi_restamp_run(&job);
        (void)umask(mask);
        piece = 0;
        CHECK(err == (cases[i / 3].moved ? ICTUS_OK : ICTUS_ERR_UNSUPPORTED));
        CHECK((access(out, F_OK) == 0) == cases[i / 3].moved);
        CHECK(!cases[i / 3].moved || same_files(out, wanted));
        struct stat status;
        CHECK(stat(out, &status) || (status.st_mode & 07777) == (0666 & ~(mode_t)027));
        (void)remove(out);
        free(job.walk);
    }
    CHECK(lowest_free() == before);
}

/*
 * Whichever part of the output cannot be written, the error has its reason and nothing is left;
 * only closing the input may fail without an error.
 */
static void test_full_disk(const char *in)
{
    char out[256];
    int failed = 0;
    (void)snprintf(out, sizeof out, "%s/full.evt", root);
    for (int at = 1; at > 0; at = at > 0 && fails_in == 0 ? at + 1 : 0) {
        struct shift shift = {.split = false};
        const struct copy_clock clock = {shift_open, shift_event, shift_other, shift_close, &shift};
        const struct restamp job = {in, out, CHUNK, EVENTS + 1, &clock, shift_open(&shift, 0)};
        fails_in = at;
        const int err = ictusi_restamp_run(&job);
        const int reason = errno;
        CHECK(err == ICTUS_OK || (err == ICTUS_ERR_IO && (reason == EDQUOT || reason == ENOSPC)));
        CHECK((access(out, F_OK) == 0) == (err == ICTUS_OK));
        failed += err != ICTUS_OK;
        (void)remove(out);
        free(job.walk);
    }
    fails_in = 0;
    CHECK(failed >= 3); /* two chunks, and the end */
}

static int remove_entry(const char *path, const struct stat *st, int type, struct FTW *state)
{
    (void)st;
    (void)type;
    (void)state;
    return remove(path);
}

int main(void)
{
    char in[128];
    char first[192];
    REQUIRE(mkdtemp(check_scratch(root, "restamp")));
    (void)snprintf(in, sizeof in, "%s/in", root);
    (void)snprintf(first, sizeof first, "%s/traces/0.evt", in);
    write_archive(in);
    test_copies(in);
    test_left_out(in);
    test_damage(first);
    test_no_room(first);
    test_full_disk(first);
    test_items();
    (void)nftw(root, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The windows of a thread: records of all lengths fill them nearly to the end and never beyond.
 * None is lost or split between two windows, and if there can be no further one, the last window
 * says so.
 */
#include "../check.h"

#include "tracer/openmp.h"
#include "tracer/recorder.h"
#include "tracer/requests.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    WINDOWS = 4,
    WINDOW_BYTES = 8192,
    WINDOW_WORDS = WINDOW_BYTES / 8,
    LIMIT = RAW_HEADER_BYTES + WINDOWS * WINDOW_BYTES,
    LONG_WORDS = RECORD_WORDS_MAX - 5
};

struct tracer ictusi_tracer;

/* What the file system and the kernel cannot do, as errors; the linker redirects calls here. */
static struct {
    int fallocate, madvise;
    size_t disk_room; /* of zeros that are written */
} lacks;

static struct {
    const void *memory;
    size_t bytes;
    int advice, count;
} advised;

int fallocate_system(int fd, int mode, off_t from, off_t bytes) __asm__("__real_fallocate");
int fallocate_model(int fd, int mode, off_t from, off_t bytes) __asm__("__wrap_fallocate");
int madvise_system(void *memory, size_t bytes, int advice) __asm__("__real_madvise");
int madvise_model(void *memory, size_t bytes, int advice) __asm__("__wrap_madvise");
ssize_t pwrite_system(int fd, const void *from, size_t bytes, off_t at) __asm__("__real_pwrite");
ssize_t pwrite_model(int fd, const void *from, size_t bytes, off_t at) __asm__("__wrap_pwrite");

int fallocate_model(int fd, int mode, off_t from, off_t bytes)
{
    errno = lacks.fallocate;
    return lacks.fallocate ? -1 : fallocate_system(fd, mode, from, bytes);
}

int madvise_model(void *memory, size_t bytes, int advice)
{
    advised.memory = memory;
    advised.bytes = bytes;
    advised.advice = advice;
    advised.count++;
    errno = lacks.madvise;
    return lacks.madvise ? -1 : madvise_system(memory, bytes, advice);
}

ssize_t pwrite_model(int fd, const void *from, size_t bytes, off_t at)
{
    const size_t room = bytes < lacks.disk_room ? bytes : lacks.disk_room;
    lacks.disk_room -= room;
    errno = ENOSPC;
    return room > 0 ? pwrite_system(fd, from, room, at) : -1;
}

/* There are no thread teams here. */
void ictusi_openmp_forget(struct recorder *r)
{
    (void)r;
}

/* Write short, long and timed records until there is no room. @return the number written */
static uint64_t windows_fill(struct recorder *r)
{
    uint64_t count = 0;
    while (count < 100000) {
        recorder_make_room(r);
        if (r->after & AFTER_FULL) {
            break;
        }
        count++;
        if (count % 7 == 0) {
            for (unsigned i = 1; i < LONG_WORDS; i++) {
                r->pos[i] = count;
            }
            recorder_publish(r->pos, record_head(RECORD_SENDERS, LONG_WORDS, 0, 0));
            r->pos += LONG_WORDS;
        } else if (count % 5 == 0) {
            recorder_timed_words(r, RECORD_METRIC, 0, count, &count, 1);
        } else {
            recorder_put4(r, RECORD_COLL, 1, 2, count, count, count, count);
        }
    }
    return count;
}

/* Read a window in order. @return words in use */
static unsigned window_read(const uint64_t *window, uint64_t *next, int *flushes, int *offs)
{
    unsigned at = 0;
    while (at < WINDOW_WORDS && window[at]) {
        const unsigned words = record_words(window[at]);
        const unsigned kind = record_kind(window[at]);
        REQUIRE(words >= 2 && at + words <= WINDOW_WORDS);
        if (kind == RECORD_FLUSH) {
            ++*flushes;
            CHECK(window[at + 2] > 0);
        } else if (kind == RECORD_OFF) {
            ++*offs;
            CHECK(record_small(window[at]) == OFF_LIMIT);
        } else {
            CHECK(window[at + words - 1] == *next && window[at + 1] == *next);
            ++*next;
        }
        at += words;
    }
    return at;
}

/* Of a thread whose file stays open, or is opened for each window. */
static void windows_are_whole(const char *directory, uint32_t thread)
{
    static uint64_t file[LIMIT / 8 + 1];
    char path[256];
    struct recorder_setup setup = {
        .rank = 3, .table_hash = 0xabcdef, .limit_bytes = LIMIT, .kind = TICKS_MONOTONIC};
    (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
    struct recorder *r = ictusi_recorder_create(&setup, thread, WINDOW_BYTES);
    REQUIRE(r && !r->after);
    CHECK((r->fd >= 0) == (thread < 16));
    const uint64_t written = windows_fill(r);
    CHECK(r->after & AFTER_FULL);
    CHECK(recorder_request(r) == 0);
    ictusi_recorder_free(r);
    (void)snprintf(path, sizeof(path), "%s/3.%u.events", directory, thread);
    FILE *in = fopen(path, "rb");
    REQUIRE(in);
    CHECK(fread(file, 1, sizeof(file), in) == LIMIT);
    (void)fclose(in);
    const struct raw_header *header = (const struct raw_header *)file;
    CHECK(memcmp(header->magic, RAW_MAGIC, 8) == 0 && header->table_hash == 0xabcdef);
    CHECK(header->window_bytes == WINDOW_BYTES && header->rank == 3 && header->thread == thread);
    CHECK(header->pid == (uint64_t)getpid());
    uint64_t next = 1;
    int flushes = 0;
    int offs = 0;
    for (int i = 0; i < WINDOWS; i++) {
        const uint64_t *window = file + (RAW_HEADER_BYTES + i * WINDOW_BYTES) / 8;
        const unsigned used = window_read(window, &next, &flushes, &offs);
        CHECK(used > WINDOW_WORDS - 2 * RECORD_WORDS_MAX);
        CHECK(offs == (i == WINDOWS - 1));
    }
    CHECK(next == written + 1);
    CHECK(flushes == WINDOWS - 1);
    CHECK(unlink(path) == 0);
}

/* If the file exists, or the limit is below one window, the thread is followed but not recorded. */
static void without_a_file(const char *directory)
{
    struct recorder_setup setup = {.limit_bytes = RAW_HEADER_BYTES + WINDOW_BYTES - 1,
                                   .kind = TICKS_MONOTONIC};
    char path[256];
    (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
    (void)snprintf(path, sizeof(path), "%s/0.1.events", directory);
    for (int i = 0; i < 2; i++) {
        struct recorder *r = ictusi_recorder_create(&setup, 1, WINDOW_BYTES);
        REQUIRE(r && r->after == AFTER_FULL);
        for (int k = 0; k < 1000; k++) { /* around the scratch area */
            recorder_make_room(r);
            recorder_put4(r, RECORD_COLL, 1, 2, 1, 2, 3, 4);
            CHECK(r->pos > r->scratch && r->pos <= r->scratch + SCRATCH_WORDS);
        }
        ictusi_recorder_free(r);
        /* The name is free for a thread that finds room. */
        CHECK(access(path, F_OK) != 0);
    }
    /* More threads than can have a number. */
    struct recorder *bare = ictusi_recorder_create_bare(&setup);
    REQUIRE(bare && bare->after == AFTER_FULL && bare->fd < 0);
    ictusi_recorder_free(bare);
    ictusi_recorder_free(NULL);
}

/* Records of a muted interval leave no trace in the window, even if several reasons overlap. */
static void diverted_records_are_dropped(const char *directory)
{
    struct recorder_setup setup = {.limit_bytes = LIMIT, .kind = TICKS_MONOTONIC};
    char path[256];
    (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
    (void)snprintf(path, sizeof(path), "%s/0.2.events", directory);
    struct recorder *r = ictusi_recorder_create(&setup, 2, WINDOW_BYTES);
    REQUIRE(r && !r->after);
    recorder_put1(r, RECORD_IRECV, 0, 0, 1);
    const uint64_t *const here = r->pos;
    const uint64_t *const soft = r->soft;
    CHECK(recorder_requests(r, 3) == (UINT64_C(2) << 40 | 1));
    CHECK(recorder_request(r) == (UINT64_C(2) << 40 | 4));
    ictusi_recorder_divert(r, AFTER_MUTED);
    recorder_put1(r, RECORD_IRECV, 0, 0, 2);
    ictusi_recorder_divert(r, AFTER_HIDDEN);
    CHECK(recorder_request(r) == 0 && recorder_requests(r, 3) == 0);
    ictusi_recorder_resume(r, AFTER_MUTED);
    recorder_put1(r, RECORD_IRECV, 0, 0, 3);
    CHECK(r->pos == r->scratch + 2);
    ictusi_recorder_resume(r, AFTER_HIDDEN);
    CHECK(r->pos == here && r->soft == soft && !r->after);
    recorder_put1(r, RECORD_IRECV, 0, 0, 4);
    CHECK(here[1] == 4 && here[2] == 0);
    CHECK(ictusi_recorder_room(r, 3) && r->room == 64);
    CHECK(ictusi_recorder_room(r, 64) && r->room == 64);
    CHECK(ictusi_recorder_room(r, 65) && r->room == 130);
    ictusi_recorder_free(r);
    CHECK(unlink(path) == 0);
}

static int mappings_of(const char *path)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    REQUIRE(maps);
    while (fgets(line, sizeof(line), maps)) {
        count += strstr(line, path) != NULL;
    }
    (void)fclose(maps);
    return count;
}

/* One window is in memory, whose pages are given back on request, and none after the end. */
static void memory_is_given_back(const char *directory)
{
    struct recorder_setup setup = {.limit_bytes = LIMIT, .kind = TICKS_MONOTONIC};
    char path[256];
    (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
    (void)snprintf(path, sizeof(path), "%s/0.6.events", directory);
    struct recorder *r = ictusi_recorder_create(&setup, 6, WINDOW_BYTES);
    REQUIRE(r && !r->after);
    recorder_put1(r, RECORD_IRECV, 0, 0, 9);
    CHECK(mappings_of(path) == 1);
    advised.count = 0;
    ictusi_recorder_rest(r);
    CHECK(advised.count == 1 && advised.memory == r->window && advised.bytes == WINDOW_BYTES);
    CHECK(advised.advice == MADV_DONTNEED);
    CHECK(r->pos[-1] == 9); /* and the records are still there */
    ictusi_recorder_free(r);
    CHECK(mappings_of(path) == 0);
    CHECK(unlink(path) == 0);
}

/* In a program without standard input the file may get its number. */
static void no_number_is_special(const char *directory)
{
    struct recorder_setup setup = {.limit_bytes = LIMIT, .kind = TICKS_MONOTONIC};
    const int input = dup(STDIN_FILENO);
    char path[256];
    (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
    for (uint32_t thread = 7; thread <= 4007; thread += 4000) {
        (void)snprintf(path, sizeof(path), "%s/0.%u.events", directory, thread);
        (void)close(STDIN_FILENO);
        struct recorder *r = ictusi_recorder_create(&setup, thread, WINDOW_BYTES);
        REQUIRE(r && !r->after);
        CHECK(windows_fill(r) > WINDOWS * 100);
        CHECK(r->file_bytes == LIMIT);
        ictusi_recorder_free(r);
        CHECK(fcntl(STDIN_FILENO, F_GETFD) < 0); /* closed again */
        CHECK(unlink(path) == 0);
    }
    CHECK(input < 0 || dup2(input, STDIN_FILENO) == STDIN_FILENO);
    (void)close(input);
}

/* File systems without fallocate() and older kernels hold the same records, in space that is there
 * before it is needed. Where there is none, recording ends without a signal. */
static void less_is_enough(const char *directory)
{
    enum { LARGE = 1 << 17, MANY = RAW_HEADER_BYTES + 3 * LARGE };
    static const struct {
        int fallocate, madvise;
        size_t disk_room;
        int windows;
    } cases[] = {{0, 0, 0, 3},
                 {EOPNOTSUPP, 0, SIZE_MAX, 3},
                 {ENOSYS, 0, SIZE_MAX, 3},
                 {0, EINVAL, 0, 3},
                 {EOPNOTSUPP, EINVAL, SIZE_MAX, 3},
                 {EOPNOTSUPP, 0, 2 * LARGE, 2},
                 {EOPNOTSUPP, 0, 2 * LARGE - 1, 1},
                 {ENOSPC, 0, SIZE_MAX, 0},
                 {0, EFAULT, 0, 0}};
    uint64_t all = 0;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        struct recorder_setup setup = {.limit_bytes = MANY, .kind = TICKS_MONOTONIC};
        struct stat info;
        char path[256];
        (void)snprintf(setup.directory, sizeof(setup.directory), "%s", directory);
        (void)snprintf(path, sizeof(path), "%s/0.3.events", directory);
        lacks.fallocate = cases[i].fallocate;
        lacks.madvise = cases[i].madvise;
        lacks.disk_room = cases[i].disk_room;
        struct recorder *r = ictusi_recorder_create(&setup, 3, LARGE);
        REQUIRE(r && (r->after == AFTER_FULL) == (cases[i].windows == 0));
        const uint64_t written = windows_fill(r);
        all = i == 0 ? written : all;
        CHECK(r->after == AFTER_FULL && (written == all) == (cases[i].windows == 3));
        CHECK((written > 0) == (cases[i].windows > 0));
        CHECK(cases[i].windows == 0 ||
              r->file_bytes == RAW_HEADER_BYTES + (uint64_t)cases[i].windows * LARGE);
        ictusi_recorder_free(r);
        CHECK((stat(path, &info) == 0) == (cases[i].windows > 0));
        CHECK(cases[i].windows == 0 ||
              (info.st_size >= RAW_HEADER_BYTES + (off_t)cases[i].windows * LARGE &&
               info.st_blocks * 512 >= RAW_HEADER_BYTES + (off_t)cases[i].windows * LARGE));
        (void)unlink(path);
    }
    memset(&lacks, 0, sizeof(lacks));
}

int main(void)
{
    char directory[CHECK_PATH];
    REQUIRE(mkdtemp(check_scratch(directory, "recorder")));
    windows_are_whole(directory, 5);
    windows_are_whole(directory, 4000);
    without_a_file(directory);
    diverted_records_are_dropped(directory);
    memory_is_given_back(directory);
    no_number_is_special(directory);
    less_is_enough(directory);
    CHECK(rmdir(directory) == 0);
    return check_result();
}

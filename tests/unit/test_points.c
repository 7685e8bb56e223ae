/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Many points: their temporary file leaves no name behind, whatever the file system supports;
 * joined lists stay as they were.
 */
#include "../check.h"

#include "causality/points.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <unistd.h>

enum { LONG_PART = 300000 };

/* The linker makes the library call these for open(): a file system that may lack O_TMPFILE. */
static bool lacks_tmpfile;
static int refused;
int __wrap_open(const char *path, int flags, ...);
int __wrap_open64(const char *path, int flags, ...);

static int open_or_refuse(const char *path, int flags, va_list rest)
{
    if (lacks_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
        refused++;
        errno = EOPNOTSUPP;
        return -1;
    }
    return openat(AT_FDCWD, path, flags, flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, int) : 0);
}

int __wrap_open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int file = open_or_refuse(path, flags, rest);
    va_end(rest);
    return file;
}

int __wrap_open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    const int file = open_or_refuse(path, flags, rest);
    va_end(rest);
    return file;
}

static int entries_of(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;
    REQUIRE(dir);
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        count += strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
    }
    (void)closedir(dir);
    return count;
}

/*
 * As many points as fit into memory, and one more: all of them move to a file. This must not take
 * 390 MB of disk here, so files of this process end early.
 */
static void file_has_no_name(const char *dir)
{
    enum { MANY = 11 << 20, STEPS_MOST = 1000 };
    struct points points;
    struct ictus_why why = {""};
    int err = ICTUS_OK;
    REQUIRE(!ictusi_points_init(&points, MANY, NULL));
    for (int step = 0; step < STEPS_MOST && points.stores[0].file < 0 && !err; step++) {
        points.count = points.stores[0].ready;
        err = ictusi_points_grow(&points, &why);
    }
    CHECK(points.stores[0].file >= 0);
    CHECK(err == ICTUS_ERR_IO && strstr(why.text, "the temporary file cannot be used: "));
    CHECK(entries_of(dir) == 0);
    ictusi_points_fini(&points);
    CHECK(entries_of(dir) == 0);
}

static void points_fill(struct points *points, uint64_t count, uint64_t seed)
{
    REQUIRE(!ictusi_points_init(points, 2 * LONG_PART, NULL));
    for (uint64_t i = 0; i < count; i++) {
        REQUIRE(!ictusi_points_grow(points, NULL));
        points->time[i] = (int64_t)(seed + 3 * i);
        points->gap[i] = (uint32_t)(seed + 5 * i);
        points->peer[i] = (uint32_t)(seed + 7 * i);
        points->kind[i] = (uint8_t)(seed + i);
        points->note[i].limit = i / 2000 % 2 ? (int64_t)(seed + 9 * i) : 0;
        points->link[i] = i % 3 ? (uint32_t)i : NODE_NONE;
        points->count++;
    }
}

/* If points are appended to others, nothing changes but the indices in their links. */
static void parts_are_joined(void)
{
    enum { FIRST = 1000 };
    struct points all, part, same;
    points_fill(&all, FIRST, 11);
    points_fill(&part, LONG_PART, 77);
    points_fill(&same, LONG_PART, 77);
    REQUIRE(!ictusi_points_append(&all, &part, NULL));
    CHECK(all.count == FIRST + LONG_PART);
    uint64_t wrong = 0;
    for (uint64_t i = 0; i < LONG_PART; i++) {
        const uint64_t at = FIRST + i;
        wrong += all.time[at] != same.time[i] || all.gap[at] != same.gap[i];
        wrong += all.peer[at] != same.peer[i] || all.kind[at] != same.kind[i];
        wrong += all.note[at].limit != same.note[i].limit;
        wrong += all.link[at] != (same.link[i] == NODE_NONE ? NODE_NONE : same.link[i] + FIRST);
    }
    CHECK(wrong == 0 && all.time[FIRST - 1] == 11 + 3 * (FIRST - 1) && all.kind[0] == 11);
    ictusi_points_fini(&all);
    ictusi_points_fini(&part);
    ictusi_points_fini(&same);
}

int main(void)
{
    char dir[CHECK_PATH];
    struct rlimit before;
    parts_are_joined();
    REQUIRE(mkdtemp(check_scratch(dir, "points")) && !setenv("TMPDIR", dir, 1));
    REQUIRE(!getrlimit(RLIMIT_FSIZE, &before));
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit small = {0, before.rlim_max};
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &small));
    file_has_no_name(dir);
    lacks_tmpfile = true;
    file_has_no_name(dir);
    CHECK(refused == 1);
    lacks_tmpfile = false;
    REQUIRE(!setrlimit(RLIMIT_FSIZE, &before));
    (void)rmdir(dir);
    return check_result();
}

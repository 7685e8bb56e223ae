/* SPDX-License-Identifier: BSD-3-Clause */
/* The temporary file of many points: no name is left of it, whatever the file system can do. */
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

/* The linker lets the library call these for open(): a file system that may lack O_TMPFILE. */
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
 * As many points as fit into memory, and one more: all of them move to a file. It must not take
 * the disk's 390 MB here: files of this process end before they begin.
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

int main(void)
{
    char dir[] = "/tmp/ictus-points-XXXXXX";
    struct rlimit before;
    REQUIRE(mkdtemp(dir) && !setenv("TMPDIR", dir, 1));
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

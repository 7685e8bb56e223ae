/* SPDX-License-Identifier: BSD-3-Clause */
/* Finds the pages of clocks, and decides whose pages are trusted. */
#include "page.h"

#include <errno.h>
#include <fcntl.h>
#include <ictus/text.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int ictusi_page_identity(char boot[PAGE_BOOT_BYTES], uint64_t *timens)
{
    struct stat info;
    memset(boot, 0, PAGE_BOOT_BYTES);
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (!file) {
        return ICTUS_ERR_IO;
    }
    const bool read = fgets(boot, PAGE_BOOT_BYTES, file) != NULL;
    (void)fclose(file);
    /* A kernel without time namespaces has one raw clock for all processes. */
    *timens = stat("/proc/self/ns/time", &info) == 0 ? (uint64_t)info.st_ino : 0;
    return read ? ICTUS_OK : ICTUS_ERR_IO;
}

/* The start time is field 22 of /proc/PID/stat, see proc(5). The search begins after the last
 * parenthesis, because the command name (field 2) may itself contain blanks and parentheses. */
static bool place_read_start(FILE *file, uint64_t *started)
{
    enum { FIELDS_BEHIND_NAME = 19 };
    char line[1024];
    if (!fgets(line, sizeof(line), file)) {
        return false;
    }
    const char *at = strrchr(line, ')');
    for (int i = 0; at && i <= FIELDS_BEHIND_NAME; i++) {
        at = strchr(at + 1, ' ');
    }
    if (!at) {
        return false;
    }
    *started = strtoull(at, NULL, 10);
    return true;
}

bool ictusi_page_process(int64_t pid, uint64_t *started, uint64_t *namespace)
{
    char path[64];
    struct stat info;
    (void)snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
    *started = 0;
    *namespace = stat("/proc/self/ns/pid", &info) == 0 ? (uint64_t)info.st_ino : 0;
    FILE *file = fopen(path, "re");
    if (!file) {
        return false;
    }
    const bool read = place_read_start(file, started);
    (void)fclose(file);
    return read;
}

/* The directory that the caller or the environment names; NULL if neither does. */
static const char *place_named_directory(const char *directory)
{
    directory = directory ? directory : getenv("ICTUS_LOCK_DIRECTORY");
    return directory && directory[0] ? directory : NULL;
}

/* The caller's own directory. It is the system's directory for root, and for the user to whom a
 * service manager gave it. */
static void place_own_directory(char *path, size_t size)
{
    struct stat info;
    const bool is_mine = stat(PAGE_SYSTEM_DIRECTORY, &info) == 0 && info.st_uid == geteuid();
    if (geteuid() == 0 || is_mine) {
        (void)snprintf(path, size, "%s", PAGE_SYSTEM_DIRECTORY);
    } else {
        (void)snprintf(path, size, "/dev/shm/ictus-%lu", (unsigned long)geteuid());
    }
}

int ictusi_page_directory(const char *directory, char *path, size_t size, struct ictus_why *why)
{
    directory = place_named_directory(directory);
    if (!directory) {
        place_own_directory(path, size);
        return ICTUS_OK;
    }
    const int length = snprintf(path, size, "%s", directory);
    return length > 0 && (size_t)length < size
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC, "the name of the directory is too long");
}

int ictusi_page_path(const char *name, const char *directory, char *path, size_t size,
                     struct ictus_why *why)
{
    static const char allowed[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
    if (!name) {
        name = getenv("ICTUS_LOCK_NAME");
    }
    if (!name || !name[0]) {
        name = "default";
    }
    if (name[strspn(name, allowed)] || strlen(name) > 64) {
        return ictus_because(why, ICTUS_ERR_SPEC,
                             "'%.80s' is not a valid name of a clock; use up to 64 letters, "
                             "digits, '.', '_' or '-'",
                             name);
    }
    const int length = snprintf(path, size, "%s/ictus-lock.%s", directory, name);
    /* Leave room for the name of the guard file in the same directory. */
    return length > 0 && (size_t)length + 2 < size
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_SPEC, "the name of the directory is too long");
}

/* Pages of root and one's own are trusted, and those of the user to whom root gave the system's
 * directory, provided that nobody else can write to it. */
static bool place_is_trusted(uid_t owner, bool system)
{
    struct stat info;
    return owner == 0 || owner == geteuid() ||
           (system && stat(PAGE_SYSTEM_DIRECTORY, &info) == 0 && info.st_uid == owner &&
            !(info.st_mode & (S_IWGRP | S_IWOTH)));
}

static void place_name_user(uid_t user, char text[64])
{
    struct passwd entry;
    struct passwd *found = NULL;
    char buffer[4096];
    if (getpwuid_r(user, &entry, buffer, sizeof(buffer), &found) == 0 && found) {
        (void)snprintf(text, 64, "%.40s", found->pw_name);
    } else {
        (void)snprintf(text, 64, "number %lu", (unsigned long)user);
    }
}

/*
 * O_NOFOLLOW and O_NONBLOCK, because anybody can put a link or a pipe under this name into a
 * directory that is open to all. The owner is checked on the open file, so that it cannot be
 * replaced in between.
 */
int ictusi_page_open(const char *name, const char *directory, char path[PAGE_PATH_BYTES],
                     uid_t *owner, struct ictus_why *why)
{
    char place[PAGE_PATH_BYTES];
    struct stat info;
    const bool named = place_named_directory(directory) != NULL;
    int err = ictusi_page_directory(directory, place, sizeof(place), why);
    err = err ? err : ictusi_page_path(name, place, path, PAGE_PATH_BYTES, why);
    if (err) {
        return err;
    }
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0 && errno == ENOENT && !named && strcmp(place, PAGE_SYSTEM_DIRECTORY) != 0) {
        (void)snprintf(place, sizeof(place), "%s", PAGE_SYSTEM_DIRECTORY);
        (void)ictusi_page_path(name, place, path, PAGE_PATH_BYTES, why);
        fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    }
    if (fd < 0 || fstat(fd, &info) < 0) {
        const int code = errno;
        return ictus_because(why, ICTUS_ERR_IO,
                             "there is no clock at %s (%s); is 'ictus lock' running?", path,
                             strerror(code));
    }
    *owner = info.st_uid;
    if (!place_is_trusted(info.st_uid, strcmp(place, PAGE_SYSTEM_DIRECTORY) == 0)) {
        char user[64];
        place_name_user(info.st_uid, user);
        (void)close(fd);
        return ictus_because(why, ICTUS_ERR_PERMISSION,
                             "the clock %s belongs to user %s; only your own clocks and those of "
                             "root are trusted",
                             path, user);
    }
    return fd;
}

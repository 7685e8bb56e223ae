/* SPDX-License-Identifier: BSD-3-Clause */
/* Creates and empties the directory of an archive. */
#include "tracer/directory.h"

#include <ictus/text.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* The names of the archives of spawned worlds, in that of the job; the second one ends in -2. */
#define SPAWNED "spawned"

static const char raw_name[] = "raw";

static int directory_fail(struct ictus_why *why, const char *path)
{
    return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(errno));
}

/* mkdir -p */
static int directory_make_path(const char *path, struct ictus_why *why)
{
    char part[4096];
    (void)snprintf(part, sizeof(part), "%s", path);
    for (char *slash = strchr(part + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        (void)mkdir(part, 0777);
        *slash = '/';
    }
    if (mkdir(part, 0777) != 0 && errno != EEXIST) {
        return directory_fail(why, path);
    }
    struct stat what;
    if (stat(part, &what) != 0 || !S_ISDIR(what.st_mode)) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s is not a directory", path);
    }
    return ICTUS_OK;
}

void ictusi_directory_raw_name(const char *directory, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", directory, raw_name);
}

/*
 * Remove the files of a directory that match one of some patterns. Nothing else is touched, because
 * a user may have given a directory with other contents. @return how many remain
 */
static int directory_remove_matching(const char *directory, const char *const *patterns)
{
    char path[5120];
    int left = 0;
    DIR *stream = opendir(directory);
    const struct dirent *entry = NULL;
    while (stream && (entry = readdir(stream))) {
        bool matches = false;
        for (int i = 0; patterns[i]; i++) {
            matches = matches || fnmatch(patterns[i], entry->d_name, 0) == 0;
        }
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) {
            continue;
        }
        (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
        if (!matches || unlink(path) != 0) {
            left++;
        }
    }
    if (stream) {
        (void)closedir(stream);
    }
    return left;
}

static const char *const raw_files[] = {"*.events", "*.log", "*.tally", NULL};
static const char *const pointer_files[] = {"scratch", "ended", NULL};

/* Read where the raw files of an archive are, if not in its directory. @return whether elsewhere */
static bool directory_read_pointer(const char *directory, char *path, size_t size)
{
    char name[4096];
    (void)snprintf(name, sizeof(name), "%s/%s/scratch", directory, raw_name);
    FILE *file = fopen(name, "re");
    const bool found = file && fgets(path, (int)size, file);
    if (file) {
        (void)fclose(file);
    }
    if (found) {
        path[strcspn(path, "\n")] = '\0';
    }
    return found && path[0] != '\0';
}

static int directory_write_pointer(const struct trace_settings *settings, struct ictus_why *why)
{
    char name[4096];
    (void)snprintf(name, sizeof(name), "%s/%s/scratch", settings->directory, raw_name);
    FILE *file = fopen(name, "we");
    if (!file) {
        return directory_fail(why, name);
    }
    const bool written = fprintf(file, "%s\n", settings->scratch) > 0;
    return fclose(file) == 0 && written ? ICTUS_OK : directory_fail(why, name);
}

/*
 * A pointer in the archive's directory tells where a job put its raw files, if that was elsewhere.
 */
void ictusi_directory_raw_find(const char *directory, const char *scratch, char *path, size_t size)
{
    char elsewhere[4096];
    const bool pointed = directory_read_pointer(directory, elsewhere, sizeof(elsewhere));
    if (!scratch) {
        (void)snprintf(path, size, pointed ? "%s" : "%s/raw", pointed ? elsewhere : directory);
        return;
    }
    /* Files that were collected from several machines may still be in the job's directory. */
    const char *last = pointed ? strrchr(elsewhere, '/') : NULL;
    (void)snprintf(path, size, "%s%s", scratch, last ? last : "");
    if (!last || access(path, F_OK) != 0) {
        (void)snprintf(path, size, "%s", scratch);
    }
}

int ictusi_directory_drop_archive(const char *directory, struct ictus_why *why)
{
    static const char *const anchors[] = {"traces.otf2", "traces.def", "traces.marker",
                                          ARRIVALS_FILE, NULL};
    static const char *const events[] = {"*.evt", "*.def", "*.snap", "*.thumb", NULL};
    char path[4096];
    (void)directory_remove_matching(directory, anchors);
    (void)snprintf(path, sizeof(path), "%s/traces", directory);
    if (access(path, F_OK) == 0 && directory_remove_matching(path, events) == 0 &&
        rmdir(path) != 0) {
        return directory_fail(why, path);
    }
    return ICTUS_OK;
}

int ictusi_directory_empty(const char *directory, struct ictus_why *why)
{
    char path[4096];
    const int err = ictusi_directory_drop_archive(directory, why);
    if (!err && directory_read_pointer(directory, path, sizeof(path))) {
        (void)directory_remove_matching(path, raw_files);
        (void)rmdir(path);
    }
    ictusi_directory_raw_name(directory, path, sizeof(path));
    if (!err && access(path, F_OK) == 0) {
        (void)directory_remove_matching(path, pointer_files);
        if (directory_remove_matching(path, raw_files) == 0 && rmdir(path) != 0) {
            return directory_fail(why, path);
        }
    }
    return err;
}

/*
 * Empty the archives of worlds that an earlier run spawned, below its own directory. Only their own
 * files are removed.
 */
static int directory_empty_spawned(const char *directory, struct ictus_why *why)
{
    char path[5120];
    int err = ICTUS_OK;
    DIR *stream = opendir(directory);
    const struct dirent *entry = NULL;
    while (!err && stream && (entry = readdir(stream))) {
        if (fnmatch(SPAWNED, entry->d_name, 0) == 0 ||
            fnmatch(SPAWNED "-[0-9]*", entry->d_name, 0) == 0) {
            (void)snprintf(path, sizeof(path), "%s/%s", directory, entry->d_name);
            err = ictusi_directory_empty(path, why);
            (void)rmdir(path); /* fails if anything else is in it, as intended */
        }
    }
    if (stream) {
        (void)closedir(stream);
    }
    return err;
}

static int directory_taken(const char *directory, struct ictus_why *why)
{
    return ictus_because(why, ICTUS_ERR_EXISTS,
                         "%.200s holds the raw files of another run; run 'ictus recover' or use "
                         "--force to delete them",
                         directory);
}

int ictusi_directory_make(const struct trace_settings *settings, struct ictus_why *why)
{
    char path[4096];
    const char *directory = settings->directory;
    static const char *const results[] = {"traces.otf2", ARRIVALS_FILE};
    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        (void)snprintf(path, sizeof(path), "%s/%s", directory, results[i]);
        if (access(path, F_OK) == 0 && !settings->force) {
            return ictus_because(why, ICTUS_ERR_EXISTS,
                                 "%.200s already holds %s; use --force to replace it", directory,
                                 i == 0 ? "an archive" : ARRIVALS_FILE);
        }
    }
    int err = directory_make_path(directory, why);
    if (!err && settings->force) {
        err = ictusi_directory_empty(directory, why);
    }
    if (!err && settings->force) {
        err = directory_empty_spawned(directory, why);
    }
    ictusi_directory_raw_name(directory, path, sizeof(path));
    /* Whoever creates this directory owns the archive's directory; two jobs cannot both. */
    if (!err && mkdir(path, 0777) != 0) {
        err = errno == EEXIST ? directory_taken(directory, why) : directory_fail(why, path);
    }
    return err || !settings->scratch[0] ? err : directory_write_pointer(settings, why);
}

int ictusi_directory_make_spawned(struct trace_settings *settings, struct ictus_why *why)
{
    enum { SPAWNED_MAX = 100000, DIGITS = 16 };
    const size_t used = strlen(settings->directory);
    const size_t room = sizeof(settings->directory) - used;
    int err = ICTUS_ERR_EXISTS;
    settings->force = false; /* existing files may belong to another world of this job */
    if (room < DIGITS) {
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: the name is too long",
                             settings->directory);
    }
    for (int i = 1; err == ICTUS_ERR_EXISTS && i <= SPAWNED_MAX; i++) {
        char number[DIGITS] = "";
        if (i > 1) {
            (void)snprintf(number, sizeof(number), "-%d", i);
        }
        (void)snprintf(settings->directory + used, room, "/" SPAWNED "%s", number);
        err = ictusi_directory_make(settings, why);
    }
    return err;
}

/*
 * Name a scratch directory by host, process and time, so that jobs sharing a disk get different
 * ones.
 */
void ictusi_directory_scratch_own(struct trace_settings *settings)
{
    struct timespec now;
    char host[65] = "";
    char own[sizeof(settings->scratch)];
    (void)gethostname(host, sizeof(host) - 1);
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const int length =
        snprintf(own, sizeof(own), "%s/ictus-%s-%d-%llx", settings->scratch, host, (int)getpid(),
                 (unsigned long long)now.tv_sec * 1000000000 + (unsigned long long)now.tv_nsec);
    if (length > 0 && (size_t)length < sizeof(own)) {
        memcpy(settings->scratch, own, (size_t)length + 1);
    }
}

int ictusi_directory_raw(const struct trace_settings *settings, char *path, size_t size,
                         struct ictus_why *why)
{
    if (settings->scratch[0]) {
        (void)snprintf(path, size, "%s", settings->scratch);
    } else {
        ictusi_directory_raw_name(settings->directory, path, size);
    }
    return directory_make_path(path, why);
}

/* Each process removes its own files, and the last one the directory. */
void ictusi_directory_clean(const char *raw, int rank)
{
    char events[32];
    char log[32];
    char tally[32];
    const char *const patterns[] = {events, log, tally, NULL};
    (void)snprintf(events, sizeof(events), "%d.*.events", rank);
    (void)snprintf(log, sizeof(log), "%d.log", rank);
    (void)snprintf(tally, sizeof(tally), "%d.tally", rank);
    (void)directory_remove_matching(raw, patterns);
    (void)rmdir(raw); /* fails while other processes' files are there, as intended */
}

bool ictusi_directory_ended(const char *directory, int processes)
{
    char path[4352];
    (void)snprintf(path, sizeof(path), "%s/%s/ended", directory, raw_name);
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0) {
        return false;
    }
    /* Each process appends one byte; its position tells how many ended before. */
    const bool last = write(fd, ".", 1) == 1 && lseek(fd, 0, SEEK_CUR) == processes;
    (void)close(fd);
    return last;
}

void ictusi_directory_release(const char *directory)
{
    char path[4096];
    ictusi_directory_raw_name(directory, path, sizeof(path));
    (void)directory_remove_matching(path, pointer_files);
    (void)rmdir(path);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Making and emptying an archive's directory. */
#include "tracer/directory.h"

#include <ictus/text.h>

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char raw_name[] = "raw";

static int directory_fail(struct ictus_why *why, const char *path)
{
    return ictus_because(why, ICTUS_ERR_IO, "%.200s: %s", path, strerror(errno));
}

/* mkdir -p */
static int make_path(const char *path, struct ictus_why *why)
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
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: not a directory", path);
    }
    return ICTUS_OK;
}

void ictusi_directory_raw_name(const char *directory, char *path, size_t size)
{
    (void)snprintf(path, size, "%s/%s", directory, raw_name);
}

/* Remove the files of a directory that match one of some patterns. @return how many stay */
static int remove_matching(const char *directory, const char *const *patterns)
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

static const char *const raw_files[] = {"*.events", "*.log", NULL};

int ictusi_directory_drop_archive(const char *directory, struct ictus_why *why)
{
    static const char *const anchors[] = {"traces.otf2", "traces.def", "traces.marker", NULL};
    static const char *const events[] = {"*.evt", "*.def", "*.snap", "*.thumb", NULL};
    char path[4096];
    (void)remove_matching(directory, anchors);
    (void)snprintf(path, sizeof(path), "%s/traces", directory);
    if (access(path, F_OK) == 0 && remove_matching(path, events) == 0 && rmdir(path) != 0) {
        return directory_fail(why, path);
    }
    return ICTUS_OK;
}

int ictusi_directory_empty(const char *directory, struct ictus_why *why)
{
    char path[4096];
    const int err = ictusi_directory_drop_archive(directory, why);
    ictusi_directory_raw_name(directory, path, sizeof(path));
    if (!err && access(path, F_OK) == 0 && remove_matching(path, raw_files) == 0 &&
        rmdir(path) != 0) {
        return directory_fail(why, path);
    }
    return err;
}

int ictusi_directory_make(const struct trace_settings *settings, struct ictus_why *why)
{
    char path[4096];
    const char *directory = settings->directory;
    (void)snprintf(path, sizeof(path), "%s/traces.otf2", directory);
    const bool archive = access(path, F_OK) == 0;
    ictusi_directory_raw_name(directory, path, sizeof(path));
    const bool raw = access(path, F_OK) == 0;
    if ((archive || raw) && !settings->force) {
        return ictus_because(why, ICTUS_ERR_EXISTS,
                             archive ? "%.200s holds an archive already; --force replaces it"
                                     : "%.200s holds the raw files of an earlier run; --recover "
                                       "them, or --force drops them",
                             directory);
    }
    int err = make_path(directory, why);
    if (!err && settings->force) {
        err = ictusi_directory_empty(directory, why);
    }
    return err;
}

int ictusi_directory_raw(const struct trace_settings *settings, char *path, size_t size,
                         struct ictus_why *why)
{
    if (settings->scratch[0]) {
        (void)snprintf(path, size, "%s", settings->scratch);
    } else {
        ictusi_directory_raw_name(settings->directory, path, size);
    }
    return make_path(path, why);
}

void ictusi_directory_clean(const char *raw, int rank)
{
    char events[32];
    char log[32];
    const char *const patterns[] = {events, log, NULL};
    (void)snprintf(events, sizeof(events), "%d.*.events", rank);
    (void)snprintf(log, sizeof(log), "%d.log", rank);
    (void)remove_matching(raw, patterns);
    (void)rmdir(raw); /* fails while other processes' files are there, as it should */
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Progress of one long call: a thread that says for how long it has been at work. */
#include "main/progress.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* Work that is shorter than this is not reported. */
#define FIRST_AFTER_S 2.0
#define LIVE_EVERY_S 1.0
#define LINES_EVERY_S 5.0

/* An archive is a directory with one level below it; a deeper one does not count. */
enum { DEPTH_MAX = 2 };

static uint64_t directory_bytes(const char *path, int depth)
{
    uint64_t bytes = 0;
    DIR *directory = opendir(path);
    const struct dirent *entry = NULL;
    // NOLINTNEXTLINE(concurrency-mt-unsafe): each stream has one reader
    while (directory && (entry = readdir(directory))) {
        struct stat status;
        char inner[4096];
        const int length = snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
        if (entry->d_name[0] == '.' || length >= (int)sizeof(inner) || stat(inner, &status)) {
            continue;
        }
        if (S_ISDIR(status.st_mode)) {
            bytes += depth + 1 < DEPTH_MAX ? directory_bytes(inner, depth + 1) : 0;
        } else {
            bytes += (uint64_t)status.st_size;
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    return bytes;
}

/* The bytes of a file, of all in a directory, or of an archive that its anchor file stands for. */
static uint64_t path_bytes(const char *path)
{
    struct stat status;
    char beside[4096];
    const size_t length = strlen(path);
    if (stat(path, &status)) {
        return 0;
    }
    if (S_ISDIR(status.st_mode)) {
        return directory_bytes(path, 0);
    }
    uint64_t bytes = (uint64_t)status.st_size;
    if (length > 5 && length < sizeof(beside) && strcmp(path + length - 5, ".otf2") == 0) {
        (void)snprintf(beside, sizeof(beside), "%.*s", (int)(length - 5), path);
        bytes += directory_bytes(beside, 0); /* its events; then its definitions */
        (void)snprintf(beside, sizeof(beside), "%.*s.def", (int)(length - 5), path);
        bytes += stat(beside, &status) ? 0 : (uint64_t)status.st_size;
    }
    return bytes;
}

static void watch_name(struct progress_watch *watch, int count, char **paths)
{
    static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB"};
    char others[32] = "";
    double bytes = 0.0;
    size_t unit = 0;
    for (int i = 0; i < count; i++) {
        bytes += (double)path_bytes(paths[i]);
    }
    while (bytes >= 1000.0 && unit + 1 < sizeof(units) / sizeof(*units)) {
        bytes /= 1000.0;
        unit++;
    }
    if (count > 1) {
        (void)snprintf(others, sizeof(others), " and %d other%s", count - 1, count > 2 ? "s" : "");
    }
    (void)snprintf(watch->work, sizeof(watch->work), "'%.80s'%s (%.3g %s)",
                   count > 0 ? paths[0] : "", others, bytes, units[unit]);
}

static double watch_elapsed_s(const struct progress_watch *watch)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec - watch->started_s;
}

static void watch_say(struct progress_watch *watch)
{
    const bool live = watch->mode == PROGRESS_LIVE;
    (void)fprintf(stderr, "%sictus %s: working on %s, %.0f s so far%s", live ? "\r\033[K" : "",
                  watch->command, watch->work, watch_elapsed_s(watch), live ? "" : "\n");
    (void)fflush(stderr);
    watch->shown = true;
}

static void *watch_run(void *given)
{
    struct progress_watch *watch = given;
    const double every_s = watch->mode == PROGRESS_LIVE ? LIVE_EVERY_S : LINES_EVERY_S;
    double next_s = watch->started_s + FIRST_AFTER_S;
    (void)pthread_mutex_lock(&watch->lock);
    while (!watch->over) {
        const struct timespec until = {.tv_sec = (time_t)next_s,
                                       .tv_nsec = (long)(1e9 * (next_s - (double)(time_t)next_s))};
        if (pthread_cond_timedwait(&watch->wake, &watch->lock, &until) == ETIMEDOUT &&
            !watch->over) {
            watch_say(watch);
            next_s += every_s;
        }
    }
    (void)pthread_mutex_unlock(&watch->lock);
    return NULL;
}

static void watch_start(struct progress_watch *watch)
{
    pthread_condattr_t monotonic;
    watch->started_s = watch_elapsed_s(watch);
    if (watch->mode == PROGRESS_STEPS) {
        (void)fprintf(stderr, "ictus %s: working on %s\n", watch->command, watch->work);
    }
    (void)pthread_mutex_init(&watch->lock, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&watch->wake, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    watch->running = pthread_create(&watch->thread, NULL, watch_run, watch) == 0;
}

void progress_watch_begin(struct progress_watch *watch, const struct progress_options *options,
                          const char *command, int count, char **paths)
{
    *watch = (struct progress_watch){.command = command, .mode = progress_mode_of(options)};
    if (watch->mode != PROGRESS_OFF) {
        watch_name(watch, count, paths);
        watch_start(watch);
    }
}

void progress_watch_measuring(struct progress_watch *watch, const struct progress_options *options,
                              const char *command, const char *what)
{
    *watch = (struct progress_watch){.command = command, .mode = progress_mode_of(options)};
    if (watch->mode != PROGRESS_OFF) {
        (void)snprintf(watch->work, sizeof(watch->work), "%s", what);
        watch_start(watch);
    }
}

void progress_watch_end(struct progress_watch *watch)
{
    if (watch->mode == PROGRESS_OFF) {
        return;
    }
    (void)pthread_mutex_lock(&watch->lock);
    watch->over = true;
    (void)pthread_cond_signal(&watch->wake);
    (void)pthread_mutex_unlock(&watch->lock);
    if (watch->running) {
        (void)pthread_join(watch->thread, NULL);
    }
    if (watch->mode == PROGRESS_LIVE && watch->shown) {
        (void)fprintf(stderr, "\r\033[K");
    } else if (watch->mode == PROGRESS_STEPS) {
        (void)fprintf(stderr, "ictus %s: %s took %.1f s\n", watch->command, watch->work,
                      watch_elapsed_s(watch));
    }
    (void)fflush(stderr);
    (void)pthread_cond_destroy(&watch->wake);
    (void)pthread_mutex_destroy(&watch->lock);
    watch->mode = PROGRESS_OFF;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the tallies of a job from its files, while it runs or after it has ended or was killed. */
#include "trace/tallies.h"
#include "tracer/directory.h"

#include <ictus/tallies.h>
#include <ictus/text.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PROCESSES_MAX = 1 << 24 };

struct ictus_tallies {
    char raw[4096];
    int size; /* processes */
    struct rawlog *logs;
    off_t *log_bytes; /* sizes when they were read */
    struct trace_map *maps;
    struct unified unified;
};

/* Map a process's file; the caller unmaps it. NULL: there is none that can be read. */
static const struct tally_image *image_map(const char *raw, const char *name)
{
    char path[4400];
    struct stat status;
    (void)snprintf(path, sizeof path, "%s/%s", raw, name);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
        return NULL;
    }
    void *image = fstat(fd, &status) == 0 && status.st_size == (off_t)sizeof(struct tally_image)
                      ? mmap(NULL, sizeof(struct tally_image), PROT_READ, MAP_SHARED, fd, 0)
                      : MAP_FAILED;
    (void)close(fd);
    if (image == MAP_FAILED) {
        return NULL;
    }
    if (!ictusi_tally_valid(image, sizeof(struct tally_image))) {
        (void)munmap(image, sizeof(struct tally_image));
        return NULL;
    }
    return image;
}

static void image_unmap(const struct tally_image *image)
{
    if (image) {
        (void)munmap((void *)(uintptr_t)image, sizeof *image);
    }
}

/* Find out how many processes the job has; 0: no file states it. others: there are tally files. */
static int tally_files_find_size(const char *raw, bool *others)
{
    const struct dirent *entry = NULL;
    int size = 0;
    DIR *directory = opendir(raw);
    *others = false;
    while (directory && size == 0 && (entry = readdir(directory)) != NULL) {
        if (fnmatch("*.tally", entry->d_name, 0) == 0) {
            const struct tally_image *image = image_map(raw, entry->d_name);
            size = image && image->size > 0 && image->size < PROCESSES_MAX ? (int)image->size : 0;
            *others = true;
            image_unmap(image);
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    return size;
}

static void logs_release(struct ictus_tallies *t)
{
    for (int p = 0; p < t->size && t->logs && t->maps; p++) {
        ictusi_rawlog_free(&t->logs[p]);
        free(t->maps[p].flat);
        t->maps[p] = (struct trace_map){NULL, 0};
    }
    ictusi_unify_free(&t->unified);
}

void ictus_tallies_close(struct ictus_tallies *t)
{
    if (t) {
        logs_release(t);
        free(t->logs);
        free(t->log_bytes);
        free(t->maps);
        free(t);
    }
}

int ictus_tallies_open(const char *directory, struct ictus_tallies **tallies, struct ictus_why *why)
{
    bool others = false;
    if (!directory || !tallies) {
        return ICTUS_ERR_ARG;
    }
    struct ictus_tallies *t = calloc(1, sizeof *t);
    if (!t) {
        return ICTUS_ERR_NOMEM;
    }
    ictusi_directory_raw_find(directory, NULL, t->raw, sizeof t->raw);
    t->size = tally_files_find_size(t->raw, &others);
    const size_t n = (size_t)t->size + 1;
    t->logs = calloc(n, sizeof *t->logs);
    t->log_bytes = calloc(n, sizeof *t->log_bytes);
    t->maps = calloc(n, sizeof *t->maps);
    int err = t->logs && t->log_bytes && t->maps ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && t->size == 0) {
        err = others ? ictus_because(
                           why, ICTUS_ERR_FORMAT,
                           "the statistics in %.200s were recorded by another version of ictus",
                           t->raw)
                     : ictus_because(why, ICTUS_ERR_IO,
                                     "%.200s holds no statistics of a job; 'ictus trace "
                                     "--statistics -o %.200s' keeps them there while it runs",
                                     directory, directory);
    }
    if (err) {
        ictus_tallies_close(t);
        return err;
    }
    *tallies = t;
    return ICTUS_OK;
}

/* Whether a log has grown since it was read; updates its known size. */
static bool log_grown(struct ictus_tallies *t, int process)
{
    char path[4400];
    struct stat status = {.st_size = 0};
    (void)snprintf(path, sizeof path, "%s/%d.log", t->raw, process);
    (void)stat(path, &status);
    const bool grown = status.st_size != t->log_bytes[process];
    t->log_bytes[process] = status.st_size;
    return grown;
}

/* Read the logs again if any has grown. Those that cannot be read yet are left out. */
static int logs_refresh(struct ictus_tallies *t)
{
    char path[4400];
    bool grown = false;
    int err = ICTUS_OK;
    for (int p = 0; p < t->size; p++) {
        grown = log_grown(t, p) || grown;
    }
    if (!grown) {
        return ICTUS_OK;
    }
    logs_release(t);
    for (int p = 0; p < t->size && !err; p++) {
        (void)snprintf(path, sizeof path, "%s/%d.log", t->raw, p);
        struct rawlog *log = &t->logs[p];
        err = ictusi_rawlog_read(path, log, NULL) == ICTUS_ERR_NOMEM ? ICTUS_ERR_NOMEM : ICTUS_OK;
        if (!err && log->text && (log->size != t->size || log->rank != p)) {
            ictusi_rawlog_free(log);
        }
    }
    return err ? err : ictusi_unify(t->logs, t->size, false, &t->unified, t->maps);
}

/*
 * Whether a process of this machine is running. A zombie is not. The state follows the last
 * parenthesis in the file, because a program's name may contain some.
 */
static bool pid_runs(pid_t pid)
{
    char path[64];
    char text[512] = "";
    if (kill(pid, 0) != 0 && errno != EPERM) {
        return false;
    }
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *file = fopen(path, "re");
    if (file) {
        (void)fgets(text, sizeof text, file);
        (void)fclose(file);
    }
    const char *state = strrchr(text, ')');
    return !state || !strchr("ZX", state[1] ? state[2] : ' ');
}

/* Whether a process that has not finished is running, as far as this machine can tell. */
static bool process_runs(const struct tally_image *image, const struct rawlog *log)
{
    char host[256] = "";
    (void)gethostname(host, sizeof host - 1);
    const bool here = log->text && strcmp(log->host, host) == 0;
    return !here || pid_runs((pid_t)image->pid);
}

/* Read all processes' files, and derive the state of the job. */
static int images_read(struct ictus_tallies *t, struct tallies *all,
                       struct ictus_tallies_state *state)
{
    int running = 0;
    int cut = 0;
    int err = ICTUS_OK;
    *state = (struct ictus_tallies_state){.processes = t->size};
    for (int p = 0; p < t->size && !err; p++) {
        char name[32];
        (void)snprintf(name, sizeof name, "%d.tally", p);
        const struct tally_image *image = image_map(t->raw, name);
        if (image && t->logs[p].text) {
            err = ictusi_tallies_add(all, p, image);
        }
        const bool open = image && !__atomic_load_n(&image->ended, __ATOMIC_ACQUIRE);
        const bool runs = open && process_runs(image, &t->logs[p]);
        running += runs;
        cut += open && !runs;
        state->missing += !image || !t->logs[p].text;
        image_unmap(image);
    }
    state->full = all->full;
    state->inter = all->inter;
    state->stage = running ? ICTUS_TALLIES_RUNNING
                   : cut   ? ICTUS_TALLIES_KILLED
                           : ICTUS_TALLIES_ENDED;
    return err;
}

int ictus_tallies_read(struct ictus_tallies *t, int recent, int64_t rows,
                       struct ictus_arrivals_list *list, struct ictus_tallies_state *state,
                       struct ictus_why *why)
{
    struct ictus_tallies_state found = {.stage = ICTUS_TALLIES_ENDED};
    if (!t || !list || rows < 0) {
        return ictus_because(why, ICTUS_ERR_ARG, "tallies and a list are needed");
    }
    int err = logs_refresh(t);
    struct tallies all = {.logs = t->logs,
                          .maps = t->maps,
                          .unified = &t->unified,
                          .size = t->size,
                          .recent = recent != 0};
    err = err ? err : ictusi_tallies_init(&all);
    err = err ? err : images_read(t, &all, &found);
    err = err ? err : ictusi_tallies_list(&all, rows, list);
    ictusi_tallies_free(&all);
    if (!err && state) {
        *state = found;
    }
    return err;
}

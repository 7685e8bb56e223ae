/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes an archive from raw files in a single process, in whatever state the job left them. */
#include "trace/write_archive.h"
#include "tracer/directory.h"

#include <ictus/text.h>

#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * The state of a recovery. logs, maps and results are by process. events is work space for one
 * process; all_events holds those of all threads, process by process.
 */
struct recovery {
    struct trace_writing options;
    struct rawlog *logs;
    struct trace_map *maps;
    struct unified unified;
    struct process_result *results;
    uint64_t *events, *all_events;
    size_t all_count;
    int size;
};

/*
 * The lowest rank from `least` on that left a log, or -1. The whole directory is read for each
 * call: a job has one log per process, and the first one is mostly usable. strtol() reads "12.log"
 * up to the dot. Other files also begin with a rank ("12.0.events"), hence the comparison of the
 * rest.
 */
static int recover_next_log(const char *raw, int least)
{
    const struct dirent *entry = NULL;
    int best = -1;
    DIR *directory = opendir(raw);
    while (directory && (entry = readdir(directory)) != NULL) {
        char *end = NULL;
        const long rank = strtol(entry->d_name, &end, 10);
        if (end != entry->d_name && strcmp(end, ".log") == 0 && rank >= least && rank < INT_MAX &&
            (best < 0 || rank < best)) {
            best = (int)rank;
        }
    }
    if (directory) {
        (void)closedir(directory);
    }
    return best;
}

/* Find out how many processes the job had, which any log states. */
static int recover_find_size(const char *raw, int *size, struct ictus_why *why)
{
    char path[4352];
    struct rawlog log;
    struct ictus_why first = {""};
    int err = ICTUS_ERR_IO;
    *size = 0;
    /* Ranks that died early left no log, or a log without a synchronisation. */
    for (int rank = recover_next_log(raw, 0); rank >= 0; rank = recover_next_log(raw, rank + 1)) {
        (void)snprintf(path, sizeof(path), "%s/%d.log", raw, rank);
        err = ictusi_rawlog_read(path, &log, first.text[0] ? NULL : &first);
        if (!err) {
            *size = log.size;
            ictusi_rawlog_free(&log);
            return ICTUS_OK;
        }
    }
    err = err == ICTUS_ERR_NOMEM ? err : ICTUS_ERR_FORMAT; /* the input is bad, not the disk */
    return ictus_because(why, err, "there are no usable raw files in %.200s%s%.60s", raw,
                         first.text[0] ? ": " : "", first.text);
}

/* Statistics have logs as well, but no events. */
static int recover_refuse_tallies(const char *directory, const char *raw, struct ictus_why *why)
{
    glob_t found;
    char pattern[4352];
    (void)snprintf(pattern, sizeof(pattern), "%s/*.tally", raw);
    const bool any = glob(pattern, GLOB_NOSORT, NULL, &found) == 0;
    globfree(&found);
    return any ? ictus_because(why, ICTUS_ERR_FORMAT,
                               "%.200s holds the statistics of a job, which has no events to make "
                               "an archive of; 'ictus arrivals %.200s' shows them",
                               raw, directory)
               : ICTUS_OK;
}

/*
 * A missing or truncated log is not an error: its process is absent from the archive, and its text
 * stays NULL. A log of another job is an error, because its numbers would be interpreted with the
 * wrong tables.
 */
static int recover_read_logs(struct recovery *v, struct ictus_why *why)
{
    char path[4352];
    v->logs = calloc((size_t)v->size, sizeof(*v->logs));
    v->maps = calloc((size_t)v->size, sizeof(*v->maps));
    v->results = calloc((size_t)v->size, sizeof(*v->results));
    v->events = calloc(ARCHIVE_THREADS_MAX, sizeof(*v->events));
    if (!v->logs || !v->maps || !v->results || !v->events) {
        return ICTUS_ERR_NOMEM;
    }
    for (int p = 0; p < v->size; p++) {
        (void)snprintf(path, sizeof(path), "%s/%d.log", v->options.raw, p);
        struct rawlog *log = &v->logs[p];
        const int err = ictusi_rawlog_read(path, log, why);
        if (err == ICTUS_ERR_NOMEM) {
            return err;
        }
        if (!err && (log->size != v->size || log->rank != p)) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%.200s does not belong to the same job as the others", path);
        }
        if (!err && log->table_hash != TRACE_TABLE_HASH) {
            return ictus_because(why, ICTUS_ERR_FORMAT,
                                 "%.200s was recorded by another version of ictus", path);
        }
    }
    return ICTUS_OK;
}

/*
 * The sampled counters are the same in all processes, since one setting determines them, so one log
 * is enough.
 */
static int recover_count_counters(const struct unified *unified)
{
    int count = 0;
    for (size_t i = 0; unified->counters && i < unified->counters->item_count; i++) {
        count += unified->counters->items[i].kind == 'M';
    }
    return count;
}

/*
 * Append the counts of one process. Their order is that of the locations in the global definitions.
 */
static int recover_keep_events(struct recovery *v, int threads)
{
    uint64_t *wider = realloc(v->all_events, (v->all_count + (size_t)threads + 1) * sizeof(*wider));
    if (!wider) {
        return ICTUS_ERR_NOMEM;
    }
    memcpy(wider + v->all_count, v->events, (size_t)threads * sizeof(*wider));
    v->all_events = wider;
    v->all_count += (size_t)threads;
    return ICTUS_OK;
}

/*
 * Write one process after the other with a single buffer of counts, so that memory does not grow
 * with the job. The number of events of each thread is kept, because OTF2 needs it for the global
 * definitions.
 */
static int recover_write_events(struct recovery *v, OTF2_Archive *archive, struct ictus_why *why)
{
    int err = ICTUS_OK;
    for (int p = 0; p < v->size && !err; p++) {
        if (v->logs[p].text) {
            err = ictusi_trace_write_events(archive, &v->options, &v->logs[p], &v->maps[p],
                                            v->events, &v->results[p], why);
            if (!err) {
                err = recover_keep_events(v, v->results[p].threads);
            }
        }
    }
    return err;
}

/*
 * OTF2's order: event files are closed before local definitions are opened, and these before the
 * global ones, which state the numbers of events. Finally the archive is read back, before raw
 * files are removed.
 */
static int recover_write_archive(struct recovery *v, struct ictus_trace_summary *summary,
                                 struct ictus_why *why)
{
    OTF2_Archive *archive = ictusi_trace_create(&v->options);
    if (!archive || OTF2_Archive_SetSerialCollectiveCallbacks(archive) != OTF2_SUCCESS ||
        OTF2_Archive_OpenEvtFiles(archive) != OTF2_SUCCESS) {
        (void)(archive && OTF2_Archive_Close(archive));
        return ictus_because(why, ICTUS_ERR_IO, "%.200s: cannot create an archive there",
                             v->options.directory);
    }
    int err = recover_write_events(v, archive, why);
    (void)OTF2_Archive_CloseEvtFiles(archive);
    (void)OTF2_Archive_OpenDefFiles(archive);
    for (int p = 0; p < v->size && !err; p++) {
        if (v->logs[p].text) {
            err = ictusi_trace_write_local(archive, &v->options, &v->logs[p], &v->results[p]);
        }
    }
    (void)OTF2_Archive_CloseDefFiles(archive);
    if (!err) {
        const struct trace_world world = {&v->unified, v->logs, v->results, v->all_events, v->size};
        err = ictusi_trace_write_global(archive, &v->options, &world, summary);
    }
    if (OTF2_Archive_Close(archive) != OTF2_SUCCESS && !err) {
        err = ICTUS_ERR_IO;
    }
    const uint64_t *events = v->all_events;
    bool global = true;
    for (int p = 0; p < v->size && !err; p++) {
        if (v->logs[p].text) {
            const int threads = v->results[p].threads;
            err = ictusi_trace_check_written(&v->options, p, events, threads, global, why);
            global = false;
            events += threads;
        }
    }
    return err;
}

/* Also for an incomplete recovery: all pointers are NULL or valid from the start. */
static void recovery_release(struct recovery *v)
{
    for (int p = 0; p < v->size && v->logs && v->maps; p++) {
        ictusi_rawlog_free(&v->logs[p]);
        free(v->maps[p].flat);
    }
    ictusi_unify_free(&v->unified);
    free(v->logs);
    free(v->maps);
    free(v->results);
    free(v->events);
    free(v->all_events);
}

/*
 * Make the output directory. It must not contain an archive, unless that is to be replaced. OTF2
 * writes the anchor file last of all, so without one there is no complete archive to protect.
 */
static int recover_make_output(const char *output, bool force, struct ictus_why *why)
{
    char path[4352];
    struct trace_settings settings = {0};
    (void)snprintf(path, sizeof(path), "%s/traces.otf2", output);
    if (access(path, F_OK) == 0 && !force) {
        return ictus_because(why, ICTUS_ERR_EXISTS,
                             "%.200s already holds an archive; use --force to replace it", output);
    }
    if (strlen(output) >= sizeof(settings.directory)) {
        return ictus_because(why, ICTUS_ERR_ARG, "the directory's name is too long");
    }
    (void)snprintf(settings.scratch, sizeof(settings.scratch), "%s", output);
    const int err = ictusi_directory_raw(&settings, path, sizeof(path), why);
    /* Without an anchor file, it is what remains of an archive that was never finished. */
    return err ? err : ictusi_directory_drop_archive(output, why);
}

/*
 * Raw files are removed only after the archive has been written and read back. After an error they
 * are kept, so that the recovery can be repeated.
 */
int ictus_trace_recover(const char *directory, const struct ictus_trace_recover_opts *opts,
                        struct ictus_trace_summary *summary, struct ictus_why *why)
{
    static const struct ictus_trace_recover_opts defaults = {.size = sizeof(defaults)};
    const struct ictus_trace_recover_opts *o = opts ? opts : &defaults;
    struct ictus_trace_summary unheard;
    char raw[4096];
    if (!directory) {
        return ICTUS_ERR_ARG;
    }
    ictusi_directory_raw_find(directory, o->scratch, raw, sizeof(raw));
    const char *output = o->output ? o->output : directory;
    struct recovery v = {.options = {.directory = output, .raw = raw, .local = o->local != 0}};
    int err = recover_refuse_tallies(directory, raw, why);
    if (!err) {
        err = recover_find_size(v.options.raw, &v.size, why);
    }
    if (!err) {
        err = recover_read_logs(&v, why);
    }
    if (!err) {
        err = recover_make_output(output, o->force != 0, why);
    }
    if (!err) {
        err = ictusi_unify(v.logs, v.size, v.options.local, &v.unified, v.maps);
    }
    if (!err) {
        v.options.shift_ns = v.unified.shift_ns;
        v.options.processes = v.size;
        v.options.counters = recover_count_counters(&v.unified);
        err = recover_write_archive(&v, summary ? summary : &unheard, why);
    }
    for (int p = 0; p < v.size && !err && !o->keep; p++) {
        ictusi_directory_clean(v.options.raw, p);
    }
    if (!err && !o->keep) {
        ictusi_directory_release(directory);
    }
    recovery_release(&v);
    return err;
}

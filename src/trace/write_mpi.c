/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the archive. In parallel, the root numbers everything and each process writes its own
 * events. Without MPI, one process does everything, like 'ictus recover'.
 */
#include "trace/write_mpi.h"

#include "trace/write_archive.h"
#include "tracer/directory.h"
#include "tracer/real.h"
#include "tracer/tracer.h"

#include <ictus/text.h>
#include <ictus/trace.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OTF2_MPI_USE_PMPI
#define OTF2_MPI_UINT64_T MPI_UINT64_T
#define OTF2_MPI_INT64_T MPI_INT64_T
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wpedantic"
#include <otf2/OTF2_MPI_Collectives.h>
#pragma GCC diagnostic pop

/* Everything that the job allocates, so that it is freed in one place. */
struct job {
    MPI_Comm comm;
    int rank, size;
    struct rawlog own, *logs;
    struct unified unified;
    struct trace_map map, *maps;
    struct process_result result, *results;
    uint64_t *events, *all_events;
    int *counts, *offsets;
    struct trace_writing options;
};

/*
 * Collective. Only the root receives the gathered data, which the caller frees; NULL if there is no
 * room for it, or if it exceeds the range of MPI's counts.
 */
static void *mpi_gather_bytes(struct job *j, const void *mine, int bytes, size_t *total)
{
    char *all = NULL;
    size_t sum = 0;
    (void)REAL(Gather)(&bytes, 1, MPI_INT, j->counts, 1, MPI_INT, 0, j->comm);
    for (int p = 0; j->rank == 0 && p < j->size; p++) {
        j->offsets[p] = (int)sum;
        sum += (size_t)j->counts[p];
    }
    if (j->rank == 0) {
        all = malloc(sum + 1);
    }
    int fine = j->rank != 0 || (all && sum < INT32_MAX);
    (void)REAL(Bcast)(&fine, 1, MPI_INT, 0, j->comm);
    if (fine) {
        (void)REAL(Gatherv)(mine, bytes, MPI_CHAR, all, j->counts, j->offsets, MPI_CHAR, 0,
                            j->comm);
    }
    *total = sum;
    if (!fine) {
        free(all);
        return NULL;
    }
    return all;
}

/* The root parses all logs and numbers everything. */
static int mpi_number_all(struct job *j, const char *text, struct ictus_why *why)
{
    int err = text ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (int p = 0; p < j->size && !err; p++) {
        err = ictusi_rawlog_parse(text + j->offsets[p], (size_t)j->counts[p], &j->logs[p], why);
    }
    return err ? err : ictusi_unify(j->logs, j->size, false, &j->unified, j->maps);
}

/*
 * Send each process its table of numbers. Collective; the processes agree before anything is sent.
 */
static int mpi_scatter_maps(struct job *j)
{
    uint32_t *all = NULL;
    size_t sum = 0;
    int words = 0;
    for (int p = 0; j->rank == 0 && p < j->size; p++) {
        j->counts[p] = (int)j->maps[p].words;
        j->offsets[p] = (int)sum;
        sum += j->maps[p].words;
    }
    if (j->rank == 0) {
        all = malloc((sum + 1) * sizeof(*all));
        for (int p = 0; all && p < j->size; p++) {
            memcpy(all + j->offsets[p], j->maps[p].flat, j->maps[p].words * sizeof(*all));
        }
    }
    (void)REAL(Scatter)(j->counts, 1, MPI_INT, &words, 1, MPI_INT, 0, j->comm);
    j->map.words = (size_t)words;
    j->map.flat = malloc((size_t)words * sizeof(uint32_t) + 1);
    int fine = (j->rank != 0 || all) && j->map.flat;
    int all_fine = 0;
    (void)REAL(Allreduce)(&fine, &all_fine, 1, MPI_INT, MPI_MIN, j->comm);
    if (all_fine) {
        (void)REAL(Scatterv)(all, j->counts, j->offsets, MPI_UINT32_T, j->map.flat, words,
                             MPI_UINT32_T, 0, j->comm);
    }
    free(all);
    return all_fine ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

static int job_agree(const struct job *j, int err)
{
    int worst = 0;
    (void)REAL(Allreduce)(&err, &worst, 1, MPI_INT, MPI_MIN, j->comm);
    return worst;
}

/* From all processes' logs to a numbering that all processes have. */
static int job_number(struct job *j, struct ictus_why *why)
{
    char path[4352];
    size_t size = 0;
    size_t total = 0;
    (void)snprintf(path, sizeof(path), "%s/%d.log", j->options.raw, j->rank);
    char *mine = ictusi_rawlog_read_file(path, &size);
    int err = mine ? ictusi_rawlog_parse(mine, size, &j->own, why)
                   : ictus_because(why, ICTUS_ERR_IO, "%.200s cannot be read", path);
    err = job_agree(j, err);
    if (err) {
        free(mine);
        return err;
    }
    char *all = mpi_gather_bytes(j, mine, (int)size, &total);
    free(mine);
    if (j->rank == 0) {
        err = mpi_number_all(j, all, why);
    }
    free(all);
    err = job_agree(j, err);
    if (err) {
        return err;
    }
    (void)REAL(Bcast)(&j->unified.shift_ns, 1, MPI_INT64_T, 0, j->comm);
    j->options.shift_ns = j->unified.shift_ns;
    return mpi_scatter_maps(j);
}

static int mpi_gather_results(struct job *j)
{
    (void)REAL(Gather)(&j->result, (int)sizeof(j->result), MPI_CHAR, j->results,
                       (int)sizeof(j->result), MPI_CHAR, 0, j->comm);
    size_t total = 0;
    j->all_events =
        mpi_gather_bytes(j, j->events, (int)sizeof(uint64_t) * j->result.threads, &total);
    return job_agree(j, j->rank == 0 && !j->all_events ? ICTUS_ERR_NOMEM : ICTUS_OK);
}

/*
 * The result of a step, after earlier errors. The caller takes the step in any case, because its
 * collective call waits for all processes.
 */
static int job_step(int err, OTF2_ErrorCode code)
{
    return !err && code != OTF2_SUCCESS ? ICTUS_ERR_IO : err;
}

static int write_mpi_open_archive(struct job *j, OTF2_Archive **archive)
{
    *archive = ictusi_trace_create(&j->options);
    int err = job_agree(j, *archive ? ICTUS_OK : ICTUS_ERR_IO);
    if (!err) {
        err = job_step(err,
                       OTF2_MPI_Archive_SetCollectiveCallbacks(*archive, j->comm, MPI_COMM_NULL));
        err = job_agree(j, job_step(err, err ? OTF2_SUCCESS : OTF2_Archive_OpenEvtFiles(*archive)));
    }
    return err;
}

/* The steps of OTF2's parallel writing. Each one opens and closes collectively. */
static int write_mpi_archive(struct job *j, struct ictus_trace_summary *summary,
                             struct ictus_why *why)
{
    OTF2_Archive *archive = NULL;
    int err = write_mpi_open_archive(j, &archive);
    if (err) {
        return err;
    }
    err = ictusi_trace_write_events(archive, &j->options, &j->own, &j->map, j->events, &j->result,
                                    why);
    err = job_step(err, OTF2_Archive_CloseEvtFiles(archive));
    err = job_step(err, OTF2_Archive_OpenDefFiles(archive));
    if (!err) {
        err = ictusi_trace_write_local(archive, &j->options, &j->own, &j->result);
    }
    err = job_step(err, OTF2_Archive_CloseDefFiles(archive));
    const int gathered = mpi_gather_results(j);
    err = err ? err : gathered;
    if (j->rank == 0 && !err) {
        const struct trace_world world = {&j->unified, j->logs, j->results, j->all_events, j->size};
        err = ictusi_trace_write_global(archive, &j->options, &world, summary);
    }
    err = job_agree(j, job_step(err, OTF2_Archive_Close(archive)));
    /* Raw files are removed only after checking that the archive is complete. */
    return err ? err
               : job_agree(j, ictusi_trace_check_written(&j->options, j->rank, j->events,
                                                         j->result.threads, j->rank == 0, why));
}

static int job_allocate(struct job *j)
{
    const size_t n = j->rank == 0 ? (size_t)j->size : 1;
    j->logs = calloc(n, sizeof(*j->logs));
    j->maps = calloc(n, sizeof(*j->maps));
    j->results = calloc(n, sizeof(*j->results));
    j->counts = calloc(n, sizeof(*j->counts));
    j->offsets = calloc(n, sizeof(*j->offsets));
    j->events = calloc(ARCHIVE_THREADS_MAX, sizeof(*j->events));
    return j->logs && j->maps && j->results && j->counts && j->offsets && j->events
               ? ICTUS_OK
               : ICTUS_ERR_NOMEM;
}

static void job_release(struct job *j)
{
    for (int p = 0; j->rank == 0 && p < j->size; p++) {
        if (j->logs) {
            ictusi_rawlog_free(&j->logs[p]);
        }
        if (j->maps) {
            free(j->maps[p].flat);
        }
    }
    ictusi_rawlog_free(&j->own);
    ictusi_unify_free(&j->unified);
    free(j->map.flat);
    free(j->logs);
    free(j->maps);
    free(j->results);
    free(j->counts);
    free(j->offsets);
    free(j->events);
    free(j->all_events);
}

static void write_mpi_say_summary(const struct tracer *t, const struct ictus_trace_summary *s)
{
    const double per_event = s->events ? (double)s->raw_bytes / (double)s->events : 0.0;
    ictusi_tracer_say("%s: %llu events of %llu processes in %.3f s; %.1f bytes per event; "
                      "clocks +-%.0f ns (bound %.0f ns), synchronised %llu times",
                      t->settings.directory, (unsigned long long)s->events,
                      (unsigned long long)s->processes, s->length_s, per_event, s->sigma_ns,
                      s->bound_ns, (unsigned long long)t->syncs);
    if (s->lost) {
        ictusi_tracer_say("%llu calls are missing because the buffer or the disk was full",
                          (unsigned long long)s->lost);
    }
    if (s->untracked) {
        ictusi_tracer_say("%llu requests could not be followed; raise --requests",
                          (unsigned long long)s->untracked);
    }
    if (s->jump_ns > 0.0) {
        ictusi_tracer_say("a clock stepped by %.3g s between two synchronisations, so times "
                          "between them are wrong by as much; 'ictus correct' restores their "
                          "order",
                          s->jump_ns * 1e-9);
    }
    if (s->clamped) {
        ictusi_tracer_say("a clock went backwards %llu times; those events have the latest time "
                          "seen before",
                          (unsigned long long)s->clamped);
    }
}

void ictusi_write_deferred(const struct tracer *t)
{
    if (!t->settings.quiet) {
        ictusi_tracer_say(t->settings.statistics
                              ? "raw files in %s; 'ictus arrivals %s' reads them"
                              : "raw files in %s; 'ictus recover %s' makes the archive",
                          t->setup.directory, t->settings.directory);
    }
}

static void mpi_say_failure(const struct tracer *t, int err, const struct ictus_why *why)
{
    ictusi_tracer_say("%s; the raw files are in %s; run 'ictus recover %s'",
                      why->text[0] ? why->text : ictus_strerror(err), t->setup.directory,
                      t->settings.directory);
}

void ictusi_write_parallel(struct tracer *t)
{
    struct ictus_why why = {""};
    struct ictus_trace_summary summary = {0};
    struct job j = {.comm = t->comm,
                    .rank = t->rank,
                    .size = t->size,
                    .options = {.directory = t->settings.directory,
                                .raw = t->setup.directory,
                                .counters = t->metrics.count,
                                .processes = t->size}};
    int err = job_agree(&j, job_allocate(&j));
    if (!err) {
        err = job_number(&j, &why);
    }
    if (!err) {
        err = write_mpi_archive(&j, &summary, &why);
    }
    if (err) {
        mpi_say_failure(t, err, &why);
    } else {
        if (!t->settings.keep) {
            ictusi_directory_clean(t->setup.directory, t->rank);
            (void)REAL(Barrier)(t->comm);
            if (t->rank == 0) {
                ictusi_directory_release(t->settings.directory);
            }
        }
        if (!t->settings.quiet) {
            write_mpi_say_summary(t, &summary);
        }
    }
    job_release(&j);
}

/*
 * Whether this process sees the raw files of all processes, which may be on the disks of several
 * machines.
 */
static bool mpi_sees_all(const struct tracer *t)
{
    char path[4352];
    bool seen = true;
    for (int p = 0; p < t->size && seen; p++) {
        (void)snprintf(path, sizeof(path), "%s/%d.log", t->setup.directory, p);
        seen = access(path, R_OK) == 0;
    }
    return seen;
}

void ictusi_write_last(struct tracer *t)
{
    struct ictus_why why = {""};
    struct ictus_trace_summary summary = {0};
    const struct ictus_trace_recover_opts opts = {.size = sizeof(opts), .keep = t->settings.keep};
    t->speaks = ictusi_directory_ended(t->settings.directory, t->size);
    if (!t->speaks) {
        return;
    }
    if (t->settings.defer || t->settings.statistics || !mpi_sees_all(t)) {
        ictusi_write_deferred(t);
        return;
    }
    const int err = ictus_trace_recover(t->settings.directory, &opts, &summary, &why);
    if (err) {
        mpi_say_failure(t, err, &why);
    } else if (!t->settings.quiet) {
        write_mpi_say_summary(t, &summary);
    }
}

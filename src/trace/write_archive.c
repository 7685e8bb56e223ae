/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes the events and local definitions of an archive. */
#include "trace/write_archive.h"

#include "archive/chunks.h"
#include "archive/flush.h"
#include "archive/verify.h"
#include "trace/convert.h"

#include <ictus/text.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Chunks are as small as OTF2 permits: OTF2 clears the chunks of both writers and readers, and
 * chunks below 4 MiB are collected in a buffer of that size per file anyway. A record must fit into
 * a chunk, and the longest one is a group of all processes.
 */
static uint64_t definition_chunk(int processes)
{
    const uint64_t wanted = 64 * (uint64_t)processes;
    const uint64_t most = wanted < OTF2_CHUNK_SIZE_MAX ? wanted : OTF2_CHUNK_SIZE_MAX;
    return most > OTF2_CHUNK_SIZE_MIN ? most : OTF2_CHUNK_SIZE_MIN;
}

OTF2_Archive *ictusi_trace_create(const struct trace_writing *options)
{
    OTF2_Archive *archive = OTF2_Archive_Open(
        options->directory, "traces", OTF2_FILEMODE_WRITE, OTF2_CHUNK_SIZE_MIN,
        definition_chunk(options->processes), OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (archive) {
        (void)OTF2_Archive_SetFlushCallbacks(archive, &archive_flush_callbacks, NULL);
        (void)ictusi_chunks_attach(archive);
        (void)OTF2_Archive_SetCreator(archive, "ictus trace");
    }
    return archive;
}

static int archive_convert_thread(OTF2_Archive *archive, const char *path, int rank, int thread,
                                  struct conversion *c, uint64_t *events, struct ictus_why *why)
{
    OTF2_EvtWriter *writer = OTF2_Archive_GetEvtWriter(archive, trace_location(rank, thread));
    if (!writer) {
        return ictus_because(why, ICTUS_ERR_IO,
                             "writing the archive: the events of rank %d are missing", rank);
    }
    const uint64_t before = c->events;
    int err = ictusi_convert(path, c, writer, why);
    *events = c->events - before;
    if (OTF2_Archive_CloseEvtWriter(archive, writer) != OTF2_SUCCESS && !err) {
        err = ictus_because(why, ICTUS_ERR_IO,
                            "writing the archive: cannot write the events of rank %d", rank);
    }
    return err;
}

/*
 * Convert the files of all threads. They are numbered without gaps, so the first missing one ends
 * the list. A timeline caches its last piece, so a copy is used here, and the log keeps its own.
 */
int ictusi_trace_write_events(OTF2_Archive *archive, const struct trace_writing *options,
                              const struct rawlog *log, const struct trace_map *map,
                              uint64_t *events, struct process_result *result,
                              struct ictus_why *why)
{
    char path[4352];
    int err = ICTUS_OK;
    *result = (struct process_result){.lost = log->lost, .untracked = log->untracked};
    struct conversion c = {
        .log = log,
        .timeline = log->timeline,
        .map = map,
        .shift_ns = options->shift_ns,
        .local = options->local,
        .counters = options->counters,
        .first_local = INT64_MAX,
        .last_local = INT64_MIN,
    };
    err = ictusi_teams_index(&c.teams, log, map);
    for (int t = 0; t < ARCHIVE_THREADS_MAX && !err; t++) {
        (void)snprintf(path, sizeof(path), "%s/%d.%d.events", options->raw, log->rank, t);
        if (access(path, R_OK) != 0) {
            break;
        }
        err = archive_convert_thread(archive, path, log->rank, t, &c, &events[t], why);
        result->threads = t + 1;
    }
    ictusi_teams_free(&c.teams);
    result->events = c.events;
    result->raw_bytes = c.raw_bytes;
    result->lost += c.unnamed;
    result->clamped = c.clamped;
    result->jump_ns = log->timeline.jump_ns;
    result->ended = log->ended;
    result->first = UINT64_MAX;
    result->last = c.last;
    (void)snprintf(result->host, sizeof(result->host), "%.60s", log->host);
    if (c.first_local <= c.last_local) {
        struct timeline view = log->timeline;
        const int64_t first =
            options->local ? c.first_local : ictusi_timeline_map(&view, c.first_local);
        result->first = (uint64_t)first + (uint64_t)options->shift_ns;
        ictusi_timeline_error(&log->timeline, c.first_local, c.last_local, &result->sigma_ns,
                              &result->bound_ns);
    }
    return err;
}

/* Timestamps are on the global clock already, so the offsets are 0, but they state the error. */
static OTF2_ErrorCode archive_write_offsets(OTF2_DefWriter *writer,
                                            const struct trace_writing *options,
                                            const struct rawlog *log,
                                            const struct process_result *result)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    uint64_t last = 0;
    int written = 0;
    double sigma = 0.0;
    for (int i = 0; i < log->timeline.count && code == OTF2_SUCCESS; i++) {
        const struct timeline_point *point = &log->timeline.points[i];
        const int64_t at =
            time_add(options->local ? point->local : point->global, options->shift_ns);
        sigma = ceil(point->sigma_ns);
        if (at > 0 && (written == 0 || (uint64_t)at > last)) {
            last = (uint64_t)at;
            code = OTF2_DefWriter_WriteClockOffset(writer, last, 0, sigma);
            written++;
        }
    }
    if (written == 1 && code == OTF2_SUCCESS) {
        /* Readers ignore a single offset. */
        const uint64_t end = result->last > last ? result->last : last + 1;
        code = OTF2_DefWriter_WriteClockOffset(writer, end, 0, ceil(result->sigma_ns));
    }
    return code;
}

int ictusi_trace_check_written(const struct trace_writing *options, int rank,
                               const uint64_t *events, int threads, bool global,
                               struct ictus_why *why)
{
    char anchor[4352];
    struct archive_count *counts = calloc((size_t)threads + 1, sizeof(*counts));
    if (!counts) {
        return ICTUS_ERR_NOMEM;
    }
    for (int t = 0; t < threads; t++) {
        counts[t] = (struct archive_count){trace_location(rank, t), events[t], false};
    }
    (void)snprintf(anchor, sizeof(anchor), "%s/traces.otf2", options->directory);
    const int err = ictusi_archive_verify(anchor, counts, (size_t)threads, global, why);
    free(counts);
    return err;
}

int ictusi_trace_write_local(OTF2_Archive *archive, const struct trace_writing *options,
                             const struct rawlog *log, const struct process_result *result)
{
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (int t = 0; t < result->threads && code == OTF2_SUCCESS; t++) {
        OTF2_DefWriter *writer = OTF2_Archive_GetDefWriter(archive, trace_location(log->rank, t));
        if (!writer) {
            return ICTUS_ERR_IO;
        }
        if (!options->local) {
            code = archive_write_offsets(writer, options, log, result);
        }
        const OTF2_ErrorCode closed = OTF2_Archive_CloseDefWriter(archive, writer);
        code = code == OTF2_SUCCESS ? closed : code;
    }
    return code == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_IO;
}

/* The errors are those of the worst process, since events of any two processes may be compared. */
void ictusi_trace_summarise(const struct trace_world *world, struct ictus_trace_summary *summary)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    *summary = (struct ictus_trace_summary){0};
    for (int p = 0; p < world->size; p++) {
        const struct process_result *r = &world->results[p];
        if (!world->logs[p].text) {
            summary->missing++;
            continue;
        }
        summary->processes++;
        summary->cut += !r->ended;
        summary->locations += (uint64_t)r->threads;
        summary->events += r->events;
        summary->raw_bytes += r->raw_bytes;
        summary->lost += r->lost;
        summary->untracked += r->untracked;
        summary->clamped += r->clamped;
        summary->sigma_ns = fmax(summary->sigma_ns, r->sigma_ns);
        summary->bound_ns = fmax(summary->bound_ns, r->bound_ns);
        summary->jump_ns = fmax(summary->jump_ns, r->jump_ns);
        first = r->first < first ? r->first : first;
        last = r->last > last ? r->last : last;
    }
    summary->length_s = last > first ? (double)(last - first) * 1e-9 : 0.0;
}

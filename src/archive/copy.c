/* SPDX-License-Identifier: BSD-3-Clause */
/* Writes an archive again, record by record, with other times. */
#include "archive/copy.h"

#include "archive/chunks.h"
#include "archive/flush.h"
#include "archive/markers.h"
#include "archive/output.h"
#include "archive/restamps.h"
#include "archive/snapshots.h"
#include "archive/verify.h"

#include <errno.h>
#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The state of one copy. */
struct rewriting {
    const struct copy_job *job;
    struct ictus_why *why;
    OTF2_Archive *archive;
    OTF2_Reader *definitions; /* a second reader, which must not transform anything it reads */
    char *base;               /* the anchor's name without its suffix */
    char *partial;            /* where the output is written until it is complete */
    uint64_t chunk;           /* bytes of a chunk of events */
    bool *restamped;          /* by location: its events were written without the OTF2 library */
};

static int copy_complain(const struct rewriting *w, int err, const char *what)
{
    const struct trace *trace = w->job->trace;
    if (trace->said) {
        return err; /* OTF2's own message is more specific */
    }
    return ictus_because(w->why, err, "%s: %s", w->job->out, what);
}

static void properties_copy(const struct rewriting *w)
{
    OTF2_Reader *reader = w->job->trace->reader;
    char *text = NULL;
    uint32_t count = 0;
    char **names = NULL;
    if (OTF2_Reader_GetMachineName(reader, &text) == OTF2_SUCCESS) {
        (void)OTF2_Archive_SetMachineName(w->archive, text);
        free(text);
    }
    if (OTF2_Reader_GetCreator(reader, &text) == OTF2_SUCCESS) {
        (void)OTF2_Archive_SetCreator(w->archive, text);
        free(text);
    }
    if (OTF2_Reader_GetDescription(reader, &text) == OTF2_SUCCESS) {
        (void)OTF2_Archive_SetDescription(w->archive, text);
        free(text);
    }
    if (OTF2_Reader_GetPropertyNames(reader, &count, &names) != OTF2_SUCCESS) {
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (OTF2_Reader_GetProperty(reader, names[i], &text) == OTF2_SUCCESS) {
            (void)OTF2_Archive_SetProperty(w->archive, names[i], text, true);
            free(text);
        }
    }
    free(names);
}

static int copy_open_archive(struct rewriting *w)
{
    uint64_t definitions = OTF2_CHUNK_SIZE_DEFINITIONS_DEFAULT;
    w->chunk = OTF2_CHUNK_SIZE_EVENTS_DEFAULT;
    (void)OTF2_Reader_GetChunkSize(w->job->trace->reader, &w->chunk, &definitions);
    w->archive = OTF2_Archive_Open(w->partial, w->base, OTF2_FILEMODE_WRITE, w->chunk, definitions,
                                   OTF2_SUBSTRATE_POSIX, OTF2_COMPRESSION_NONE);
    if (!w->archive) {
        return copy_complain(w, ICTUS_ERR_IO, "the output cannot be created");
    }
    if (OTF2_Archive_SetFlushCallbacks(w->archive, &archive_flush_callbacks, NULL) !=
            OTF2_SUCCESS ||
        ictusi_chunks_attach(w->archive) != OTF2_SUCCESS ||
        (w->job->team ? w->job->team->attach(w->job->team, w->archive)
                      : (int)OTF2_Archive_SetSerialCollectiveCallbacks(w->archive))) {
        return copy_complain(w, ICTUS_ERR_IO, "the output cannot be created");
    }
    if (!w->job->team || w->job->team->rank == 0) {
        properties_copy(w);
        if (w->job->definitions.thread_clocks) {
            (void)OTF2_Archive_SetProperty(w->archive, THREAD_CLOCKS,
                                           w->job->definitions.thread_clocks, true);
        }
        if (w->job->definitions.process_clocks) {
            (void)OTF2_Archive_SetProperty(w->archive, PROCESS_CLOCKS, "1", true);
        }
    }
    return OTF2_Archive_OpenEvtFiles(w->archive) == OTF2_SUCCESS
               ? ICTUS_OK
               : copy_complain(w, ICTUS_ERR_IO, "its event files cannot be created");
}

static OTF2_CallbackCode copy_on_unknown(OTF2_LocationRef location, OTF2_TimeStamp time,
                                         uint64_t position, void *data,
                                         OTF2_AttributeList *attributes)
{
    struct event_copy *copy = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    copy->unknown++;
    return OTF2_CALLBACK_INTERRUPT;
}

/*
 * Copy events with raw stamps and raw references. Neither clock offsets nor mapping tables are
 * applied: the clock turns raw stamps into new times, and the tables are copied with the
 * definitions. Fewer events than the definitions state are an error, because a copy would hide the
 * damage.
 */
static int copy_read_events(struct rewriting *w, uint32_t index, const OTF2_EvtReaderCallbacks *set,
                            struct event_copy *copy)
{
    const struct trace *trace = w->job->trace;
    const struct layout_location *location = &trace->layout.locations[index];
    OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(trace->reader, location->ref);
    uint64_t read = 0;
    if (!reader) {
        return location->events == 0 ? ICTUS_OK
                                     : copy_complain(w, ICTUS_ERR_CORRUPT, "events are missing");
    }
    OTF2_ErrorCode code = OTF2_EvtReader_ApplyClockOffsets(reader, false);
    if (code == OTF2_SUCCESS) {
        code = OTF2_EvtReader_ApplyMappingTables(reader, false);
    }
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, copy);
    }
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read);
    }
    (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    if (copy->unknown) {
        return ictus_because(w->why, ICTUS_ERR_UNSUPPORTED,
                             "%s: location %llu holds a record of a type that this OTF2 library "
                             "does not know (event %llu), and it would be lost",
                             trace->path, (unsigned long long)location->ref,
                             (unsigned long long)read);
    }
    if (copy->code != OTF2_SUCCESS) {
        return copy_complain(w, ICTUS_ERR_IO, "an event cannot be written");
    }
    if ((code != OTF2_SUCCESS && location->events > 0) || read != location->events) {
        return copy_complain(w, ICTUS_ERR_CORRUPT, "the input is damaged or cut off");
    }
    return ICTUS_OK;
}

/* Copy a location's events record by record through the OTF2 library. */
static int records_copy(struct rewriting *w, uint32_t index, const OTF2_EvtReaderCallbacks *set)
{
    const struct copy_clock *clock = &w->job->clock;
    const bool said = w->job->trace->said;
    struct event_copy copy = {
        .clock = clock, .walk = clock->open(clock->self, index), .code = OTF2_SUCCESS};
    if (!copy.walk) {
        return ICTUS_ERR_NOMEM;
    }
    copy.writer = OTF2_Archive_GetEvtWriter(w->archive, w->job->trace->layout.locations[index].ref);
    int err = copy.writer ? copy_read_events(w, index, set, &copy)
                          : copy_complain(w, ICTUS_ERR_IO, "an event file cannot be created");
    if (!err) {
        w->job->trace->said = said; /* a location without events need not have a file */
    }
    if (!clock->close(clock->self, copy.walk, !err) && !err) {
        err = ictusi_archive_beyond(w->job->trace, index);
    }
    if (copy.writer && OTF2_Archive_CloseEvtWriter(w->archive, copy.writer) != OTF2_SUCCESS &&
        !err) {
        err = copy_complain(w, ICTUS_ERR_IO, "an event file cannot be written");
    }
    return err;
}

/* Whether the event files have the format that ictusi_restamp_run() understands. */
static bool copy_may_restamp(const struct rewriting *w)
{
    OTF2_Reader *reader = w->job->trace->reader;
    OTF2_FileSubstrate substrate = OTF2_SUBSTRATE_UNDEFINED;
    OTF2_Compression compression = OTF2_COMPRESSION_UNDEFINED;
    return w->job->restamp && OTF2_Reader_GetFileSubstrate(reader, &substrate) == OTF2_SUCCESS &&
           OTF2_Reader_GetCompression(reader, &compression) == OTF2_SUCCESS &&
           substrate == OTF2_SUBSTRATE_POSIX && compression == OTF2_COMPRESSION_NONE;
}

/*
 * Copy a range of locations, several at a time if their files allow it. Each one is settled even
 * after an error, because its walk must be closed.
 */
static int locations_copy_some(struct rewriting *w, struct restamps *restamps, uint32_t from,
                               uint32_t to, const OTF2_EvtReaderCallbacks *set)
{
    const bool *mine = w->job->mine;
    const bool may = copy_may_restamp(w);
    int err = ICTUS_OK;
    if (may) {
        ictusi_restamps_run(restamps, from, to);
    }
    for (uint32_t i = from; i < to; i++) {
        const int tried =
            may ? ictusi_restamps_settle(restamps, i, err, w->why) : ICTUS_ERR_UNSUPPORTED;
        w->restamped[i] = !tried;
        if (!err && (!mine || mine[i])) {
            err = tried == ICTUS_ERR_UNSUPPORTED ? records_copy(w, i, set) : tried;
        }
    }
    return err;
}

static int locations_copy_all(struct rewriting *w, const OTF2_EvtReaderCallbacks *set)
{
    const uint32_t count = (uint32_t)w->job->trace->layout.location_count;
    struct restamps restamps = {.job = NULL};
    char *target = NULL;
    int err = asprintf(&target, "%s/%s", w->partial, w->base) < 0 ? ICTUS_ERR_NOMEM : ICTUS_OK;
    if (!err) {
        err = ictusi_restamps_init(&restamps, w->job, target, w->chunk);
        free(target);
    }
    for (uint32_t from = 0, to = 0; from < count && !err; from = to) {
        to = count - from < RESTAMPS_TOGETHER ? count : from + RESTAMPS_TOGETHER;
        err = locations_copy_some(w, &restamps, from, to, set);
    }
    ictusi_restamps_fini(&restamps);
    return err;
}

static int events_copy(struct rewriting *w)
{
    const struct copy_job *job = w->job;
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    int err = set ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && (ictusi_register_event_copies(set) ||
                 OTF2_EvtReaderCallbacks_SetUnknownCallback(set, copy_on_unknown))) {
        err = ICTUS_ERR_UNSUPPORTED;
    }
    if (!err && OTF2_Reader_OpenEvtFiles(job->trace->reader) != OTF2_SUCCESS) {
        err = copy_complain(w, ICTUS_ERR_CORRUPT, "the input's event files cannot be opened");
    }
    err = err ? err : locations_copy_all(w, set);
    (void)OTF2_Reader_CloseEvtFiles(job->trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
    return err;
}

static OTF2_CallbackCode copy_on_unknown_definition(void *data)
{
    struct definition_copy *copy = data;
    copy->unknown++;
    return OTF2_CALLBACK_INTERRUPT;
}

static OTF2_CallbackCode copy_on_clock(void *data, uint64_t resolution, uint64_t offset,
                                       uint64_t length, uint64_t realtime)
{
    struct definition_copy *copy = data;
    (void)offset;
    (void)length;
    (void)realtime;
    return ictusi_written(
        &copy->code, OTF2_GlobalDefWriter_WriteClockProperties(
                         copy->global, resolution, copy->clock[1], copy->clock[2], copy->clock[3]));
}

static OTF2_CallbackCode copy_on_offset(void *data, OTF2_TimeStamp time, int64_t offset, double sd)
{
    struct definition_copy *copy = data;
    if (!copy->keep_offsets) {
        return OTF2_CALLBACK_SUCCESS; /* the stamps already include them */
    }
    return ictusi_written(&copy->code,
                          OTF2_DefWriter_WriteClockOffset(copy->local, time, offset, sd));
}

static int definitions_result(struct rewriting *w, const struct definition_copy *copy,
                              OTF2_ErrorCode code)
{
    if (copy->unknown) {
        return copy_complain(w, ICTUS_ERR_UNSUPPORTED,
                             "the input holds a definition of a type that this OTF2 library does "
                             "not know, and it would be lost");
    }
    if (copy->code != OTF2_SUCCESS) {
        return copy_complain(w, ICTUS_ERR_IO, "a definition cannot be written");
    }
    return code == OTF2_SUCCESS
               ? ICTUS_OK
               : copy_complain(w, ICTUS_ERR_CORRUPT, "the input's definitions are damaged");
}

static int definitions_copy_global(struct rewriting *w)
{
    struct definition_copy copy = {.keep_offsets = w->job->definitions.keep_offsets};
    OTF2_GlobalDefReader *reader = OTF2_Reader_GetGlobalDefReader(w->definitions);
    OTF2_GlobalDefReaderCallbacks *set = OTF2_GlobalDefReaderCallbacks_New();
    uint64_t read = 0;
    const struct trace *trace = w->job->trace;
    const bool writes = !w->job->team || w->job->team->rank == 0;
    if (!reader || !set) {
        OTF2_GlobalDefReaderCallbacks_Delete(set);
        return copy_complain(w, ICTUS_ERR_CORRUPT, "the input's definitions cannot be read");
    }
    const uint64_t clock[4] = {trace->layout.resolution, trace->global_offset, trace->layout.length,
                               trace->realtime};
    memcpy(copy.clock, clock, sizeof clock);
    w->job->definitions.properties(w->job->definitions.self, copy.clock);
    if (writes) {
        copy.global = OTF2_Archive_GetGlobalDefWriter(w->archive);
        if (!copy.global) {
            OTF2_GlobalDefReaderCallbacks_Delete(set);
            return copy_complain(w, ICTUS_ERR_IO, "the definitions cannot be created");
        }
        (void)ictusi_register_global_copies(set);
        OTF2_GlobalDefReaderCallbacks_SetUnknownCallback(set, copy_on_unknown_definition);
        OTF2_GlobalDefReaderCallbacks_SetClockPropertiesCallback(set, copy_on_clock);
    }
    OTF2_ErrorCode code =
        OTF2_Reader_RegisterGlobalDefCallbacks(w->definitions, reader, set, &copy);
    OTF2_GlobalDefReaderCallbacks_Delete(set);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllGlobalDefinitions(w->definitions, reader, &read);
    }
    int err = definitions_result(w, &copy, code);
    if (writes && OTF2_Archive_CloseGlobalDefWriter(w->archive, copy.global) != OTF2_SUCCESS &&
        !err) {
        err = copy_complain(w, ICTUS_ERR_IO, "the definitions cannot be written");
    }
    return err;
}

static OTF2_ErrorCode copy_write_offsets(const struct rewriting *w, uint32_t index,
                                         OTF2_DefWriter *writer)
{
    const struct copy_definitions *definitions = &w->job->definitions;
    struct clock_offset list[2];
    const uint32_t count =
        definitions->new_offsets ? definitions->new_offsets(definitions->self, index, list) : 0;
    OTF2_ErrorCode code = OTF2_SUCCESS;
    for (uint32_t i = 0; i < count && code == OTF2_SUCCESS; i++) {
        code = OTF2_DefWriter_WriteClockOffset(writer, list[i].time, list[i].offset, list[i].sd);
    }
    return code;
}

static int copy_local(struct rewriting *w, uint32_t index, const OTF2_DefReaderCallbacks *set)
{
    const uint64_t ref = w->job->trace->layout.locations[index].ref;
    struct definition_copy copy = {.keep_offsets = w->job->definitions.keep_offsets};
    OTF2_DefReader *reader = OTF2_Reader_GetDefReader(w->definitions, ref);
    uint64_t read = 0;
    copy.local = OTF2_Archive_GetDefWriter(w->archive, ref);
    OTF2_ErrorCode code = copy.local ? OTF2_SUCCESS : OTF2_ERROR_EIO;
    /* otherwise the file stays empty, because readers expect it */
    if (code == OTF2_SUCCESS && reader) {
        code = OTF2_Reader_RegisterDefCallbacks(w->definitions, reader, set, &copy);
    }
    if (code == OTF2_SUCCESS && reader) {
        code = OTF2_Reader_ReadAllLocalDefinitions(w->definitions, reader, &read);
    }
    if (code == OTF2_SUCCESS) {
        copy.code = copy_write_offsets(w, index, copy.local);
    }
    if (reader) {
        (void)OTF2_Reader_CloseDefReader(w->definitions, reader);
    }
    int err = definitions_result(w, &copy, code);
    if (copy.local && OTF2_Archive_CloseDefWriter(w->archive, copy.local) != OTF2_SUCCESS && !err) {
        err = copy_complain(w, ICTUS_ERR_IO, "a definition file cannot be written");
    }
    return err;
}

static int definitions_copy_local(struct rewriting *w)
{
    const struct copy_job *job = w->job;
    OTF2_DefReaderCallbacks *set = OTF2_DefReaderCallbacks_New();
    int err = ICTUS_OK;
    if (!set) {
        return ICTUS_ERR_NOMEM;
    }
    (void)ictusi_register_local_copies(set);
    OTF2_DefReaderCallbacks_SetUnknownCallback(set, copy_on_unknown_definition);
    OTF2_DefReaderCallbacks_SetClockOffsetCallback(set, copy_on_offset);
    for (uint32_t i = 0; i < job->trace->layout.location_count; i++) {
        if (!job->mine || job->mine[i]) {
            (void)OTF2_Reader_SelectLocation(w->definitions, job->trace->layout.locations[i].ref);
        }
    }
    (void)OTF2_Reader_OpenDefFiles(w->definitions); /* there may be none */
    if (OTF2_Archive_OpenDefFiles(w->archive) != OTF2_SUCCESS) {
        err = copy_complain(w, ICTUS_ERR_IO, "its definition files cannot be created");
    }
    for (uint32_t i = 0; i < job->trace->layout.location_count && !err; i++) {
        if (!job->mine || job->mine[i]) {
            err = copy_local(w, i, set);
        }
    }
    (void)OTF2_Archive_CloseDefFiles(w->archive);
    (void)OTF2_Reader_CloseDefFiles(w->definitions);
    OTF2_DefReaderCallbacks_Delete(set);
    return err;
}

/*
 * OTF2's readers of thumbnails cannot read what its writers write (3.0). So thumbnails are only
 * counted here. Their files contain no times and are copied unchanged at the end.
 */
static int copy_count_thumbnails(const struct rewriting *w)
{
    const struct trace *trace = w->job->trace;
    const uint64_t nothing = 0;
    uint32_t count = 0;
    (void)OTF2_Reader_GetNumberOfThumbnails(trace->reader, &count);
    for (uint32_t i = 0; i < count; i++) {
        char suffix[32];
        (void)snprintf(suffix, sizeof suffix, ".%" PRIu32 ".thumb", i);
        if (!ictusi_output_sibling(trace->path, suffix)) {
            return copy_complain(w, ICTUS_ERR_CORRUPT, "a thumbnail of the input is missing");
        }
        if (!OTF2_Archive_GetThumbWriter(w->archive, "-", "-", OTF2_THUMBNAIL_TYPE_REGION, 1, 1,
                                         &nothing)) {
            return copy_complain(w, ICTUS_ERR_IO, "a thumbnail cannot be created");
        }
    }
    return ICTUS_OK;
}

/* Refuse, before anything is written, what would be lost, and say what it is. */
static int copy_refuse_losses(const struct rewriting *w)
{
    const struct trace *trace = w->job->trace;
    if (w->job->definitions.new_offsets && !w->job->definitions.keep_offsets &&
        ictusi_snapshots_exist(trace)) {
        return ictus_because(w->why, ICTUS_ERR_UNSUPPORTED,
                             "%s holds snapshots, whose times cannot be skewed", trace->path);
    }
    return ICTUS_OK;
}

static int copy_agree(const struct rewriting *w, int err)
{
    return w->job->team ? w->job->team->agree(w->job->team, err) : err;
}

/* The team agrees after each step, so that no rank is left alone in a collective call of OTF2. */
static int copy_write(struct rewriting *w)
{
    int err = copy_agree(w, copy_open_archive(w));
    if (err) {
        return err;
    }
    err = copy_agree(w, events_copy(w));
    (void)OTF2_Archive_CloseEvtFiles(w->archive);
    if (!err && ictusi_snapshots_exist(w->job->trace)) {
        err = copy_agree(w, ictusi_snapshots_copy(w->job, w->archive, w->why));
    }
    if (!err) {
        err = copy_agree(w, definitions_copy_global(w));
    }
    if (!err) {
        err = copy_agree(w, definitions_copy_local(w));
    }
    if (!err) {
        err = copy_agree(w, ictusi_markers_copy(w->job, w->archive, w->why));
    }
    const bool first = !w->job->team || w->job->team->rank == 0;
    return err ? err : copy_agree(w, first ? copy_count_thumbnails(w) : ICTUS_OK);
}

static int copy_prepare(struct rewriting *w)
{
    const struct copy_job *job = w->job;
    w->base = ictusi_output_base(job->trace->path);
    w->partial = ictusi_output_partial(job->out);
    w->definitions = OTF2_Reader_Open(job->trace->path);
    w->restamped = calloc(job->trace->layout.location_count + 1, sizeof *w->restamped);
    if (!w->base || !w->partial || !w->restamped) {
        return ICTUS_ERR_NOMEM;
    }
    if (!w->definitions ||
        OTF2_Reader_SetSerialCollectiveCallbacks(w->definitions) != OTF2_SUCCESS) {
        return copy_complain(w, ICTUS_ERR_IO, "the input cannot be opened again");
    }
    return copy_refuse_losses(w);
}

/* Each rank verifies its own locations. */
static int copy_verify(const struct rewriting *w, bool first)
{
    const struct copy_job *job = w->job;
    const struct trace *trace = job->trace;
    struct archive_count *counts = calloc(trace->layout.location_count + 1, sizeof(*counts));
    size_t count = 0;
    char *anchor = NULL;
    if (!counts || asprintf(&anchor, "%s/%s.otf2", w->partial, w->base) < 0) {
        free(counts);
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        if (!job->mine || job->mine[i]) {
            counts[count++] = (struct archive_count){
                trace->layout.locations[i].ref, trace->layout.locations[i].events, w->restamped[i]};
        }
    }
    const int err = ictusi_archive_verify(anchor, counts, count, first, w->why);
    free(anchor);
    free(counts);
    return err;
}

/*
 * Collective over the team. The first rank makes, renames and removes the output. The last
 * agreement tells all ranks the result.
 */
int ictusi_copy_run(const struct copy_job *job, struct ictus_why *why)
{
    struct rewriting w = {.job = job, .why = why};
    const bool first = !job->team || job->team->rank == 0;
    job->trace->output = job->out;
    int err = copy_agree(&w, copy_prepare(&w));
    if (!err) {
        err = copy_agree(&w, first ? ictusi_output_start(w.partial, why) : ICTUS_OK);
    }
    const bool started = !err;
    if (!err) {
        err = copy_write(&w);
        if (w.archive && OTF2_Archive_Close(w.archive) != OTF2_SUCCESS && !err) {
            err = copy_complain(&w, ICTUS_ERR_IO, "the output cannot be finished");
        }
        err = copy_agree(&w, err);
        if (!err) {
            err = copy_agree(&w, copy_verify(&w, first));
        }
    }
    if (first && !err) {
        err = ictusi_output_finish(job->trace->path, w.partial, job->out, why);
    }
    if (first && err && started) {
        ictusi_output_remove(w.partial);
    }
    if (w.definitions) {
        (void)OTF2_Reader_Close(w.definitions);
    }
    free(w.base);
    free(w.partial);
    free(w.restamped);
    return copy_agree(&w, err);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Snapshots: which past events of a location are still in effect at some instants, with their
 * times.
 */
#include "archive/snapshots.h"

#include "archive/output.h"
#include "archive/stamps.h"

#include <ictus/text.h>
#include <inttypes.h>
#include <stdio.h>

bool ictusi_snapshots_exist(const struct trace *trace)
{
    uint32_t count = 0;
    return OTF2_Reader_GetNumberOfSnapshots(trace->reader, &count) == OTF2_SUCCESS && count > 0;
}

/* A record that cannot be written would be missing in the output, so the copy is refused. */
static OTF2_CallbackCode snapshots_on_unknown(OTF2_LocationRef location, OTF2_TimeStamp time,
                                              void *data, OTF2_AttributeList *attributes)
{
    struct snapshot_copy *copy = data;
    (void)location;
    (void)time;
    (void)attributes;
    copy->unknown++;
    return OTF2_CALLBACK_INTERRUPT;
}

/*
 * Whether a location has snapshots. Not all locations need to have them, and the number in the
 * anchor is that of the whole archive.
 */
static bool snapshots_has_file(const struct trace *trace, uint64_t ref)
{
    char suffix[40];
    (void)snprintf(suffix, sizeof suffix, "/%" PRIu64 ".snap", ref);
    return ictusi_output_sibling(trace->path, suffix);
}

/*
 * Copy the snapshots of a location. The reason why the reading ended is examined first, because
 * OTF2 also reports an error when a callback interrupts it. OTF2 refuses a record that is earlier
 * than the one before it (invalid argument). This happens only with a damaged archive: event times
 * ascend, and so do those they are moved to.
 */
static int snapshots_copy_records(const struct trace *trace, uint64_t ref,
                                  const OTF2_SnapReaderCallbacks *set, struct snapshot_copy *copy)
{
    OTF2_SnapReader *reader = OTF2_Reader_GetSnapReader(trace->reader, ref);
    uint64_t read = 0;
    OTF2_ErrorCode code = reader ? OTF2_SUCCESS : OTF2_ERROR_EIO;
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_RegisterSnapCallbacks(trace->reader, reader, set, copy);
    }
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllLocalSnapshots(trace->reader, reader, &read);
    }
    if (reader) {
        (void)OTF2_Reader_CloseSnapReader(trace->reader, reader);
    }
    if (copy->unknown) {
        return ICTUS_ERR_UNSUPPORTED;
    }
    if (copy->code != OTF2_SUCCESS) { /* times out of order are refused as invalid arguments */
        return copy->code == OTF2_ERROR_INVALID_ARGUMENT ? ICTUS_ERR_CORRUPT : ICTUS_ERR_IO;
    }
    return code == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_CORRUPT;
}

/*
 * Snapshots refer to events by time, and these times have moved. moved_times translates them
 * through the i-th event before and after. It is in memory for one location at a time. If offsets
 * are kept, nothing moves, and an empty list leaves all times unchanged.
 */
static int snapshots_copy_location(const struct copy_job *job, OTF2_Archive *archive,
                                   uint32_t location, const OTF2_SnapReaderCallbacks *set)
{
    const struct trace *trace = job->trace;
    const uint64_t ref = trace->layout.locations[location].ref;
    struct snapshot_copy copy = {.code = OTF2_SUCCESS};
    int err = job->definitions.keep_offsets ? ICTUS_OK
                                            : ictusi_moved_times_make(job, location, &copy.times);
    if (!err) {
        copy.writer = OTF2_Archive_GetSnapWriter(archive, ref);
        err = copy.writer ? snapshots_copy_records(trace, ref, set, &copy) : ICTUS_ERR_IO;
    }
    if (copy.writer && OTF2_Archive_CloseSnapWriter(archive, copy.writer) != OTF2_SUCCESS && !err) {
        err = ICTUS_ERR_IO;
    }
    ictusi_moved_times_free(&copy.times);
    return err;
}

/* A location without a file has no snapshots, and asking OTF2 for its reader would be an error. */
static int snapshots_copy_locations(const struct copy_job *job, OTF2_Archive *archive)
{
    const struct trace *trace = job->trace;
    OTF2_SnapReaderCallbacks *set = OTF2_SnapReaderCallbacks_New();
    int err = set ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && (ictusi_register_snapshot_copies(set) ||
                 OTF2_SnapReaderCallbacks_SetUnknownCallback(set, snapshots_on_unknown))) {
        err = ICTUS_ERR_UNSUPPORTED;
    }
    for (uint32_t i = 0; i < trace->layout.location_count && !err; i++) {
        if ((!job->mine || job->mine[i]) &&
            snapshots_has_file(trace, trace->layout.locations[i].ref)) {
            err = snapshots_copy_location(job, archive, i, set);
        }
    }
    OTF2_SnapReaderCallbacks_Delete(set);
    return err;
}

/*
 * Event files are opened as well, since the times of events are read from them. The number of
 * snapshots is part of the anchor, which the first rank writes. Everything that was opened is
 * closed, also after errors. Collective if there is a team: each rank copies its own locations, and
 * all ranks open and close the files.
 */
int ictusi_snapshots_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why)
{
    struct trace *trace = job->trace;
    uint32_t count = 0;
    (void)OTF2_Reader_GetNumberOfSnapshots(trace->reader, &count);
    const bool first = !job->team || job->team->rank == 0;
    const bool open = OTF2_Archive_OpenSnapFiles(archive) == OTF2_SUCCESS;
    int err = open && (!first || OTF2_Archive_SetNumberOfSnapshots(archive, count) == OTF2_SUCCESS)
                  ? ICTUS_OK
                  : ICTUS_ERR_IO;
    if (!err && (OTF2_Reader_OpenEvtFiles(trace->reader) != OTF2_SUCCESS ||
                 OTF2_Reader_OpenSnapFiles(trace->reader) != OTF2_SUCCESS)) {
        err = ICTUS_ERR_CORRUPT;
    }
    if (!err) {
        err = snapshots_copy_locations(job, archive);
    }
    (void)OTF2_Reader_CloseSnapFiles(trace->reader);
    (void)OTF2_Reader_CloseEvtFiles(trace->reader);
    (void)OTF2_Archive_CloseSnapFiles(archive);
    return err && !trace->said
               ? ictus_because(why, err, "%s: its snapshots cannot be copied: %s", trace->path,
                               err == ICTUS_ERR_UNSUPPORTED ? "a record is of an unknown type"
                               : err == ICTUS_ERR_CORRUPT   ? "they are damaged"
                                                            : ictus_strerror(err))
               : err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Markers are read once to find out where and when they are, and a second time by the first rank,
 * which writes them.
 */
#include "archive/markers.h"

#include "archive/output.h"
#include "archive/stamps.h"

#include <ictus/text.h>
#include <stdlib.h>

/*
 * The begin and end of one marker, in the order of the file, and the location whose events its
 * times are relative to (LAYOUT_NONE: no location).
 */
struct span {
    uint64_t times[2];
    uint32_t location;
};

struct marker_copy {
    const struct trace *trace;
    OTF2_MarkerWriter *writer; /* NULL: spans are being collected */
    struct span *spans;
    uint64_t count, next;
    int err;
};

static OTF2_CallbackCode marker_verdict(struct marker_copy *copy, OTF2_ErrorCode code)
{
    copy->err = code == OTF2_SUCCESS ? copy->err : ICTUS_ERR_IO;
    return copy->err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode marker_defined(void *data, OTF2_MarkerRef self, const char *group,
                                        const char *category, OTF2_MarkerSeverity severity)
{
    struct marker_copy *copy = data;
    return !copy->writer ? OTF2_CALLBACK_SUCCESS
                         : marker_verdict(copy, OTF2_MarkerWriter_WriteDefMarker(
                                                    copy->writer, self, group, category, severity));
}

/*
 * The marker of a process moves with the clock of its first thread. A marker of a node or of the
 * whole run belongs to no location.
 */
static uint32_t markers_location_of(const struct trace *trace, OTF2_MarkerScope scope, uint64_t ref)
{
    if (scope == OTF2_MARKER_SCOPE_LOCATION) {
        return ictusi_archive_location(trace, ref);
    }
    const int64_t process = scope == OTF2_MARKER_SCOPE_LOCATION_GROUP
                                ? ictusi_idmap_get(&trace->process_index, ref, 0)
                                : IDMAP_NONE;
    return process == IDMAP_NONE ? LAYOUT_NONE : trace->layout.processes[process].rank_location;
}

/* The array doubles when the count is a power of two, so its capacity need not be stored. */
static int marker_collect(struct marker_copy *copy, const struct span *span)
{
    if ((copy->count & (copy->count - 1)) == 0) {
        const uint64_t room = copy->count ? 2 * copy->count : 1;
        struct span *spans = realloc(copy->spans, room * sizeof *spans);
        if (!spans) {
            return ICTUS_ERR_NOMEM;
        }
        copy->spans = spans;
    }
    copy->spans[copy->count++] = *span;
    return ICTUS_OK;
}

/*
 * Called in two readings of the same file. The first collects spans; the second writes the markers
 * in the same order with their new times. OTF2 has one marker file per archive, so the order is the
 * same. A different count means that the file was changed in between.
 */
static OTF2_CallbackCode marker_met(void *data, OTF2_TimeStamp stamp, OTF2_TimeStamp duration,
                                    OTF2_MarkerRef marker, OTF2_MarkerScope scope,
                                    uint64_t scope_ref, const char *text)
{
    struct marker_copy *copy = data;
    if (!copy->writer) {
        const struct span span = {{stamp, stamp + duration},
                                  markers_location_of(copy->trace, scope, scope_ref)};
        copy->err = marker_collect(copy, &span);
        return marker_verdict(copy, OTF2_SUCCESS);
    }
    if (copy->next == copy->count) {
        return marker_verdict(copy, OTF2_ERROR_INTEGRITY_FAULT); /* the file has changed */
    }
    const uint64_t *times = copy->spans[copy->next++].times;
    return marker_verdict(copy,
                          OTF2_MarkerWriter_WriteMarker(copy->writer, times[0], times[1] - times[0],
                                                        marker, scope, scope_ref, text));
}

static int markers_read(struct marker_copy *copy)
{
    OTF2_Reader *reader = copy->trace->reader;
    OTF2_MarkerReader *markers = OTF2_Reader_GetMarkerReader(reader);
    OTF2_MarkerReaderCallbacks *set = OTF2_MarkerReaderCallbacks_New();
    uint64_t read = 0;
    OTF2_ErrorCode code = markers && set ? OTF2_SUCCESS : OTF2_ERROR_EIO;
    if (code == OTF2_SUCCESS) {
        OTF2_MarkerReaderCallbacks_SetDefMarkerCallback(set, marker_defined);
        OTF2_MarkerReaderCallbacks_SetMarkerCallback(set, marker_met);
        (void)OTF2_Reader_RegisterMarkerCallbacks(reader, markers, set, copy);
        code = OTF2_Reader_ReadAllMarkers(reader, markers, &read);
    }
    if (markers) {
        (void)OTF2_Reader_CloseMarkerReader(reader, markers);
    }
    OTF2_MarkerReaderCallbacks_Delete(set);
    return copy->err || code == OTF2_SUCCESS ? copy->err : ICTUS_ERR_CORRUPT;
}

/*
 * Move the spans of one location. Its times are only computed if there are any. moved has two
 * values per marker, begin and end. Both ends go through the same ascending map, so a marker may
 * become longer or shorter, but never ends before it begins.
 */
static int markers_move_on(const struct copy_job *job, struct marker_copy *copy, uint32_t location,
                           uint64_t *moved)
{
    struct moved_times times = {.moved = NULL};
    bool made = false;
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < copy->count && !err; i++) {
        if (copy->spans[i].location != location) {
            continue;
        }
        if (!made) {
            err = ictusi_moved_times_make(job, location, &times);
            made = true;
        }
        for (uint64_t end = 0; end < 2 && !err; end++) {
            moved[2 * i + end] = ictusi_moved_time(&times, copy->spans[i].times[end]);
        }
    }
    ictusi_moved_times_free(&times);
    return err;
}

/*
 * Move the markers of this rank's own locations, and on the first rank those of no location. All
 * other values stay 0, so that a sum over the ranks combines them. Markers without a location are
 * moved only by `raised`, the amount that keeps all times of the archive at or above 0.
 */
static int markers_move_own(const struct copy_job *job, struct marker_copy *copy, uint64_t *moved)
{
    const bool first = !job->team || job->team->rank == 0;
    int err =
        OTF2_Reader_OpenEvtFiles(job->trace->reader) == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_CORRUPT;
    for (uint64_t i = 0; i < 2 * copy->count && first; i++) {
        if (copy->spans[i / 2].location == LAYOUT_NONE) {
            moved[i] = copy->spans[i / 2].times[i % 2] + (uint64_t)job->definitions.raised;
        }
    }
    for (uint32_t l = 0; l < job->trace->layout.location_count && !err; l++) {
        if (!job->mine || job->mine[l]) {
            err = markers_move_on(job, copy, l, moved);
        }
    }
    (void)OTF2_Reader_CloseEvtFiles(job->trace->reader);
    return err;
}

/*
 * Each rank moves the markers of its own locations, and a sum over the ranks gives everybody the
 * result. A sum is sufficient, because each value is nonzero on at most one rank. Collective.
 */
static int markers_move_spans(const struct copy_job *job, struct marker_copy *copy)
{
    const uint64_t n = 2 * copy->count;
    uint64_t *moved = calloc(n + 1, sizeof *moved);
    int err = moved ? markers_move_own(job, copy, moved) : ICTUS_ERR_NOMEM;
    if (job->team) {
        err = job->team->agree(job->team, err);
        err = err ? err : job->team->sums(job->team, moved, n);
    }
    for (uint64_t i = 0; moved && i < n && !err; i++) {
        copy->spans[i / 2].times[i % 2] = moved[i];
    }
    free(moved);
    return err;
}

/*
 * Every rank reads the markers, and the first one writes them; there is one small marker file per
 * archive. The agreement after reading keeps ranks together if they encounter different errors.
 */
int ictusi_markers_copy(const struct copy_job *job, OTF2_Archive *archive, struct ictus_why *why)
{
    struct marker_copy copy = {.trace = job->trace};
    const bool first = !job->team || job->team->rank == 0;
    /* The markers of a skewed archive stay true, as its clock offsets do. */
    const bool still = job->definitions.keep_offsets || job->definitions.new_offsets;
    if (!ictusi_output_sibling(job->trace->path, ".marker")) {
        return ICTUS_OK;
    }
    int err = markers_read(&copy);
    err = job->team ? job->team->agree(job->team, err) : err;
    if (!err && !still) {
        err = markers_move_spans(job, &copy);
    }
    if (!err && first) {
        copy.writer = OTF2_Archive_GetMarkerWriter(archive);
        err = copy.writer ? markers_read(&copy) : ICTUS_ERR_IO;
        if (copy.writer && OTF2_Archive_CloseMarkerWriter(archive, copy.writer) != OTF2_SUCCESS &&
            !err) {
            err = ICTUS_ERR_IO;
        }
    }
    free(copy.spans);
    return err && !job->trace->said
               ? ictus_because(why, err, "%s: the markers cannot be copied", job->trace->path)
               : err;
}

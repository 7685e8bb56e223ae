/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the events of locations: which of them become points, and which calls they belong to. */
#include "archive/scan.h"

#include "archive/scan_parts.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

/* The first error is kept, because later ones are mostly its consequences. */
OTF2_CallbackCode ictusi_scan_verdict(struct reading *r, int err)
{
    if (err && !r->err) {
        r->err = err;
    }
    return err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/*
 * Make a point. The points of a location never go back in time: a stamp that does is replaced by
 * the preceding one and counted. gap is the number of events since the last point, which locates
 * the points when the archive is written again.
 */
uint32_t ictusi_scan_point(struct reading *r, OTF2_TimeStamp stamp, uint64_t position, uint8_t kind)
{
    struct points *points = &r->scan->history->points;
    const int err = stamp >> STAMP_BITS ? ictusi_archive_beyond(r->scan->trace, r->location)
                                        : ictusi_points_grow(points, r->scan->trace->why);
    if (err) {
        r->err = err;
        return NODE_NONE;
    }
    int64_t time = (int64_t)stamp;
    if (time < r->last_time) {
        r->scan->counts->decreasing++;
        time = r->last_time;
    }
    const uint64_t i = points->count++;
    points->time[i] = time;
    /*
     * Values and notes are set only when they are needed, because memory that is not touched costs
     * nothing.
     */
    points->link[i] = NODE_NONE;
    points->gap[i] = (uint32_t)(position - r->last_position);
    points->peer[i] = LAYOUT_NONE;
    points->kind[i] = kind;
    r->last_position = position;
    r->last_time = time;
    struct scan_tap *tap = r->scan->tap;
    const int told = tap ? tap->ops->point(tap, stamp, (uint32_t)i) : ICTUS_OK;
    if (told) {
        r->err = told;
        return NODE_NONE;
    }
    return (uint32_t)i;
}

/*
 * The last communicator is cached, together with the location's own rank in it. Consecutive events
 * are mostly on the same one, and a lookup is a search among all of them.
 */
uint32_t ictusi_scan_comm(struct reading *r, OTF2_CommRef ref)
{
    if (!r->comm_known || r->comm_ref != ref) {
        r->comm_known = true;
        r->comm_ref = ref;
        r->comm = ictusi_archive_comm(r->scan->trace, ref);
        r->own = r->comm == LAYOUT_NONE
                     ? LAYOUT_NONE
                     : ictusi_layout_rank(&r->scan->trace->layout, r->comm, r->location);
    }
    return r->comm;
}

/*
 * Commit calls in the order in which they began, up to the first one that is still open. Messages
 * of a channel are matched in the order of posting, not of completion (MPI 4.1, 3.5).
 */
OTF2_CallbackCode ictusi_scan_commit(struct reading *r)
{
    return ictusi_scan_verdict(
        r, ictusi_calls_commit(&r->calls, &r->scan->history->matching, r->location, false));
}

/*
 * Post a call. The number of a request may be reused once it is complete. A number may be left over
 * in `sends` if a send was freed while active, because then no completion was recorded.
 */
OTF2_CallbackCode ictusi_scan_post(struct reading *r, const struct call *call, uint64_t request)
{
    uint64_t number = 0;
    ictusi_idmap_remove(&r->sends, request, 0); /* left over from a send that was freed */
    const int err = ictusi_calls_open(&r->calls, call, &number);
    return ictusi_scan_verdict(r, err ? err : ictusi_calls_request(&r->calls, request, number));
}

/*
 * A record of a later OTF2 version is not understood and makes no point. It is counted, and the
 * caller reports it.
 */
static OTF2_CallbackCode scan_on_unknown(OTF2_LocationRef location, OTF2_TimeStamp time,
                                         uint64_t position, void *data,
                                         OTF2_AttributeList *attributes)
{
    struct reading *r = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    r->scan->counts->unknown++;
    return OTF2_CALLBACK_SUCCESS;
}

/*
 * Recording was switched. What is called until it is switched on again is unknown. A location that
 * is switched off before its first point begins late, which is not a gap if all locations do. A gap
 * breaks the counting by which messages are matched: the k-th send need not match the k-th receive
 * any more. It is noted in the call queue, and the matching leaves out what cannot be determined.
 */
static OTF2_CallbackCode scan_on_switched(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, OTF2_MeasurementMode mode)
{
    struct reading *r = data;
    const struct history *history = r->scan->history;
    struct scan_tap *tap = r->scan->tap;
    (void)location;
    (void)position;
    (void)attributes;
    if (mode == OTF2_MEASUREMENT_OFF) {
        const bool first =
            history->points.count == history->first[r->location] && r->calls.count == 0;
        history->matching.stretches.gaps[r->location].late |= first;
        r->calls.gap += !first;
        r->calls.cut = true;
        /* It is unknown whether they end in the meantime. */
        r->fork_count = 0;
        r->team_count = 0;
    }
    return ictusi_scan_verdict(r, tap ? tap->ops->switched(tap, time, mode == OTF2_MEASUREMENT_OFF)
                                      : ICTUS_OK);
}

/*
 * Stamps are read as recorded. The archive's clock offsets are in the layout, so that violations
 * can be counted with and without them. All events must have been read: a truncated file is an
 * error, even if the library reports nothing.
 */
static int scan_read_location(struct reading *r, const OTF2_EvtReaderCallbacks *set)
{
    struct trace *trace = r->scan->trace;
    const struct layout_location *location = &trace->layout.locations[r->location];
    const bool said = trace->said;
    OTF2_EvtReader *reader = OTF2_Reader_GetEvtReader(trace->reader, location->ref);
    uint64_t read = 0;
    if (!reader) {
        return location->events == 0
                   ? ICTUS_OK
                   : ictus_because(trace->said ? NULL : r->scan->trace->why, ICTUS_ERR_CORRUPT,
                                   "%s: the events of location %llu are missing", trace->path,
                                   (unsigned long long)location->ref);
    }
    OTF2_ErrorCode code = OTF2_EvtReader_ApplyClockOffsets(reader, false);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, r);
    }
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read);
    }
    (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    r->scan->counts->events += read;
    if (r->err) {
        return r->err;
    }
    if (code != OTF2_SUCCESS && location->events == 0 && read == 0) {
        trace->said = said; /* nothing was written, not even an empty file */
        return ICTUS_OK;
    }
    if (code != OTF2_SUCCESS || read != location->events) {
        return ictus_because(trace->said ? NULL : r->scan->trace->why, ICTUS_ERR_CORRUPT,
                             "%s: location %llu is damaged or cut off after %llu of %llu events",
                             trace->path, (unsigned long long)location->ref,
                             (unsigned long long)read, (unsigned long long)location->events);
    }
    return ICTUS_OK;
}

/*
 * Read one location. r is large (stacks of calls, forks and teams), so it is allocated instead of
 * placed on a thread's stack. What is still open at the end is counted, and committed as far as
 * possible.
 */
static int scan_location(struct scan *scan, uint32_t location, const OTF2_EvtReaderCallbacks *set)
{
    struct reading *r = calloc(1, sizeof *r);
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    r->scan = scan;
    r->location = location;
    r->last_time = INT64_MIN;
    struct scan_tap *tap = scan->tap;
    int err = tap ? tap->ops->begin(tap, location, scan->history) : ICTUS_OK;
    err = err ? err : scan_read_location(r, set);
    if (tap) {
        const int said = tap->ops->finish(tap);
        err = err ? err : said;
    }
    for (uint64_t i = 0; i < r->calls.count; i++) {
        scan->counts->open_calls +=
            ictusi_calls_at(&r->calls, r->calls.head + i)->state == CALL_OPEN;
    }
    scan->counts->open_calls += r->sends.used;
    scan->counts->lone_begins += r->begin_count;
    if (!err) {
        err = ictusi_calls_commit(&r->calls, &scan->history->matching, location, true);
        scan->history->matching.stretches.gaps[location].count = r->calls.gap + r->calls.skipped;
    }
    ictusi_idmap_fini(&r->sends);
    ictusi_calls_fini(&r->calls);
    free(r);
    return err;
}

/*
 * The number of points is at most the number of events. Written so that the sum cannot overflow,
 * because the definitions of a damaged archive may state any number of events.
 */
static uint64_t scan_count_events(const struct trace *trace, const bool *mine)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        const uint64_t events = !mine || mine[i] ? trace->layout.locations[i].events : 0;
        sum = events > POINTS_MAX - sum ? POINTS_MAX : sum + events;
    }
    return sum;
}

/*
 * first[i] is set before location i is read: its points are from there to first[i + 1]. Enter and
 * leave are registered only if needed, since they are most of the events of an archive.
 */
int ictusi_scan_locations(struct scan *scan, uint32_t from, uint32_t to)
{
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    int err = set ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && OTF2_Reader_OpenEvtFiles(scan->trace->reader) != OTF2_SUCCESS) {
        err = ictus_because(scan->trace->said ? NULL : scan->trace->why, ICTUS_ERR_CORRUPT,
                            "%s: the event files cannot be opened", scan->trace->path);
    }
    if (!err) {
        OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(set, scan_on_switched);
        OTF2_EvtReaderCallbacks_SetUnknownCallback(set, scan_on_unknown);
        ictusi_scan_register_messages(set);
        ictusi_scan_register_collectives(set);
        ictusi_scan_register_threads(set, scan->tap || scan->trace->region_barrier.used > 0 ||
                                              scan->trace->region_neighbors.used > 0);
        if (scan->tap) {
            ictusi_scan_register_locks(set);
        }
    }
    for (uint32_t i = from; i < to && !err; i++) {
        scan->history->first[i] = scan->history->points.count;
        if (!scan->mine || scan->mine[i]) {
            err = scan_location(scan, i, set);
            err = err ? err : ictusi_match_location_end(&scan->history->matching, i);
            ictusi_points_relax(&scan->history->points);
        }
    }
    (void)OTF2_Reader_CloseEvtFiles(scan->trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
    /* Another rank may read the last location of a process. */
    return err ? err : ictusi_match_location_end(&scan->history->matching, LAYOUT_NONE);
}

/*
 * Memory for the points is reserved for the largest possible number, but touched only as far as
 * points exist. Cancelled sends are removed at the very end, when both ends of all messages are
 * known.
 */
int ictusi_scan_read(struct trace *trace, const struct scan_order *order, struct history *history,
                     struct scan_counts *counts)
{
    struct scan scan = {.trace = trace,
                        .history = history,
                        .counts = counts,
                        .tap = order->tap,
                        .mine = order->mine};
    const uint64_t locations = trace->layout.location_count;
    *counts = (struct scan_counts){0};
    int err = ictusi_history_init(history, &trace->layout, scan_count_events(trace, order->mine),
                                  trace->why);
    if (!err) {
        err = order->threads > 1 ? ictusi_scan_parts(&scan, order->threads)
                                 : ictusi_scan_locations(&scan, 0, (uint32_t)locations);
    }
    if (!err) {
        history->first[locations] = history->points.count;
    }
    if (!err && counts->cancelled) {
        ictusi_match_drop_cancelled(&history->matching);
    }
    return err;
}

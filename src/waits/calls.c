/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The second reading of an archive's events. The scan knows which events are points by their
 * positions; here the regions around them are followed, and the requests that join the call that
 * begins an operation to the one that completes it.
 */
#include "waits/follow.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

/* The place that an enter's attributes name: its calling context and one, or 0. */
static uint64_t follow_site(const struct follower *f, const OTF2_AttributeList *attributes)
{
    OTF2_CallingContextRef context = 0;
    const int64_t attribute = ictusi_idmap_get(&f->trace->places.attribute, 0, 0);
    if (attribute == IDMAP_NONE ||
        OTF2_AttributeList_GetCallingContextRef(attributes, (OTF2_AttributeRef)attribute,
                                                &context) != OTF2_SUCCESS) {
        return 0;
    }
    return (uint64_t)context + 1;
}

static OTF2_CallbackCode on_enter(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,
                                  OTF2_RegionRef ref)
{
    struct follower *f = data;
    (void)location;
    const int64_t time = ictusi_follow_time(f, stamp);
    const uint32_t region = ictusi_paths_region(f->paths, ref);
    const uint32_t path = ictusi_paths_child(f->paths, f->path, region, follow_site(f, attributes));
    if (path == PATH_NONE || !ictusi_follow_push(f, (struct frame){f->path, region})) {
        return ictusi_follow_verdict(f, ICTUS_ERR_NOMEM);
    }
    f->path = path;
    const uint8_t kind = region == UINT32_MAX ? REGION_CODE : f->paths->kinds[region];
    if (!f->open && kind != REGION_CODE) {
        ictusi_follow_open(f, time, path, f->depth);
    }
    (void)ictusi_follow_point(f, time, position); /* a barrier of threads */
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_leave(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,
                                  OTF2_RegionRef ref)
{
    struct follower *f = data;
    (void)location;
    (void)attributes;
    (void)ref;
    const int64_t time = ictusi_follow_time(f, stamp);
    (void)ictusi_follow_point(f, time, position);
    if (f->depth == 0) {
        return ictusi_follow_verdict(f, ICTUS_OK); /* entered before recording began */
    }
    if (f->open && f->open_depth == f->depth) {
        ictusi_follow_close(f, time);
    }
    f->path = f->stack[--f->depth].path;
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_mute(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes,
                                 OTF2_MeasurementMode mode)
{
    struct follower *f = data;
    (void)location;
    (void)position;
    (void)attributes;
    (void)ictusi_follow_time(f, stamp);
    f->muted = mode == OTF2_MEASUREMENT_OFF;
    f->call.flags |= f->open ? CALL_MUTED : 0;
    return ictusi_follow_verdict(f, ICTUS_OK);
}

/* Every event that may be a point and says nothing else here. */
static OTF2_CallbackCode follow_event(struct follower *f, OTF2_TimeStamp stamp, uint64_t position)
{
    (void)ictusi_follow_point(f, ictusi_follow_time(f, stamp), position);
    return ictusi_follow_verdict(f, ICTUS_OK);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_message(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes,
                                    uint32_t peer, OTF2_CommRef comm, uint32_t tag, uint64_t length)
{
    struct follower *f = data;
    (void)location;
    (void)attributes;
    (void)peer;
    (void)comm;
    (void)tag;
    const int64_t time = ictusi_follow_time(f, stamp);
    if (ictusi_follow_point(f, time, position)) {
        f->history->points.note[f->point - 1].bytes = (int64_t)length;
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,
                                  uint32_t receiver, OTF2_CommRef comm, uint32_t tag,
                                  uint64_t length, uint64_t request)
{
    struct follower *f = data;
    (void)location;
    (void)attributes;
    (void)receiver;
    (void)comm;
    (void)tag;
    const int64_t time = ictusi_follow_time(f, stamp);
    if (ictusi_follow_point(f, time, position)) {
        const uint64_t point = f->point - 1;
        f->history->points.note[point].bytes = (int64_t)length;
        ((uint32_t *)f->calls->other.area)[point] = CALL_NONE; /* until it completes */
        if (ictusi_idmap_put(&f->sends, request, 0, (int64_t)point)) {
            return ictusi_follow_verdict(f, ICTUS_ERR_NOMEM);
        }
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_isend_complete(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                           uint64_t position, void *data,
                                           OTF2_AttributeList *attributes, uint64_t request)
{
    struct follower *f = data;
    const int64_t point = ictusi_idmap_get(&f->sends, request, 0);
    const int64_t time = ictusi_follow_time(f, stamp);
    (void)location;
    (void)position;
    (void)attributes;
    if (point != IDMAP_NONE) {
        ((uint32_t *)f->calls->other.area)[point] = ictusi_follow_use(f, time);
        ictusi_idmap_remove(&f->sends, request, 0);
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_irecv_request(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                          uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, uint64_t request)
{
    struct follower *f = data;
    const int64_t time = ictusi_follow_time(f, stamp);
    (void)location;
    (void)position;
    (void)attributes;
    return ictusi_follow_verdict(
        f, ictusi_idmap_put(&f->receives, request, 0, (int64_t)ictusi_follow_use(f, time)));
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_irecv(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                  uint64_t position, void *data, OTF2_AttributeList *attributes,
                                  uint32_t sender, OTF2_CommRef comm, uint32_t tag, uint64_t length,
                                  uint64_t request)
{
    struct follower *f = data;
    const OTF2_CallbackCode code =
        on_message(location, stamp, position, data, attributes, sender, comm, tag, length);
    const int64_t posted = ictusi_idmap_get(&f->receives, request, 0);
    if (posted != IDMAP_NONE) {
        ictusi_idmap_remove(&f->receives, request, 0);
        if (f->point > f->history->first[f->location]) {
            ((uint32_t *)f->calls->other.area)[f->point - 1] = (uint32_t)posted;
        }
    }
    return code;
}

static OTF2_CallbackCode on_cancelled(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                      uint64_t position, void *data, OTF2_AttributeList *attributes,
                                      uint64_t request)
{
    struct follower *f = data;
    (void)location;
    (void)position;
    (void)attributes;
    (void)ictusi_follow_time(f, stamp);
    ictusi_idmap_remove(&f->sends, request, 0);
    ictusi_idmap_remove(&f->receives, request, 0);
    return ictusi_follow_verdict(f, ICTUS_OK);
}

/* A collective that lies in no region is a call from its beginning to its end. */
static OTF2_CallbackCode follow_begin(struct follower *f, OTF2_TimeStamp stamp, uint64_t position)
{
    const int64_t time = ictusi_follow_time(f, stamp);
    if (!f->open) {
        ictusi_follow_open(f, time, f->path, UNTIL_END);
    }
    (void)ictusi_follow_point(f, time, position);
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode follow_end(struct follower *f, OTF2_TimeStamp stamp, uint64_t position)
{
    const int64_t time = ictusi_follow_time(f, stamp);
    (void)ictusi_follow_point(f, time, position);
    if (f->open && f->open_depth == UNTIL_END) {
        ictusi_follow_close(f, time);
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_begin(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                  uint64_t position, void *data, OTF2_AttributeList *attributes)
{
    (void)location;
    (void)attributes;
    return follow_begin(data, stamp, position);
}

/* The point of a collective's end was put into its call just now. */
static void follow_meet(struct follower *f, struct meeting meeting)
{
    struct store *list = &f->calls->meetings;
    meeting.call = call_of_point(f->calls, f->point - 1);
    meeting.location = f->location;
    const int err = ictusi_store_grow(list, 1, NULL);
    f->err = f->err ? f->err : err;
    if (!err) {
        *meeting_at(f->calls, list->count++) = meeting;
    }
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_end(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                void *data, OTF2_AttributeList *attributes, OTF2_CollectiveOp op,
                                OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
    struct follower *f = data;
    const uint64_t before = f->point;
    (void)location;
    (void)attributes;
    (void)follow_end(f, stamp, position);
    if (f->point > before) {
        follow_meet(f, (struct meeting){.op = (uint8_t)op,
                                        .comm = ictusi_trace_comm(f->trace, comm),
                                        .root = root,
                                        .sent = sent,
                                        .received = received});
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_rma_end(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes,
                                    OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,
                                    OTF2_RmaWinRef window, uint32_t root, uint64_t sent,
                                    uint64_t received)
{
    (void)location;
    (void)attributes;
    (void)op;
    (void)level;
    (void)window;
    (void)root;
    (void)sent;
    (void)received;
    return follow_end(data, stamp, position);
}

static OTF2_CallbackCode on_rma_sync(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                     uint64_t position, void *data, OTF2_AttributeList *attributes,
                                     OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaSyncType type)
{
    (void)location;
    (void)attributes;
    (void)window;
    (void)remote;
    (void)type;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_nbc_request(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                        uint64_t position, void *data,
                                        OTF2_AttributeList *attributes, uint64_t request)
{
    (void)location;
    (void)attributes;
    (void)request;
    return follow_event(data, stamp, position);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_nbc_complete(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                         uint64_t position, void *data,
                                         OTF2_AttributeList *attributes, OTF2_CollectiveOp op,
                                         OTF2_CommRef comm, uint32_t root, uint64_t sent,
                                         uint64_t received, uint64_t request)
{
    (void)location;
    (void)attributes;
    (void)op;
    (void)comm;
    (void)root;
    (void)sent;
    (void)received;
    (void)request;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_fork(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, OTF2_Paradigm model,
                                 uint32_t threads)
{
    (void)location;
    (void)attributes;
    (void)model;
    (void)threads;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_join(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, OTF2_Paradigm model)
{
    (void)location;
    (void)attributes;
    (void)model;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_team(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, OTF2_CommRef team)
{
    (void)location;
    (void)attributes;
    (void)team;
    return follow_event(data, stamp, position);
}

/* Waiting for a lock ends when it is acquired, though its region goes on. */
static OTF2_CallbackCode on_acquire(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes,
                                    OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    struct follower *f = data;
    const int64_t time = ictusi_follow_time(f, stamp);
    (void)location;
    (void)attributes;
    (void)model;
    (void)lock;
    (void)order;
    if (ictusi_follow_point(f, time, position)) {
        f->history->points.note[f->point - 1].lock = true;
    }
    const bool in_lock = f->open && f->open_depth == f->depth && f->depth > 0 &&
                         f->stack[f->depth - 1].region != UINT32_MAX &&
                         f->paths->kinds[f->stack[f->depth - 1].region] == REGION_LOCK;
    if (in_lock) {
        ictusi_follow_close(f, time);
    }
    return ictusi_follow_verdict(f, ICTUS_OK);
}

static OTF2_CallbackCode on_release(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes,
                                    OTF2_Paradigm model, uint32_t lock, uint32_t order)
{
    (void)location;
    (void)attributes;
    (void)model;
    (void)lock;
    (void)order;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_thread(OTF2_LocationRef location, OTF2_TimeStamp stamp,
                                   uint64_t position, void *data, OTF2_AttributeList *attributes,
                                   OTF2_CommRef contingent, uint64_t sequence)
{
    (void)location;
    (void)attributes;
    (void)contingent;
    (void)sequence;
    return follow_event(data, stamp, position);
}

static OTF2_CallbackCode on_task(OTF2_LocationRef location, OTF2_TimeStamp stamp, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, OTF2_CommRef team,
                                 uint32_t creator, uint32_t generation)
{
    (void)location;
    (void)attributes;
    (void)team;
    (void)creator;
    (void)generation;
    return follow_event(data, stamp, position);
}

static void follow_register(OTF2_EvtReaderCallbacks *set)
{
    OTF2_EvtReaderCallbacks_SetEnterCallback(set, on_enter);
    OTF2_EvtReaderCallbacks_SetLeaveCallback(set, on_leave);
    OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(set, on_mute);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(set, on_message);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(set, on_message);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(set, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(set, on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(set, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(set, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(set, on_cancelled);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(set, on_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(set, on_end);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveBeginCallback(set, on_begin);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback(set, on_rma_end);
    OTF2_EvtReaderCallbacks_SetRmaSyncCallback(set, on_rma_sync);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(set, on_nbc_request);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(set, on_nbc_complete);
    OTF2_EvtReaderCallbacks_SetThreadForkCallback(set, on_fork);
    OTF2_EvtReaderCallbacks_SetThreadJoinCallback(set, on_join);
    OTF2_EvtReaderCallbacks_SetThreadTeamBeginCallback(set, on_team);
    OTF2_EvtReaderCallbacks_SetThreadTeamEndCallback(set, on_team);
    OTF2_EvtReaderCallbacks_SetThreadAcquireLockCallback(set, on_acquire);
    OTF2_EvtReaderCallbacks_SetThreadReleaseLockCallback(set, on_release);
    OTF2_EvtReaderCallbacks_SetThreadCreateCallback(set, on_thread);
    OTF2_EvtReaderCallbacks_SetThreadBeginCallback(set, on_thread);
    OTF2_EvtReaderCallbacks_SetThreadEndCallback(set, on_thread);
    OTF2_EvtReaderCallbacks_SetThreadWaitCallback(set, on_thread);
    OTF2_EvtReaderCallbacks_SetThreadTaskCreateCallback(set, on_task);
    OTF2_EvtReaderCallbacks_SetThreadTaskSwitchCallback(set, on_task);
}

/* The scan has read the same events: what is odd about them was said then. */
static int follow_read(struct follower *f, const OTF2_EvtReaderCallbacks *set)
{
    struct trace *trace = f->trace;
    const bool said = trace->said;
    OTF2_EvtReader *reader =
        OTF2_Reader_GetEvtReader(trace->reader, trace->layout.locations[f->location].ref);
    uint64_t read = 0;
    if (!reader) {
        return ICTUS_OK;
    }
    OTF2_ErrorCode code = OTF2_EvtReader_ApplyClockOffsets(reader, false);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, f);
    }
    if (code == OTF2_SUCCESS) {
        (void)OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read);
    }
    (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    trace->said = said;
    return f->err;
}

static int follow_location(struct follower *f, uint32_t location,
                           const OTF2_EvtReaderCallbacks *set)
{
    f->location = location;
    f->point = f->history->first[location];
    f->point_end = f->history->first[location + 1];
    f->path = PATH_PROGRAM;
    int err = follow_read(f, set);
    if (!err) {
        ictusi_follow_finish(f);
        err = f->err;
    }
    free(f->stack);
    free(f->shares);
    ictusi_idmap_fini(&f->slots);
    ictusi_idmap_fini(&f->sends);
    ictusi_idmap_fini(&f->receives);
    return err;
}

static int calls_init(struct waiting_calls *calls, const struct trace *trace, uint64_t points,
                      struct ictus_why *why)
{
    uint64_t events = 0;
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        events += trace->layout.locations[i].events + 1;
    }
    *calls = (struct waiting_calls){.from = INT64_MAX, .to = INT64_MIN};
    calls->first = calloc(trace->layout.location_count + 1, sizeof *calls->first);
    int err = calls->first ? ICTUS_OK : ICTUS_ERR_NOMEM;
    err = err ? err : ictusi_store_init(&calls->calls, sizeof(struct waiting_call), events, why);
    err = err ? err
              : ictusi_store_init(&calls->shares, sizeof(struct share_of_time), 2 * events, why);
    err = err ? err : ictusi_store_init(&calls->call_of, sizeof(uint32_t), points, why);
    err = err ? err : ictusi_store_init(&calls->other, sizeof(uint32_t), points, why);
    err = err ? err : ictusi_store_init(&calls->meetings, sizeof(struct meeting), points, why);
    err = err ? err : ictusi_store_grow(&calls->call_of, points, why);
    err = err ? err : ictusi_store_grow(&calls->other, points, why);
    if (!err) {
        calls->call_of.count = points;
        calls->other.count = points;
    }
    return err;
}

int ictusi_calls_read(struct waiting_calls *calls, struct paths *paths, struct trace *trace,
                      struct history *history, const struct instants *instants)
{
    struct ictus_why *why = trace->why;
    int err = calls_init(calls, trace, history->points.count, why);
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    err = !err && !set ? ICTUS_ERR_NOMEM : err;
    if (!err && OTF2_Reader_OpenEvtFiles(trace->reader) != OTF2_SUCCESS) {
        err = ictus_because(why, ICTUS_ERR_CORRUPT, "%s: the event files cannot be opened again",
                            trace->path);
    }
    if (!err) {
        follow_register(set);
    }
    for (uint32_t i = 0; i < trace->layout.location_count && !err; i++) {
        struct follower f = {.calls = calls,
                             .paths = paths,
                             .trace = trace,
                             .history = history,
                             .instants = instants};
        calls->first[i] = calls->calls.count;
        err = follow_location(&f, i, set);
        ictusi_store_relax(&calls->calls);
        ictusi_store_relax(&calls->shares);
    }
    if (!err) {
        calls->first[trace->layout.location_count] = calls->calls.count;
    }
    (void)OTF2_Reader_CloseEvtFiles(trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
    return err;
}

void ictusi_calls_free(struct waiting_calls *calls)
{
    ictusi_store_fini(&calls->calls);
    ictusi_store_fini(&calls->shares);
    ictusi_store_fini(&calls->call_of);
    ictusi_store_fini(&calls->other);
    ictusi_store_fini(&calls->meetings);
    free(calls->first);
    calls->first = NULL;
}

uint32_t ictusi_calls_location(const struct waiting_calls *calls, uint64_t locations, uint64_t i)
{
    uint64_t low = 0;
    uint64_t high = locations;
    while (high - low > 1) {
        const uint64_t middle = low + (high - low) / 2;
        if (calls->first[middle] <= i) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return (uint32_t)low;
}

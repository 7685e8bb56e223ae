/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader's callbacks: which events become points, and which calls they belong to. */
#include "archive/scan.h"

#include "archive/scan_state.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)COLLECTIVE_EXSCAN == (int)OTF2_COLLECTIVE_OP_EXSCAN &&
                   (int)COLLECTIVE_CREATE_HANDLE == (int)OTF2_COLLECTIVE_OP_CREATE_HANDLE,
               "the collectives are numbered as OTF2 numbers them");
_Static_assert(COLLECTIVE_ROOT_NONE == OTF2_COLLECTIVE_ROOT_NONE &&
                   COLLECTIVE_ROOT_SELF == OTF2_COLLECTIVE_ROOT_SELF &&
                   COLLECTIVE_ROOT_THIS_GROUP == OTF2_COLLECTIVE_ROOT_THIS_GROUP,
               "so are roots that are no rank");

OTF2_CallbackCode ictusi_scan_verdict(struct reading *r, int err)
{
    if (err && !r->err) {
        r->err = err;
    }
    return err ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

uint32_t ictusi_scan_point(struct reading *r, OTF2_TimeStamp stamp, uint64_t position, uint8_t kind)
{
    struct points *points = &r->scan->history->points;
    const int err = stamp >> STAMP_BITS ? ictusi_trace_beyond(r->scan->trace, r->location)
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
    /* Values and notes are set when they are wanted: memory that is not touched costs nothing. */
    points->link[i] = NODE_NONE;
    points->gap[i] = (uint32_t)(position - r->last_position);
    points->peer[i] = LAYOUT_NONE;
    points->kind[i] = kind;
    r->last_position = position;
    r->last_time = time;
    return (uint32_t)i;
}

static OTF2_CallbackCode on_unknown(OTF2_LocationRef location, OTF2_TimeStamp time,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes)
{
    struct reading *r = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    r->scan->counts->unknown++;
    return OTF2_CALLBACK_SUCCESS;
}

/* Most events name the communicator of the one before. */
static uint32_t find_comm(struct reading *r, OTF2_CommRef ref)
{
    if (!r->comm_known || r->comm_ref != ref) {
        r->comm_known = true;
        r->comm_ref = ref;
        r->comm = ictusi_trace_comm(r->scan->trace, ref);
        r->own = r->comm == LAYOUT_NONE
                     ? LAYOUT_NONE
                     : ictusi_layout_rank(&r->scan->trace->layout, r->comm, r->location);
    }
    return r->comm;
}

/* Who is at the other end of a message: ends are the rank there, communicator and tag. */
static uint32_t find_peer(struct reading *r, const uint32_t ends[3])
{
    const uint32_t comm = find_comm(r, ends[1]);
    const uint32_t peer = comm == LAYOUT_NONE ? LAYOUT_NONE
                                              : ictusi_layout_peer(&r->scan->trace->layout, comm,
                                                                   r->location, r->own, ends[0]);
    r->scan->counts->foreign += peer == LAYOUT_NONE;
    return peer;
}

/* A send, matched at once; its point, or NODE_NONE where there is none, for which see r->err. */
static uint32_t message_send(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                             const uint32_t ends[3])
{
    const uint32_t peer = find_peer(r, ends);
    const uint32_t point = peer == LAYOUT_NONE
                               ? NODE_NONE
                               : ictusi_scan_point(r, time, position, POINT_P2P | POINT_OUT);
    if (point != NODE_NONE) {
        r->scan->history->matching.gap = r->calls.gap;
        (void)ictusi_scan_verdict(r,
                                  ictusi_match_message(&r->scan->history->matching, point,
                                                       r->location, r->comm, peer, ends[2], true));
    }
    return point;
}

static OTF2_CallbackCode calls_commit(struct reading *r)
{
    return ictusi_scan_verdict(
        r, ictusi_calls_commit(&r->calls, &r->scan->history->matching, r->location, false));
}

/* A call that its request will complete. */
static OTF2_CallbackCode calls_post(struct reading *r, const struct call *call, uint64_t request)
{
    uint64_t number = 0;
    ictusi_idmap_remove(&r->sends, request, 0); /* a send that was freed left it behind */
    const int err = ictusi_calls_open(&r->calls, call, &number);
    return ictusi_scan_verdict(r, err ? err : ictusi_calls_request(&r->calls, request, number));
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_send(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, uint32_t receiver,
                                 OTF2_CommRef comm, uint32_t tag, uint64_t length)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    (void)length;
    const uint32_t ends[] = {receiver, comm, tag};
    (void)message_send(r, time, position, ends);
    return ictusi_scan_verdict(r, r->err);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_isend(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *data, OTF2_AttributeList *attributes, uint32_t receiver,
                                  OTF2_CommRef comm, uint32_t tag, uint64_t length,
                                  uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    (void)length;
    const uint32_t ends[] = {receiver, comm, tag};
    const uint32_t point = message_send(r, time, position, ends);
    if (point != NODE_NONE && !r->err) {
        r->err = ictusi_idmap_put(&r->sends, request, 0, point); /* it may still be cancelled */
    }
    return ictusi_scan_verdict(r, r->err);
}

static OTF2_CallbackCode on_irecv_request(OTF2_LocationRef location, OTF2_TimeStamp time,
                                          uint64_t position, void *data,
                                          OTF2_AttributeList *attributes, uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    const struct call call = {.kind = CALL_RECEIVE, .state = CALL_OPEN, .point = NODE_NONE};
    return calls_post(r, &call, request);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_recv(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                 void *data, OTF2_AttributeList *attributes, uint32_t sender,
                                 OTF2_CommRef comm, uint32_t tag, uint64_t length)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    (void)length;
    const uint32_t ends[] = {sender, comm, tag};
    const uint32_t peer = find_peer(r, ends);
    const uint32_t point = peer == LAYOUT_NONE
                               ? NODE_NONE
                               : ictusi_scan_point(r, time, position, POINT_P2P | POINT_IN);
    if (point == NODE_NONE) {
        return ictusi_scan_verdict(r, r->err);
    }
    if (r->calls.count == 0) { /* no call before it is open */
        r->scan->history->matching.gap = r->calls.gap;
        return ictusi_scan_verdict(r, ictusi_match_message(&r->scan->history->matching, point,
                                                           r->location, r->comm, peer, tag, false));
    }
    uint64_t number = 0;
    const struct call call = {.kind = CALL_RECEIVE,
                              .state = CALL_DONE,
                              .peer = peer,
                              .tag = tag,
                              .point = point,
                              .member = {.comm = r->comm}};
    const int err = ictusi_calls_open(&r->calls, &call, &number);
    return err ? ictusi_scan_verdict(r, err) : calls_commit(r);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_irecv(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *data, OTF2_AttributeList *attributes, uint32_t sender,
                                  OTF2_CommRef comm, uint32_t tag, uint64_t length,
                                  uint64_t request)
{
    struct reading *r = data;
    struct call *posted = ictusi_calls_take(&r->calls, request);
    if (!posted || posted->kind != CALL_RECEIVE) {
        /* Posted before recording began: in the order of completion. */
        return on_recv(location, time, position, data, attributes, sender, comm, tag, length);
    }
    const uint32_t ends[] = {sender, comm, tag};
    const uint32_t peer = find_peer(r, ends);
    if (peer == LAYOUT_NONE) {
        posted->state = CALL_CANCELLED;
        return calls_commit(r);
    }
    posted->peer = peer;
    posted->tag = tag;
    posted->member.comm = r->comm;
    posted->point = ictusi_scan_point(r, time, position, POINT_P2P | POINT_IN);
    posted->state = CALL_DONE;
    return posted->point == NODE_NONE ? OTF2_CALLBACK_INTERRUPT : calls_commit(r);
}

static OTF2_CallbackCode on_cancelled(OTF2_LocationRef location, OTF2_TimeStamp time,
                                      uint64_t position, void *data, OTF2_AttributeList *attributes,
                                      uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    const int64_t point = ictusi_idmap_get(&r->sends, request, 0);
    if (point != IDMAP_NONE) {
        ictusi_idmap_remove(&r->sends, request, 0);
        r->scan->history->points.kind[point] |= POINT_CANCELLED;
        r->scan->counts->cancelled++;
        return OTF2_CALLBACK_SUCCESS;
    }
    struct call *call = ictusi_calls_take(&r->calls, request);
    if (call) {
        call->state = CALL_CANCELLED;
    }
    return calls_commit(r);
}

static OTF2_CallbackCode on_isend_complete(OTF2_LocationRef location, OTF2_TimeStamp time,
                                           uint64_t position, void *data,
                                           OTF2_AttributeList *attributes, uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    ictusi_idmap_remove(&r->sends, request, 0);
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode collective_begin(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                          uint8_t class)
{
    const uint32_t point = ictusi_scan_point(r, time, position, class | POINT_OUT);
    if (point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->begin_count < STACK_MAX) {
        r->begins[r->begin_count] = point;
    }
    r->begin_count++;
    return OTF2_CALLBACK_SUCCESS;
}

static OTF2_CallbackCode on_begin(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                  void *data, OTF2_AttributeList *attributes)
{
    (void)location;
    (void)attributes;
    return collective_begin(data, time, position, POINT_COLLECTIVE);
}

static OTF2_CallbackCode on_rma_begin(OTF2_LocationRef location, OTF2_TimeStamp time,
                                      uint64_t position, void *data, OTF2_AttributeList *attributes)
{
    (void)location;
    (void)attributes;
    return collective_begin(data, time, position, POINT_RMA);
}

/* The end of a blocking collective: call->comm is still a reference. */
static OTF2_CallbackCode collective_end(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                        struct collective_call call)
{
    uint64_t number = 0;
    call.end = ictusi_scan_point(r, time, position, call.class | POINT_IN);
    if (call.end == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->begin_count == 0 || r->begin_count > STACK_MAX) {
        r->scan->counts->lone_ends++;
        r->begin_count -= r->begin_count > 0;
        return OTF2_CALLBACK_SUCCESS;
    }
    call.begin = r->begins[--r->begin_count];
    call.location = r->location;
    call.comm = find_comm(r, call.comm);
    if (call.comm == LAYOUT_NONE) {
        r->scan->counts->foreign++;
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct call done = {.kind = CALL_COLLECTIVE, .state = CALL_DONE, .member = call};
    const int err = ictusi_calls_open(&r->calls, &done, &number);
    return err ? ictusi_scan_verdict(r, err) : calls_commit(r);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_end(OTF2_LocationRef location, OTF2_TimeStamp time, uint64_t position,
                                void *data, OTF2_AttributeList *attributes, OTF2_CollectiveOp op,
                                OTF2_CommRef comm, uint32_t root, uint64_t sent, uint64_t received)
{
    (void)location;
    (void)attributes;
    const struct collective_call call = {.comm = comm,
                                         .root = root,
                                         .op = op,
                                         .class = POINT_COLLECTIVE,
                                         .sent = sent,
                                         .received = received};
    return collective_end(data, time, position, call);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_rma_end(OTF2_LocationRef location, OTF2_TimeStamp time,
                                    uint64_t position, void *data, OTF2_AttributeList *attributes,
                                    OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,
                                    OTF2_RmaWinRef window, uint32_t root, uint64_t sent,
                                    uint64_t received)
{
    struct reading *r = data;
    const int64_t comm = ictusi_idmap_get(&r->scan->trace->window_comm, window, 0);
    (void)location;
    (void)attributes;
    /* Without process synchronisation nobody waits for anybody. */
    if (!(level & OTF2_RMA_SYNC_LEVEL_PROCESS)) {
        r->begin_count -= r->begin_count > 0;
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct collective_call call = {.comm = comm != IDMAP_NONE ? (uint32_t)comm
                                                                    : OTF2_UNDEFINED_COMM,
                                         .root = root,
                                         .op = op,
                                         .class = POINT_RMA,
                                         .sent = sent + 1, /* it synchronises whatever it moved */
                                         .received = received + 1};
    return collective_end(r, time, position, call);
}

/* The k-th notification that one process sends another arrives as the k-th from there. */
static OTF2_CallbackCode on_rma_sync(OTF2_LocationRef location, OTF2_TimeStamp time,
                                     uint64_t position, void *data, OTF2_AttributeList *attributes,
                                     OTF2_RmaWinRef window, uint32_t remote, OTF2_RmaSyncType type)
{
    struct reading *r = data;
    const bool out = type == OTF2_RMA_SYNC_TYPE_NOTIFY_OUT;
    (void)location;
    (void)attributes;
    if (!out && type != OTF2_RMA_SYNC_TYPE_NOTIFY_IN) {
        return OTF2_CALLBACK_SUCCESS; /* memory: nobody else takes part */
    }
    const struct trace *trace = r->scan->trace;
    const int64_t ref = ictusi_idmap_get(&trace->window_comm, window, 0);
    const uint32_t comm = ref == IDMAP_NONE ? LAYOUT_NONE : find_comm(r, (OTF2_CommRef)ref);
    const uint32_t peer =
        comm == LAYOUT_NONE ? LAYOUT_NONE
                            : ictusi_layout_peer(&trace->layout, comm, r->location, r->own, remote);
    if (peer == LAYOUT_NONE) {
        r->scan->counts->foreign++;
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint32_t point =
        ictusi_scan_point(r, time, position, POINT_RMA | (out ? POINT_OUT : POINT_IN));
    r->scan->history->matching.gap = r->calls.gap;
    return point == NODE_NONE
               ? OTF2_CALLBACK_INTERRUPT
               : ictusi_scan_verdict(r, ictusi_match_message(&r->scan->history->matching, point,
                                                             r->location, comm | MATCH_NOTIFICATION,
                                                             peer, window, out));
}

static OTF2_CallbackCode on_nbc_request(OTF2_LocationRef location, OTF2_TimeStamp time,
                                        uint64_t position, void *data,
                                        OTF2_AttributeList *attributes, uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    struct call call = {.kind = CALL_COLLECTIVE, .state = CALL_OPEN};
    call.member.begin = ictusi_scan_point(r, time, position, POINT_COLLECTIVE | POINT_OUT);
    if (call.member.begin == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return calls_post(r, &call, request);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode on_nbc_complete(OTF2_LocationRef location, OTF2_TimeStamp time,
                                         uint64_t position, void *data,
                                         OTF2_AttributeList *attributes, OTF2_CollectiveOp op,
                                         OTF2_CommRef comm, uint32_t root, uint64_t sent,
                                         uint64_t received, uint64_t request)
{
    struct reading *r = data;
    struct call *posted = ictusi_calls_take(&r->calls, request);
    (void)location;
    (void)attributes;
    if (!posted || posted->kind != CALL_COLLECTIVE) {
        r->scan->counts->lone_ends++;
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint32_t index = find_comm(r, comm);
    const uint32_t begin_point = posted->member.begin;
    posted->state = index == LAYOUT_NONE ? CALL_CANCELLED : CALL_DONE;
    r->scan->counts->foreign += index == LAYOUT_NONE;
    posted->member = (struct collective_call){.begin = begin_point,
                                              .location = r->location,
                                              .comm = index,
                                              .root = root,
                                              .op = op,
                                              .class = POINT_COLLECTIVE,
                                              .sent = sent,
                                              .received = received};
    posted->member.end = ictusi_scan_point(r, time, position, POINT_COLLECTIVE | POINT_IN);
    return posted->member.end == NODE_NONE ? OTF2_CALLBACK_INTERRUPT : calls_commit(r);
}

/* What was called from here on until recording is switched on again nobody knows. */
static OTF2_CallbackCode on_switched(OTF2_LocationRef location, OTF2_TimeStamp time,
                                     uint64_t position, void *data, OTF2_AttributeList *attributes,
                                     OTF2_MeasurementMode mode)
{
    struct reading *r = data;
    const struct history *history = r->scan->history;
    (void)location;
    (void)time;
    (void)position;
    (void)attributes;
    if (mode == OTF2_MEASUREMENT_OFF) {
        const bool first =
            history->points.count == history->first[r->location] && r->calls.count == 0;
        history->matching.stretches.gaps[r->location].late |= first;
        r->calls.gap += !first;
        r->calls.cut = true;
    }
    return OTF2_CALLBACK_SUCCESS;
}

static void register_messages(OTF2_EvtReaderCallbacks *set)
{
    OTF2_EvtReaderCallbacks_SetMeasurementOnOffCallback(set, on_switched);
    OTF2_EvtReaderCallbacks_SetUnknownCallback(set, on_unknown);
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(set, on_send);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(set, on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(set, on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(set, on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(set, on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(set, on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(set, on_cancelled);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(set, on_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(set, on_end);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveBeginCallback(set, on_rma_begin);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback(set, on_rma_end);
    OTF2_EvtReaderCallbacks_SetRmaSyncCallback(set, on_rma_sync);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(set, on_nbc_request);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(set, on_nbc_complete);
}

static int read_location(struct reading *r, const OTF2_EvtReaderCallbacks *set)
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

static int scan_location(struct scan *scan, uint32_t location, const OTF2_EvtReaderCallbacks *set)
{
    struct reading *r = calloc(1, sizeof *r);
    if (!r) {
        return ICTUS_ERR_NOMEM;
    }
    r->scan = scan;
    r->location = location;
    r->last_time = INT64_MIN;
    int err = read_location(r, set);
    for (uint64_t i = 0; i < r->calls.count; i++) {
        scan->counts->open_calls +=
            ictusi_calls_at(&r->calls, r->calls.head + i)->state == CALL_OPEN;
    }
    scan->counts->open_calls += r->sends.used;
    if (!err) {
        err = ictusi_calls_commit(&r->calls, &scan->history->matching, location, true);
        scan->history->matching.stretches.gaps[location].count = r->calls.gap + r->calls.skipped;
    }
    ictusi_idmap_fini(&r->sends);
    ictusi_calls_fini(&r->calls);
    free(r);
    return err;
}

/* More points than events there cannot be. */
static uint64_t count_events(const struct trace *trace, const bool *mine)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        const uint64_t events = !mine || mine[i] ? trace->layout.locations[i].events : 0;
        sum = events > POINTS_MAX - sum ? POINTS_MAX : sum + events;
    }
    return sum;
}

static int scan_all(struct scan *scan, const bool *mine)
{
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    int err = set ? ICTUS_OK : ICTUS_ERR_NOMEM;
    if (!err && OTF2_Reader_OpenEvtFiles(scan->trace->reader) != OTF2_SUCCESS) {
        err = ictus_because(scan->trace->said ? NULL : scan->trace->why, ICTUS_ERR_CORRUPT,
                            "%s: the event files cannot be opened", scan->trace->path);
    }
    if (!err) {
        register_messages(set);
        ictusi_scan_register_threads(set, scan->trace->region_barrier.used > 0);
    }
    for (uint32_t i = 0; i < scan->trace->layout.location_count && !err; i++) {
        scan->history->first[i] = scan->history->points.count;
        if (!mine || mine[i]) {
            err = scan_location(scan, i, set);
            ictusi_points_relax(&scan->history->points);
        }
    }
    scan->history->first[scan->trace->layout.location_count] = scan->history->points.count;
    if (scan->counts->cancelled) {
        ictusi_match_drop_cancelled(&scan->history->matching);
    }
    (void)OTF2_Reader_CloseEvtFiles(scan->trace->reader);
    OTF2_EvtReaderCallbacks_Delete(set);
    return err;
}

int ictusi_scan_read(struct trace *trace, const bool *mine, struct history *history,
                     struct scan_counts *counts)
{
    struct scan scan = {.trace = trace, .history = history, .counts = counts};
    *counts = (struct scan_counts){0};
    const int err =
        ictusi_history_init(history, &trace->layout, count_events(trace, mine), trace->why);
    return err ? err : scan_all(&scan, mine);
}

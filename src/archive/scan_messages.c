/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The reader's callbacks for messages, and for notifications of windows, which are treated alike.
 */
#include "archive/scan_state.h"

#include <ictus/error.h>

/*
 * The other end of a message. ends holds the rank there, the communicator and the tag. The rank is
 * converted to a location through the communicator's group, or, in an inter-communicator, the
 * remote group. LAYOUT_NONE: the rank is undefined, because the archive is damaged or part of
 * another one.
 */
static uint32_t scan_messages_find_peer(struct reading *r, const uint32_t ends[3])
{
    const uint32_t comm = ictusi_scan_comm(r, ends[1]);
    const uint32_t peer = comm == LAYOUT_NONE ? LAYOUT_NONE
                                              : ictusi_layout_peer(&r->scan->trace->layout, comm,
                                                                   r->location, r->own, ends[0]);
    r->scan->counts->foreign += peer == LAYOUT_NONE;
    return peer;
}

/*
 * Make the point of one end of a message, and find its peer. NODE_NONE: no point was made. A
 * message whose other end is unknown makes no point, because nothing is known about its order.
 */
static uint32_t message_point(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                              const uint32_t ends[3], uint8_t side, uint32_t *peer)
{
    *peer = scan_messages_find_peer(r, ends);
    return *peer == LAYOUT_NONE ? NODE_NONE
                                : ictusi_scan_point(r, time, position, POINT_P2P | side);
}

/*
 * Match one end of a message at once. The number of gaps before this point is passed on, because
 * after a gap the k-th send of a channel need not match the k-th receive.
 */
static OTF2_CallbackCode message_match(struct reading *r, uint32_t point, uint32_t peer,
                                       uint32_t tag, bool send)
{
    struct matching *matching = &r->scan->history->matching;
    matching->gap = r->calls.gap;
    return ictusi_scan_verdict(
        r, ictusi_match_message(matching, point, r->location, r->comm, peer, tag, send));
}

/* Only a tap needs message sizes; otherwise no memory is touched for them. */
static void message_note_bytes(struct reading *r, uint32_t point, uint64_t length)
{
    if (r->scan->tap && point != NODE_NONE) {
        r->scan->history->points.note[point].bytes = (int64_t)length;
    }
}

/*
 * A send. Returns its point, or NODE_NONE (see r->err). Sends are matched as soon as they are read,
 * because the sends of a channel are recorded in call order, blocking or not.
 */
static uint32_t message_send(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                             const uint32_t ends[3])
{
    uint32_t peer = LAYOUT_NONE;
    const uint32_t point = message_point(r, time, position, ends, POINT_OUT, &peer);
    if (point != NODE_NONE) {
        (void)message_match(r, point, peer, ends[2], true);
    }
    return point;
}

/*
 * A receive. If earlier receives are still open, it waits for them in the queue, because messages
 * are matched in the order in which receives were posted.
 */
static OTF2_CallbackCode message_receive(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                         const uint32_t ends[3], uint64_t length)
{
    uint32_t peer = LAYOUT_NONE;
    const uint32_t point = message_point(r, time, position, ends, POINT_IN, &peer);
    if (point == NODE_NONE) {
        return ictusi_scan_verdict(r, r->err);
    }
    message_note_bytes(r, point, length);
    if (r->calls.count == 0) {
        return message_match(r, point, peer, ends[2], false);
    }
    uint64_t number = 0;
    const struct call call = {.kind = CALL_RECEIVE,
                              .state = CALL_DONE,
                              .peer = peer,
                              .tag = ends[2],
                              .point = point,
                              .member = {.comm = r->comm}};
    const int err = ictusi_calls_open(&r->calls, &call, &number);
    return err ? ictusi_scan_verdict(r, err) : ictusi_scan_commit(r);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_messages_on_send(OTF2_LocationRef location, OTF2_TimeStamp time,
                                               uint64_t position, void *data,
                                               OTF2_AttributeList *attributes, uint32_t receiver,
                                               OTF2_CommRef comm, uint32_t tag, uint64_t length)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    const uint32_t ends[] = {receiver, comm, tag};
    message_note_bytes(r, message_send(r, time, position, ends), length);
    return ictusi_scan_verdict(r, r->err);
}

/*
 * The point is kept under the request's number until the send is complete. A successful MPI_Cancel
 * must find it, because a cancelled send has no receive.
 */
/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_messages_on_isend(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                uint64_t position, void *data,
                                                OTF2_AttributeList *attributes, uint32_t receiver,
                                                OTF2_CommRef comm, uint32_t tag, uint64_t length,
                                                uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    const uint32_t ends[] = {receiver, comm, tag};
    const uint32_t point = message_send(r, time, position, ends);
    message_note_bytes(r, point, length);
    if (point != NODE_NONE && !r->err) {
        r->err = ictusi_idmap_put(&r->sends, request, 0, point); /* it may still be cancelled */
        r->err = r->err ? r->err : scan_request(r, time, TAP_SEND_BEGUN, request, point);
    }
    return ictusi_scan_verdict(r, r->err);
}

/*
 * Posting a receive makes no point, since nothing depends on it, but it takes a place in the queue
 * of calls, which determines the order of matching.
 */
static OTF2_CallbackCode scan_messages_on_irecv_request(OTF2_LocationRef location,
                                                        OTF2_TimeStamp time, uint64_t position,
                                                        void *data, OTF2_AttributeList *attributes,
                                                        uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)position;
    (void)attributes;
    const struct call call = {.kind = CALL_RECEIVE, .state = CALL_OPEN, .point = NODE_NONE};
    const int err = scan_request(r, time, TAP_RECEIVE_POSTED, request, NODE_NONE);
    return err ? ictusi_scan_verdict(r, err) : ictusi_scan_post(r, &call, request);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_messages_on_recv(OTF2_LocationRef location, OTF2_TimeStamp time,
                                               uint64_t position, void *data,
                                               OTF2_AttributeList *attributes, uint32_t sender,
                                               OTF2_CommRef comm, uint32_t tag, uint64_t length)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    const uint32_t ends[] = {sender, comm, tag};
    return message_receive(r, time, position, ends, length);
}

/*
 * The completion fills the place that the posted receive took. It states peer and tag, which the
 * record of the posting does not have. If the peer is unknown, the place counts as cancelled, so
 * that later receives can pass it.
 */
/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_messages_on_irecv(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                uint64_t position, void *data,
                                                OTF2_AttributeList *attributes, uint32_t sender,
                                                OTF2_CommRef comm, uint32_t tag, uint64_t length,
                                                uint64_t request)
{
    struct reading *r = data;
    struct call *posted = ictusi_calls_take(&r->calls, request);
    if (!posted || posted->kind != CALL_RECEIVE) {
        /* Posted before recording began, so the order of completion is used. */
        return scan_messages_on_recv(location, time, position, data, attributes, sender, comm, tag,
                                     length);
    }
    const uint32_t ends[] = {sender, comm, tag};
    const uint32_t peer = scan_messages_find_peer(r, ends);
    if (peer == LAYOUT_NONE) {
        posted->state = CALL_CANCELLED;
        return ictusi_scan_commit(r);
    }
    posted->peer = peer;
    posted->tag = tag;
    posted->member.comm = r->comm;
    posted->point = ictusi_scan_point(r, time, position, POINT_P2P | POINT_IN);
    posted->state = CALL_DONE;
    if (posted->point == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    message_note_bytes(r, posted->point, length);
    const int err = scan_request(r, time, TAP_RECEIVED, request, posted->point);
    return err ? ictusi_scan_verdict(r, err) : ictusi_scan_commit(r);
}

/*
 * Cancels either a send, which is unmatched at the end (otherwise the receives of its channel would
 * be shifted by one), or a receive that is still in the queue.
 */
static OTF2_CallbackCode scan_messages_on_cancelled(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                    uint64_t position, void *data,
                                                    OTF2_AttributeList *attributes,
                                                    uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)position;
    (void)attributes;
    if (ictusi_scan_verdict(r, scan_request(r, time, TAP_CANCELLED, request, NODE_NONE))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
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
    return ictusi_scan_commit(r);
}

/*
 * From here on the send cannot be cancelled. Its completion makes no point, because nothing depends
 * on it.
 */
static OTF2_CallbackCode scan_on_isend_complete(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                uint64_t position, void *data,
                                                OTF2_AttributeList *attributes, uint64_t request)
{
    struct reading *r = data;
    (void)location;
    (void)position;
    (void)attributes;
    ictusi_idmap_remove(&r->sends, request, 0);
    return ictusi_scan_verdict(r, scan_request(r, time, TAP_SEND_DONE, request, NODE_NONE));
}

/*
 * The k-th notification that one process sends to another is the k-th that arrives from there.
 * Synchronising memory involves one side only: it orders nothing, but tells who may access a window
 * from now on. Notifications have channels of their own: the window takes the place of the tag, and
 * MATCH_NOTIFICATION separates them from messages on the same communicator.
 */
static OTF2_CallbackCode scan_messages_on_rma_sync(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                   uint64_t position, void *data,
                                                   OTF2_AttributeList *attributes,
                                                   OTF2_RmaWinRef window, uint32_t remote,
                                                   OTF2_RmaSyncType type)
{
    struct reading *r = data;
    const bool out = type == OTF2_RMA_SYNC_TYPE_NOTIFY_OUT;
    (void)location;
    (void)attributes;
    struct scan_tap *tap = r->scan->tap;
    const struct trace *trace = r->scan->trace;
    const uint32_t place = ictusi_archive_window(trace, window);
    const uint32_t comm =
        place == LAYOUT_NONE ? LAYOUT_NONE : ictusi_scan_comm(r, trace->layout.comms[place].ref);
    const uint32_t peer =
        comm == LAYOUT_NONE ? LAYOUT_NONE
                            : ictusi_layout_peer(&trace->layout, comm, r->location, r->own, remote);
    if (peer == LAYOUT_NONE) {
        r->scan->counts->foreign += type != OTF2_RMA_SYNC_TYPE_MEMORY;
        return OTF2_CALLBACK_SUCCESS;
    }
    if (!out && type != OTF2_RMA_SYNC_TYPE_NOTIFY_IN) {
        return tap ? ictusi_scan_verdict(r, tap->ops->exposed(tap, time, peer, window))
                   : OTF2_CALLBACK_SUCCESS;
    }
    const uint32_t point =
        ictusi_scan_point(r, time, position, POINT_RMA | (out ? POINT_OUT : POINT_IN));
    r->scan->history->matching.gap = r->calls.gap;
    return point == NODE_NONE ||
                   (tap && ictusi_scan_verdict(r, tap->ops->notified(tap, point, peer, window)))
               ? OTF2_CALLBACK_INTERRUPT
               : ictusi_scan_verdict(r, ictusi_match_message(&r->scan->history->matching, point,
                                                             r->location, comm | MATCH_NOTIFICATION,
                                                             peer, window, out));
}

void ictusi_scan_register_messages(OTF2_EvtReaderCallbacks *set)
{
    OTF2_EvtReaderCallbacks_SetMpiSendCallback(set, scan_messages_on_send);
    OTF2_EvtReaderCallbacks_SetMpiIsendCallback(set, scan_messages_on_isend);
    OTF2_EvtReaderCallbacks_SetMpiIsendCompleteCallback(set, scan_on_isend_complete);
    OTF2_EvtReaderCallbacks_SetMpiIrecvRequestCallback(set, scan_messages_on_irecv_request);
    OTF2_EvtReaderCallbacks_SetMpiRecvCallback(set, scan_messages_on_recv);
    OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(set, scan_messages_on_irecv);
    OTF2_EvtReaderCallbacks_SetMpiRequestCancelledCallback(set, scan_messages_on_cancelled);
    OTF2_EvtReaderCallbacks_SetRmaSyncCallback(set, scan_messages_on_rma_sync);
}

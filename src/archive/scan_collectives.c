/* SPDX-License-Identifier: BSD-3-Clause */
/* The reader's callbacks for collective operations: blocking, nonblocking, and on windows. */
#include "archive/scan_state.h"

#include <ictus/error.h>

_Static_assert((int)COLLECTIVE_EXSCAN == (int)OTF2_COLLECTIVE_OP_EXSCAN &&
                   (int)COLLECTIVE_CREATE_HANDLE == (int)OTF2_COLLECTIVE_OP_CREATE_HANDLE &&
                   (int)COLLECTIVE_DESTROY_HANDLE_AND_DEALLOCATE ==
                       (int)OTF2_COLLECTIVE_OP_DESTROY_HANDLE_AND_DEALLOCATE,
               "the collectives are numbered as OTF2 numbers them");
_Static_assert(COLLECTIVE_ROOT_NONE == OTF2_COLLECTIVE_ROOT_NONE &&
                   COLLECTIVE_ROOT_SELF == OTF2_COLLECTIVE_ROOT_SELF &&
                   COLLECTIVE_ROOT_THIS_GROUP == OTF2_COLLECTIVE_ROOT_THIS_GROUP,
               "so are roots that are not a rank");

/*
 * A collective begins. Those that are nested too deeply are only counted, so that the ends of the
 * others still find their begins. OTF2's begin record does not name the operation, only the end
 * record does. So begins are stacked, and an end takes the latest one.
 */
static OTF2_CallbackCode collective_begin(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                          uint8_t class)
{
    struct scan_tap *tap = r->scan->tap;
    if (tap && ictusi_scan_verdict(r, tap->ops->collective_begun(tap, time))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
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

static OTF2_CallbackCode scan_collectives_on_begin(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                   uint64_t position, void *data,
                                                   OTF2_AttributeList *attributes)
{
    (void)location;
    (void)attributes;
    return collective_begin(data, time, position, POINT_COLLECTIVE);
}

static OTF2_CallbackCode scan_collectives_on_rma_begin(OTF2_LocationRef location,
                                                       OTF2_TimeStamp time, uint64_t position,
                                                       void *data, OTF2_AttributeList *attributes)
{
    (void)location;
    (void)attributes;
    return collective_begin(data, time, position, POINT_RMA);
}

/*
 * How many other processes this one received from, if attributes record it: one bit per process. An
 * attribute holds 64 ranks. There may be several; the recorder omits those without any bit set.
 */
static void collective_senders(const struct reading *r, const OTF2_AttributeList *attributes,
                               struct collective_call *call)
{
    const struct idmap *senders = &r->scan->trace->senders;
    const uint32_t count = senders->used ? OTF2_AttributeList_GetNumberOfElements(attributes) : 0;
    for (uint32_t i = 0; i < count; i++) {
        OTF2_AttributeRef attribute = 0;
        OTF2_Type type = OTF2_TYPE_NONE;
        OTF2_AttributeValue value = {.uint64 = 0};
        if (OTF2_AttributeList_GetAttributeByIndex(attributes, i, &attribute, &type, &value) ==
                OTF2_SUCCESS &&
            type == OTF2_TYPE_UINT64 && ictusi_idmap_get(senders, attribute, 0) != IDMAP_NONE) {
            call->told = true;
            call->senders += (uint32_t)__builtin_popcountll(value.uint64);
        }
    }
}

/* What the call was given, if the archive says so; else 0. */
static uint32_t collective_operands(const struct reading *r, const OTF2_AttributeList *attributes)
{
    const int64_t attribute = ictusi_idmap_get(&r->scan->trace->operands, 0, 0);
    uint32_t operands = 0;
    if (attribute == IDMAP_NONE ||
        OTF2_AttributeList_GetUint32(attributes, (OTF2_AttributeRef)attribute, &operands) !=
            OTF2_SUCCESS) {
        return 0;
    }
    return operands;
}

/*
 * The operation to assume. Within a neighbourhood collective, a record of an exchange states a
 * member's totals, like that of an Alltoallw: only neighbours exchanged data, and no archive says
 * who they are. If it were treated as an exchange among all members, each would depend on all
 * others, and true times would count as violations.
 */
static uint8_t collective_meant(const struct reading *r, uint8_t op)
{
    const bool exchange = op >= COLLECTIVE_ALLGATHER && op <= COLLECTIVE_ALLTOALLW;
    return exchange && r->neighbors > 0 ? COLLECTIVE_ALLTOALLW : op;
}

/*
 * Tell the tap that a blocking collective has ended. This comes before the matching, because a tap
 * attributes time to the call whether or not it takes part in the graph.
 */
static int collective_tell(struct reading *r, OTF2_TimeStamp time,
                           const struct collective_call *call)
{
    struct scan_tap *tap = r->scan->tap;
    return tap ? tap->ops->collective_ended(tap, time, call) : ICTUS_OK;
}

/*
 * The end of a blocking collective. If its begin is missing because recording started within the
 * call, the end is counted and takes no part. A call on an unknown communicator cannot be matched
 * either.
 */
static OTF2_CallbackCode collective_end(struct reading *r, OTF2_TimeStamp time, uint64_t position,
                                        struct collective_call call)
{
    uint64_t number = 0;
    call.end = ictusi_scan_point(r, time, position, call.class | POINT_IN);
    if (call.end == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    call.location = r->location;
    call.begin = NODE_NONE; /* in the same call, so taps do not need it */
    if (ictusi_scan_verdict(r, collective_tell(r, time, &call))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    if (r->begin_count == 0 || r->begin_count > STACK_MAX) {
        r->scan->counts->lone_ends++;
        r->begin_count -= r->begin_count > 0;
        return OTF2_CALLBACK_SUCCESS;
    }
    call.begin = r->begins[--r->begin_count];
    if (call.comm == LAYOUT_NONE) {
        r->scan->counts->foreign++;
        return OTF2_CALLBACK_SUCCESS;
    }
    const struct call done = {.kind = CALL_COLLECTIVE, .state = CALL_DONE, .member = call};
    const int err = ictusi_calls_open(&r->calls, &done, &number);
    return err ? ictusi_scan_verdict(r, err) : ictusi_scan_commit(r);
}

/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_collectives_on_end(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                 uint64_t position, void *data,
                                                 OTF2_AttributeList *attributes,
                                                 OTF2_CollectiveOp op, OTF2_CommRef comm,
                                                 uint32_t root, uint64_t sent, uint64_t received)
{
    (void)location;
    struct collective_call call = {.comm = ictusi_scan_comm(data, comm),
                                   .root = root,
                                   .op = collective_meant(data, op),
                                   .class = POINT_COLLECTIVE,
                                   .operands = collective_operands(data, attributes),
                                   .sent = sent,
                                   .received = received};
    collective_senders(data, attributes, &call);
    return collective_end(data, time, position, call);
}

/*
 * A fence and similar calls order the processes of a window like a barrier. They are matched only
 * among each other (POINT_RMA): the k-th on a communicator is the k-th of each member.
 */
/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_collectives_on_rma_end(OTF2_LocationRef location, OTF2_TimeStamp time,
                                                     uint64_t position, void *data,
                                                     OTF2_AttributeList *attributes,
                                                     OTF2_CollectiveOp op, OTF2_RmaSyncLevel level,
                                                     OTF2_RmaWinRef window, uint32_t root,
                                                     uint64_t sent, uint64_t received)
{
    struct reading *r = data;
    (void)location;
    (void)attributes;
    /* Without process synchronisation nobody waits. */
    if (!(level & OTF2_RMA_SYNC_LEVEL_PROCESS)) {
        r->begin_count -= r->begin_count > 0;
        return ictusi_scan_verdict(r, collective_tell(r, time, NULL));
    }
    const struct collective_call call = {.comm = ictusi_archive_window(r->scan->trace, window),
                                         .root = root,
                                         .op = op,
                                         .class = POINT_RMA,
                                         .sent = sent + 1, /* it synchronises whatever it moved */
                                         .received = received + 1};
    return collective_end(r, time, position, call);
}

/*
 * The point of the begin is made now. The call stays open until its completion gives the operation,
 * communicator and root.
 */
static OTF2_CallbackCode scan_on_nbc_request(OTF2_LocationRef location, OTF2_TimeStamp time,
                                             uint64_t position, void *data,
                                             OTF2_AttributeList *attributes, uint64_t request)
{
    struct reading *r = data;
    (void)location;
    struct call call = {.kind = CALL_COLLECTIVE, .state = CALL_OPEN};
    /* the operation is known only at the end */
    call.member.op = collective_meant(r, COLLECTIVE_ALLTOALL);
    collective_senders(r, attributes, &call.member);
    call.member.begin = ictusi_scan_point(r, time, position, POINT_COLLECTIVE | POINT_OUT);
    if (call.member.begin == NODE_NONE) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return ictusi_scan_post(r, &call, request);
}

/*
 * Whether nobody knows who waits for whom, since MPI libraries differ: in a nonblocking barrier
 * between two groups, members wait for all of the other group (MPI 4.1, 6.3), but in Open MPI up to
 * version 6 (nbc_barrier_inter_init()) most wait for the root of the other group and for their own.
 */
static bool collective_is_loose(const struct reading *r, uint8_t op, uint32_t comm)
{
    return op == COLLECTIVE_BARRIER && comm != LAYOUT_NONE &&
           r->scan->trace->layout.comms[comm].inter;
}

/*
 * A member's place in the order of its communicator is that of the request, not of the completion:
 * nonblocking collectives are matched in the order in which they begin (MPI 4.1, 6.12).
 */
/* NOLINTNEXTLINE(readability-function-size): OTF2's signature */
static OTF2_CallbackCode scan_on_nbc_complete(OTF2_LocationRef location, OTF2_TimeStamp time,
                                              uint64_t position, void *data,
                                              OTF2_AttributeList *attributes, OTF2_CollectiveOp op,
                                              OTF2_CommRef comm, uint32_t root, uint64_t sent,
                                              uint64_t received, uint64_t request)
{
    struct reading *r = data;
    struct call *posted = ictusi_calls_take(&r->calls, request);
    (void)location;
    if (!posted || posted->kind != CALL_COLLECTIVE) {
        r->scan->counts->lone_ends++;
        return OTF2_CALLBACK_SUCCESS;
    }
    const uint32_t index = ictusi_scan_comm(r, comm);
    posted->state = index == LAYOUT_NONE ? CALL_CANCELLED : CALL_DONE;
    r->scan->counts->foreign += index == LAYOUT_NONE;
    struct collective_call *member = &posted->member; /* has the begin, and perhaps the senders */
    member->location = r->location;
    member->comm = index;
    member->root = root;
    const bool loose = collective_is_loose(r, op, index);
    member->op = loose || member->op == COLLECTIVE_ALLTOALLW ? COLLECTIVE_ALLTOALLW : op;
    member->class = POINT_COLLECTIVE;
    member->operands = collective_operands(r, attributes);
    member->sent = sent + loose; /* all take part, whatever they moved */
    member->received = received + loose;
    member->end = ictusi_scan_point(r, time, position, POINT_COLLECTIVE | POINT_IN);
    if (member->end == NODE_NONE || ictusi_scan_verdict(r, collective_tell(r, time, member))) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    return ictusi_scan_commit(r);
}

void ictusi_scan_register_collectives(OTF2_EvtReaderCallbacks *set)
{
    OTF2_EvtReaderCallbacks_SetMpiCollectiveBeginCallback(set, scan_collectives_on_begin);
    OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(set, scan_collectives_on_end);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveBeginCallback(set, scan_collectives_on_rma_begin);
    OTF2_EvtReaderCallbacks_SetRmaCollectiveEndCallback(set, scan_collectives_on_rma_end);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveRequestCallback(set, scan_on_nbc_request);
    OTF2_EvtReaderCallbacks_SetNonBlockingCollectiveCompleteCallback(set, scan_on_nbc_complete);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Following requests from the call that makes them to the one that completes them. */
#include "tracer/requests.h"

#include "tracer/p2p.h"

#include <stdlib.h>
#include <string.h>

/*
 * Messages of matched probes live in the same table; handles of the two kinds may be equal. The
 * lowest bit tells the two apart. What is shifted out at the top is 0 in addresses of user space,
 * and in handles that are integers.
 */
#define REQUEST_KEY(handle) (HANDLE_KEY(handle) << 1)
#define MESSAGE_KEY(handle) (HANDLE_KEY(handle) << 1 | 1)

/* It stands for nothing any more. */
static void request_forget(const struct trace_request *request)
{
    if (request->kind == REQUEST_NEIGHBORS) {
        free(request->exchange);
    }
}

/*
 * The table owns what the request owns, from here on. What finds no room is not followed any more,
 * and counted. Puts may come from several threads; of one handle only from the one that MPI gave it
 * to.
 */
static void request_put(uint64_t key, const struct trace_request *request)
{
    struct trace_request *slot = ictusi_table_put(&ictusi_tracer.requests, key);
    if (slot) {
        *slot = *request;
    } else {
        request_forget(request);
        atomic_fetch_add_explicit(&ictusi_tracer.untracked, 1, memory_order_relaxed);
    }
}

static struct trace_request *request_find(MPI_Request handle)
{
    return handle == MPI_REQUEST_NULL
               ? NULL
               : ictusi_table_find(&ictusi_tracer.requests, REQUEST_KEY(handle));
}

/*
 * The record of a completion. After MPI has returned: the statuses are final. A receive learns here
 * what it matched, since with MPI_ANY_SOURCE nobody knew before; where peer and tag were asked for
 * by number (Isendrecv), these count. A negative source is MPI_PROC_NULL or an empty status: no
 * message.
 */
static void record_done(struct recorder *r, const struct trace_request *request,
                        const MPI_Status *status)
{
    int cancelled = 0;
    if (request->id == 0) {
        return;
    }
    recorder_make_room(r);
    if (request->cancelled) {
        (void)REAL(Test_cancelled)(status, &cancelled);
    }
    if (cancelled) {
        recorder_put1(r, RECORD_CANCELLED, 0, 0, request->id);
    } else if (request->kind == REQUEST_SEND) {
        recorder_put1(r, RECORD_ISEND_DONE, 0, 0, request->id);
    } else if (request->kind == REQUEST_RECV && status->MPI_SOURCE >= 0) {
        const int peer = request->asked && request->peer >= 0 ? request->peer : status->MPI_SOURCE;
        const int tag = request->asked && request->tag >= 0 ? request->tag : status->MPI_TAG;
        recorder_put3(r, RECORD_IRECV_DONE, 0, (uint32_t)peer,
                      comm_and_tag(request->comm, (uint32_t)tag), (uint64_t)status_bytes(status),
                      request->id);
    } else if (request->kind == REQUEST_COLL) {
        recorder_put4(r, RECORD_ICOLL_DONE, (unsigned)request->peer, request->root,
                      request->comm->id, request->sent, request->received, request->id);
    } else if (request->kind == REQUEST_NEIGHBORS) {
        ictusi_tracer_exchange_done(r, request);
    } else if (request->kind == REQUEST_FILE) {
        recorder_put2(r, RECORD_IO_DONE, 0, request->root, request->id,
                      (uint64_t)status_bytes(status));
    }
}

/* The last that is heard of a request that is not persistent. */
static void request_end(struct recorder *r, const struct trace_request *request,
                        const MPI_Status *status)
{
    record_done(r, request, status);
    request_forget(request);
}

/*
 * Whether the handle's operation was complete when its call returned. MPI libraries hand out one
 * and the same handle for all of those, so that threads would meet in its place of the table.
 */
static bool request_is_complete(MPI_Request handle)
{
    int flag = 0;
    return ictusi_tracer.multiple &&
           REAL(Request_get_status)(handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

/*
 * A handle that is known already stands for several operations that were complete at once. These
 * end here, and so does one that MPI says is complete. Receives are not among them, since their
 * status is still needed. request->id is 0 where the call leaves no record (MPI_PROC_NULL, a
 * foreign communicator): completing it would leave one either, so that it needs no place. A
 * persistent one is kept even so, as its starts are to be found again.
 */
void ictusi_request_track(struct recorder *r, MPI_Request handle,
                          const struct trace_request *request)
{
    if (handle == MPI_REQUEST_NULL || (request->id == 0 && !request->persistent)) {
        request_forget(request);
        return;
    }
    const bool may_share =
        !request->persistent && request->kind != REQUEST_RECV && request->kind != REQUEST_FILE;
    const struct trace_request *known = may_share ? request_find(handle) : NULL;
    if (may_share && ((known && !known->persistent) || request_is_complete(handle))) {
        request_end(r, request, MPI_STATUS_IGNORE);
    } else {
        request_put(REQUEST_KEY(handle), request);
    }
}

void ictusi_tracer_track_isend(struct recorder *r, MPI_Request handle, uint64_t id)
{
    const struct trace_request request = {.id = id, .kind = REQUEST_SEND};
    ictusi_request_track(r, handle, &request);
}

/*
 * The number is taken from a counter of the thread, with the thread's number above it
 * (recorder_request), so that numbers are unique in the process without a lock.
 */
static void track_receive(struct recorder *r, MPI_Request handle, int source,
                          struct trace_request request)
{
    if (source != MPI_PROC_NULL && request.comm && !request.comm->foreign) {
        request.id = recorder_request(r);
        recorder_put1(r, RECORD_IRECV, 0, 0, request.id);
    }
    ictusi_request_track(r, handle, &request);
}

void ictusi_tracer_track_irecv(struct recorder *r, MPI_Request handle, int source, MPI_Comm comm)
{
    const struct trace_request request = {.kind = REQUEST_RECV, .comm = trace_comm(r, comm)};
    track_receive(r, handle, source, request);
}

void ictusi_tracer_track_isendrecv(struct recorder *r, MPI_Request handle, int source, int tag,
                                   MPI_Comm comm)
{
    const struct trace_request request = {.kind = REQUEST_RECV,
                                          .comm = trace_comm(r, comm),
                                          .asked = true,
                                          .peer = source,
                                          .tag = tag};
    track_receive(r, handle, source, request);
}

/* Bytes are computed once, since the type may be freed before the first start. */
void ictusi_tracer_track_send_init(struct recorder *r, MPI_Request handle, int64_t count,
                                   MPI_Datatype type, int dest, int tag, MPI_Comm comm)
{
    const struct trace_comm *info = trace_comm(r, comm);
    const struct trace_request request = {
        .kind = REQUEST_SEND,
        .persistent = true,
        .comm = dest >= 0 && info && !info->foreign ? info : NULL,
        .peer = dest,
        .tag = tag,
        .sent = (uint64_t)(count * trace_type_bytes(r, type)),
    };
    ictusi_request_track(r, handle, &request);
}

void ictusi_tracer_track_recv_init(struct recorder *r, MPI_Request handle, int source,
                                   MPI_Comm comm)
{
    const struct trace_comm *info = trace_comm(r, comm);
    const struct trace_request request = {
        .kind = REQUEST_RECV,
        .persistent = true,
        .comm = source != MPI_PROC_NULL && info && !info->foreign ? info : NULL,
    };
    ictusi_request_track(r, handle, &request);
}

void ictusi_tracer_note_icoll(struct recorder *r, struct trace_request *made)
{
    if (made->comm) {
        made->id = recorder_request(r);
        recorder_put1(r, RECORD_ICOLL, 0, 0, made->id);
    }
}

void ictusi_tracer_track_icoll(struct recorder *r, MPI_Request handle,
                               const struct trace_request *made)
{
    if (r->after & AFTER_TALLY) {
        ictusi_tracer_count_icoll(r, made);
    }
    ictusi_request_track(r, handle, made);
}

void ictusi_tracer_track_coll_init(struct recorder *r, MPI_Request handle, MPI_Comm comm,
                                   struct trace_request *made)
{
    made->persistent = true;
    if (made->comm) {
        made->comm = ictusi_comm_persistent(comm);
    }
    ictusi_request_track(r, handle, made);
}

/*
 * The probe is what matches a message: to its channel it is a receive that was posted there.
 * MPI_Improbe and MPI_Mprobe take the message off the channel; MPI_Mrecv receives what was taken,
 * possibly much later and in another order than the probes.
 */
void ictusi_tracer_track_message(struct recorder *r, MPI_Message message, MPI_Comm comm)
{
    struct trace_request request = {.kind = REQUEST_RECV, .comm = trace_comm(r, comm)};
    if (message == MPI_MESSAGE_NULL || message == MPI_MESSAGE_NO_PROC) {
        return;
    }
    if (request.comm && !request.comm->foreign) {
        request.id = recorder_request(r);
        recorder_put1(r, RECORD_IRECV, 0, 0, request.id);
    }
    request_put(MESSAGE_KEY(message), &request);
}

struct trace_request ictusi_tracer_take_message(MPI_Message message)
{
    struct trace_request matched = {.kind = REQUEST_NONE};
    (void)ictusi_table_take(&ictusi_tracer.requests, MESSAGE_KEY(message), &matched);
    return matched;
}

void ictusi_tracer_track_imrecv(struct recorder *r, MPI_Request handle,
                                const struct trace_request *matched)
{
    ictusi_request_track(r, handle, matched);
}

void ictusi_tracer_note_mrecv(struct recorder *r, const struct trace_request *matched,
                              const MPI_Status *status)
{
    record_done(r, matched, status);
}

/*
 * A number of its own for each start, by which a reader tells the rounds of a persistent request
 * apart.
 */
static void request_start(struct recorder *r, struct trace_request *request)
{
    recorder_make_room(r);
    request->active = true;
    request->cancelled = false;
    request->id = 0;
    if (!request->comm) {
        return;
    }
    if (request->kind == REQUEST_NEIGHBORS) {
        ictusi_tracer_exchange_send(r, request);
        return;
    }
    request->id = recorder_request(r);
    if (request->kind == REQUEST_SEND) {
        recorder_put3(r, RECORD_ISEND, 0, (uint32_t)request->peer,
                      comm_and_tag(request->comm, (uint32_t)request->tag), request->sent,
                      request->id);
    } else {
        recorder_put1(r, request->kind == REQUEST_RECV ? RECORD_IRECV : RECORD_ICOLL, 0, 0,
                      request->id);
    }
}

/* Those that post a receive, or those that do not. */
static void requests_start(struct recorder *r, int count, bool receives)
{
    for (int i = 0; i < count; i++) {
        const uint8_t kind = r->held[i].kind;
        if (kind != REQUEST_NONE && (kind == REQUEST_RECV) == receives) {
            request_start(r, &r->held[i]);
        }
    }
}

/*
 * The requests are out of the table while MPI_Start runs. r->held has a place for each handle until
 * ictusi_tracer_note_started() puts them back.
 */
int ictusi_tracer_note_start(struct recorder *r, int count, const MPI_Request *handles)
{
    if (count <= 0 || !ictusi_recorder_room(r, count)) {
        return 0;
    }
    for (int i = 0; i < count; i++) {
        const struct trace_request *request = request_find(handles[i]);
        r->held[i].kind = REQUEST_NONE;
        if (request && request->persistent) {
            (void)ictusi_table_take(&ictusi_tracer.requests, REQUEST_KEY(handles[i]), &r->held[i]);
        }
    }
    /* What is sent happened when the call was entered, what is posted when it was left. */
    requests_start(r, count, false);
    requests_start(r, count, true);
    return count;
}

void ictusi_tracer_note_started(struct recorder *r, int count, const MPI_Request *handles)
{
    for (int i = 0; i < count; i++) {
        if (r->held[i].kind != REQUEST_NONE) {
            if (r->held[i].kind == REQUEST_NEIGHBORS && r->held[i].comm) {
                ictusi_tracer_exchange_post(r, &r->held[i]);
            }
            request_put(REQUEST_KEY(handles[i]), &r->held[i]);
            r->held[i].kind = REQUEST_NONE;
        }
    }
}

/*
 * Called with the handle as it was before the call, since MPI sets it to MPI_REQUEST_NULL. An
 * inactive persistent request completes at once with an empty status, and leaves nothing.
 */
static void request_note_done(struct recorder *r, MPI_Request handle, const MPI_Status *status)
{
    struct trace_request *request = request_find(handle);
    if (!request) {
        return;
    }
    if (request->persistent) {
        if (request->active) {
            record_done(r, request, status);
            request->active = false;
        }
        return;
    }
    struct trace_request done;
    if (ictusi_table_take(&ictusi_tracer.requests, REQUEST_KEY(handle), &done)) {
        request_end(r, &done, status);
    }
}

/*
 * Only for what was not complete: the test is recorded as one that found nothing. With several
 * threads the request is held by this one meanwhile, and the table has not got it.
 */
void ictusi_tracer_note_tested(struct recorder *r, MPI_Request handle)
{
    const struct trace_request *request = ictusi_tracer.multiple && r->held[0].kind != REQUEST_NONE
                                              ? &r->held[0]
                                              : request_find(handle);
    if (!request || !request->id || (request->persistent && !request->active)) {
        return;
    }
    if (request->kind == REQUEST_FILE) {
        recorder_put1(r, RECORD_IO_TESTED, 0, request->root, request->id);
    } else if (request->kind != REQUEST_NEIGHBORS) { /* that one stands for many */
        recorder_put1(r, RECORD_TESTED, 0, 0, request->id);
    }
}

/* Freed while it is active, it completes without a word: its end is not recorded. */
void ictusi_tracer_note_request_free(MPI_Request handle)
{
    struct trace_request freed;
    if (handle != MPI_REQUEST_NULL &&
        ictusi_table_take(&ictusi_tracer.requests, REQUEST_KEY(handle), &freed)) {
        request_forget(&freed);
    }
}

/*
 * Whether it was cancelled in time is known at completion only (MPI_Test_cancelled in record_done).
 */
void ictusi_tracer_note_cancel(MPI_Request handle)
{
    struct trace_request *request = request_find(handle);
    if (request) {
        request->cancelled = true;
    }
}

/*
 * Take a request out of the table: as soon as MPI has completed it, another thread may be given its
 * handle. A persistent one keeps its handle and its place; what is held then only says so.
 */
static void request_hold(MPI_Request handle, struct trace_request *held)
{
    const struct trace_request *request = request_find(handle);
    *held = (struct trace_request){.kind = REQUEST_NONE};
    if (request && request->persistent) {
        *held = *request;
    } else if (request) {
        (void)ictusi_table_take(&ictusi_tracer.requests, REQUEST_KEY(handle), held);
    }
}

/*
 * MPI overwrites the handles of what it completes, so a copy is made first. Held are they only
 * where several threads may call MPI: otherwise nobody can get the handle before this call is left,
 * and the table is the faster place.
 */
int ictusi_tracer_keep_handles(struct recorder *r, int count, const MPI_Request *handles)
{
    if (count <= 0 || !ictusi_recorder_room(r, count)) {
        return 0;
    }
    memcpy(r->handles, handles, (size_t)count * sizeof(*handles));
    for (int i = 0; i < count && ictusi_tracer.multiple; i++) {
        request_hold(handles[i], &r->held[i]);
    }
    return count;
}

/* Return those that the call did not complete; those that it did are not held any more. */
void ictusi_tracer_return_handles(struct recorder *r, int count)
{
    for (int i = 0; i < count; i++) {
        if (r->held[i].kind != REQUEST_NONE && !r->held[i].persistent) {
            request_put(REQUEST_KEY(r->handles[i]), &r->held[i]);
        }
    }
}

/* Where nothing is held, its completion was recorded as it began: what the table has under its
 * handle now is another thread's. */
static void request_note_kept(struct recorder *r, int index, const MPI_Status *status)
{
    struct trace_request *held = &r->held[index];
    if (!ictusi_tracer.multiple || held->persistent) {
        request_note_done(r, r->handles[index], status);
    } else if (held->kind != REQUEST_NONE) {
        request_end(r, held, status);
        held->kind = REQUEST_NONE;
    }
}

/*
 * With MPI_ERR_IN_STATUS each status says what became of its own request; MPI_ERR_PENDING stands
 * for neither complete nor failed.
 */
void ictusi_tracer_note_all_done(struct recorder *r, int count, const MPI_Status *statuses, int err)
{
    for (int i = 0; i < count; i++) {
        /* The errors within statuses are set where the call itself failed, and only there. */
        if (err == MPI_SUCCESS || statuses[i].MPI_ERROR != MPI_ERR_PENDING) {
            request_note_kept(r, i, &statuses[i]);
        }
    }
}

/*
 * index is MPI_UNDEFINED, which is negative, where no request was active. Beyond room nothing was
 * kept.
 */
void ictusi_tracer_note_any_done(struct recorder *r, int index, const MPI_Status *status)
{
    if (index >= 0 && index < r->room) {
        request_note_kept(r, index, status);
    }
}

void ictusi_tracer_note_some_done(struct recorder *r, int count, const int *indices,
                                  const MPI_Status *statuses)
{
    for (int i = 0; i < count && indices[i] < r->room; i++) {
        request_note_kept(r, indices[i], &statuses[i]);
    }
}

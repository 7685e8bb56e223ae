/* SPDX-License-Identifier: BSD-3-Clause */
/* Tracks requests from the call that makes them to the one that completes them. */
#include "tracer/requests.h"

#include "tracer/operands.h"
#include "tracer/p2p.h"

#include <stdlib.h>
#include <string.h>

/*
 * Messages of matched probes are in the same table. Their handles may equal those of requests, so
 * the lowest bit of the key distinguishes the two. The bit that is shifted out at the top is 0 in
 * user-space addresses and in integer handles.
 */
#define REQUEST_KEY(handle) (HANDLE_KEY(handle) << 1)
#define MESSAGE_KEY(handle) (HANDLE_KEY(handle) << 1 | 1)

/* Free what a request owns. */
static void request_forget(const struct trace_request *request)
{
    if (request->kind == REQUEST_NEIGHBORS) {
        free(request->exchange);
    }
}

/*
 * Put a request into the table, which takes over what it owns. If there is no room, the request is
 * no longer tracked, and counted. Several threads may insert at the same time, but each handle is
 * inserted only by the thread that MPI gave it to.
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
 * Record a completion, after MPI has returned and the statuses are final. A receive learns here
 * what it matched, because with MPI_ANY_SOURCE nobody knew before. If peer and tag were requested
 * by number (Isendrecv), those are used. A negative source means MPI_PROC_NULL or an empty status:
 * there was no message.
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
                      coll_word(request->comm, request->operands), request->sent, request->received,
                      request->id);
    } else if (request->kind == REQUEST_NEIGHBORS) {
        ictusi_tracer_exchange_done(r, request);
    } else if (request->kind == REQUEST_FILE) {
        recorder_put2(r, RECORD_IO_DONE, 0, request->root, request->id,
                      (uint64_t)status_bytes(status));
    }
}

/* The end of a request that is not persistent. */
static void request_end(struct recorder *r, const struct trace_request *request,
                        const MPI_Status *status)
{
    record_done(r, request, status);
    request_forget(request);
}

/*
 * Whether the handle's operation was already complete when its call returned. MPI libraries use the
 * same handle for all such operations, so several threads would use the same place in the table.
 */
static bool request_is_complete(MPI_Request handle)
{
    int flag = 0;
    return ictusi_tracer.multiple &&
           REAL(Request_get_status)(handle, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && flag;
}

/*
 * Track a request. A handle that is known already stands for several operations that were complete
 * at once. Such an operation ends here, and so does one that MPI reports as complete. Receives are
 * excluded, since their status is still needed. request->id is 0 if the call is not recorded
 * (MPI_PROC_NULL, a foreign communicator); its completion is not recorded either, so it needs no
 * place. A persistent request is kept in any case, because its starts must be found.
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
 * Record and track a receive. Its number comes from a counter of the thread, with the thread's
 * number above it (recorder_request), so numbers are unique in the process without a lock.
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

/* The bytes are computed here, because the type may be freed before the first start. */
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
 * A matched probe acts like a receive that was posted there. MPI_Improbe and MPI_Mprobe take the
 * message off its channel. MPI_Mrecv receives it later, possibly in another order than that of the
 * probes.
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
 * Each start has a number of its own, by which a reader distinguishes the rounds of a persistent
 * request.
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

/* Start the requests that post a receive, or those that do not. */
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
 * The requests are out of the table while MPI_Start runs. r->held has them until
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
    /* Sends are recorded at the enter of the call, receives are posted at its leave. */
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
 * Called with a copy of the handle, since MPI has set the original to MPI_REQUEST_NULL. An inactive
 * persistent request completes at once with an empty status, and leaves no record.
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
 * Called only for a request that was not complete: the test is recorded as unsuccessful. With
 * several threads, this thread holds the request meanwhile, and it is not in the table.
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
    } else if (request->kind != REQUEST_NEIGHBORS) { /* that one stands for many messages */
        recorder_put1(r, RECORD_TESTED, 0, 0, request->id);
    }
}

/* A request that is freed while active completes silently, so its end is not recorded. */
void ictusi_tracer_note_request_free(MPI_Request handle)
{
    struct trace_request freed;
    if (handle != MPI_REQUEST_NULL &&
        ictusi_table_take(&ictusi_tracer.requests, REQUEST_KEY(handle), &freed)) {
        request_forget(&freed);
    }
}

/*
 * Whether the cancellation succeeded is known only at completion (MPI_Test_cancelled in
 * record_done).
 */
void ictusi_tracer_note_cancel(MPI_Request handle)
{
    struct trace_request *request = request_find(handle);
    if (request) {
        request->cancelled = true;
    }
}

/*
 * Take a request out of the table, because as soon as MPI has completed it, another thread may be
 * given its handle. A persistent request keeps its handle and its place; the copy held only shows
 * that.
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
 * MPI overwrites the handles that it completes, so they are copied first. The requests are held
 * only if several threads may call MPI. Otherwise nobody can get the handle before this call is
 * left, and looking in the table is faster.
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

/* Return the requests that the call did not complete; the others are no longer held. */
void ictusi_tracer_return_handles(struct recorder *r, int count)
{
    for (int i = 0; i < count; i++) {
        if (r->held[i].kind != REQUEST_NONE && !r->held[i].persistent) {
            request_put(REQUEST_KEY(r->handles[i]), &r->held[i]);
        }
    }
}

/*
 * If no request is held, its completion was recorded when it began. What the table now has under
 * its handle belongs to another thread.
 */
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
 * With MPI_ERR_IN_STATUS, each status gives the result of its own request. MPI_ERR_PENDING means
 * neither complete nor failed.
 */
void ictusi_tracer_note_all_done(struct recorder *r, int count, const MPI_Status *statuses, int err)
{
    for (int i = 0; i < count; i++) {
        /* MPI sets the errors within statuses only if the call itself failed. */
        if (err == MPI_SUCCESS || statuses[i].MPI_ERROR != MPI_ERR_PENDING) {
            request_note_kept(r, i, &statuses[i]);
        }
    }
}

/*
 * index is MPI_UNDEFINED, which is negative, if no request was active. Beyond room, nothing was
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

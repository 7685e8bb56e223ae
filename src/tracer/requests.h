/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Requests: what an MPI_Request (or MPI_Message) handle stands for until it is completed, and the
 * records of its start and completion.
 */
#ifndef ICTUS_TRACER_REQUESTS_H
#define ICTUS_TRACER_REQUESTS_H

#include "tracer/comms.h"
#include "tracer/ops.h"
#include "tracer/real.h"

enum request_kind {
    REQUEST_NONE,
    REQUEST_SEND,
    REQUEST_RECV,
    REQUEST_COLL,
    REQUEST_NEIGHBORS,
    REQUEST_FILE
};

struct exchange;

struct trace_request {
    uint64_t id; /* number in the records; 0: the call is not recorded */
    const struct trace_comm *comm;
    uint8_t kind;
    bool persistent;
    bool active; /* of a persistent one: it was started */
    bool cancelled;
    bool asked; /* peer and tag are those requested; negative: any */
    int32_t tag;
    int32_t peer;      /* of a collective: the operation */
    uint32_t root;     /* of a collective; of an operation on a file: the file's number */
    uint32_t operands; /* of a collective, as in core/operands.h */
    union {
        struct {
            uint64_t sent, received;
        };
        struct exchange *exchange; /* for a neighborhood collective */
    };
};

/*
 * Remember what a handle stands for. A handle that MPI uses for all operations that were complete
 * when their call returned may stand for one already: then the completion is recorded at once.
 */
void ictusi_request_track(struct recorder *r, MPI_Request handle,
                          const struct trace_request *request);

/*
 * The records of a neighborhood collective: its messages are sent, its receives are posted, all are
 * complete. See neighbors.h.
 */
void ictusi_tracer_exchange_send(struct recorder *r, struct trace_request *request);
void ictusi_tracer_exchange_post(struct recorder *r, const struct trace_request *request);
void ictusi_tracer_exchange_done(struct recorder *r, const struct trace_request *request);

void ictusi_tracer_track_isend(struct recorder *r, MPI_Request handle, uint64_t id);
void ictusi_tracer_track_irecv(struct recorder *r, MPI_Request handle, int source, MPI_Comm comm);
/*
 * The receiving half of a nonblocking exchange. MPICH 4.0 leaves its status empty, so only the
 * requested peer and tag tell where the message came from.
 */
void ictusi_tracer_track_isendrecv(struct recorder *r, MPI_Request handle, int source, int tag,
                                   MPI_Comm comm);
void ictusi_tracer_track_send_init(struct recorder *r, MPI_Request handle, int64_t count,
                                   MPI_Datatype type, int dest, int tag, MPI_Comm comm);
void ictusi_tracer_track_recv_init(struct recorder *r, MPI_Request handle, int source,
                                   MPI_Comm comm);
/* Count a nonblocking collective that has begun, if statistics are kept. */
void ictusi_tracer_count_icoll(struct recorder *r, const struct trace_request *made);
/*
 * A nonblocking collective begins. This is recorded before the call, since others may complete
 * theirs meanwhile.
 */
void ictusi_tracer_note_icoll(struct recorder *r, struct trace_request *made);
void ictusi_tracer_track_icoll(struct recorder *r, MPI_Request handle,
                               const struct trace_request *made);
void ictusi_tracer_track_coll_init(struct recorder *r, MPI_Request handle, MPI_Comm comm,
                                   struct trace_request *made);
void ictusi_tracer_track_message(struct recorder *r, MPI_Message message, MPI_Comm comm);

/*
 * Take the message that a matched probe found out of the table before the call that receives it,
 * because MPI may give its handle to another thread before that call has returned.
 */
struct trace_request ictusi_tracer_take_message(MPI_Message message);
void ictusi_tracer_track_imrecv(struct recorder *r, MPI_Request handle,
                                const struct trace_request *matched);

void ictusi_tracer_note_mrecv(struct recorder *r, const struct trace_request *matched,
                              const MPI_Status *status);
/*
 * Persistent requests leave the table while they are started. MPI may replace a handle whose last
 * message is still being sent (Open MPI does so with buffered sends), and give the old one to
 * another thread. @return how many are held for ictusi_tracer_note_started(): all, or 0 without
 * memory
 */
int ictusi_tracer_note_start(struct recorder *r, int count, const MPI_Request *handles);
void ictusi_tracer_note_started(struct recorder *r, int count, const MPI_Request *handles);
void ictusi_tracer_note_tested(struct recorder *r, MPI_Request handle);
void ictusi_tracer_note_request_free(MPI_Request handle);
void ictusi_tracer_note_cancel(MPI_Request handle);

/*
 * The handles of a call that may complete them are copied before MPI sets them to MPI_REQUEST_NULL.
 * Under MPI_THREAD_MULTIPLE their requests also leave the table meanwhile, because MPI may give a
 * handle to another thread before this one has processed its completion. @return how many were
 * kept: all, or 0 without memory
 */
int ictusi_tracer_keep_handles(struct recorder *r, int count, const MPI_Request *handles);
void ictusi_tracer_return_handles(struct recorder *r, int count);
/* err: the result of the call. If it failed for some requests, others may still be pending. */
void ictusi_tracer_note_all_done(struct recorder *r, int count, const MPI_Status *statuses,
                                 int err);
void ictusi_tracer_note_any_done(struct recorder *r, int index, const MPI_Status *status);
void ictusi_tracer_note_some_done(struct recorder *r, int count, const int *indices,
                                  const MPI_Status *statuses);

/*
 * Whether a call for many requests has set a status for each. It may have failed for some of them.
 */
static inline bool trace_has_statuses(int err)
{
    int class = MPI_SUCCESS;
    return __builtin_expect(err == MPI_SUCCESS, 1) ||
           (REAL(Error_class)(err, &class) == MPI_SUCCESS && class == MPI_ERR_IN_STATUS);
}

/* Whether a call has received or completed something. A truncated message was received too. */
static inline bool trace_has_received(int err)
{
    int class = MPI_SUCCESS;
    return __builtin_expect(err == MPI_SUCCESS, 1) ||
           (REAL(Error_class)(err, &class) == MPI_SUCCESS && class == MPI_ERR_TRUNCATE);
}

static inline void trace_return_handles(struct recorder *r, int count)
{
    if (ictusi_tracer.multiple) {
        ictusi_tracer_return_handles(r, count);
    }
}

#endif

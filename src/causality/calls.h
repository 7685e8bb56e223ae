/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The receives and collectives of one location in call order. What a nonblocking call moved is
 * known only when it completes, but MPI matches in call order. So calls wait here for their
 * completion and leave in order. Sends state at once what they move and do not wait.
 */
#ifndef ICTUS_CAUSALITY_CALLS_H
#define ICTUS_CAUSALITY_CALLS_H

#include "causality/match.h"

enum call_kind { CALL_RECEIVE, CALL_COLLECTIVE };
enum call_state { CALL_OPEN, CALL_DONE, CALL_CANCELLED };

struct call {
    uint8_t kind, state;
    uint32_t gap;                  /* recording gaps of the location before it */
    uint32_t peer, tag;            /* for a message */
    uint32_t point;                /* for a message */
    struct collective_call member; /* for a collective */
};

struct calls {
    struct call *ring;
    uint64_t capacity, head, count; /* head: number of the oldest call in the queue */
    struct idmap requests;          /* open calls: request -> number of its call */
    uint32_t gap;                   /* recording gaps of the location so far */
    bool cut;                       /* it has gaps: an open receive may have completed in one */
    uint32_t skipped;               /* number of such receives: later calls are out of step */
};

/* Append a call and store its number in *number. Errors: ICTUS_ERR_NOMEM. */
int ictusi_calls_open(struct calls *calls, const struct call *call, uint64_t *number);

/* The call that a request belongs to if it is still open, else NULL; the request is forgotten. */
struct call *ictusi_calls_take(struct calls *calls, uint64_t request);

/* A call that is still in the queue. */
struct call *ictusi_calls_at(const struct calls *calls, uint64_t number);

/* Remember which call a request belongs to. Errors: ICTUS_ERR_NOMEM. */
int ictusi_calls_request(struct calls *calls, uint64_t request, uint64_t number);

/*
 * Pass the finished calls at the front to the matching; at the end of the location, pass all calls.
 */
int ictusi_calls_commit(struct calls *calls, struct matching *matching, uint32_t location,
                        bool at_end);

void ictusi_calls_fini(struct calls *calls);

#endif

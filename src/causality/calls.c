/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A queue of calls in posting order (MPI 4.0, 3.5: messages between two processes do not overtake).
 */
#include "causality/calls.h"

#include <ictus/error.h>
#include <stdlib.h>

/*
 * Numbers only rise, and the capacity is a power of two, so the place of a call is its number
 * without the high bits.
 */
struct call *ictusi_calls_at(const struct calls *calls, uint64_t number)
{
    return &calls->ring[number & (calls->capacity - 1)];
}

/* Calls keep their numbers, by which requests refer to them, but change their places. */
static int calls_widen(struct calls *calls)
{
    const uint64_t capacity = calls->capacity ? calls->capacity * 2 : 64;
    struct call *ring = malloc(capacity * sizeof *ring);
    if (!ring) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < calls->count; i++) {
        ring[(calls->head + i) & (capacity - 1)] = *ictusi_calls_at(calls, calls->head + i);
    }
    free(calls->ring);
    calls->ring = ring;
    calls->capacity = capacity;
    return ICTUS_OK;
}

int ictusi_calls_open(struct calls *calls, const struct call *call, uint64_t *number)
{
    if (calls->count == calls->capacity && calls_widen(calls)) {
        return ICTUS_ERR_NOMEM;
    }
    *number = calls->head + calls->count;
    *ictusi_calls_at(calls, *number) = *call;
    ictusi_calls_at(calls, *number)->gap = calls->gap;
    calls->count++;
    return ICTUS_OK;
}

struct call *ictusi_calls_take(struct calls *calls, uint64_t request)
{
    const int64_t held = ictusi_idmap_get(&calls->requests, request, 0);
    if (held == IDMAP_NONE) {
        return NULL;
    }
    ictusi_idmap_remove(&calls->requests, request, 0);
    /* A request that is older than the queue belongs to a call that has been committed already. */
    const uint64_t number = (uint64_t)held;
    if (number < calls->head || number >= calls->head + calls->count) {
        return NULL;
    }
    struct call *call = ictusi_calls_at(calls, number);
    return call->state == CALL_OPEN ? call : NULL;
}

int ictusi_calls_request(struct calls *calls, uint64_t request, uint64_t number)
{
    return ictusi_idmap_put(&calls->requests, request, 0, (int64_t)number);
}

/*
 * Pass the oldest call to the matching, which counts the calls of a channel or communicator in the
 * order of posting.
 */
static int call_commit(struct calls *calls, const struct call *call, struct matching *matching,
                       uint32_t location)
{
    if (call->state != CALL_DONE) {
        calls->skipped += calls->cut && call->state == CALL_OPEN;
        return ICTUS_OK;
    }
    /* If calls before it are missing, counting in order would pair it with the wrong partner. */
    matching->gap = call->gap + calls->skipped;
    if (call->kind == CALL_COLLECTIVE && matching->gap > 0) {
        matching->left_out++;
        return ICTUS_OK;
    }
    if (call->kind == CALL_COLLECTIVE) {
        return ictusi_match_collective(matching, &call->member);
    }
    return ictusi_match_message(matching, call->point, location, call->member.comm, call->peer,
                                call->tag, false);
}

/*
 * A call that is still open holds back all later ones. Its place in the order is known, but its
 * envelope (for example with MPI_ANY_SOURCE) is not.
 */
int ictusi_calls_commit(struct calls *calls, struct matching *matching, uint32_t location,
                        bool at_end)
{
    while (calls->count) {
        const struct call *call = ictusi_calls_at(calls, calls->head);
        if (call->state == CALL_OPEN && !at_end) {
            break;
        }
        const int err = call_commit(calls, call, matching, location);
        if (err) {
            return err;
        }
        calls->head++;
        calls->count--;
    }
    return ICTUS_OK;
}

void ictusi_calls_fini(struct calls *calls)
{
    free(calls->ring);
    ictusi_idmap_fini(&calls->requests);
    *calls = (struct calls){.ring = NULL};
}

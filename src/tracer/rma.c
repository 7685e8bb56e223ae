/* SPDX-License-Identifier: BSD-3-Clause */
/* The records of one-sided communication. */
#include "tracer/rma.h"

#include "tracer/real.h"

#include <stdlib.h>

void ictusi_tracer_note_window(struct recorder *r, MPI_Comm comm, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_new(r, comm, win);
    if (window) {
        recorder_put1(r, RECORD_RMA_CREATE, window->id, 0, 0);
    }
}

void ictusi_tracer_note_window_free(struct recorder *r, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        recorder_put1(r, RECORD_RMA_FREE, window->id, 0, 0);
        ictusi_tracer_window_gone(win);
    }
}

void ictusi_tracer_note_fence(struct recorder *r, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        recorder_put1(r, RECORD_RMA_FENCE, window->id, 0, 0);
    }
}

/*
 * The window of an operation that is recorded, and its matching number. Operations share a number
 * until something completes all of them; then the next number begins. A negative target is
 * MPI_PROC_NULL, which moves nothing.
 */
static struct trace_window *window_operation(MPI_Win win, int target, uint64_t *match)
{
    struct trace_window *window = target >= 0 ? ictusi_tracer_window_find(win) : NULL;
    /*
     * pending is set first, so that a completion by another thread after that finds it. If such a
     * completion comes in between, it clears the flag with the old number, and the next operation
     * would never be completed; hence the loop.
     */
    if (window) {
        do {
            *match = atomic_load(&window->match);
            atomic_store(&window->pending, true);
        } while (atomic_load(&window->match) != *match);
    }
    return window;
}

/* Recorded only at the origin; the target takes no part in the call. */
void ictusi_tracer_note_put(struct recorder *r, MPI_Win win, int target, int64_t count,
                            MPI_Datatype type)
{
    uint64_t match = 0;
    const struct trace_window *window = window_operation(win, target, &match);
    if (window) {
        recorder_put2(r, RECORD_RMA_PUT, window->id, (uint32_t)target,
                      (uint64_t)(count * trace_type_bytes(r, type)), match);
    }
}

void ictusi_tracer_note_get(struct recorder *r, MPI_Win win, int target, int64_t count,
                            MPI_Datatype type)
{
    uint64_t match = 0;
    const struct trace_window *window = window_operation(win, target, &match);
    if (window) {
        recorder_put2(r, RECORD_RMA_GET, window->id, (uint32_t)target,
                      (uint64_t)(count * trace_type_bytes(r, type)), match);
    }
}

/*
 * OTF2 has bytes sent and bytes received. An accumulate only sends; fetch operations return as
 * many.
 */
void ictusi_tracer_note_atomic(struct recorder *r, MPI_Win win, int target, enum rma_atomic atomic,
                               int64_t count, MPI_Datatype type)
{
    uint64_t match = 0;
    const struct trace_window *window = window_operation(win, target, &match);
    if (window) {
        const uint64_t bytes = (uint64_t)(count * trace_type_bytes(r, type));
        recorder_put4(r, RECORD_RMA_ATOMIC, window->id, (uint32_t)target, (uint64_t)atomic << 32,
                      bytes, atomic == RMA_ACCUMULATE ? 0 : bytes, match);
    }
}

/*
 * Without an operation since the last completion, there is nothing to complete. If several threads
 * come here at the same time, only one of them records it.
 */
void ictusi_tracer_note_rma_done(struct recorder *r, MPI_Win win)
{
    struct trace_window *window = ictusi_tracer_window_find(win);
    if (window && atomic_exchange(&window->pending, false)) {
        recorder_put1(r, RECORD_RMA_DONE, window->id, 0, atomic_fetch_add(&window->match, 1));
    }
}

void ictusi_tracer_note_lock(struct recorder *r, MPI_Win win, int target, bool exclusive)
{
    const struct trace_window *window = target >= 0 ? ictusi_tracer_window_find(win) : NULL;
    if (window) {
        recorder_put1(r, RECORD_RMA_LOCK, window->id, (uint32_t)target, exclusive);
    }
}

/* RMA_ALL stands for all targets, because one record each would mean thousands per call. */
void ictusi_tracer_note_lock_all(struct recorder *r, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        recorder_put1(r, RECORD_RMA_LOCK, window->id, RMA_ALL, 0);
    }
}

/* The operations are complete at the unlock, so their completion is recorded first. */
void ictusi_tracer_note_unlock(struct recorder *r, MPI_Win win, int target)
{
    const struct trace_window *window = target >= 0 ? ictusi_tracer_window_find(win) : NULL;
    ictusi_tracer_note_rma_done(r, win);
    if (window) {
        recorder_put1(r, RECORD_RMA_UNLOCK, window->id, (uint32_t)target, 0);
    }
}

void ictusi_tracer_note_unlock_all(struct recorder *r, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    ictusi_tracer_note_rma_done(r, win);
    if (window) {
        recorder_put1(r, RECORD_RMA_UNLOCK, window->id, RMA_ALL, 0);
    }
}

/*
 * The ranks of a group in the window's communicator. A process outside it becomes MPI_UNDEFINED,
 * which is negative. The program may free the group right after the call, so this cannot be done at
 * the end of the epoch.
 */
static struct window_peers peers_of(MPI_Win win, MPI_Group group)
{
    struct window_peers peers = {NULL, 0};
    MPI_Group all = MPI_GROUP_NULL;
    (void)REAL(Group_size)(group, &peers.count);
    int *own = malloc((size_t)(peers.count + 1) * sizeof(*own));
    peers.ranks = malloc((size_t)(peers.count + 1) * sizeof(*peers.ranks));
    for (int i = 0; own && i < peers.count; i++) {
        own[i] = i;
    }
    if (!own || !peers.ranks || REAL(Win_get_group)(win, &all) != MPI_SUCCESS) {
        peers.count = 0;
    } else {
        (void)REAL(Group_translate_ranks)(group, peers.count, own, all, peers.ranks);
        (void)REAL(Group_free)(&all);
    }
    free(own);
    return peers;
}

/*
 * Write one record for each peer, with `word` as word 1, because each pair synchronises separately:
 * a target waits only for its own origins.
 */
static void rma_note_peers(struct recorder *r, const struct trace_window *window,
                           const struct window_peers *peers, enum record_kind kind, uint64_t word)
{
    for (int i = 0; i < peers->count; i++) {
        if (peers->ranks[i] >= 0) {
            recorder_make_room(r);
            recorder_put1(r, kind, window->id, (uint32_t)peers->ranks[i], word);
        }
    }
}

static void peers_forget(struct window_peers *peers)
{
    free(peers->ranks);
    *peers = (struct window_peers){NULL, 0};
}

void ictusi_tracer_note_post(struct recorder *r, MPI_Win win, MPI_Group origins)
{
    struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        peers_forget(&window->exposed);
        window->exposed = peers_of(win, origins);
        /*
         * This is not a notification: MPI may let an origin continue, and even complete, before
         * this process is here.
         */
        rma_note_peers(r, window, &window->exposed, RECORD_RMA_SYNC, SYNC_POSTED);
    }
}

/* The targets are kept until MPI_Win_complete, which does not name them. */
void ictusi_tracer_note_start_epoch(MPI_Win win, MPI_Group targets)
{
    struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        peers_forget(&window->accessed);
        window->accessed = peers_of(win, targets);
    }
}

/* A target may receive its notification, and leave MPI_Win_wait, before the origin returns here. */
void ictusi_tracer_note_complete(struct recorder *r, MPI_Win win)
{
    const struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        rma_note_peers(r, window, &window->accessed, RECORD_RMA_GIVEN, 0);
    }
}

void ictusi_tracer_note_completed(struct recorder *r, MPI_Win win)
{
    struct trace_window *window = ictusi_tracer_window_find(win);
    ictusi_tracer_note_rma_done(r, win);
    if (window) {
        peers_forget(&window->accessed);
    }
}

/* The exposure by MPI_Win_post has ended, and each origin's notification has arrived. */
void ictusi_tracer_note_waited(struct recorder *r, MPI_Win win)
{
    struct trace_window *window = ictusi_tracer_window_find(win);
    if (window) {
        rma_note_peers(r, window, &window->exposed, RECORD_RMA_SYNC, SYNC_GOT);
        peers_forget(&window->exposed);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The records of one-sided communication. The operations of a window share a matching number until
 * a fence, an unlock, a flush or the end of an access epoch completes them.
 */
#ifndef ICTUS_TRACER_RMA_H
#define ICTUS_TRACER_RMA_H

#include "tracer/comms.h"
#include "tracer/ops.h"

void ictusi_tracer_note_window(struct recorder *r, MPI_Comm comm, MPI_Win win);
void ictusi_tracer_note_window_free(struct recorder *r, MPI_Win win);
void ictusi_tracer_note_fence(struct recorder *r, MPI_Win win);
void ictusi_tracer_note_put(struct recorder *r, MPI_Win win, int target, int64_t count,
                            MPI_Datatype type);
void ictusi_tracer_note_get(struct recorder *r, MPI_Win win, int target, int64_t count,
                            MPI_Datatype type);
void ictusi_tracer_note_atomic(struct recorder *r, MPI_Win win, int target, enum rma_atomic atomic,
                               int64_t count, MPI_Datatype type);
/* All operations since the last completion are complete. */
void ictusi_tracer_note_rma_done(struct recorder *r, MPI_Win win);
void ictusi_tracer_note_lock(struct recorder *r, MPI_Win win, int target, bool exclusive);
void ictusi_tracer_note_lock_all(struct recorder *r, MPI_Win win);
void ictusi_tracer_note_unlock(struct recorder *r, MPI_Win win, int target);
void ictusi_tracer_note_unlock_all(struct recorder *r, MPI_Win win);
/*
 * Group epochs: which processes were notified, or sent a notification, that the memory may be used
 * or is no longer used.
 */
void ictusi_tracer_note_post(struct recorder *r, MPI_Win win, MPI_Group origins);
void ictusi_tracer_note_start_epoch(MPI_Win win, MPI_Group targets);
void ictusi_tracer_note_complete(struct recorder *r, MPI_Win win);  /* before MPI does */
void ictusi_tracer_note_completed(struct recorder *r, MPI_Win win); /* after */
void ictusi_tracer_note_waited(struct recorder *r, MPI_Win win);

#endif

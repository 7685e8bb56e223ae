/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that enters the MPI library again and again, so that operations progress. */
#ifndef ICTUS_OVERLAP_PROGRESS_H
#define ICTUS_OVERLAP_PROGRESS_H

#include <mpi.h>

struct progress_thread;

/*
 * Start it; it probes a duplicate of comm. Collective over comm.
 * Errors: ICTUS_ERR_THREAD (MPI was not initialised with MPI_THREAD_MULTIPLE, or no thread could be
 * made), ICTUS_ERR_MPI, ICTUS_ERR_NOMEM.
 */
int ictusi_progress_start(MPI_Comm comm, struct progress_thread **out);

/* Stop it. Collective. NULL is legal. */
void ictusi_progress_stop(struct progress_thread *t);

#endif

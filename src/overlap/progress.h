/* SPDX-License-Identifier: BSD-3-Clause */
/* A thread that keeps entering the MPI library, so that operations make progress. */
#ifndef ICTUS_OVERLAP_PROGRESS_H
#define ICTUS_OVERLAP_PROGRESS_H

#include <mpi.h>

struct progress_thread;

/*
 * Start a thread that probes a duplicate of comm. Collective over comm. Errors: ICTUS_ERR_THREAD
 * (MPI was not initialised with MPI_THREAD_MULTIPLE, or no thread could be created), ICTUS_ERR_MPI,
 * ICTUS_ERR_NOMEM.
 */
int ictusi_progress_start(MPI_Comm comm, struct progress_thread **out);

/* Stop the thread. Collective. NULL is allowed. */
void ictusi_progress_stop(struct progress_thread *t);

#endif

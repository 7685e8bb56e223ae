/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces a program that never calls MPI_Init but opens MPI sessions, where nothing brings all
 * processes together. Recording begins at the first communicator that the program makes from a
 * group of all processes. It ends with the process, since sessions may be opened again after the
 * last one was closed, and processes may do so in different orders. So nothing collective is added
 * after the beginning, and whichever process ends last makes the archive.
 */
#ifndef ICTUS_TRACER_SESSIONS_H
#define ICTUS_TRACER_SESSIONS_H

#include "tracer/lifecycle.h"

#include <mpi.h>
#include <stdbool.h>

/*
 * Around a call of MPI_Session_init, MPI_Session_finalize and similar ones. A tool that is called
 * after this one may call the PMPI name again, so only the outermost call counts.
 */
void ictusi_sessions_enter(void);

/* MPI_Session_init or MPI_Init has returned: MPI is in use by one more. */
void ictusi_sessions_opened(int err);

/* Before MPI_Session_finalize or MPI_Finalize is called, and after it has returned. */
void ictusi_sessions_closing(void);
void ictusi_sessions_closed(int err);

/*
 * MPI_Comm_create_from_group has returned; begin describes the call. Collective over comm if that
 * contains all processes of the job, else local.
 */
void ictusi_sessions_made(struct begin_call begin, int err, const MPI_Comm *comm, const char *text);

/*
 * For ictusi_tracer_start(): fill in the tracer's communicator and the group by which processes are
 * numbered. Collective over all.
 */
void ictusi_sessions_meet(MPI_Comm all);

/* Release what only the beginning needed. */
void ictusi_sessions_settle(bool begun);

/*
 * The process ends. @return whether its recording is complete, so that an archive may be made of it
 */
bool ictusi_sessions_over(void);

#endif

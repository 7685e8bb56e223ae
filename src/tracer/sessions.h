/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tracing a program that never calls MPI_Init but opens MPI sessions, where nothing brings all
 * processes together by itself. Recording begins where the program does so: at the first
 * communicator that it makes from a group of all processes. It ends with the process, since
 * sessions may be opened again after the last one was closed, and processes may do so in different
 * orders: from the beginning on nothing collective is added, and whichever process ends last makes
 * the archive.
 */
#ifndef ICTUS_TRACER_SESSIONS_H
#define ICTUS_TRACER_SESSIONS_H

#include "tracer/lifecycle.h"

#include <mpi.h>
#include <stdbool.h>

/*
 * Around a call of MPI_Session_init, MPI_Session_finalize and their like. A tool that is asked
 * after us may come back by the PMPI name: the outermost call alone counts.
 */
void ictusi_sessions_enter(void);

/* MPI_Session_init or MPI_Init has returned: MPI is in use once more. */
void ictusi_sessions_opened(int err);

/* MPI_Session_finalize or MPI_Finalize comes next, and has returned. */
void ictusi_sessions_closing(void);
void ictusi_sessions_closed(int err);

/*
 * MPI_Comm_create_from_group has returned, to a call that begin describes. Collective over comm if
 * that holds all processes of the job, else local.
 */
void ictusi_sessions_made(struct begin_call begin, int err, const MPI_Comm *comm, const char *text);

/*
 * For ictusi_tracer_start(): fill in the tracer's communicator and the group by which processes are
 * numbered. Collective over all.
 */
void ictusi_sessions_meet(MPI_Comm all);

/* What the beginning needed is not needed any more. */
void ictusi_sessions_settle(bool begun);

/* The process ends. @return whether its recording is whole, so that an archive may be made of it */
bool ictusi_sessions_over(void);

#endif

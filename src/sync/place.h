/* SPDX-License-Identifier: BSD-3-Clause */
/* The place of a process among the others: the number of its node, and how it opens its source. */
#ifndef ICTUS_SYNC_PLACE_H
#define ICTUS_SYNC_PLACE_H

#include "clock/source.h"

#include <mpi.h>
#include <stdbool.h>

/*
 * Open a source on every process, and let the processes of a node share its state (a calibration,
 * an origin). Collective over `comm`; all processes get the same error. Errors: see
 * ictusi_source_open().
 */
int ictusi_place_open_source(MPI_Comm comm, const char *spec, struct source **source, bool *crowded,
                             struct ictus_why *why);

/*
 * Gather the number of each process's node at rank 0: nodes are numbered from 0 in the order of
 * their lowest ranks. nodes: one element for each process on rank 0, ignored elsewhere.
 * Collective. Errors: ICTUS_ERR_MPI, ICTUS_ERR_NOMEM.
 */
int ictusi_place_gather_nodes(MPI_Comm comm, int *nodes);

/*
 * Create a communicator of the same processes that returns errors as codes. Attributes are not
 * copied, so that the program's own copy functions are not called. Collective. Errors:
 * ICTUS_ERR_MPI.
 */
int ictusi_place_twin(MPI_Comm comm, MPI_Comm *twin);

/* Get a private communicator of the same processes. It is a twin, or `comm` itself in
 * simulations. Collective. Errors: ICTUS_ERR_MPI. */
int ictusi_place_own(MPI_Comm comm, MPI_Comm *own);

/* Release a private communicator and set it to MPI_COMM_NULL. */
void ictusi_place_disown(MPI_Comm *own);

#endif

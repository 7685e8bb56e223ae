/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a process stands among the others: its node's number, and how it opens its source. */
#ifndef ICTUS_SYNC_PLACE_H
#define ICTUS_SYNC_PLACE_H

#include "clock/source.h"

#include <mpi.h>
#include <stdbool.h>

/*
 * Open a source on every process, and let those of one node share its state (a calibration, an
 * origin). Collective over comm; all get the same error. Errors: as ictusi_source_open().
 */
int ictusi_place_open_source(MPI_Comm comm, const char *spec, struct source **source, bool *crowded,
                             struct ictus_why *why);

/*
 * A communicator of the same processes, whose errors come back as codes. Attributes stay behind:
 * functions of the program that copy them are not called. Collective. Errors: ICTUS_ERR_MPI.
 */
int ictusi_place_twin(MPI_Comm comm, MPI_Comm *twin);

/*
 * A private communicator of the same processes: a twin, except in simulations. Collective.
 * Errors: ICTUS_ERR_MPI.
 */
int ictusi_place_own(MPI_Comm comm, MPI_Comm *own);

/* Give it back; it is MPI_COMM_NULL then. */
void ictusi_place_disown(MPI_Comm *own);

#endif

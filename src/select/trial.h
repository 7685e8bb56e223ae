/* SPDX-License-Identifier: BSD-3-Clause */
/* Carrying out one collective once, to see whether a forced algorithm can. */
#ifndef ICTUS_SELECT_TRIAL_H
#define ICTUS_SELECT_TRIAL_H

#include <mpi.h>
#include <stddef.h>

struct trial;

/*
 * Room for one run with `bytes` for each process, on comm: which must not be forced, since all of
 * its processes learn here whether one has no memory. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG.
 */
int ictusi_trial_prepare(MPI_Comm comm, size_t bytes, struct trial **trial);

/*
 * Run the operation once on a communicator of the same processes that returns its errors.
 * Collective. ICTUS_ERR_UNSUPPORTED when MPI refuses; operations not known here pass.
 */
int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation);

/* NULL is legal. */
void ictusi_trial_free(struct trial *trial);

#endif

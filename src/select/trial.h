/* SPDX-License-Identifier: BSD-3-Clause */
/* Carrying out one collective once, to see whether a forced algorithm can. */
#ifndef ICTUS_SELECT_TRIAL_H
#define ICTUS_SELECT_TRIAL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct trial;

/* What each process sends. An algorithm may depend on the number of elements as on the bytes. */
struct message {
    size_t bytes;
    size_t element; /* bytes of one, at least 1 */
};

/*
 * Room for one run with a message for each process, on comm: which must not be forced, since all of
 * its processes learn here whether one has no memory. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG.
 */
int ictusi_trial_prepare(MPI_Comm comm, struct message message, struct trial **trial);

/*
 * Run the operation once on a communicator of the same processes that returns its errors.
 * Collective. ICTUS_ERR_UNSUPPORTED when MPI refuses; operations not known here pass.
 */
int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation);

/* Whether the operation is known here. Local. */
bool ictusi_trial_knows(const char *operation);

/* NULL is legal. */
void ictusi_trial_free(struct trial *trial);

#endif

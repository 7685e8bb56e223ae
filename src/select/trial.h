/* SPDX-License-Identifier: BSD-3-Clause */
/* Carries out one collective once, to see whether a forced algorithm can run. */
#ifndef ICTUS_SELECT_TRIAL_H
#define ICTUS_SELECT_TRIAL_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

struct trial;

/* The message of each process. An algorithm may depend on the number of elements as well as on
 * the number of bytes. */
struct message {
    size_t bytes;
    size_t element; /* bytes of one element, at least 1 */
};

/*
 * Allocate the buffers for one run of an operation with a message for each process. `comm` must not
 * be forced, because its processes use it to agree on whether all of them have enough memory.
 * Collective. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_ARG, ICTUS_ERR_UNSUPPORTED (int displacements
 * cannot place messages of this size).
 */
int ictusi_trial_prepare(MPI_Comm comm, const char *operation, struct message message,
                         struct trial **trial);

/*
 * Run the operation once on a communicator of the same processes that returns its errors.
 * Collective. Return ICTUS_ERR_UNSUPPORTED if MPI refuses. An operation that is not known here
 * passes.
 */
int ictusi_trial_run(struct trial *trial, MPI_Comm comm, const char *operation);

/*
 * Allocate memory full of zeros, or NULL on all processes if one of them has none: it must not
 * leave the others in what they do next. The caller frees it. Collective; `comm` must not be
 * forced.
 */
void *ictusi_trial_allocate(MPI_Comm comm, size_t bytes);

/* Return whether this operation can be tried. Local. */
bool ictusi_trial_knows(const char *operation);

/* Release the buffers. NULL is allowed. */
void ictusi_trial_free(struct trial *trial);

#endif

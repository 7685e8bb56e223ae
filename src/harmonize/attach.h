/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Things that belong to a communicator: kept as its attribute, released when it is freed, when the
 * thing is replaced, or at MPI_Finalize. Not copied to duplicates.
 *
 * Threads: on different communicators at the thread level of MPI.
 */
#ifndef ICTUS_HARMONIZE_ATTACH_H
#define ICTUS_HARMONIZE_ATTACH_H

#include <mpi.h>

enum attach_kind { ATTACH_HARMONIZE, ATTACH_BARRIER, ATTACH_KINDS };

/* Embedded in the thing. */
struct attached {
    void (*release)(struct attached *attached); /* while MPI still works */
    MPI_Comm owner;
    enum attach_kind kind;
    struct attached *next; /* in the list of those to release at MPI_Finalize */
};

/*
 * Attach, releasing an earlier thing of the kind. On failure the new one is released.
 * Errors: ICTUS_ERR_MPI.
 */
int ictusi_attach(MPI_Comm comm, enum attach_kind kind, struct attached *attached);

/* What is attached, or NULL. Local. */
struct attached *ictusi_harmonize_attached(MPI_Comm comm, enum attach_kind kind);

/*
 * A text that goes with a communicator to its duplicates, as MPI's own hints do. NULL takes it
 * away. Local. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int ictusi_attach_hint(MPI_Comm comm, const char *text);

/* The text, or NULL; the communicator's. Local. */
const char *ictusi_harmonize_attached_hint(MPI_Comm comm);

#endif

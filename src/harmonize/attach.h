/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Objects that belong to a communicator. They are kept as its attributes and are released when the
 * communicator is freed, when the object is replaced, or in MPI_Finalize. They are not copied to
 * duplicates.
 *
 * Threads: concurrent calls on different communicators are safe if the thread level of MPI allows
 * them.
 */
#ifndef ICTUS_HARMONIZE_ATTACH_H
#define ICTUS_HARMONIZE_ATTACH_H

#include <mpi.h>

enum attach_kind { ATTACH_HARMONIZE, ATTACH_BARRIER, ATTACH_KINDS };

/* Embedded in the object. */
struct attached {
    void (*release)(struct attached *attached); /* called while MPI still works */
    MPI_Comm owner;
    enum attach_kind kind;
    struct attached *next; /* in the list of objects that MPI_Finalize must release */
};

/* Attach an object and release an earlier one of the same kind. On failure the new one is
 * released. Errors: ICTUS_ERR_MPI. */
int ictusi_attach(MPI_Comm comm, enum attach_kind kind, struct attached *attached);

/* Return the attached object, or NULL. Local. */
struct attached *ictusi_harmonize_attached(MPI_Comm comm, enum attach_kind kind);

/* Attach a text that is copied to duplicates of the communicator, as MPI's own hints are. NULL
 * removes it. Local. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_attach_hint(MPI_Comm comm, const char *text);

/* Return the text, which belongs to the communicator, or NULL. Local. */
const char *ictusi_harmonize_attached_hint(MPI_Comm comm);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A barrier by name: "mpi", "mpi:ALGORITHM" (inside the MPI library), "dissemination", "tree",
 * "linear" or "harmonize".
 */
#ifndef ICTUS_BENCH_SUBJECT_H
#define ICTUS_BENCH_SUBJECT_H

#include <ictus/barrier.h>
#include <ictus/select.h>
#include <mpi.h>

struct subject {
    enum ictus_barrier_algorithm algorithm;
    MPI_Comm comm;   /* the communicator to call it on */
    MPI_Comm forced; /* communicator that forces the algorithm; MPI_COMM_NULL if there is none */
    struct ictus_selector *selector;
};

/*
 * Prepare the barrier on comm. Collective. selector may be NULL if the name does not begin with
 * "mpi:". Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_UNSUPPORTED, ICTUS_ERR_MPI.
 */
int ictusi_subject_init(struct subject *subject, MPI_Comm comm, const char *name,
                        struct ictus_selector *selector, struct ictus_why *why);

/* Collective. */
void ictusi_subject_fini(struct subject *subject);

/* Call the barrier. Not for "harmonize", of which a caller needs the full result. Collective. */
static inline int ictusi_subject_call(const struct subject *subject)
{
    if (subject->algorithm == ICTUS_BARRIER_MPI) {
        return MPI_Barrier(subject->comm) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    return ictus_barrier(subject->comm, subject->algorithm);
}

#endif

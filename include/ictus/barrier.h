/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Barriers of our own, the same under every MPI library, so that results with a barrier can be
 * compared between libraries: point-to-point messages of no bytes on a private communicator, which
 * is an attribute of the caller's and goes with it.
 *
 * Threads: calls on one communicator must not overlap, as for every MPI collective.
 */
#ifndef ICTUS_BARRIER_H
#define ICTUS_BARRIER_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <mpi.h>

ICTUS_BEGIN

/** How the processes of a barrier learn that all are there; p processes, q = ceil(log2 p). */
enum ictus_barrier_algorithm {
    ICTUS_BARRIER_DISSEMINATION, /**< q rounds; each process sends and receives one message a round
                                  */
    ICTUS_BARRIER_TREE,          /**< a binomial tree up and down: 2q steps, 2(p-1) messages */
    ICTUS_BARRIER_LINEAR,        /**< all tell rank 0, which answers in the order of ranks */
    ICTUS_BARRIER_MPI,           /**< MPI_Barrier of the library */
    ICTUS_BARRIER_HARMONIZE      /**< ictus_harmonize(): all leave at one instant */
};

/** The names of the algorithms in the order of the enum, ended by NULL. Static. */
ICTUS_API const char *const *ictus_barrier_names(void);

/**
 * Wait for all processes of @p comm. Collective; blocking. The first call on a communicator
 * duplicates it.
 * @param comm      an intra-communicator
 * @param algorithm the same on all processes
 * @return ICTUS_OK, ICTUS_ERR_ARG (MPI_COMM_NULL, no such algorithm), ICTUS_ERR_INTERCOMM,
 *         ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, or as ictus_harmonize()
 */
ICTUS_API int ictus_barrier(MPI_Comm comm, enum ictus_barrier_algorithm algorithm);

ICTUS_END

#endif

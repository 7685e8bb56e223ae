/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Barriers with the same implementation under every MPI library, so that results with a barrier can
 * be compared between libraries. They send point-to-point messages without data on a private
 * communicator, which is an attribute of the caller's communicator and is released with it.
 *
 * Threads: calls on one communicator must not overlap, as for every MPI collective.
 */
#ifndef ICTUS_BARRIER_H
#define ICTUS_BARRIER_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <mpi.h>

ICTUS_BEGIN

/**
 * How the processes of a barrier find out that all have arrived. p is the number of processes and q
 * = ceil(log2 p).
 */
enum ictus_barrier_algorithm {
    ICTUS_BARRIER_DISSEMINATION, /**< q rounds; in each, a process sends and receives one message */
    ICTUS_BARRIER_TREE,          /**< up and down a binomial tree: 2q messages in a row, 2(p-1)
                                      in all */
    ICTUS_BARRIER_LINEAR,        /**< all send to rank 0, which answers in the order of ranks */
    ICTUS_BARRIER_MPI,           /**< MPI_Barrier of the library */
    ICTUS_BARRIER_HARMONIZE      /**< ictus_harmonize(): all leave at the same instant */
};

/**
 * Return the names of the algorithms in the order of the enum, terminated by NULL. Static. Local.
 */
ICTUS_API const char *const *ictus_barrier_names(void);

/**
 * Wait for all processes of @p comm. Collective; blocking. The first call on a communicator
 * duplicates it.
 * @param comm      an intra-communicator
 * @param algorithm the same on all processes
 * @return ICTUS_OK, ICTUS_ERR_ARG (MPI_COMM_NULL, no such algorithm), ICTUS_ERR_INTERCOMM,
 *         ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, or an error of ictus_harmonize()
 */
ICTUS_API int ictus_barrier(MPI_Comm comm, enum ictus_barrier_algorithm algorithm);

ICTUS_END

#endif

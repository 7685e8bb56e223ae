/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The MPI call that Schuchart, Hunold and Bosilca propose (S23, section 5.1), as a thin layer over
 * ictus_harmonize(). The prefix MPIX_ is for implementers of MPI, so include this header only if
 * you mean to use it.
 *
 * Threads: as for ictus/harmonize.h.
 */
#ifndef ICTUS_MPIX_HARMONIZE_H
#define ICTUS_MPIX_HARMONIZE_H

#include <ictus/harmonize.h>
#include <mpi.h>

/**
 * Synchronise the processes of @p comm in space and time. Collective; blocking.
 * @param comm      an intra-communicator
 * @param[out] flag 1 if this process left within the tolerance of the common instant, else 0
 * @return MPI_SUCCESS, MPI_ERR_COMM, MPI_ERR_ARG or MPI_ERR_OTHER
 */
static inline int MPIX_Harmonize(MPI_Comm comm, int *flag)
{
    struct ictus_harmony harmony;
    if (!flag) {
        return MPI_ERR_ARG;
    }
    const int err = ictus_harmonize(comm, &harmony);
    if (!err) {
        *flag = harmony.flag;
        return MPI_SUCCESS;
    }
    return err == ICTUS_ERR_ARG || err == ICTUS_ERR_INTERCOMM ? MPI_ERR_COMM : MPI_ERR_OTHER;
}

#endif

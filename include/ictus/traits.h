/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Checking that all processes were given the same options and variables. Processes that were told
 * different things would wait for each other forever, for instance where a launcher does not
 * forward an environment variable.
 */
#ifndef ICTUS_TRAITS_H
#define ICTUS_TRAITS_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <mpi.h>
#include <stddef.h>

ICTUS_BEGIN

/** Something that every process of a communicator must have been given alike. */
struct ictus_trait {
    const char *name;  /**< as users know it: "--warmup", "ICTUS_BARRIER" */
    const char *value; /**< as text; NULL: not given, which differs from every text */
};

/**
 * Check that all ranks have the same traits. Costs one reduction if they have. If they have not,
 * the reason names the first trait that differs on the lowest rank that differs from rank 0, and
 * both values.
 *
 * Collective over @p comm, which must be an intra-communicator. Threads: as for any collective on
 * @p comm; nothing is shared between calls.
 * @param comm    see above
 * @param traits  only read, in the same order on all ranks; a list that ends earlier than another
 *                one counts as if the missing traits had not been given
 * @param count   how many traits there are; may differ between ranks
 * @param[out] why may be NULL; set on failure, to the same text on all ranks
 * @return the same on all ranks: ICTUS_OK, ICTUS_ERR_SPEC (they differ), ICTUS_ERR_NOMEM,
 *         ICTUS_ERR_MPI
 */
ICTUS_API int ictus_traits_agree(MPI_Comm comm, const struct ictus_trait *traits, size_t count,
                                 struct ictus_why *why);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A common start: every process of a communicator leaves the call at the same instant of the
 * global clock (S23, algorithm 1, repaired). State hangs off the communicator as an attribute and
 * goes with it. Quick path: one reduce and one broadcast of three words each: by MPI_Reduce and
 * MPI_Bcast between nodes, through shared memory inside a node that has a core for each process.
 *
 * Threads: calls on one communicator must not overlap, as for every MPI collective; on different
 * communicators they may, at the thread level MPI was initialised with.
 */
#ifndef ICTUS_HARMONIZE_H
#define ICTUS_HARMONIZE_H

#include <ictus/api.h>
#include <ictus/clock.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/** What one call says on this process. Times are on the global clock of the communicator. */
struct ictus_harmony {
    int flag;                   /**< 1 only if this process left within the tolerance */
    struct ictus_time deadline; /**< the common instant */
    double lateness_ns;         /**< when it left, after the deadline; judged after the wait */
    double margin_ns;           /**< how long before the deadline it was ready; negative: late */
    double sigma_ns;            /**< of this process's clock at the deadline */
    double bound_ns;            /**< likewise */
    double slack_ns;            /**< how far ahead the common instant was set */
    int attempts;               /**< starts it took: 1 without ictus_harmonize_retry() */
};

/** What a communicator's harmonised starts have been like so far, on this process. */
struct ictus_harmonize_stats {
    uint64_t calls;       /**< harmonised starts so far */
    uint64_t late;        /**< calls this process left late */
    uint64_t resyncs;     /**< synchronisations after the first */
    double slack_ns;      /**< in force now */
    double mean_slack_ns; /**< over all calls */
    double tolerance_ns;  /**< a start later than this counts as late */
    double skew_ns;       /**< expected spread of the starts: from sigma and lateness */
};

/**
 * Start together. Collective over @p comm; blocking. The first call on a communicator builds its
 * clock. Lateness is not an error: see flag.
 * @param comm            an intra-communicator
 * @param[out] harmony    may be NULL; set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG (MPI_COMM_NULL), ICTUS_ERR_INTERCOMM, or as ictus_clock_create()
 */
ICTUS_API int ictus_harmonize(MPI_Comm comm, struct ictus_harmony *harmony);

/**
 * Start together, and again if any process was late, up to @p retries times more. Between agreeing
 * that all were on time and the start that counts lies a second wait of four slacks. Collective;
 * one reduce and one broadcast more than ictus_harmonize().
 * @param comm         an intra-communicator
 * @param retries      0 is ictus_harmonize()
 * @param[out] harmony of the last start; may be NULL
 */
ICTUS_API int ictus_harmonize_retry(MPI_Comm comm, int retries, struct ictus_harmony *harmony);

/**
 * Choose how a communicator's harmonised starts are made. Collective over @p comm; drops earlier
 * state; duplicates made later inherit it. Options: tolerance=0 (1us, or 100us where processes
 * outnumber cores), late=0.001 (asked rate of late starts), resync=auto|never|always, slack=0
 * (fixed when above 0), max_slack=100ms, reach=32 (the longest slack in medians of what calls
 * needed), within=auto|memory|messages (how processes of a node agree), rehearse=auto|no (exchange
 * the words twice after work). The default comes from the environment variable ICTUS_HARMONIZE.
 * @param comm     an intra-communicator
 * @param spec     "harmonize:option=value,..." or NULL for the defaults
 * @param clock    specification of its clock, as in ictus_clock_create(); may be NULL
 * @param[out] why filled on failure; may be NULL
 */
ICTUS_API int ictus_harmonize_configure(MPI_Comm comm, const char *spec, const char *clock,
                                        struct ictus_why *why);

/**
 * As ictus_harmonize_configure(), from an info object with any of the keys ictus_tolerance,
 * ictus_late, ictus_reach, ictus_resync, ictus_slack, ictus_max_slack, ictus_within,
 * ictus_rehearse and ictus_clock; others are ignored. A communicator made with such an info
 * (MPI_Comm_dup_with_info) needs no call where the MPI library keeps keys it does not know.
 * Collective.
 * @param comm     as in ictus_harmonize()
 * @param info     MPI_INFO_NULL: the defaults
 * @param[out] why says why on failure; may be NULL
 */
ICTUS_API int ictus_harmonize_set_info(MPI_Comm comm, MPI_Info info, struct ictus_why *why);

/**
 * The options in force, under the same keys. Local.
 * @param comm      as in ictus_harmonize()
 * @param[out] info released by the caller; set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, or ICTUS_ERR_SAMPLES before the first call
 */
ICTUS_API int ictus_harmonize_get_info(MPI_Comm comm, MPI_Info *info);

/** The clock of a communicator's harmonised starts; created by the first call. Collective then. */
ICTUS_API int ictus_harmonize_clock(MPI_Comm comm, struct ictus_clock **clock);

/** Statistics so far. Local. @return ICTUS_OK, or ICTUS_ERR_SAMPLES before the first call */
ICTUS_API int ictus_harmonize_stats(MPI_Comm comm, struct ictus_harmonize_stats *stats);

ICTUS_END

#endif

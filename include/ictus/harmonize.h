/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * A common start: every process of a communicator leaves the call at the same instant of the global
 * clock (S23, algorithm 1, with corrections). The state is an attribute of the communicator and is
 * released with it. Usually a call takes one reduction and one broadcast of three words each: by
 * MPI_Reduce and MPI_Bcast between nodes, and through shared memory inside a node that has a core
 * for each process.
 *
 * Threads: calls on one communicator must not overlap, as for every MPI collective. Calls on
 * different communicators may overlap if MPI was initialised with a thread level that permits it.
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

/** The outcome of a call on this process. Times are on the global clock of the communicator. */
struct ictus_harmony {
    int flag;                   /**< 1 only if this process left within the tolerance */
    struct ictus_time deadline; /**< the common instant */
    double lateness_ns;         /**< time from the deadline until this process left, measured
                                     after the wait */
    double margin_ns;           /**< time from being ready until the deadline; negative: late */
    double sigma_ns;            /**< of this process's clock at the deadline */
    double bound_ns;            /**< hard bound of that clock's error at the deadline */
    double slack_ns;            /**< how far ahead the common instant was set */
    int attempts;               /**< number of starts; always 1 without ictus_harmonize_retry() */
};

/** Statistics of a communicator's harmonised starts so far, on this process. */
struct ictus_harmonize_stats {
    uint64_t calls;       /**< harmonised starts so far */
    uint64_t late;        /**< calls that this process left late */
    uint64_t resyncs;     /**< synchronisations after the first one */
    double slack_ns;      /**< the present slack */
    double mean_slack_ns; /**< mean over all calls */
    double tolerance_ns;  /**< a start later than this counts as late */
    double skew_ns;       /**< expected spread of the starts, from sigma and lateness */
};

/**
 * Start together. Collective over @p comm; blocking. The first call on a communicator builds its
 * clock. Lateness is not an error: see flag.
 * @param comm         an intra-communicator
 * @param[out] harmony set only on success; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG (MPI_COMM_NULL), ICTUS_ERR_INTERCOMM, or an error of
 *         ictus_clock_create()
 */
ICTUS_API int ictus_harmonize(MPI_Comm comm, struct ictus_harmony *harmony);

/**
 * Start together, and repeat the start up to @p retries times while any process was late. When all
 * were on time, the start that counts follows after a second wait of four slacks. Collective over
 * @p comm; blocking. It takes one reduction and one broadcast more than ictus_harmonize().
 * @param comm         an intra-communicator
 * @param retries      0: the same as ictus_harmonize()
 * @param[out] harmony of the last start; may be NULL
 * @return as ictus_harmonize(), and ICTUS_ERR_ARG if retries is negative
 */
ICTUS_API int ictus_harmonize_retry(MPI_Comm comm, int retries, struct ictus_harmony *harmony);

/**
 * Choose how harmonised starts of a communicator are made. Collective over @p comm; blocking.
 * Earlier state is dropped, and duplicates that are made later inherit the options. Options:
 * tolerance=0 (1us, or 100us if processes outnumber cores), late=0.001 (target rate of late
 * starts), resync=auto|never|always, slack=0 (fixed if above 0), max_slack=100ms, reach=32 (the
 * longest slack, in medians of what calls needed), within=auto|memory|messages (how processes of a
 * node agree), rehearse=auto|no (exchange the words twice after work). The default is taken from
 * the environment variable ICTUS_HARMONIZE.
 * @param comm     an intra-communicator
 * @param spec     "harmonize:option=value,...", or NULL for the default
 * @param clock    specification of its clock, as for ictus_clock_create(); may be NULL
 * @param[out] why the reason of a failure; may be NULL
 * @return as ictus_harmonize(), and ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN
 */
ICTUS_API int ictus_harmonize_configure(MPI_Comm comm, const char *spec, const char *clock,
                                        struct ictus_why *why);

/**
 * Like ictus_harmonize_configure(), with an info object that may have the keys ictus_tolerance,
 * ictus_late, ictus_reach, ictus_resync, ictus_slack, ictus_max_slack, ictus_within, ictus_rehearse
 * and ictus_clock. Other keys are ignored. A communicator that was created with such an info
 * (MPI_Comm_dup_with_info) needs no call if the MPI library keeps keys that it does not know.
 * Collective over @p comm; blocking.
 * @param comm     as for ictus_harmonize()
 * @param info     MPI_INFO_NULL: the defaults
 * @param[out] why the reason of a failure; may be NULL
 * @return as ictus_harmonize_configure()
 */
ICTUS_API int ictus_harmonize_set_info(MPI_Comm comm, MPI_Info info, struct ictus_why *why);

/**
 * Return the options in use, under the same keys. Local.
 * @param comm      as for ictus_harmonize()
 * @param[out] info released by the caller; set only on success
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_MPI, or ICTUS_ERR_SAMPLES before the first call
 */
ICTUS_API int ictus_harmonize_get_info(MPI_Comm comm, MPI_Info *info);

/**
 * Return the clock of a communicator's harmonised starts, which the communicator owns. Local,
 * except that it is collective if no call has created the clock yet.
 * @return as ictus_harmonize()
 */
ICTUS_API int ictus_harmonize_clock(MPI_Comm comm, struct ictus_clock **clock);

/**
 * Return the statistics so far. Local.
 * @return ICTUS_OK, ICTUS_ERR_ARG, or ICTUS_ERR_SAMPLES before the first call
 */
ICTUS_API int ictus_harmonize_stats(MPI_Comm comm, struct ictus_harmonize_stats *stats);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How far apart the processes leave a barrier (S23 section 2.2). All enter it at one instant of the
 * global clock. Their exits are read on that clock, or by the truth if the source is simulated. The
 * interface serves the tools of ictus and is not yet stable.
 *
 * Barriers by name: "mpi" (MPI_Barrier as it is), "mpi:ALGORITHM" (one of the MPI library's, see
 * ictus/select.h), and those of ictus/barrier.h: "dissemination", "tree", "linear", "harmonize".
 *
 * Threads: functions with a handle are collective unless they are marked as local, and may be
 * called by one thread at a time.
 */
#ifndef ICTUS_SKEW_H
#define ICTUS_SKEW_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <ictus/select.h>
#include <mpi.h>
#include <stdint.h>

ICTUS_BEGIN

struct ictus_skew;

/** What a barrier showed. The arrays are owned by the result; NULL on ranks other than 0. */
struct ictus_skew_result {
    int64_t n;           /**< barriers whose skew is known */
    int64_t invalid;     /**< entered late on some process, or a harmonised exit that reported to
                              be late */
    double *skews_s;     /**< n values: last exit minus first exit */
    double *durations_s; /**< n values: common entry to last exit */
    int64_t *first;      /**< for each rank: number of times that it left first */
    int64_t *last;       /**< likewise: left last */
    int truth;           /**< 1: exits are exact */
};

/**
 * Prepare measurements on a communicator and build its clock. Collective; blocking.
 * @param comm      an intra-communicator; duplicated, the caller keeps its handle
 * @param clock     as for ictus_clock_create(); may be NULL
 * @param selector  for "mpi:ALGORITHM"; may be NULL
 * @param[out] skew set only on success; released with ictus_skew_free()
 * @param[out] why  the reason of a failure; may be NULL
 * @return as ictus_clock_create()
 */
ICTUS_API int ictus_skew_create(MPI_Comm comm, const char *clock, struct ictus_selector *selector,
                                struct ictus_skew **skew, struct ictus_why *why);

/** Release. Collective. NULL is allowed. */
ICTUS_API void ictus_skew_free(struct ictus_skew *skew);

/** @return the clock in use, which is owned by the handle. Local. */
ICTUS_API struct ictus_clock *ictus_skew_clock(struct ictus_skew *skew);

/**
 * Measure a barrier until @p n skews are known or @p max_time_s has passed. Collective; blocking.
 * @param skew        from ictus_skew_create()
 * @param barrier     "mpi", "mpi:ALGORITHM", or one of ictus_barrier_names()
 * @param n           number of skews
 * @param max_time_s  time limit in s; 0: none
 * @param[out] result release with ictus_skew_result_free()
 * @param[out] why    the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_UNKNOWN (no such barrier),
 *         ICTUS_ERR_UNSUPPORTED (not on this number of processes, or no selection),
 *         ICTUS_ERR_SAMPLES (no entry was in time), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI
 */
ICTUS_API int ictus_skew_run(struct ictus_skew *skew, const char *barrier, int64_t n,
                             double max_time_s, struct ictus_skew_result *result,
                             struct ictus_why *why);

/** Release what a result owns. Local. @param result from a run, or all zero */
ICTUS_API void ictus_skew_result_free(struct ictus_skew_result *result);

ICTUS_END

#endif

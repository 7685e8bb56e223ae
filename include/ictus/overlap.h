/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a nonblocking operation costs the CPU and how much of it hides behind computation (H08
 * section 4). For the tools of ictus: not yet stable. Collective over the bench's communicator.
 */
#ifndef ICTUS_OVERLAP_H
#define ICTUS_OVERLAP_H

#include <ictus/api.h>
#include <ictus/bench.h>
#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/** How overhead is found: by timers around the calls, or as what fixed work takes longer. */
enum ictus_overlap_method { ICTUS_OVERLAP_TIME, ICTUS_OVERLAP_WORK };

/** Who progresses the operation while the process computes. */
enum ictus_progress {
    ICTUS_PROGRESS_NONE,    /**< nobody on purpose */
    ICTUS_PROGRESS_TESTS,   /**< calls of MPI_Test, spread evenly through the computation */
    ICTUS_PROGRESS_THREAD,  /**< a thread of ours; needs MPI_THREAD_MULTIPLE */
    ICTUS_PROGRESS_LIBRARY, /**< the MPI library's own, where it has one */
    ICTUS_PROGRESSES
};

/** What is computed. */
enum ictus_kernel { ICTUS_KERNEL_ARITHMETIC, ICTUS_KERNEL_MEMORY };

/** The names of enum ictus_overlap_method, ended by NULL. */
ICTUS_API extern const char *const ictus_overlap_method_names[];
/** The names of enum ictus_progress, ended by NULL. */
ICTUS_API extern const char *const ictus_progress_names[];
/** The names of enum ictus_kernel, ended by NULL. */
ICTUS_API extern const char *const ictus_kernel_names[];

/** What to measure. Set size to sizeof(struct ictus_overlap_plan). */
struct ictus_overlap_plan {
    size_t size;                      /**< sizeof(struct ictus_overlap_plan) */
    struct ictus_bench_plan call;     /**< operation, bytes, repetitions and how to stop */
    enum ictus_overlap_method method; /**< how overlap is told */
    enum ictus_progress progress;     /**< who moves the operation on meanwhile */
    enum ictus_kernel kernel;         /**< what is computed */
    uint64_t interval; /**< bytes for each test: N = ceil(bytes / interval) + 1 (H08 4.2) */
    double factor;     /**< computation in multiples of the blocking time */
};

/** Medians over the repetitions; times of the slowest process in each. Set on rank 0 only. */
struct ictus_overlap_result {
    int64_t n;         /**< valid repetitions */
    int64_t invalid;   /**< repetitions whose start was late on some process */
    double blocking_s; /**< t_b: start and wait at once */
    double compute_s;  /**< the computation alone */
    double init_s;     /**< in the call that begins */
    double test_s;     /**< in all calls of MPI_Test */
    double wait_s;     /**< in MPI_Wait */
    double overhead_s; /**< init + test + wait; by work: how much longer the work took */
    double total_s;    /**< all together; by work: common start to last exit on the global clock */
    int64_t tests;     /**< calls of MPI_Test in each repetition */
    double work_error; /**< computation over what was asked, minus 1 */
    double h08;        /**< share of t_b that was hidden: 1 - overhead / t_b, from 0 to 1 */
    double osu;        /**< max(0, 1 - (overall - (compute - test)) / pure), means over ranks */
    double imb;        /**< clamp01((pure + compute - overall) / max(pure, compute)), likewise */
    double unseen_s;   /**< overhead that no timer saw: preemption, interrupts, shared caches */
};

/**
 * Measure one operation.
 * @param bench       under the scheme "harmonize"
 * @param plan        the same on all processes
 * @param[out] result set on rank 0, on success
 * @param[out] why    says why on failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG (not nonblocking), ICTUS_ERR_THREAD,
 *         ICTUS_ERR_UNSUPPORTED (no progress of the library's own), ICTUS_ERR_CORRUPT (the
 *         computation does not take time in proportion), or as ictus_bench_run()
 */
ICTUS_API int ictus_overlap_run(struct ictus_bench *bench, const struct ictus_overlap_plan *plan,
                                struct ictus_overlap_result *result, struct ictus_why *why);

ICTUS_END

#endif

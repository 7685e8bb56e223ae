/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How much CPU time a nonblocking operation costs, and how much of it computation hides (H08
 * section 4). The interface serves the tools of ictus and is not yet stable.
 *
 * Threads: ictus_overlap_run() is collective over the bench's communicator; one thread at a time.
 */
#ifndef ICTUS_OVERLAP_H
#define ICTUS_OVERLAP_H

#include <ictus/api.h>
#include <ictus/bench.h>
#include <ictus/error.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/**
 * How the overhead is measured: by timers around the calls, or by how much longer a fixed amount of
 * work takes.
 */
enum ictus_overlap_method { ICTUS_OVERLAP_TIME, ICTUS_OVERLAP_WORK };

/** What progresses the operation while the process computes. */
enum ictus_progress {
    ICTUS_PROGRESS_NONE,    /**< nothing on purpose */
    ICTUS_PROGRESS_TESTS,   /**< calls of MPI_Test, spread evenly through the computation */
    ICTUS_PROGRESS_THREAD,  /**< a thread of our own; needs MPI_THREAD_MULTIPLE */
    ICTUS_PROGRESS_LIBRARY, /**< the MPI library's own mechanism, if it has one */
    ICTUS_PROGRESSES
};

/** What is computed. */
enum ictus_kernel { ICTUS_KERNEL_ARITHMETIC, ICTUS_KERNEL_MEMORY };

/** The names of enum ictus_overlap_method, terminated by NULL. */
ICTUS_API extern const char *const ictus_overlap_method_names[];
/** The names of enum ictus_progress, terminated by NULL. */
ICTUS_API extern const char *const ictus_progress_names[];
/** The names of enum ictus_kernel, terminated by NULL. */
ICTUS_API extern const char *const ictus_kernel_names[];

/** What to measure. Set size to sizeof(struct ictus_overlap_plan). */
struct ictus_overlap_plan {
    size_t size;                      /**< sizeof(struct ictus_overlap_plan) */
    struct ictus_bench_plan call;     /**< operation, bytes, repetitions and how to stop */
    enum ictus_overlap_method method; /**< how the overhead is measured */
    enum ictus_progress progress;     /**< what progresses the operation meanwhile */
    enum ictus_kernel kernel;         /**< what is computed */
    uint64_t interval; /**< bytes for each test: N = ceil(bytes / interval) + 1 (H08 4.2) */
    double factor;     /**< computation in multiples of the blocking time */
};

/** Medians over the repetitions. Times are those of the slowest process. Set on rank 0 only. */
struct ictus_overlap_result {
    int64_t n;         /**< valid repetitions */
    int64_t invalid;   /**< repetitions whose start was late on some process */
    double blocking_s; /**< t_b: the operation started and immediately waited for */
    double compute_s;  /**< the computation alone */
    double init_s;     /**< in the call that starts the operation */
    double test_s;     /**< in all calls of MPI_Test */
    double wait_s;     /**< in MPI_Wait */
    double overhead_s; /**< init + test + wait; by work: the additional time of the work */
    double total_s;    /**< all together; by work: common start to last exit, global clock */
    int64_t tests;     /**< calls of MPI_Test in each repetition */
    double work_error; /**< actual over requested computation, minus 1 */
    double h08;        /**< share of t_b that was hidden: 1 - overhead / t_b, limited to 0 to 1 */
    double osu;        /**< max(0, 1 - (overall - (compute - test)) / pure), means over ranks */
    double imb;        /**< clamp01((pure + compute - overall) / max(pure, compute)), likewise */
    double unseen_s;   /**< overhead that no timer covers: preemption, interrupts, shared caches */
};

/**
 * Measure one operation. Collective over the bench's communicator; blocking.
 * @param bench       with the scheme "harmonize"
 * @param plan        the same on all processes
 * @param[out] result set on rank 0, on success
 * @param[out] why    the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_ARG (not nonblocking), ICTUS_ERR_THREAD,
 *         ICTUS_ERR_UNSUPPORTED (the library has no progress of its own), ICTUS_ERR_CORRUPT (the
 *         time of the computation is not proportional to its amount), or an error of
 *         ictus_bench_run()
 */
ICTUS_API int ictus_overlap_run(struct ictus_bench *bench, const struct ictus_overlap_plan *plan,
                                struct ictus_overlap_result *result, struct ictus_why *why);

ICTUS_END

#endif

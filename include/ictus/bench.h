/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measuring MPI operations with controlled starts. For the tools of ictus: not yet stable.
 *
 * An experiment is one operation with one block size on one communicator under one scheme. All
 * functions that take a communicator or a bench are collective over it; one thread at a time.
 */
#ifndef ICTUS_BENCH_H
#define ICTUS_BENCH_H

#include <ictus/api.h>
#include <ictus/clock.h>
#include <ictus/error.h>
#include <ictus/time.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/** How the local times of all processes become one number a repetition (H08 section 1.2). */
enum ictus_reduction {
    ICTUS_REDUCE_MAX,      /**< the slowest process */
    ICTUS_REDUCE_MEAN,     /**< mean over the processes: what OSU and IMB print */
    ICTUS_REDUCE_MIN,      /**< the fastest process */
    ICTUS_REDUCE_ROOT,     /**< the root's own time */
    ICTUS_REDUCE_MAKESPAN, /**< on the global clock: common start (or first start) to last exit */
    ICTUS_REDUCE_EXIT,     /**< on the global clock: last arrival to last exit */
    ICTUS_REDUCE_WAIT,     /**< sum over the processes: within the call until the last arrival */
    ICTUS_REDUCTIONS
};

/** Their names, ended by NULL. */
ICTUS_API extern const char *const ictus_reduction_names[];

/** Operations that a shared object brings along; see <ictus/plugin.h>. */
struct ictus_plugins;

/**
 * Load a shared object's operations. Local; call it alike on all processes.
 * @param[in,out] plugins NULL at first; grows; release with ictus_plugins_free()
 * @param path            of the shared object, as for dlopen(3)
 * @param[out] why        says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO (cannot be loaded), ICTUS_ERR_FORMAT (no plugin), ICTUS_ERR_EXISTS
 *         (an operation of that name is there), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_plugins_load(struct ictus_plugins **plugins, const char *path,
                                 struct ictus_why *why);

/** Release. No call of their operations may be under way. @param plugins NULL is legal */
ICTUS_API void ictus_plugins_free(struct ictus_plugins *plugins);

/** One row of the tables of operations. */
struct ictus_operation_info {
    const char *name;    /**< as given to --ops */
    const char *summary; /**< one line for lists */
    int rooted;          /**< has a root */
    int reduces;         /**< needs an MPI_Op */
    int has_data;        /**< 0: the size does not matter (barrier) */
    int nonblocking;     /**< can be begun and waited for apart */
    int streams;         /**< many messages at once, see messages in a plan */
    int one_sided;       /**< on an MPI window */
    int persistent;      /**< a request or a window is made once, used many times */
    const char *mocks;   /**< the operation that this composition of others stands for, or NULL */
    int pieces;          /**< of a mock-up: into how many pieces the operation is split; else 0 */
    int partitioned;     /**< its message is handed over in partitions, see them in a plan */
    int once;            /**< happens once a launch (init): instants come from the plan */
    int threaded;        /**< threads of each process call MPI at once, see them in a plan */
    int neighborhood;    /**< between the neighbours of a topology, see it in a plan */
    int single;          /**< works on one element of the datatype: has no other size */
};

/**
 * Row number @p i of the operations, the plugins' last. Local.
 * @param plugins   may be NULL
 * @param i         from 0
 * @param[out] info set only on success; its texts are static or the plugin's
 * @return ICTUS_OK, or ICTUS_ERR_SAMPLES after the last
 */
ICTUS_API int ictus_operation(const struct ictus_plugins *plugins, int i,
                              struct ictus_operation_info *info);

/** Find an operation by name. Local. @return ICTUS_OK or ICTUS_ERR_UNKNOWN with the nearest */
ICTUS_API int ictus_operation_find(const struct ictus_plugins *plugins, const char *name,
                                   struct ictus_operation_info *info, struct ictus_why *why);

/** @return bytes of one element of a datatype ("char", "double", ...), or 0: no such one. Local. */
ICTUS_API size_t ictus_datatype_bytes(const char *name);

/** Names of the ways a window's memory comes to be, ended by NULL. */
ICTUS_API extern const char *const ictus_window_kinds[];

/**
 * The one to take unless told: Open MPI may be without a component for memory of the caller's, and
 * puts miss what MPICH 4.0 allocates.
 */
#if defined(OPEN_MPI)
#define ICTUS_WINDOW_DEFAULT "allocate"
#else
#define ICTUS_WINDOW_DEFAULT "create"
#endif

/** @return name and summary of scheme number @p i, or NULL after the last. Local. */
ICTUS_API const char *ictus_scheme_name(int i, const char **summary);

/** Check a scheme's specification without running it. Local. */
ICTUS_API int ictus_scheme_check(const char *spec, struct ictus_why *why);

/** The reduction that a scheme's users expect: max after a common start, mean after a barrier. */
ICTUS_API enum ictus_reduction ictus_scheme_reduction(const char *spec);

/**
 * What to measure and when to stop. Set size to sizeof(struct ictus_bench_plan); everything that is
 * zero or NULL takes its default.
 */
struct ictus_bench_plan {
    size_t size;                         /**< sizeof(struct ictus_bench_plan) */
    const char *operation;               /**< name of an operation, see ictus_operation_at() */
    const struct ictus_plugins *plugins; /**< where else operations are looked up; may be NULL */
    uint64_t bytes; /**< of one block: the count argument of the MPI call times the datatype */
    const char *datatype; /**< "char" by default */
    const char *reduce;   /**< "sum" by default */
    int root;             /**< rank in the communicator */
    int rotate_root;      /**< the root moves on with each repetition */
    int in_place;         /**< MPI_IN_PLACE where the operation knows it */
    int buffers;          /**< sets of buffers used in turn */
    int cold;             /**< write through the caches before each repetition */
    int messages;         /**< of a stream, under way at once; 0: 64 */
    int partitions;       /**< of a partitioned message, 1 to 4096; 0: 4 */
    const char *window;   /**< one-sided: one of ictus_window_kinds; NULL: ICTUS_WINDOW_DEFAULT */
    const char *topology; /**< of neighbourhood operations: "ring" (NULL), "cart:dimensions=2",
                               "graph:degree=3" */
    const char *layout;   /**< of the elements of a block: "contiguous" (NULL),
                               "vector:block=8,stride=16", "indexed", "resized:stride=2" */
    int threads;          /**< of each process in operations of threads, 2 to 64; 0: none */
    struct ictus_time init[2]; /**< before and after MPI_Init on this process, read from the clock
                               "monotonic"; for the operation init, all zero otherwise */
    int check;                 /**< 1: verify the operation's result before and after measuring;
                                    2: of every repetition as well */
    const char *arrival; /**< "ascending:spread=10us", "late:rank=0,by=20us"; NULL: all together */
    MPI_Comm comm;       /**< the same processes as the bench's, for a forced algorithm */
    int use_comm;        /**< comm is set */
    int64_t repetitions; /**< valid ones wanted */
    int64_t warmup;      /**< untimed calls before */
    double max_time_s;   /**< stop after this even with fewer repetitions; 0: no limit */
    double width;        /**< stop at ictus_median_settled() by this part of it; 0: off */
    int keep_ranks;      /**< keep every process's times as well */
    int group;           /**< processes of each of several groups of consecutive ranks that run
                              the operation at once, each for itself; 0: all are one */
    int64_t first;       /**< repetitions made before: where roots, buffers, arrivals go on */
};

/** @return how many blocks a process sends at once under this plan, in a stream; else 0. Local. */
ICTUS_API int ictus_operation_messages(const struct ictus_bench_plan *plan);

/** Check a plan without a communicator: its texts, and whether the operation can do it. Local. */
ICTUS_API int ictus_bench_check_plan(const struct ictus_bench_plan *plan, struct ictus_why *why);

/**
 * Check as well whether it works with a scheme and with that many processes. Local.
 * @param plan      to be run by ictus_bench_run()
 * @param scheme    as for ictus_bench_create()
 * @param processes that will take part; 0 where that is not known yet
 * @param[out] why  says why on failure; may be NULL
 * @return ICTUS_OK, or what ictus_bench_run() would return
 */
ICTUS_API int ictus_bench_check(const struct ictus_bench_plan *plan, const char *scheme,
                                int processes, struct ictus_why *why);

/** What one experiment gave. Arrays are owned by the result; on ranks but 0 they are NULL. */
struct ictus_bench_result {
    int64_t n;                           /**< valid repetitions */
    int64_t invalid;                     /**< repetitions whose start was late on some process;
                                              set alone with ICTUS_ERR_SAMPLES */
    double *samples_s[ICTUS_REDUCTIONS]; /**< n seconds each, in the order of measurement */
    double *ranks_s;                     /**< n times processes, if asked for; else NULL */
    double sigma_ns;                     /**< largest clock sigma over processes, at the end */
    double bound_ns;                     /**< largest hard bound of the clock's error, likewise */
    int arrival_ranks; /**< ranks of the arrival pattern that a file told; 0: none did */
};

struct ictus_bench;

/**
 * Get ready to measure on a communicator: builds its clock.
 * @param comm       an intra-communicator; duplicated, the caller keeps its handle
 * @param scheme     "harmonize", "barrier", "round-time:slack=3", ...; NULL takes harmonize
 * @param clock      as in ictus_clock_create(); may be NULL
 * @param[out] bench released with ictus_bench_free()
 * @param[out] why   says why on failure; may be NULL
 */
ICTUS_API int ictus_bench_create(MPI_Comm comm, const char *scheme, const char *clock,
                                 struct ictus_bench **bench, struct ictus_why *why);

/** Collective. @param bench NULL is legal */
ICTUS_API void ictus_bench_free(struct ictus_bench *bench);

/** The clock in use; owned by the bench. Local. */
ICTUS_API struct ictus_clock *ictus_bench_clock(struct ictus_bench *bench);

/** Whether more processes than cores run on this process's node. Local. */
ICTUS_API int ictus_bench_crowded(const struct ictus_bench *bench);

/**
 * Run one experiment.
 * @param bench       from ictus_bench_create()
 * @param plan        the same on all processes
 * @param[out] result filled on success; release with ictus_bench_result_free()
 * @param[out] why    says why on failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_UNKNOWN (operation), ICTUS_ERR_ARG,
 *         ICTUS_ERR_UNSUPPORTED (size), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, ICTUS_ERR_SAMPLES
 */
ICTUS_API int ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                              struct ictus_bench_result *result, struct ictus_why *why);

/** Release what a result owns. Local. @param result from a run, or all zero */
ICTUS_API void ictus_bench_result_free(struct ictus_bench_result *result);

/** Statistics of one sample. */
struct ictus_summary {
    size_t n;         /**< values */
    double median;    /**< the middle value, or the mean of the middle two */
    double ci95_low;  /**< lower end of the median's rank-based interval, see covered */
    double ci95_high; /**< upper end of it */
    double covered;   /**< level that the interval really has */
    double mean;      /**< arithmetic mean */
    double sd;        /**< standard deviation, by n - 1 */
    double min;       /**< smallest value */
    double max;       /**< largest value */
    double p10;       /**< quantile 0.10 */
    double p25;       /**< quantile 0.25 */
    double p75;       /**< quantile 0.75 */
    double p90;       /**< quantile 0.90 */
    double p99;       /**< quantile 0.99 */
    size_t outliers;  /**< outside Tukey's fences; counted, never dropped */
    double effective; /**< how many independent values the median is worth; n unless a series */
};

/** Summarise @p n > 0 values; sorts a copy. @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM */
ICTUS_API int ictus_summarize(const double *values, size_t n, struct ictus_summary *summary);

/**
 * Summarise values in the order in which they were measured: where stretches of them differ more
 * than chance allows (a machine that changes its state, a drift), the median's interval is as wide
 * as they say, and effective less than n. Seen from 100 values on. Local.
 * @return as ictus_summarize()
 */
ICTUS_API int ictus_summarize_series(const double *values, size_t n, struct ictus_summary *summary);

/**
 * Whether values in the order of measurement settle their median: there are 100 or more, enough to
 * see a drift by, and the median's interval is no wider than a part of the median. Local.
 * @param values seconds
 * @param n      how many
 * @param width  the part, such as 0.01; 0 and less is never reached
 * @return 1 or 0
 */
ICTUS_API int ictus_median_settled(const double *values, size_t n, double width);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Measuring MPI operations with controlled starts. The interface serves the tools of ictus and is
 * not yet stable.
 *
 * An experiment measures one operation with one block size on one communicator under one scheme. A
 * scheme is the way in which the processes start each repetition.
 *
 * Threads: functions that take a communicator or a bench are collective over it unless they are
 * marked as local, and may be called by one thread at a time. Local functions are reentrant.
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

/** How the local times of all processes become one number for each repetition (H08 section 1.2). */
enum ictus_reduction {
    ICTUS_REDUCE_MAX,      /**< the slowest process */
    ICTUS_REDUCE_MEAN,     /**< mean over the processes, as OSU and IMB print it */
    ICTUS_REDUCE_MIN,      /**< the fastest process */
    ICTUS_REDUCE_ROOT,     /**< the root's own time */
    ICTUS_REDUCE_MAKESPAN, /**< global clock: common (or first) start to last exit */
    ICTUS_REDUCE_EXIT,     /**< on the global clock: from the last arrival to the last exit */
    ICTUS_REDUCE_WAIT,     /**< sum over all processes: time in the call before the last arrival */
    ICTUS_REDUCTIONS
};

/** The names of the reductions, terminated by NULL. */
ICTUS_API extern const char *const ictus_reduction_names[];

/** Operations that a shared object provides; see <ictus/plugin.h>. */
struct ictus_plugins;

/**
 * Load the operations of a shared object. Local; must be called alike on all processes.
 * @param[in,out] plugins NULL at first; extended by each call; release with ictus_plugins_free()
 * @param path            of the shared object, as for dlopen(3)
 * @param[out] why        the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO (cannot be loaded), ICTUS_ERR_FORMAT (not a plugin),
 *         ICTUS_ERR_EXISTS (an operation of that name exists already), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_plugins_load(struct ictus_plugins **plugins, const char *path,
                                 struct ictus_why *why);

/**
 * Unload the plugins. None of their operations may be running. Local.
 * @param plugins NULL is allowed
 */
ICTUS_API void ictus_plugins_free(struct ictus_plugins *plugins);

/** A row of the tables of operations. */
struct ictus_operation_info {
    const char *name;    /**< as given to --ops */
    const char *summary; /**< one line for lists */
    int rooted;          /**< has a root */
    int reduces;         /**< needs an MPI_Op */
    int has_data;        /**< 0: the size does not matter, as for a barrier */
    int nonblocking;     /**< can be started and waited for separately */
    int streams;         /**< sends many messages at once, see messages in a plan */
    int one_sided;       /**< works on an MPI window */
    int persistent;      /**< a request or a window is created once and used many times */
    const char *mocks;   /**< the operation that this composition of others replaces, or NULL */
    int pieces;          /**< of a mock-up: number of pieces of the operation; else 0 */
    int partitioned;     /**< its message is passed in partitions, see partitions in a plan */
    int once;            /**< happens once for each launch (init): its instants are in the plan */
    int threaded;        /**< several threads of each process call MPI at once, see threads in a
                              plan */
    int neighborhood;    /**< between the neighbours of a topology, see topology in a plan */
    int single;          /**< works on a single element of the datatype, so it has no other size */
};

/**
 * Return row @p i of the operations. Those of the plugins come last. Local.
 * @param plugins   may be NULL
 * @param i         from 0
 * @param[out] info set only on success; its texts are static or belong to the plugin
 * @return ICTUS_OK, or ICTUS_ERR_SAMPLES after the last row
 */
ICTUS_API int ictus_operation(const struct ictus_plugins *plugins, int i,
                              struct ictus_operation_info *info);

/**
 * Find an operation by name. Local. `plugins` and `why` may be NULL.
 * @return ICTUS_OK, or ICTUS_ERR_UNKNOWN; the reason names the nearest operation
 */
ICTUS_API int ictus_operation_find(const struct ictus_plugins *plugins, const char *name,
                                   struct ictus_operation_info *info, struct ictus_why *why);

/**
 * @return the size in bytes of an element of a datatype ("char", "double", ...), or 0 for an
 *         unknown one. Local.
 */
ICTUS_API size_t ictus_datatype_bytes(const char *name);

/** Names of the ways in which the memory of a window is allocated, terminated by NULL. */
ICTUS_API extern const char *const ictus_window_kinds[];

/**
 * The default way. Open MPI may lack a component for memory of the caller, and with MPICH 4.0 puts
 * miss memory that MPICH itself allocates.
 */
#if defined(OPEN_MPI)
#define ICTUS_WINDOW_DEFAULT "allocate"
#else
#define ICTUS_WINDOW_DEFAULT "create"
#endif

/**
 * @return the name of scheme @p i and its summary, or NULL after the last one. Local; static
 *         strings.
 */
ICTUS_API const char *ictus_scheme_name(int i, const char **summary);

/**
 * Check the specification of a scheme without running it. Local; `why` may be NULL.
 * @return ICTUS_OK, ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_scheme_check(const char *spec, struct ictus_why *why);

/**
 * @return the reduction that is usual for a scheme: max after a common start, mean after a barrier.
 *         Local.
 */
ICTUS_API enum ictus_reduction ictus_scheme_reduction(const char *spec);

/**
 * What to measure and when to stop. Set size to sizeof(struct ictus_bench_plan). Every member that
 * is zero or NULL takes its default.
 */
struct ictus_bench_plan {
    size_t size;                         /**< sizeof(struct ictus_bench_plan) */
    const char *operation;               /**< name of an operation, see ictus_operation() */
    const struct ictus_plugins *plugins; /**< further operations; may be NULL */
    uint64_t bytes; /**< of one block: the count argument of the MPI call times the size of the
                         datatype */
    const char *datatype; /**< "char" by default */
    const char *reduce;   /**< "sum" by default */
    int root;             /**< rank in the communicator */
    int rotate_root;      /**< the root changes to the next rank with each repetition */
    int in_place;         /**< use MPI_IN_PLACE if the operation supports it */
    int buffers;          /**< number of sets of buffers that are used in turn */
    int cold;             /**< overwrite the caches before each repetition */
    int messages;         /**< of a stream, pending at once; 0: 64 */
    int partitions;       /**< of a partitioned message, 1 to 4096; 0: 4 */
    const char *window;   /**< one-sided: one of ictus_window_kinds; NULL: ICTUS_WINDOW_DEFAULT */
    const char *topology; /**< of neighbourhood operations: "ring" (NULL), "cart:dimensions=2",
                               "graph:degree=3" */
    const char *layout;   /**< of the elements of a block: "contiguous" (NULL),
                               "vector:block=8,stride=16", "indexed", "resized:stride=2" */
    int threads;          /**< of each process in operations of threads, 2 to 64; 0: none */
    struct ictus_time init[2]; /**< before and after MPI_Init on this process, by the clock
                                    "monotonic"; only for the operation init, otherwise zero */
    int check;                 /**< 1: verify the operation's result before and after measuring;
                                    2: also after every repetition */
    const char *arrival;       /**< "ascending:spread=10us", "late:rank=0,by=20us"; NULL: all arrive
                                    together */
    MPI_Comm comm;             /**< a communicator of the same processes with a forced algorithm */
    int use_comm;              /**< comm is to be used */
    int64_t repetitions;       /**< number of valid repetitions to make */
    int64_t warmup;            /**< untimed calls before them */
    double max_time_s;         /**< stop after this time even with fewer repetitions; 0: no limit */
    double width;              /**< stop when ictus_median_settled() with this width; 0: never */
    int keep_ranks;            /**< also keep the times of every process */
    int group;     /**< size of groups of consecutive ranks that run the operation at the
                        same time, each for itself; 0: one group */
    int64_t first; /**< number of repetitions made earlier, at which roots, buffers and
                        arrivals continue */
};

/**
 * @return the number of blocks that a process sends at once under this plan if it is a stream, else
 *         0. Local.
 */
ICTUS_API int ictus_operation_messages(const struct ictus_bench_plan *plan);

/**
 * Check a plan without a communicator: its texts, and whether the operation supports it. Local;
 * `why` may be NULL.
 * @return ICTUS_OK, or the error that ictus_bench_run() would return
 */
ICTUS_API int ictus_bench_check_plan(const struct ictus_bench_plan *plan, struct ictus_why *why);

/**
 * Check a plan together with a scheme and a number of processes. Local.
 * @param plan      for ictus_bench_run()
 * @param scheme    as for ictus_bench_create()
 * @param processes that will take part; 0 if this is not known yet
 * @param[out] why  the reason of a failure; may be NULL
 * @return ICTUS_OK, or the error that ictus_bench_run() would return
 */
ICTUS_API int ictus_bench_check(const struct ictus_bench_plan *plan, const char *scheme,
                                int processes, struct ictus_why *why);

/**
 * The results of one experiment. The arrays are owned by the result. On ranks other than 0 they are
 * NULL.
 */
struct ictus_bench_result {
    int64_t n;                           /**< valid repetitions */
    int64_t invalid;                     /**< repetitions whose start was late on some process;
                                              besides node_trip_s, the only member that is set
                                              with ICTUS_ERR_SAMPLES */
    double *samples_s[ICTUS_REDUCTIONS]; /**< n seconds each, in the order of measurement */
    double *ranks_s;                     /**< n x processes values if requested; else NULL */
    double sigma_ns;                     /**< largest clock sigma over processes, at the end */
    double bound_ns;                     /**< largest hard bound of the clock's error, likewise */
    int arrival_ranks;  /**< ranks of the arrival pattern in a file; 0: no file was used */
    double node_trip_s; /**< on rank 0: time of a word to all processes of its node and back through
                             shared memory, without the MPI library, just before the measurement;
                             0: not known (one process on the node, or more than cores) */
};

struct ictus_bench;

/**
 * Prepare measurements on a communicator and build its clock. Collective; blocking.
 * @param comm       an intra-communicator; duplicated, the caller keeps its handle
 * @param scheme     "harmonize", "barrier", "round-time:slack=3", ...; NULL takes harmonize
 * @param clock      as for ictus_clock_create(); may be NULL
 * @param[out] bench set only on success; released with ictus_bench_free()
 * @param[out] why   the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_UNKNOWN or ICTUS_ERR_SPEC (of the scheme),
 *         or an error of ictus_clock_create()
 */
ICTUS_API int ictus_bench_create(MPI_Comm comm, const char *scheme, const char *clock,
                                 struct ictus_bench **bench, struct ictus_why *why);

/** Release a bench and its clock. Collective. @param bench NULL is allowed */
ICTUS_API void ictus_bench_free(struct ictus_bench *bench);

/** @return the clock in use, which is owned by the bench. Local. */
ICTUS_API struct ictus_clock *ictus_bench_clock(struct ictus_bench *bench);

/** @return 1 if more processes than cores run on this process's node, else 0. Local. */
ICTUS_API int ictus_bench_crowded(const struct ictus_bench *bench);

/**
 * Run one experiment. Collective; blocking.
 * @param bench       from ictus_bench_create()
 * @param plan        the same on all processes
 * @param[out] result filled on success; release with ictus_bench_result_free()
 * @param[out] why    the reason of a failure; may be NULL
 * @return the same on all processes: ICTUS_OK, ICTUS_ERR_UNKNOWN (operation), ICTUS_ERR_ARG,
 *         ICTUS_ERR_UNSUPPORTED (size), ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, ICTUS_ERR_SAMPLES
 */
ICTUS_API int ictus_bench_run(struct ictus_bench *bench, const struct ictus_bench_plan *plan,
                              struct ictus_bench_result *result, struct ictus_why *why);

/**
 * Find out how much memory the processes of a replay have to go through before they arrive so that
 * the recorded calls take as long as they did in the application, whose caches were as warm or as
 * cold as what it computed on had left them. The recorded calls are replayed with footprints from
 * 64 bytes to 16 MiB, in turn, for about three seconds at most; docs/arrivals.md, Replay.
 * Collective; blocking.
 * @param bench          from ictus_bench_create()
 * @param plan           as for ictus_bench_run(), whose arrival is replayed; its operation, size,
 *                       repetitions and limits are not used
 * @param[out] footprint in bytes, for the option `footprint` of the arrival; 0 where it cannot be
 *                       fitted: the arrival is not a file with durations and computation of so many
 *                       processes, is scaled or drawn or has a footprint, more processes than cores
 *                       run on some node, the plan cannot make the recorded calls (with its
 *                       datatype, for example), or hardly any start was on time
 * @param[out] why       the reason of a failure; may be NULL
 * @return as ictus_bench_run()
 */
ICTUS_API int ictus_bench_fit_footprint(struct ictus_bench *bench,
                                        const struct ictus_bench_plan *plan, int64_t *footprint,
                                        struct ictus_why *why);

/** Release what a result owns. Local. @param result from a run, or all zero */
ICTUS_API void ictus_bench_result_free(struct ictus_bench_result *result);

/** Statistics of a sample. */
struct ictus_summary {
    size_t n;         /**< values */
    double median;    /**< the middle value, or the mean of the middle two */
    double ci95_low;  /**< lower end of the rank-based interval of the median, see covered */
    double ci95_high; /**< upper end of it */
    double covered;   /**< actual confidence level of the interval */
    double mean;      /**< arithmetic mean */
    double sd;        /**< standard deviation, with n - 1 in the denominator */
    double min;       /**< smallest value */
    double max;       /**< largest value */
    double p10;       /**< quantile 0.10 */
    double p25;       /**< quantile 0.25 */
    double p75;       /**< quantile 0.75 */
    double p90;       /**< quantile 0.90 */
    double p99;       /**< quantile 0.99 */
    size_t outliers;  /**< number of values outside Tukey's fences; none is dropped */
    double effective; /**< equivalent number of independent values for the median; n unless a
                           series */
};

/**
 * Summarise @p n > 0 values, of which a copy is sorted. Local; reentrant. All results are in the
 * unit of the values.
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_summarize(const double *values, size_t n, struct ictus_summary *summary);

/**
 * Summarise values in the order in which they were measured. If parts of the series differ by more
 * than chance explains (a machine that changes its state, a drift), the interval of the median is
 * widened accordingly and `effective` is less than n. This needs at least 100 values. Local;
 * reentrant.
 * @return as ictus_summarize()
 */
ICTUS_API int ictus_summarize_series(const double *values, size_t n, struct ictus_summary *summary);

/**
 * Return by how much a series drifted while it was measured: the standard deviation of the
 * logarithms of its parts' medians, from which ictus_summarize_series() widened the interval. The
 * result is 0 if `effective` is at least a third of n, so that the widening may be chance. Local;
 * reentrant.
 * @param summary of ictus_summarize_series(); only n, effective and the interval are read
 */
ICTUS_API double ictus_summary_drift(const struct ictus_summary *summary);

/**
 * Return whether the median of a series is known well enough: there are at least 100 values, which
 * is enough to see a drift, and the interval of the median is no wider than a given fraction of it.
 * Local; reentrant.
 * @param values in the order of measurement, in any unit
 * @param n      their number
 * @param width  the fraction, such as 0.01; with 0 or less the result is always 0
 * @return 1 or 0
 */
ICTUS_API int ictus_median_settled(const double *values, size_t n, double width);

ICTUS_END

#endif

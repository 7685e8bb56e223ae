/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Arrival patterns: when the processes of a program arrive at a collective, for each call site.
 * They are objects of type "arrivals" in a result file, which docs/arrivals.md describes. A tracer
 * writes them, and benchmarks replay them. The interface serves the tools of ictus and is not yet
 * stable.
 *
 * Threads: all functions are local, need no MPI and are reentrant. An object belongs to one thread
 * at a time.
 */
#ifndef ICTUS_ARRIVALS_H
#define ICTUS_ARRIVALS_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>
#include <stdint.h>

ICTUS_BEGIN

/** Sizes: bytes of a text, and number of quantiles, which are those of ictus_arrival_levels. */
enum { ICTUS_ARRIVALS_TEXT = 256, ICTUS_ARRIVALS_QUANTILES = 7 };

/** The levels of the quantiles: 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1. */
ICTUS_API extern const double ictus_arrival_levels[ICTUS_ARRIVALS_QUANTILES];

/**
 * How one rank arrives, over all instances that were seen. Offsets are relative to the first
 * arrival.
 */
struct ictus_arrival_rank {
    double mean_ns;                                /**< mean offset */
    double sd_ns;                                  /**< its standard deviation, with n - 1 */
    double quantiles_ns[ICTUS_ARRIVALS_QUANTILES]; /**< at ictus_arrival_levels; NaN: not known */
    double last;            /**< share of the instances in which it arrived last; NaN: not known */
    double autocorrelation; /**< of its position in consecutive instances; NaN: not known */
};

/** The pattern of one call site on one communicator. Numbers that are not known are NaN. */
struct ictus_arrivals {
    char site[ICTUS_ARRIVALS_TEXT];      /**< "solver.c:120"; unique in its file */
    char call[ICTUS_ARRIVALS_TEXT];      /**< "MPI_Allreduce" */
    char operation[ICTUS_ARRIVALS_TEXT]; /**< its name in ictus bench, "allreduce" */
    char comm[ICTUS_ARRIVALS_TEXT];      /**< name of the communicator */
    uint64_t bytes;                      /**< of a block, as for the sizes of ictus bench */
    const char *datatype; /**< of the elements, as for ictus bench; NULL: not known, or it differs
                               between calls; static */
    const char *op;       /**< MPI's operator of a reduction, likewise; static */
    int in_place;         /**< 1: a buffer is MPI_IN_PLACE; 0: none is; -1: not known, or it
                               differs between calls */
    int ranks;            /**< members of the communicator */
    int root;             /**< rank of the root; -1: none, or it changes */
    int64_t instances;    /**< calls that were seen */
    double duration_s;    /**< median from the last arrival to the last exit */
    double error_ns;      /**< half of the 95 % interval of an offset; median over the instances */
    double spread_ns;     /**< largest offset of an instance; median over the instances */
    double persistence;   /**< share of the variance of the offsets, none above spread_ns, that lies
                               between ranks: 0: random order, 1: always the same order */
    struct ictus_arrival_rank *rank; /**< by rank; owned by the pattern */
    int64_t recorded;                /**< rows of the table; 0: only the summary */
    int64_t *offsets_ns;             /**< recorded x ranks values, in the order of the calls;
                                          owned by the pattern */
    double *errors_ns;               /**< of each row, like error_ns; NULL: not known; owned by
                                          the pattern */
    double *durations_s;             /**< of each row; NULL: not known; owned by the pattern */
    int64_t *gaps_ns;     /**< like offsets_ns: the time since the rank had left the same operation
                               before; NULL: not known; owned by the pattern */
    int64_t *calls;       /**< of each row, its index among the calls, ascending; NULL: the rows are
                               consecutive calls; owned by the pattern */
    int64_t *silences_ns; /**< like gaps_ns: the time since the rank had left its last call of MPI
                               of any kind; NULL: not known; owned by the pattern */
};

/** The patterns of one file. */
struct ictus_arrivals_list {
    struct ictus_arrivals *at; /**< the patterns */
    size_t count;              /**< their number */
};

/**
 * Allocate a pattern with this number of ranks and rows. All numbers are set to NaN and all offsets
 * to 0. Local.
 * @param[out] arrivals released with ictus_arrivals_free(), also after an error
 * @param ranks         1 or more
 * @param recorded      rows; 0: only the summary
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_init(struct ictus_arrivals *arrivals, int ranks, int64_t recorded);

/** Release what a pattern owns. Local. @param arrivals from ictus_arrivals_init(), or all zero */
ICTUS_API void ictus_arrivals_free(struct ictus_arrivals *arrivals);

/**
 * Compute everything that follows from the table: the statistics of each rank, spread, persistence,
 * and the medians of errors and durations if the rows have them. Without a table nothing changes.
 * Local.
 * @param arrivals changed in place
 * @return ICTUS_OK or ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_summarize(struct ictus_arrivals *arrivals);

/**
 * Check that a pattern is consistent: all numbers are within their bounds, and each row has a rank
 * with the offset 0. Local.
 * @param arrivals the pattern
 * @param[out] why the fault, beginning with the site; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_FORMAT
 */
ICTUS_API int ictus_arrivals_check(const struct ictus_arrivals *arrivals, struct ictus_why *why);

/**
 * Check that a pattern is more than noise: its offsets exceed their errors. Local.
 * @param arrivals the pattern
 * @param[out] why the reason if it is not; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_FORMAT
 */
ICTUS_API int ictus_arrivals_signal(const struct ictus_arrivals *arrivals, struct ictus_why *why);

/**
 * Find a factor for the offsets of a pattern with which they can be replayed: `ictus bench` refuses
 * offsets beyond 10 s. Of a pattern without a table, far quantiles count. Local.
 * @param arrivals the pattern
 * @return 1: they can be replayed as they are; otherwise less, with one significant digit
 */
ICTUS_API double ictus_arrivals_scale(const struct ictus_arrivals *arrivals);

/**
 * Convert a pattern to an object for ictus_output_put(). Its table is in members that begin with
 * "raw". Local.
 * @param arrivals the pattern
 * @return a new reference, or NULL if memory runs out
 */
ICTUS_API json_t *ictus_arrivals_json(const struct ictus_arrivals *arrivals);

/**
 * Convert such an object to a pattern, and check it. Local.
 * @param object        of type "arrivals"
 * @param[out] arrivals set on success; released with ictus_arrivals_free()
 * @param[out] why      the fault, beginning with the site; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_parse(const json_t *object, struct ictus_arrivals *arrivals,
                                   struct ictus_why *why);

/**
 * Read all patterns of a result file. Local.
 * @param path      of the file
 * @param[out] list set on success, never empty; released with ictus_arrivals_list_free()
 * @param[out] why  the fault and its place; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT (no pattern, a malformed one, or two of the same
 *         site), ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_read(const char *path, struct ictus_arrivals_list *list,
                                  struct ictus_why *why);

/** Release a list. Local. @param list from ictus_arrivals_read(), or all zero */
ICTUS_API void ictus_arrivals_list_free(struct ictus_arrivals_list *list);

/**
 * Find the pattern of a site. Local.
 * @param list     of a file
 * @param site     its name; NULL or "": the only site
 * @param[out] why names the nearest site, or all sites; may be NULL
 * @return a pattern of the list, or NULL
 */
ICTUS_API const struct ictus_arrivals *ictus_arrivals_find(const struct ictus_arrivals_list *list,
                                                           const char *site, struct ictus_why *why);

/**
 * Name the operation that a pattern was recorded for. Reads its file. Local.
 * @param arrival        as for `ictus bench --arrival`: "file:patterns.jsonl,site=solver.c:120"
 * @param[out] operation its name in ictus bench; "" for a named shape, and after an error
 * @return ICTUS_OK, ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrival_operation(const char *arrival, char operation[ICTUS_ARRIVALS_TEXT]);

/** The calls of an application that a replay stands for. */
struct ictus_arrival_traced {
    char operation[ICTUS_ARRIVALS_TEXT]; /**< its name in ictus bench; "": of a named shape */
    uint64_t bytes;                      /**< size of a block */
    int ranks;                           /**< number of processes */
    double duration_s; /**< median from the last arrival to the last exit; NaN: not known, or the
                            replay's offsets are others (scaled or drawn) */
};

/**
 * Find out which calls a replay stands for, and how long they took. Reads the file. Local.
 * @param arrival     as for ictus_arrival_operation()
 * @param[out] traced of a named shape, and after an error, without an operation and a duration
 * @return ICTUS_OK, ICTUS_ERR_SPEC, ICTUS_ERR_UNKNOWN, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrival_describe(const char *arrival, struct ictus_arrival_traced *traced);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Arrival patterns: when the processes of a program come to a collective, call site by call site,
 * as objects of type "arrivals" in a result file. docs/arrivals.md describes the file. Whoever
 * watches a program writes them, benchmarks replay them. For the tools of ictus: not yet stable.
 *
 * All functions are local and need no MPI; an object belongs to one thread at a time.
 */
#ifndef ICTUS_ARRIVALS_H
#define ICTUS_ARRIVALS_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>
#include <stdint.h>

ICTUS_BEGIN

/** Bytes of texts, and how many quantiles are kept: those at ictus_arrival_levels. */
enum { ICTUS_ARRIVALS_TEXT = 256, ICTUS_ARRIVALS_QUANTILES = 7 };

/** 0, 0.05, 0.25, 0.5, 0.75, 0.95 and 1. */
ICTUS_API extern const double ictus_arrival_levels[ICTUS_ARRIVALS_QUANTILES];

/** How one rank arrives, over all instances seen. Offsets count from the first arrival. */
struct ictus_arrival_rank {
    double mean_ns;                                /**< mean offset */
    double sd_ns;                                  /**< its standard deviation, by n - 1 */
    double quantiles_ns[ICTUS_ARRIVALS_QUANTILES]; /**< at ictus_arrival_levels; NaN: not known */
    double last;            /**< share of the instances in which it was the last; NaN: not known */
    double autocorrelation; /**< of its place in consecutive instances; NaN: not known */
};

/** The pattern of one call site on one communicator. NaN where a number is not known. */
struct ictus_arrivals {
    char site[ICTUS_ARRIVALS_TEXT];      /**< "solver.c:120"; unlike all others of its file */
    char call[ICTUS_ARRIVALS_TEXT];      /**< "MPI_Allreduce" */
    char operation[ICTUS_ARRIVALS_TEXT]; /**< as ictus bench calls it, "allreduce" */
    char comm[ICTUS_ARRIVALS_TEXT];      /**< the communicator's name */
    uint64_t bytes;     /**< of a block: the size that ictus bench would be given */
    int ranks;          /**< members of the communicator */
    int root;           /**< rank of the root; -1: none, or changing */
    int64_t instances;  /**< calls that were seen */
    double duration_s;  /**< median from the last arrival to the last exit */
    double error_ns;    /**< half the 95 % interval of an offset, median over the instances */
    double spread_ns;   /**< median of the largest offset of an instance */
    double persistence; /**< share of the offsets' variance that lies between ranks: 0 random order,
                             1 always the same */
    struct ictus_arrival_rank *rank; /**< by rank */
    int64_t recorded;                /**< rows of the table; 0: summarised only */
    int64_t *offsets_ns;             /**< recorded times ranks, in the order of the calls */
    double *errors_ns;               /**< of each row, as error_ns; NULL: not known */
    double *durations_s;             /**< of each row; NULL: not known */
    int64_t *gaps_ns; /**< as offsets_ns: how long ago the rank had left the same operation before;
                           NULL: not known. Owned as the others */
    int64_t *calls;   /**< of each row, its place among the calls, ascending; NULL: the rows are
                           consecutive calls. Owned as the others */
};

/** The patterns of one file. */
struct ictus_arrivals_list {
    struct ictus_arrivals *at; /**< count of them */
    size_t count;              /**< how many */
};

/**
 * Make room for a pattern of that many ranks and rows. Numbers that are not known are NaN, offsets
 * 0.
 * @param[out] arrivals released with ictus_arrivals_free(), after errors too
 * @param ranks         1 or more
 * @param recorded      rows; 0: summarised only
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_init(struct ictus_arrivals *arrivals, int ranks, int64_t recorded);

/** Release what a pattern owns. @param arrivals from ictus_arrivals_init(), or all zero */
ICTUS_API void ictus_arrivals_free(struct ictus_arrivals *arrivals);

/**
 * Fill everything that the table tells: each rank's statistics, spread, persistence, and the
 * medians of errors and durations where the rows have them. Without a table nothing changes.
 * @param arrivals to be filled
 * @return ICTUS_OK or ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_summarize(struct ictus_arrivals *arrivals);

/**
 * Whether a pattern is one: numbers within their bounds, some rank at 0 in each row.
 * @param arrivals to be judged
 * @param[out] why says what is wrong, beginning with the site; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_FORMAT
 */
ICTUS_API int ictus_arrivals_check(const struct ictus_arrivals *arrivals, struct ictus_why *why);

/**
 * Whether a pattern is more than noise: its offsets are larger than their error.
 * @param arrivals to be judged
 * @param[out] why says why not; may be NULL
 * @return ICTUS_OK or ICTUS_ERR_FORMAT
 */
ICTUS_API int ictus_arrivals_signal(const struct ictus_arrivals *arrivals, struct ictus_why *why);

/**
 * A pattern as an object for ictus_output_put(): its table under members that begin with "raw".
 * @param arrivals to be written
 * @return a new reference, or NULL without memory
 */
ICTUS_API json_t *ictus_arrivals_json(const struct ictus_arrivals *arrivals);

/**
 * Read a pattern from such an object, and check it.
 * @param object        of type "arrivals"
 * @param[out] arrivals set on success; released with ictus_arrivals_free()
 * @param[out] why      says what is wrong, beginning with the site; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_parse(const json_t *object, struct ictus_arrivals *arrivals,
                                   struct ictus_why *why);

/**
 * Read all patterns of a result file.
 * @param path      of the file
 * @param[out] list set on success, never empty; released with ictus_arrivals_list_free()
 * @param[out] why  says what is wrong and where; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT (none, broken ones, two of the same site),
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_read(const char *path, struct ictus_arrivals_list *list,
                                  struct ictus_why *why);

/** Release a list. @param list from ictus_arrivals_read(), or all zero */
ICTUS_API void ictus_arrivals_list_free(struct ictus_arrivals_list *list);

/**
 * Find a site's pattern.
 * @param list     of a file
 * @param site     its name; NULL or "": the only one
 * @param[out] why names the nearest, or all; may be NULL
 * @return a pattern of the list, or NULL
 */
ICTUS_API const struct ictus_arrivals *ictus_arrivals_find(const struct ictus_arrivals_list *list,
                                                           const char *site, struct ictus_why *why);

ICTUS_END

#endif

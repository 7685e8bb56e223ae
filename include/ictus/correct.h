/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Clock-condition violations in OTF2 archives: count them, repair them, make some. In the library
 * libictus-otf2.
 *
 * The correction is the extended controlled logical clock (Becker, Rabenseifner, Wolf: EuroPVM/MPI
 * 2007), with forward and backward amortisation, in integer ticks; docs/correct.md gives the
 * equations as implemented. Reports are jansson objects: not yet stable.
 *
 * Threads: one call at a time per process; OTF2 keeps one error handler per process.
 */
#ifndef ICTUS_CORRECT_H
#define ICTUS_CORRECT_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>
#include <mpi.h>
#include <stddef.h>
#include <stdint.h>

ICTUS_BEGIN

/** Where the times that the logical clock starts from come from. */
enum ictus_presync {
    ICTUS_PRESYNC_AUTO,    /**< linear; if violations are left, then messages */
    ICTUS_PRESYNC_NONE,    /**< the stamps as recorded; the archive's clock offsets are dropped */
    ICTUS_PRESYNC_OFFSET,  /**< one offset per location: the weighted mean of the archive's */
    ICTUS_PRESYNC_LINEAR,  /**< a weighted line; its slope only where it is significant */
    ICTUS_PRESYNC_ARCHIVE, /**< piecewise between the archive's offsets, as OTF2's readers do */
    ICTUS_PRESYNC_MESSAGES /**< linear, then the middle of what the messages allow */
};

/** What to correct, and how. Set size and fill the rest by ictus_correct_defaults(). */
struct ictus_correct_options {
    size_t size;       /**< sizeof(struct ictus_correct_options) */
    const char *in;    /**< anchor file, or the directory that holds it */
    const char *out;   /**< directory to make; must not exist */
    const char *truth; /**< an archive with the true times to judge the result by, or NULL */
    enum ictus_presync presync; /**< what to make of the archive's clock offsets first */
    double gamma;               /**< of the first pass, within [0, 1) (B07: 0.99 or 0.999) */
    int passes;                 /**< at most that many, each with (1 - gamma) ten times the last */
    double error_s;             /**< another pass while the last event is off by more than this */
    double slope;               /**< largest slope of backward amortisation */
    double latency_s; /**< least delay between processes; negative: estimate it from the trace */
    double node_latency_s; /**< the same within a node; negative: like latency_s */
};

/** Fill with the defaults. Local. @param[out] options not NULL */
ICTUS_API void ictus_correct_defaults(struct ictus_correct_options *options);

/**
 * Count violations of the clock condition, raw and after the archive's own clock offsets. Local.
 * @param in          anchor file, or the directory that holds it
 * @param[out] report an object of type "check"; released with json_decref(); set on success
 * @param[out] why    says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_check(const char *in, json_t **report, struct ictus_why *why);

/**
 * Write an archive with corrected times and all else unchanged. Local.
 * @param options     filled by ictus_correct_defaults() and the caller
 * @param[out] report an object of type "correct"; released with json_decref(); set on success
 * @param[out] why    says why on failure; may be NULL
 * @return as ictus_check(), and ICTUS_ERR_ARG, ICTUS_ERR_EXISTS, ICTUS_ERR_UNSUPPORTED (the archive
 *         holds records that would be lost). On failure no output is left.
 */
ICTUS_API int ictus_correct(const struct ictus_correct_options *options, json_t **report,
                            struct ictus_why *why);

/**
 * As ictus_correct(), replayed by all processes of @p comm together: to the tick the same result.
 * Collective; any number of processes. The report is set on all of them.
 */
ICTUS_API int ictus_correct_mpi(MPI_Comm comm, const struct ictus_correct_options *options,
                                json_t **report, struct ictus_why *why);

/**
 * Write an archive whose clocks are skewed by known functions, to make tests of known truth. Local.
 * @param in          anchor file, or the directory that holds it
 * @param out         directory to make; must not exist
 * @param skew        "offset=DURATION,drift=RATIO,walk=RATIO,sine=DURATION,period=DURATION,seed=N,
 *                    scope=node|process|location,offsets=start|both|drop"; each clock but the first
 *                    draws from plus or minus the values. "" copies the archive record by record.
 * @param[out] report an object of type "trace-skew"
 * @param[out] why    says why on failure; may be NULL
 * @return as ictus_correct(), and ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_trace_skew(const char *in, const char *out, const char *skew, json_t **report,
                               struct ictus_why *why);

ICTUS_END

#endif

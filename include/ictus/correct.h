/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Clock-condition violations in OTF2 archives: counting them, repairing them, and making archives
 * that have them. In the library libictus-otf2.
 *
 * The correction is the extended controlled logical clock (Becker, Rabenseifner, Wolf: EuroPVM/MPI
 * 2007) with forward and backward amortisation, in integer ticks. docs/correct.md gives the
 * equations as implemented. Reports are jansson objects, which the caller releases. Their members
 * are not yet stable.
 *
 * Threads: one call at a time in a process, because OTF2 has one error handler for each process.
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

/** The source of the times with which the logical clock starts. */
enum ictus_presync {
    ICTUS_PRESYNC_AUTO,    /**< linear, and then messages if violations are left */
    ICTUS_PRESYNC_NONE,    /**< the stamps as recorded; the archive's clock offsets are dropped */
    ICTUS_PRESYNC_OFFSET,  /**< one offset per location: the weighted mean of the archive's */
    ICTUS_PRESYNC_LINEAR,  /**< a weighted line; it has a slope only if that is significant */
    ICTUS_PRESYNC_ARCHIVE, /**< piecewise linear between the archive's offsets, as in OTF2's readers
                            */
    ICTUS_PRESYNC_MESSAGES /**< linear, then the middle of the range that the messages allow */
};

/** What to correct, and how. Set size, and fill in the rest with ictus_correct_defaults(). */
struct ictus_correct_options {
    size_t size;       /**< sizeof(struct ictus_correct_options) */
    const char *in;    /**< anchor file, or the directory that contains it */
    const char *out;   /**< directory to create; must not exist */
    const char *truth; /**< an archive with the true times, to judge the result by, or NULL */
    enum ictus_presync presync; /**< how the clock offsets of the archive are used first */
    double gamma;               /**< of the first pass, within [0, 1) (B07: 0.99 or 0.999) */
    int passes;                 /**< limit; each pass has ten times the (1 - gamma) of the last */
    double error_s;             /**< another pass while the last event is off by more */
    double slope;               /**< largest slope of backward amortisation */
    double latency_s; /**< smallest delay between processes; negative: estimate it from the trace */
    double node_latency_s; /**< likewise within a node; negative: use latency_s */
};

/** Fill in the defaults. Local. @param[out] options not NULL */
ICTUS_API void ictus_correct_defaults(struct ictus_correct_options *options);

/**
 * Count violations of the clock condition, in the recorded times and after the clock offsets of the
 * archive have been applied. Local.
 * @param in          anchor file, or the directory that contains it
 * @param[out] report an object of type "check"; set on success; released with json_decref()
 * @param[out] why    the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_check(const char *in, json_t **report, struct ictus_why *why);

/**
 * Write an archive with corrected times and everything else unchanged. Local.
 * @param options     from ictus_correct_defaults(), changed by the caller
 * @param[out] report an object of type "correct"; set on success; released with json_decref()
 * @param[out] why    the reason of a failure; may be NULL
 * @return as ictus_check(), and ICTUS_ERR_ARG, ICTUS_ERR_EXISTS, ICTUS_ERR_UNSUPPORTED (the archive
 *         contains records that would be lost). On failure no output is left.
 */
ICTUS_API int ictus_correct(const struct ictus_correct_options *options, json_t **report,
                            struct ictus_why *why);

/**
 * Like ictus_correct(), but replayed by all processes of @p comm together. The result is the same
 * to the tick. Collective over @p comm, with any number of processes. The report is set on all of
 * them.
 * @return as ictus_correct(), the same on all processes
 */
ICTUS_API int ictus_correct_mpi(MPI_Comm comm, const struct ictus_correct_options *options,
                                json_t **report, struct ictus_why *why);

/**
 * Write an archive whose clocks are skewed by known functions, for tests with a known truth. Local.
 * @param in          anchor file, or the directory that contains it
 * @param out         directory to create; must not exist
 * @param skew        "offset=DURATION,drift=RATIO,walk=RATIO,sine=DURATION,period=DURATION,seed=N,
 *                    scope=node|process|location,offsets=start|both|drop". The values of each clock
 *                    but the first are drawn from plus or minus these. "" copies the archive record
 *                    by record.
 * @param[out] report an object of type "trace-skew"; set on success; released with json_decref()
 * @param[out] why    the reason of a failure; may be NULL
 * @return as ictus_correct(), and ICTUS_ERR_SPEC
 */
ICTUS_API int ictus_trace_skew(const char *in, const char *out, const char *skew, json_t **report,
                               struct ictus_why *why);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Wait states of a traced program, with error bars: who waited where and for whom, and how certain
 * that is. In the library libictus-otf2; docs/waits.md gives the definitions and their sources.
 * Reports are jansson objects, whose members are not yet stable.
 *
 * Threads: one call at a time in a process, because OTF2 has one error handler for each process.
 */
#ifndef ICTUS_WAITS_H
#define ICTUS_WAITS_H

#include <ictus/api.h>
#include <ictus/arrivals.h>
#include <ictus/error.h>
#include <jansson.h>

ICTUS_BEGIN

/**
 * Find all wait states of an OTF2 archive, before or after ictus_correct(). Local; blocking.
 * @param in          anchor file, or the directory that contains it
 * @param[out] report an array of objects as in a result file, "waits" first; set on success;
 *                    released with json_decref()
 * @param[out] why    the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT,
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_waits(const char *in, json_t **report, struct ictus_why *why);

/** What ictus_arrivals_extract() could not use. */
struct ictus_arrivals_left {
    int64_t incomplete; /**< instances that some member did not take part in, called in another
                             way, or reached more than an hour after another */
    int64_t muted;      /**< instances during which recording was off, or that never ended */
    int64_t inter;      /**< calls on inter-communicators */
};

/**
 * Extract the arrival pattern of each call site of collectives from an OTF2 archive, before or
 * after ictus_correct(). A process arrives at a nonblocking collective when it starts it. Sites are
 * ordered by the total time for which the first arrival waited for the last. Local; blocking.
 * @param in        anchor file, or the directory that contains it
 * @param rows      largest number of instances in a table, the last ones; 0: all
 * @param[out] list set on success; may be empty; released with ictus_arrivals_list_free()
 * @param[out] left may be NULL
 * @param[out] why  the reason of a failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT,
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_arrivals_extract(const char *in, int64_t rows, struct ictus_arrivals_list *list,
                                     struct ictus_arrivals_left *left, struct ictus_why *why);

ICTUS_END

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Wait states of a traced program, with error bars: who waited where, for whom, and how sure that
 * is. In the library libictus-otf2; docs/waits.md gives the definitions and their sources. Reports
 * are jansson objects: not yet stable.
 *
 * Threads: one call at a time per process; OTF2 keeps one error handler per process.
 */
#ifndef ICTUS_WAITS_H
#define ICTUS_WAITS_H

#include <ictus/api.h>
#include <ictus/error.h>
#include <jansson.h>

ICTUS_BEGIN

/**
 * Find all wait states of an OTF2 archive, before or after ictus_correct(). Local.
 * @param in          anchor file, or the directory that holds it
 * @param[out] report an array of objects as in a result file, "waits" first; released with
 *                    json_decref(); set on success
 * @param[out] why    says why on failure; may be NULL
 * @return ICTUS_OK, ICTUS_ERR_ARG, ICTUS_ERR_IO, ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT,
 *         ICTUS_ERR_NOMEM
 */
ICTUS_API int ictus_waits(const char *in, json_t **report, struct ictus_why *why);

ICTUS_END

#endif

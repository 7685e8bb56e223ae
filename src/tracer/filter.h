/* SPDX-License-Identifier: BSD-3-Clause */
/* Which MPI functions are recorded. */
#ifndef ICTUS_TRACER_FILTER_H
#define ICTUS_TRACER_FILTER_H

#include <ictus/error.h>
#include <stdint.h>

/*
 * How a function is treated. Hidden: it is tracked, because other records depend on it, but not
 * recorded. Fresh: it is recorded, but the log does not name it yet.
 */
enum { FILTER_OFF = 0, FILTER_ON = 1, FILTER_HIDDEN = 2, FILTER_FRESH = 3 };

/*
 * Fill enabled[] (fresh, hidden or off) from a list of function names and groups.
 * "p2p,coll,MPI_Comm_split" selects what is recorded, and "-MPI_Iprobe,-type" what is not; a mixed
 * list is applied in order. A list that begins with a '-' starts from everything. NAME also stands
 * for NAME_c. Errors: ICTUS_ERR_UNKNOWN with the nearest name, ICTUS_ERR_SPEC (too long).
 */
int ictusi_filter_apply(const char *text, uint8_t *enabled, struct ictus_why *why);

#endif

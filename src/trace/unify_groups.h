/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups: the members of communicators and teams, as listed in the logs. */
#ifndef ICTUS_TRACE_UNIFY_GROUPS_H
#define ICTUS_TRACE_UNIFY_GROUPS_H

#include "trace/unify.h"

#include <stddef.h>
#include <stdlib.h>

/*
 * Make room for one more element of an array that grows by doubling. On failure the old array is
 * unchanged. count is the number in use; the capacity is the next power of two, so it need not be
 * stored.
 */
static inline void *unify_more(void *array, uint32_t count, size_t bytes)
{
    const bool power = (count & (count - 1)) == 0;
    return power ? realloc(array, (size_t)(count ? count * 2 : 1) * bytes) : array;
}

/* Append the numbers of a list such as "0-15,32". Errors: ICTUS_ERR_FORMAT, ICTUS_ERR_NOMEM. */
int ictusi_unify_members(const char *text, uint32_t most, struct unified_group *group);

/* Set the members of all communicators that have a number. Errors: ICTUS_ERR_NOMEM. */
int ictusi_unify_groups(struct unified *u, const struct rawlog *logs, int count);

/* Set the members of communicators for which no log lists them. Errors: ICTUS_ERR_NOMEM. */
int ictusi_unify_groups_mend(struct unified *u, const struct rawlog *logs, int count);

#endif

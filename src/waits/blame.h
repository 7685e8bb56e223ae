/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What caused the waits (Böhme and others 2010, 2016): delays of the process that was waited for,
 * and its own waits, which pass the blame on.
 */
#ifndef ICTUS_WAITS_BLAME_H
#define ICTUS_WAITS_BLAME_H

#include "waits/ledger.h"
#include "waits/syncs.h"
#include "waits/times.h"

struct blame {
    struct blame_row *list;
    uint64_t count;
    struct idmap index;
    double total, unattributed;
    double total_lanes[LANES];
    uint64_t cyclic; /* waits that were given up because they form a circle */
};

/* Call ictusi_blame_free() even after an error: ICTUS_ERR_NOMEM, ICTUS_ERR_IO. */
int ictusi_blame_find(struct blame *blame, const struct times *times, const struct syncs *syncs,
                      struct ictus_why *why);
void ictusi_blame_free(struct blame *blame);

#endif

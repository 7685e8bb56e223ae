/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the wait of one call is divided among: what its causer did since the two last synchronised.
 * This does not depend on any other wait, so several threads find charges at the same time.
 */
#ifndef ICTUS_WAITS_CHARGES_H
#define ICTUS_WAITS_CHARGES_H

#include "waits/replay_order.h"
#include "waits/syncs.h"
#include "waits/times.h"

struct charge {
    double delay, waits; /* D and O in blame.c */
    uint32_t until;      /* the causer's call of the last synchronisation, or CALL_NONE */
    uint32_t parts;      /* how many belong to it */
};

/* The delay of a causer in one call path. */
struct charge_part {
    uint32_t location, path;
    double delay;
};

/* What one thread finds charges with, and their parts in order. */
struct charge_desk {
    _Alignas(CACHE_LINE) const struct times *times;
    const struct syncs *syncs;
    struct sync_search search;
    struct time_map own, other;
    struct charge_part *parts;
    uint64_t count, room;
};

/* Call ictusi_charge_desk_free() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_charge_desk_init(struct charge_desk *desk, const struct times *times,
                            const struct syncs *syncs);
void ictusi_charge_desk_free(struct charge_desk *desk);

/*
 * Find the charges of the calls that waited, after forgetting all earlier parts. Charges of other
 * calls are not set. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_charges_find(struct charge_desk *desk, const struct replay_step *steps,
                        struct charge *charges, uint64_t count);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run left behind, as far as the relation between its events is concerned: the points of all
 * locations, and which of them belong together. A reader of some file format fills it in.
 */
#ifndef ICTUS_CAUSALITY_HISTORY_H
#define ICTUS_CAUSALITY_HISTORY_H

#include "causality/layout.h"
#include "causality/match.h"
#include "causality/points.h"

struct history {
    const struct layout *layout;
    struct points points;
    struct matching matching;
    uint64_t *first; /* of each location, its first point; location_count + 1 entries */
};

/* Room for that many points at most. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_IO; to be ended all the
 * same. The layout is only referred to. */
int ictusi_history_init(struct history *history, const struct layout *layout, uint64_t room,
                        struct ictus_why *why);

/*
 * Put the points of locations [from, to) after those of all locations before them, with what they
 * belong to. No process may have locations in both. Errors: as above, and ICTUS_ERR_CORRUPT.
 */
int ictusi_history_append(struct history *history, struct history *other, uint32_t from,
                          uint32_t to, struct ictus_why *why);
void ictusi_history_fini(struct history *history);

#endif

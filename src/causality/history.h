/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a run left behind, as far as the relation between its events is concerned: the points of all
 * locations, and which of them belong together. The reader of a file format fills it in.
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

/*
 * Reserve room for at most this many points. The layout is only referred to. Call
 * ictusi_history_fini() even after an error: ICTUS_ERR_NOMEM, ICTUS_ERR_IO.
 */
int ictusi_history_init(struct history *history, const struct layout *layout, uint64_t room,
                        struct ictus_why *why);

/*
 * Append the points of locations [from, to) to those of all earlier locations, together with their
 * channels and instances. No process may have locations in both histories. Errors: as above, and
 * ICTUS_ERR_CORRUPT.
 */
int ictusi_history_append(struct history *history, struct history *other, uint32_t from,
                          uint32_t to, struct ictus_why *why);
void ictusi_history_fini(struct history *history);

#endif

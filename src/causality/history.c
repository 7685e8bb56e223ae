/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of a history. */
#include "causality/history.h"

#include <stdlib.h>

int ictusi_history_init(struct history *history, const struct layout *layout, uint64_t room,
                        struct ictus_why *why)
{
    *history = (struct history){.layout = layout};
    history->first = calloc(layout->location_count + 1, sizeof *history->first);
    if (!history->first) {
        return ICTUS_ERR_NOMEM;
    }
    const int err = ictusi_matching_init(&history->matching, layout, &history->points);
    history->matching.first = history->first;
    return err ? err : ictusi_points_init(&history->points, room, why);
}

/*
 * Append locations [from, to) of another history. Their points come after those that are here, so
 * all their indices shift by the present count.
 */
int ictusi_history_append(struct history *history, struct history *other, uint32_t from,
                          uint32_t to, struct ictus_why *why)
{
    const uint64_t point = history->points.count;
    for (uint32_t i = from; i < to; i++) {
        history->first[i] = point + other->first[i];
        history->matching.stretches.gaps[i] = other->matching.stretches.gaps[i];
    }
    const int err = ictusi_points_append(&history->points, &other->points, why);
    return err ? err : ictusi_matching_append(&history->matching, &other->matching, point);
}

void ictusi_history_fini(struct history *history)
{
    ictusi_matching_fini(&history->matching);
    ictusi_points_fini(&history->points);
    free(history->first);
    history->first = NULL;
}

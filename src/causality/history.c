/* SPDX-License-Identifier: BSD-3-Clause */
/* Storage of a history. */
#include "causality/history.h"

#include "causality/crew.h"

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

/* A history that is appended to another one, and where its points begin there. */
struct appending {
    struct history *history, *other;
    uint64_t point;
    struct ictus_why *why;
    int err[2];
};

/* Points, or what connects them. */
static void history_append_half(void *self, uint32_t half)
{
    struct appending *a = self;
    a->err[half] =
        half == 0 ? ictusi_points_append(&a->history->points, &a->other->points, a->why)
                  : ictusi_matching_append(&a->history->matching, &a->other->matching, a->point);
}

/*
 * Append locations [from, to) of another history. Their points come after those that are here, so
 * all their indices shift by the present count. The matching writes to points that are here, which
 * must not happen while these are moved to a file.
 */
int ictusi_history_append(struct history *history, struct history *other, uint32_t from,
                          uint32_t to, struct ictus_why *why)
{
    struct appending a = {
        .history = history, .other = other, .point = history->points.count, .why = why};
    for (uint32_t i = from; i < to; i++) {
        history->first[i] = a.point + other->first[i];
        history->matching.stretches.gaps[i] = other->matching.stretches.gaps[i];
    }
    ictusi_crew_run(points_stay(&history->points, other->points.count) ? 2 : 1, 2,
                    history_append_half, &a);
    return a.err[0] ? a.err[0] : a.err[1];
}

void ictusi_history_fini(struct history *history)
{
    ictusi_matching_fini(&history->matching);
    ictusi_points_fini(&history->points);
    free(history->first);
    history->first = NULL;
}

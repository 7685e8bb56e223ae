/* SPDX-License-Identifier: BSD-3-Clause */
/* What remains of the order of messages where recording was switched off. */
#include "causality/stretches.h"

#include "causality/layout.h"

#include <ictus/error.h>
#include <stdlib.h>

int ictusi_stretches_init(struct stretch_list *list, const struct layout *layout)
{
    *list = (struct stretch_list){.layout = layout};
    list->gaps = calloc(layout->location_count + 1, sizeof *list->gaps);
    list->cut_locations = calloc(layout->process_count + 1, sizeof *list->cut_locations);
    return list->gaps && list->cut_locations ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_stretches_fini(struct stretch_list *list)
{
    free(list->gaps);
    free(list->cut_locations);
    *list = (struct stretch_list){.layout = NULL};
}

/*
 * Whether some part of a location was not recorded while others may have recorded their side of it.
 */
static bool stretches_is_cut(const struct stretch_list *list, uint32_t location)
{
    const struct gaps *gaps = &list->gaps[location];
    return gaps->count > 0 || (gaps->late && list->begin_late);
}

/*
 * Whether all processes began late alike, judged by the location that represents each process that
 * took part in anything. A beginning that all processes missed is no gap, because no message
 * reaches back before it.
 */
static bool stretches_late_alike(const struct stretch_list *list)
{
    bool late = false;
    bool timely = false;
    for (uint64_t p = 0; p < list->layout->process_count; p++) {
        const uint32_t location = list->layout->processes[p].rank_location;
        if (location != LAYOUT_NONE && list->layout->locations[location].events > 0) {
            late = late || list->gaps[location].late;
            timely = timely || !list->gaps[location].late;
        }
    }
    return !(late && timely);
}

/*
 * Called when all locations have been read, since only then it is known whether all began late
 * alike.
 */
void ictusi_stretches_seal(struct stretch_list *list)
{
    list->begin_late = !stretches_late_alike(list);
    for (uint32_t i = 0; i < list->layout->location_count; i++) {
        const uint32_t process = list->layout->locations[i].process;
        const bool cut = stretches_is_cut(list, i);
        list->any = list->any || cut;
        if (cut && process != LAYOUT_NONE) {
            list->cut_locations[process]++;
        }
    }
}

/*
 * An unknown number of messages passed unrecorded in a gap. Messages on a channel keep their order,
 * so those before the first gap still pair from the front, and those after the last gap from the
 * end. Those in between cannot be paired.
 */
struct reach ictusi_stretches_reach(const struct stretch_list *list, const struct stretches *side,
                                    uint32_t count, uint32_t location, uint32_t standing)
{
    struct reach all = {count, count, false};
    if (!list->any) {
        return all;
    }
    const uint32_t process = list->layout->locations[standing].process;
    const bool own = location != LAYOUT_NONE && stretches_is_cut(list, location);
    const uint32_t cut =
        process == LAYOUT_NONE ? stretches_is_cut(list, standing) : list->cut_locations[process];
    if (cut == 0) {
        return all;
    }
    if (!own || cut > 1) { /* another thread has a gap, in which it may have used this channel */
        return (struct reach){0, 0, true};
    }
    const struct gaps *gaps = &list->gaps[location];
    const bool late = gaps->late && list->begin_late;
    return (struct reach){late ? 0 : side->before, side->gap == gaps->count ? side->after : 0,
                          true};
}

static uint32_t stretches_least_of(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

/* Pair as many from either end as both sides know, and none twice. */
void ictusi_stretches_pairs(const struct reach *sends, uint32_t send_count,
                            const struct reach *receives, uint32_t receive_count, uint32_t *first,
                            uint32_t *last)
{
    *first = stretches_least_of(sends->before, receives->before);
    *last = 0;
    if (sends->cut || receives->cut) {
        *last = stretches_least_of(stretches_least_of(sends->after, send_count - *first),
                                   stretches_least_of(receives->after, receive_count - *first));
    }
}

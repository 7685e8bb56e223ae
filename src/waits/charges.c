/* SPDX-License-Identifier: BSD-3-Clause */
#include "waits/charges.h"

#include "core/array.h"

#include <stdlib.h>

int ictusi_charge_desk_init(struct charge_desk *d, const struct times *times,
                            const struct syncs *syncs)
{
    const uint64_t paths = times->analysis->paths.count;
    *d = (struct charge_desk){.times = times, .syncs = syncs};
    int err = ictusi_sync_search_init(&d->search, syncs);
    err = err ? err : ictusi_time_map_init(&d->own, paths);
    return err ? err : ictusi_time_map_init(&d->other, paths);
}

void ictusi_charge_desk_free(struct charge_desk *d)
{
    ictusi_sync_search_free(&d->search);
    ictusi_time_map_fini(&d->own);
    ictusi_time_map_fini(&d->other);
    free(d->parts);
    *d = (struct charge_desk){.parts = NULL};
}

/* The list is emptied and filled again. */
static struct charge_part *charge_part_add(struct charge_desk *d)
{
    const bool room = array_widen((void **)&d->parts, d->count + 1, &d->room, sizeof *d->parts);
    return room ? &d->parts[d->count++] : NULL;
}

/*
 * Add the delays of the causer relative to the waiter by call path, in the order of d->other's
 * list. What it did while recording was off is unknown and counts as nobody's delay.
 */
static int charge_find(struct charge_desk *d, const struct replay_step *step, struct charge *charge)
{
    const struct partner *p = partner_at(&d->times->analysis->partners, step->call);
    const struct sync_point sync = ictusi_syncs_before(d->syncs, &d->search, step->call);
    *charge = (struct charge){.until = sync.other};
    ictusi_time_map_clear(&d->own);
    ictusi_time_map_clear(&d->other);
    ictusi_times_between(d->times, &d->own, step->location, sync.own, step->call);
    ictusi_times_between(d->times, &d->other, p->location, sync.other, p->call);
    for (uint32_t i = 0; i < d->other.count; i++) {
        const uint32_t path = d->other.listed[i];
        const int64_t more = d->other.ticks[path] - d->own.ticks[path];
        if (more > 0 && path != PATH_MUTED) {
            struct charge_part *part = charge_part_add(d);
            if (!part) {
                return ICTUS_ERR_NOMEM;
            }
            *part = (struct charge_part){p->location, path, (double)more};
            charge->delay += (double)more;
            charge->parts++;
        }
    }
    charge->waits = (double)d->other.waited;
    return ICTUS_OK;
}

int ictusi_charges_find(struct charge_desk *d, const struct replay_step *steps,
                        struct charge *charges, uint64_t count)
{
    int err = ICTUS_OK;
    d->count = 0;
    for (uint64_t i = 0; i < count && !err; i++) {
        if (analysis_waits(d->times->analysis, steps[i].call)) {
            err = charge_find(d, &steps[i], &charges[i]);
        }
    }
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds on an offset: from stamps, and interleaved parts of them. */
#include "core/bounds.h"

#include <ictus/error.h>
#include <stdlib.h>

int ictusi_bounds_reserve(size_t n, struct bounds *bounds)
{
    *bounds = (struct bounds){0};
    double *room = malloc(3 * (n ? n : 1) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    bounds->t = room;
    bounds->upper = room + n;
    bounds->lower = room + 2 * n;
    return ICTUS_OK;
}

/*
 * The remote clock was read after `sent` and before `received`, so its offset to the local clock
 * lies in [remote - received, remote - sent], whatever the delays of the two ways are. This needs
 * no model; it breaks only where a clock runs backwards or steps during an exchange, which is
 * refused here. Units: t in s from the anchor, bounds in ns above base.
 */
int ictusi_bounds_create(const struct stamp *stamps, size_t n, struct bounds *bounds)
{
    if (!n) {
        return ICTUS_ERR_SAMPLES;
    }
    for (size_t i = 0; i < n; i++) {
        if (stamps[i].received < stamps[i].sent || (i && stamps[i].sent < stamps[i - 1].sent)) {
            return ICTUS_ERR_CLOCK;
        }
    }
    const int err = ictusi_bounds_reserve(n, bounds);
    if (err) {
        return err;
    }
    const struct stamp *last = &stamps[n - 1];
    bounds->n = n;
    /*
     * Integers are subtracted before anything becomes a double, which near 1.7e18 ns resolves 256
     * ns only.
     */
    bounds->anchor = last->sent + (last->received - last->sent) / 2;
    bounds->base = last->remote - bounds->anchor;
    for (size_t i = 0; i < n; i++) {
        const struct stamp *s = &stamps[i];
        const double half = (double)(s->received - s->sent) / 2.0;
        bounds->t[i] = ((double)(s->sent - bounds->anchor) + half) * 1e-9;
        bounds->upper[i] = (double)(s->remote - s->sent - bounds->base);
        bounds->lower[i] = (double)(s->remote - s->received - bounds->base);
    }
    return ICTUS_OK;
}

/*
 * Every count-th bound from index on. Parts that interleave span the same time, so one can be
 * fitted while another, which the fit has not seen, judges it.
 */
void ictusi_bounds_fold(const struct bounds *from, size_t index, size_t count, struct bounds *into)
{
    into->n = 0;
    into->anchor = from->anchor;
    into->base = from->base;
    for (size_t i = index; i < from->n; i += count) {
        into->t[into->n] = from->t[i];
        into->upper[into->n] = from->upper[i];
        into->lower[into->n] = from->lower[i];
        into->n++;
    }
}

void ictusi_bounds_free(struct bounds *bounds)
{
    free(bounds->t);
    *bounds = (struct bounds){0};
}

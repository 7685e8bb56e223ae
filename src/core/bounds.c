/* SPDX-License-Identifier: BSD-3-Clause */
/* Bounds on an offset: computing them from stamps, and dividing them into interleaved parts. */
#include "core/bounds.h"

#include <ictus/error.h>
#include <stdlib.h>

int ictusi_bounds_reserve(size_t n, struct bounds *bounds)
{
    *bounds = (struct bounds){0};
    double *room = malloc(4 * (n ? n : 1) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    bounds->upper_t = room;
    bounds->lower_t = room + n;
    bounds->upper = room + 2 * n;
    bounds->lower = room + 3 * n;
    return ICTUS_OK;
}

/*
 * The remote clock was read after `sent` and before `received`, so its offset to the local clock is
 * in [remote - received, remote - sent], whatever the delays of the two directions are. No model is
 * needed. It fails only if a clock runs backwards or steps during an exchange. The former is
 * refused here. Units: t in s from the anchor, bounds in ns above the base.
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
    /* Integers are subtracted before anything becomes a double, because a double near 1.7e18 ns
     * only resolves 256 ns. */
    bounds->anchor = last->sent + (last->received - last->sent) / 2;
    bounds->base = last->remote - bounds->anchor;
    for (size_t i = 0; i < n; i++) {
        const struct stamp *s = &stamps[i];
        bounds->upper_t[i] = (double)(s->sent - bounds->anchor) * 1e-9;
        bounds->lower_t[i] = (double)(s->received - bounds->anchor) * 1e-9;
        bounds->upper[i] = (double)(s->remote - s->sent - bounds->base);
        bounds->lower[i] = (double)(s->remote - s->received - bounds->base);
    }
    return ICTUS_OK;
}

/* Copy every count-th bound, beginning with number `index`. Interleaved parts span the same
 * time, so that one can be fitted and another one, which the fit has not seen, can judge it. */
void ictusi_bounds_fold(const struct bounds *from, size_t index, size_t count, struct bounds *into)
{
    into->n = 0;
    into->anchor = from->anchor;
    into->base = from->base;
    for (size_t i = index; i < from->n; i += count) {
        into->upper_t[into->n] = from->upper_t[i];
        into->lower_t[into->n] = from->lower_t[i];
        into->upper[into->n] = from->upper[i];
        into->lower[into->n] = from->lower[i];
        into->n++;
    }
}

void ictusi_bounds_free(struct bounds *bounds)
{
    free(bounds->upper_t);
    *bounds = (struct bounds){0};
}

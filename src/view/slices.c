/* SPDX-License-Identifier: BSD-3-Clause */
/* Twice as many as wanted are kept; each time that room is full, the shorter half goes. */
#include "view/slices.h"

#include <ictus/error.h>
#include <stdlib.h>

/* Room for twice as many as are kept: when it is full, the shorter half goes. */
int ictusi_slices_init(struct slices *slices, size_t most)
{
    *slices = (struct slices){.most = most > 0 ? most : 1};
    slices->list = malloc(2 * slices->most * sizeof *slices->list);
    return slices->list ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_slices_fini(struct slices *slices)
{
    free(slices->list);
    slices->list = NULL;
}

/* The longest first; equal ones in an order that does not depend on how they came. */
static int slice_by_duration(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    if (x->duration != y->duration) {
        return x->duration > y->duration ? -1 : 1;
    }
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    if (x->track != y->track) {
        return x->track < y->track ? -1 : 1;
    }
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/* By track, then time, then depth: an outer call comes before the inner one that begins with it. */
static int slice_by_place(const void *a, const void *b)
{
    const struct slice *x = a;
    const struct slice *y = b;
    if (x->track != y->track) {
        return x->track < y->track ? -1 : 1;
    }
    if (x->start != y->start) {
        return x->start < y->start ? -1 : 1;
    }
    return (x->depth > y->depth) - (x->depth < y->depth);
}

/*
 * Selecting by sorting 2 n slices each time n came costs O(log n) a slice. From then on `least`
 * keeps those out that are shorter than the n-th longest so far: they cannot be among the longest
 * of all.
 */
static void slices_halve(struct slices *slices)
{
    qsort(slices->list, slices->count, sizeof *slices->list, slice_by_duration);
    if (slices->count > slices->most) {
        slices->dropped += slices->count - slices->most;
        slices->count = slices->most;
        slices->least = slices->list[slices->count - 1].duration;
    }
}

/*
 * `least` only ever grows, so that what is refused now would be dropped later in any case. Equal
 * ones are let in, and the order of slice_by_duration() decides among them.
 */
void ictusi_slices_add(struct slices *slices, struct slice slice)
{
    if (slice.duration < slices->least) {
        slices->dropped++;
        return;
    }
    slices->list[slices->count++] = slice;
    if (slices->count == 2 * slices->most) {
        slices_halve(slices);
    }
}

/* First down to the number that was asked for, then in the order in which they are drawn. */
void ictusi_slices_finish(struct slices *slices)
{
    slices_halve(slices);
    qsort(slices->list, slices->count, sizeof *slices->list, slice_by_place);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Selects the longest slices. */
#include "view/slices.h"

#include <ictus/error.h>
#include <stdlib.h>

/*
 * There is room for twice as many slices as are kept. When it is full, the shorter half is dropped.
 */
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

/*
 * From longest to shortest. Equal ones have an order that does not depend on when they were added.
 */
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

/*
 * By track, then time, then depth, so that an outer call precedes an inner one that begins with it.
 */
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
 * Sorting 2 n slices each time n have been added costs O(log n) per slice. From then on, `least`
 * excludes slices that are shorter than the n-th longest so far, because they cannot be among the
 * longest of all.
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
 * `least` only ever increases, so a slice that is refused now would be dropped later anyway. Equal
 * ones are accepted, and the order of slice_by_duration() decides among them.
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

/* Reduce to the requested number, then sort into the order of drawing. */
void ictusi_slices_finish(struct slices *slices)
{
    slices_halve(slices);
    qsort(slices->list, slices->count, sizeof *slices->list, slice_by_place);
}

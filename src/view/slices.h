/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest calls of a run, however many there were. */
#ifndef ICTUS_VIEW_SLICES_H
#define ICTUS_VIEW_SLICES_H

#include <stddef.h>
#include <stdint.h>

struct slice {
    int64_t start, duration; /* ns */
    uint32_t name, track, depth;
};

struct slices {
    struct slice *list;
    size_t count, most;
    int64_t least;    /* shorter slices are no longer kept */
    uint64_t dropped; /* number of slices not kept */
};

/* Keep at most this many slices. Call ictusi_slices_fini() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_slices_init(struct slices *slices, size_t most);
void ictusi_slices_fini(struct slices *slices);
void ictusi_slices_add(struct slices *slices, struct slice slice);

/* Leave the longest slices, sorted by track and start. */
void ictusi_slices_finish(struct slices *slices);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Bins with the most frequent names. The largest one is exact for up to four names per bin. */
#include "view/density.h"

#include <ictus/error.h>
#include <stdlib.h>

/* The total number of bins, however many tracks there are. */
static const uint64_t bins_in_all = 1 << 16;

int ictusi_density_init(struct density *density, uint64_t tracks, int64_t length_ns)
{
    /*
     * At least 16 bins per track, because fewer would show nothing, and at most 512, which is finer
     * than the pixels of a track. In between, the memory is the same for any number of tracks.
     */
    const uint64_t each = tracks > 0 ? bins_in_all / tracks : 1;
    density->count = (uint32_t)(each > 512 ? 512 : each < 16 ? 16 : each);
    /* Rounded up, so that the last instant falls into the last bin. */
    density->width = length_ns / density->count + 1;
    density->bins = calloc(tracks * density->count + 1, sizeof *density->bins);
    return density->bins ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_density_fini(struct density *density)
{
    free(density->bins);
    density->bins = NULL;
}

/*
 * A bin keeps DENSITY_NAMES names with the ns of each. A new name replaces the one with the least
 * time only if it alone is longer than that one's sum. So with more names than places the sums are
 * lower bounds, and a name of many short pieces may be missed among long ones.
 */
static void bin_add(struct density_bin *bin, uint32_t name, float ns)
{
    int least = 0;
    for (int i = 0; i < DENSITY_NAMES; i++) {
        if (bin->ns[i] > 0 && bin->name[i] == name) {
            bin->ns[i] += ns;
            return;
        }
        least = bin->ns[i] < bin->ns[least] ? i : least;
    }
    if (ns > bin->ns[least]) {
        bin->name[least] = name;
        bin->ns[least] = ns;
    }
}

void ictusi_density_add(struct density *density, uint32_t track, uint32_t name, int64_t from,
                        int64_t to)
{
    struct density_bin *bins = density->bins + (uint64_t)track * density->count;
    /* A clock that was set back may give times outside the run, which have no bin. */
    const int64_t end = density->width * density->count;
    from = from < 0 ? 0 : from;
    to = to > end ? end : to;
    /* A call that spans several bins is divided at their edges. */
    while (from < to) {
        const int64_t bin = from / density->width;
        const int64_t next = (bin + 1) * density->width;
        bin_add(&bins[bin], name, (float)((next < to ? next : to) - from));
        from = next;
    }
}

bool ictusi_density_most(const struct density *density, uint32_t track, uint32_t bin,
                         uint32_t *name, double *share)
{
    const struct density_bin *b = &density->bins[(uint64_t)track * density->count + bin];
    int best = 0;
    for (int i = 1; i < DENSITY_NAMES; i++) {
        best = b->ns[i] > b->ns[best] ? i : best;
    }
    *name = b->name[best];
    *share = (double)b->ns[best] / (double)density->width;
    return b->ns[best] > 0;
}

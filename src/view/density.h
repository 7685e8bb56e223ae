/* SPDX-License-Identifier: BSD-3-Clause */
/* What each track did most of in each of some equal stretches of the run. */
#ifndef ICTUS_VIEW_DENSITY_H
#define ICTUS_VIEW_DENSITY_H

#include <stdbool.h>
#include <stdint.h>

enum { DENSITY_NAMES = 4 };

/* The names that most of a bin was spent in; the least gives way to a new one. */
struct density_bin {
    uint32_t name[DENSITY_NAMES];
    float ns[DENSITY_NAMES]; /* 0: free */
};

struct density {
    struct density_bin *bins; /* of one track after the other */
    uint32_t count;           /* bins of a track */
    int64_t width;            /* ns */
};

/* Errors: ICTUS_ERR_NOMEM; to be ended all the same. */
int ictusi_density_init(struct density *density, uint64_t tracks, int64_t length_ns);
void ictusi_density_fini(struct density *density);

/* A track was in a region, and in none inside of it, from one instant to another. */
void ictusi_density_add(struct density *density, uint32_t track, uint32_t name, int64_t from,
                        int64_t to);

/* The name that most of a bin was spent in; false where it was in none. */
bool ictusi_density_most(const struct density *density, uint32_t track, uint32_t bin,
                         uint32_t *name, double *share);

#endif

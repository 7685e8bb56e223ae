/* SPDX-License-Identifier: BSD-3-Clause */
/* What each track mostly did in each of a number of equal intervals of the run. */
#ifndef ICTUS_VIEW_DENSITY_H
#define ICTUS_VIEW_DENSITY_H

#include <stdbool.h>
#include <stdint.h>

enum { DENSITY_NAMES = 4 };

/* The names that took up most of a bin. The one with the least time makes room for a new one. */
struct density_bin {
    uint32_t name[DENSITY_NAMES];
    float ns[DENSITY_NAMES]; /* 0: unused */
};

struct density {
    struct density_bin *bins; /* track by track */
    uint32_t count;           /* per track */
    int64_t width;            /* ns */
};

/* Call ictusi_density_fini() even after an error: ICTUS_ERR_NOMEM. */
int ictusi_density_init(struct density *density, uint64_t tracks, int64_t length_ns);
void ictusi_density_fini(struct density *density);

/* A track was in a region, and in no inner one, from one instant to another. */
void ictusi_density_add(struct density *density, uint32_t track, uint32_t name, int64_t from,
                        int64_t to);

/* The name that took up most of a bin. Returns false if the track was in no region. */
bool ictusi_density_most(const struct density *density, uint32_t track, uint32_t bin,
                         uint32_t *name, double *share);

#endif

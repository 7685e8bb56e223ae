/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash map from 64-bit (or pairs of 64-bit) keys to 32-bit values: references, requests, keys. */
#ifndef ICTUS_CORE_IDMAP_H
#define ICTUS_CORE_IDMAP_H

#include <stdint.h>

enum { IDMAP_NONE = -1 };

struct idmap_slot {
    uint64_t a, b;
    int64_t value; /* IDMAP_NONE marks a free slot */
};

struct idmap {
    struct idmap_slot *slots;
    uint64_t capacity; /* a power of two, or 0 */
    uint64_t used;
};

/* The value of a key, or IDMAP_NONE. */
int64_t ictusi_idmap_get(const struct idmap *map, uint64_t a, uint64_t b);

/*
 * The slot's value to read and write; a new key gets value fresh (>= 0). NULL when out of memory.
 * The pointer holds until the next insertion.
 */
int64_t *ictusi_idmap_at(struct idmap *map, uint64_t a, uint64_t b, int64_t fresh);

/* Set a key's value (>= 0). Errors: ICTUS_ERR_NOMEM. */
int ictusi_idmap_put(struct idmap *map, uint64_t a, uint64_t b, int64_t value);

/* Forget a key, and make its slot free again. */
void ictusi_idmap_remove(struct idmap *map, uint64_t a, uint64_t b);

void ictusi_idmap_fini(struct idmap *map);

#endif

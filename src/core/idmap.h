/* SPDX-License-Identifier: BSD-3-Clause */
/* A hash map from pairs of 64-bit keys to 64-bit values: references, requests, keys. */
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

/* Return the value of a key, or IDMAP_NONE. */
int64_t ictusi_idmap_get(const struct idmap *map, uint64_t a, uint64_t b);

/* Return the address of a key's value. A new key gets the value `fresh` (>= 0). NULL if memory
 * runs out. The address is valid until the next insertion. */
int64_t *ictusi_idmap_at(struct idmap *map, uint64_t a, uint64_t b, int64_t fresh);

/* Set a key's value (>= 0). Errors: ICTUS_ERR_NOMEM. */
int ictusi_idmap_put(struct idmap *map, uint64_t a, uint64_t b, int64_t value);

/* Remove a key, so that its slot becomes free. */
void ictusi_idmap_remove(struct idmap *map, uint64_t a, uint64_t b);

void ictusi_idmap_fini(struct idmap *map);

#endif

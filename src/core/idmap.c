/* SPDX-License-Identifier: BSD-3-Clause */
/* Open addressing with linear probing. The table is at most half full. */
#include "core/idmap.h"

#include <ictus/error.h>
#include <stdlib.h>

static uint64_t idmap_mix(uint64_t a, uint64_t b)
{
    /* Constants of splitmix64 (Steele, Lea, Flood 2014). */
    uint64_t x = a * UINT64_C(0x9e3779b97f4a7c15) + b;
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct idmap_slot *idmap_find(const struct idmap *map, uint64_t a, uint64_t b)
{
    uint64_t i = idmap_mix(a, b) & (map->capacity - 1);
    /* NOLINTBEGIN(clang-analyzer-core.UndefinedBinaryOperatorResult): filled when made */
    while (map->slots[i].value != IDMAP_NONE && (map->slots[i].a != a || map->slots[i].b != b)) {
        /* NOLINTEND(clang-analyzer-core.UndefinedBinaryOperatorResult) */
        i = (i + 1) & (map->capacity - 1);
    }
    return &map->slots[i];
}

static int idmap_grow(struct idmap *map)
{
    const struct idmap old = *map;
    struct idmap wide = {NULL, old.capacity ? old.capacity * 2 : 16, old.used};
    wide.slots = malloc(wide.capacity * sizeof *wide.slots);
    if (!wide.slots) {
        return ICTUS_ERR_NOMEM;
    }
    for (uint64_t i = 0; i < wide.capacity; i++) {
        wide.slots[i].value = IDMAP_NONE;
    }
    for (uint64_t i = 0; i < old.capacity; i++) {
        if (old.slots[i].value != IDMAP_NONE) {
            *idmap_find(&wide, old.slots[i].a, old.slots[i].b) = old.slots[i];
        }
    }
    free(old.slots);
    *map = wide;
    return ICTUS_OK;
}

int64_t ictusi_idmap_get(const struct idmap *map, uint64_t a, uint64_t b)
{
    return map->capacity ? idmap_find(map, a, b)->value : IDMAP_NONE;
}

int64_t *ictusi_idmap_at(struct idmap *map, uint64_t a, uint64_t b, int64_t fresh)
{
    if (map->used * 2 >= map->capacity && idmap_grow(map)) {
        return NULL;
    }
    struct idmap_slot *slot = idmap_find(map, a, b);
    if (slot->value == IDMAP_NONE) {
        *slot = (struct idmap_slot){a, b, fresh};
        map->used++;
    }
    return &slot->value;
}

int ictusi_idmap_put(struct idmap *map, uint64_t a, uint64_t b, int64_t value)
{
    int64_t *slot = ictusi_idmap_at(map, a, b, value);
    if (!slot) {
        return ICTUS_ERR_NOMEM;
    }
    *slot = value;
    return ICTUS_OK;
}

void ictusi_idmap_remove(struct idmap *map, uint64_t a, uint64_t b)
{
    struct idmap_slot *slots = map->slots;
    struct idmap_slot *gone = map->capacity ? idmap_find(map, a, b) : NULL;
    if (!gone || gone->value == IDMAP_NONE) {
        return;
    }
    /* Entries that belonged into this slot move up (Knuth, volume 3, 6.4, algorithm R). */
    const uint64_t mask = map->capacity - 1;
    uint64_t hole = (uint64_t)(gone - slots);
    for (uint64_t i = (hole + 1) & mask; slots[i].value != IDMAP_NONE; i = (i + 1) & mask) {
        const uint64_t home = idmap_mix(slots[i].a, slots[i].b) & mask;
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            slots[hole] = slots[i];
            hole = i;
        }
    }
    slots[hole].value = IDMAP_NONE;
    map->used--;
}

void ictusi_idmap_fini(struct idmap *map)
{
    free(map->slots);
    *map = (struct idmap){NULL, 0, 0};
}

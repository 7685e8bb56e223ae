/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing map from keys to numbers. */
#include "trace/keymap.h"

#include <stdlib.h>

/*
 * The slot of a key, or the free slot that it would take. Linear probing from a multiplicative hash
 * (Knuth, volume 3, 6.4). At least half of the slots are free, so the search ends. 0 marks a free
 * slot, so key 0 is stored as 1.
 */
static size_t keymap_place_of(const struct keymap *map, uint64_t key)
{
    size_t at = (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (map->slots - 1);
    while (map->keys[at] && map->keys[at] != key) {
        at = (at + 1) & (map->slots - 1);
    }
    return at;
}

/*
 * The new arrays are filled before the old ones are freed, so a failure leaves the map unchanged.
 */
static bool keymap_grow(struct keymap *map)
{
    struct keymap wider = {.slots = map->slots ? map->slots * 2 : 64, .count = map->count};
    wider.keys = calloc(wider.slots, sizeof(*wider.keys));
    wider.values = calloc(wider.slots, sizeof(*wider.values));
    if (!wider.keys || !wider.values) {
        ictusi_keymap_free(&wider);
        return false;
    }
    for (size_t i = 0; i < map->slots; i++) {
        if (map->keys[i]) {
            const size_t at = keymap_place_of(&wider, map->keys[i]);
            wider.keys[at] = map->keys[i];
            wider.values[at] = map->values[i];
        }
    }
    ictusi_keymap_free(map);
    *map = wider;
    return true;
}

uint32_t ictusi_keymap_find(const struct keymap *map, uint64_t key)
{
    if (map->slots == 0) {
        return KEYMAP_NONE;
    }
    const size_t at = keymap_place_of(map, key ? key : 1);
    return map->keys[at] ? map->values[at] : KEYMAP_NONE;
}

/* NOLINTBEGIN(clang-analyzer-unix.Malloc): keymap_grow() has replaced the old arrays */
uint32_t ictusi_keymap_put(struct keymap *map, uint64_t key, bool *fresh)
{
    if ((size_t)map->count * 2 >= map->slots && !keymap_grow(map)) {
        return KEYMAP_NONE;
    }
    const size_t at = keymap_place_of(map, key ? key : 1);
    const bool made = map->keys[at] == 0;
    if (made) {
        map->keys[at] = key ? key : 1;
        map->values[at] = map->count++;
    }
    if (fresh) {
        *fresh = made;
    }
    return map->values[at];
}
/* NOLINTEND(clang-analyzer-unix.Malloc) */

/* FNV-1a, 64 bits. */
uint64_t ictusi_keymap_hash(const char *text)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (; *text; text++) {
        hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
    }
    return hash;
}

void ictusi_keymap_free(struct keymap *map)
{
    free(map->keys);
    free(map->values);
    *map = (struct keymap){NULL, NULL, 0, 0};
}

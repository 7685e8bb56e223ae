/* SPDX-License-Identifier: BSD-3-Clause */
/* A growing map from 64-bit keys, or texts by their hash, to numbers in order of insertion. */
#ifndef ICTUS_TRACE_KEYMAP_H
#define ICTUS_TRACE_KEYMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define KEYMAP_NONE UINT32_MAX

struct keymap {
    uint64_t *keys; /* 0: free */
    uint32_t *values;
    size_t slots;
    uint32_t count;
};

/* The number of a key, which is inserted if it is new. fresh may be NULL. KEYMAP_NONE: no memory */
uint32_t ictusi_keymap_put(struct keymap *map, uint64_t key, bool *fresh);

/* The number of a key, or KEYMAP_NONE. */
uint32_t ictusi_keymap_find(const struct keymap *map, uint64_t key);

/* FNV-1a. */
uint64_t ictusi_keymap_hash(const char *text);

void ictusi_keymap_free(struct keymap *map);

#endif

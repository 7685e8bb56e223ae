/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow at their end. */
#ifndef ICTUS_CORE_ARRAY_H
#define ICTUS_CORE_ARRAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/*
 * Append a zeroed element. The capacity doubles at each power of two and need not be stored, but
 * the array must never become shorter. NULL: out of memory.
 */
static inline void *array_append(void **array, uint64_t *count, size_t size)
{
    const uint64_t n = *count;
    if ((n & (n - 1)) == 0) {
        void *wide = realloc(*array, (n ? n * 2 : 1) * size);
        if (!wide) {
            return NULL;
        }
        *array = wide;
    }
    void *element = (char *)*array + n * size;
    memset(element, 0, size);
    *count = n + 1;
    return element;
}

/*
 * Have room for this many elements in an array that also becomes shorter: the room doubles. The new
 * elements are not initialised. Returns false, and changes nothing, if there is no memory.
 */
static inline bool array_widen(void **array, uint64_t count, uint64_t *room, size_t size)
{
    uint64_t wanted = *room ? *room : 16;
    while (wanted < count) {
        wanted *= 2;
    }
    void *wide = wanted > *room ? realloc(*array, wanted * size) : *array;
    if (!wide) {
        return false;
    }
    *array = wide;
    *room = wanted;
    return true;
}

#endif

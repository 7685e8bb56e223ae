/* SPDX-License-Identifier: BSD-3-Clause */
/* Arrays that grow at their end, of which only the address and the count are stored. */
#ifndef ICTUS_CORE_ARRAY_H
#define ICTUS_CORE_ARRAY_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Append a zeroed element. The capacity doubles at each power of two. NULL: out of memory. */
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

#endif

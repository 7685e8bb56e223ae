/* SPDX-License-Identifier: BSD-3-Clause */
/* Keep freed memory for the next location. */
#include "traces/keep_memory.h"

#include <stdlib.h>

#ifdef __GLIBC__
#include <malloc.h>

/* More than the buffers of one location, in bytes. The C library's own limits move up to 32 MiB. */
enum { KEPT = 64 << 20 };

void keep_memory(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, KEPT);
    (void)mallopt(M_TRIM_THRESHOLD, KEPT);
}
#else
void keep_memory(void)
{
}
#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Linux tells in /proc/meminfo: free memory and what caches would give back. */
#include "bench/memory.h"

#include <inttypes.h>
#include <stdio.h>

enum { LINE_BYTES = 128, KIB = 1024 };

uint64_t ictusi_memory_available(void)
{
    uint64_t bytes = UINT64_MAX;
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) {
        return bytes;
    }
    while (fgets(line, sizeof(line), file)) {
        uint64_t kib = 0;
        if (sscanf(line, "MemAvailable: %" SCNu64 " kB", &kib) == 1) {
            bytes = kib * KIB;
        }
    }
    (void)fclose(file);
    return bytes;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Available memory from Linux's /proc/meminfo: free memory and what the page cache would give back.
 */
#include "bench/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_BYTES = 128, KIB = 1024, DECIMAL = 10 };

uint64_t ictusi_memory_available(void)
{
    static const char wanted[] = "MemAvailable:";
    uint64_t bytes = UINT64_MAX;
    char line[LINE_BYTES];
    FILE *file = fopen("/proc/meminfo", "r");
    if (!file) {
        return bytes;
    }
    while (fgets(line, sizeof(line), file)) {
        if (strncmp(line, wanted, sizeof(wanted) - 1) == 0) {
            bytes = strtoull(line + sizeof(wanted) - 1, NULL, DECIMAL) * KIB;
        }
    }
    (void)fclose(file);
    return bytes;
}

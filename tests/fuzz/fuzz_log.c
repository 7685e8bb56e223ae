/* SPDX-License-Identifier: BSD-3-Clause */
#include "fuzz_log.h"

#include "tracer/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void fuzz_put_log(const char *directory, int process, const struct fuzz_part *part)
{
    static const char start[] = "H\t1\t"; /* the number follows */
    const size_t skip = sizeof(start) - 1;
    char name[32];
    (void)snprintf(name, sizeof(name), "raw/%d.log", process);
    if (part->length <= skip || memcmp(part->bytes, start, skip) != 0) {
        fuzz_put(directory, name, part->bytes, part->length);
        return;
    }
    char *given = fuzz_text(part->bytes + skip, part->length - skip);
    char *text = NULL;
    const int length = asprintf(&text, "%s%llu%s", start, (unsigned long long)TRACE_TABLE_HASH,
                                given + strcspn(given, "\t\n"));
    fuzz_require(length >= 0);
    fuzz_put(directory, name, text, (size_t)length);
    free(text);
    free(given);
}

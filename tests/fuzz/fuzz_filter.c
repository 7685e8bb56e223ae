/* SPDX-License-Identifier: BSD-3-Clause */
/* Which functions a trace holds: the filter's rules. */
#include "fuzz.h"
#include "tracer/filter.h"
#include "tracer/functions.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    uint8_t enabled[TRACE_FUNCTIONS];
    struct ictus_why why;
    char *text = fuzz_text(bytes, length);
    if (ictusi_filter_apply(text, enabled, &why) == ICTUS_OK) {
        for (int i = 0; i < TRACE_FUNCTIONS; i++) {
            fuzz_require(enabled[i] <= FILTER_FRESH);
        }
    }
    free(text);
    return 0;
}

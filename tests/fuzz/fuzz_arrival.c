/* SPDX-License-Identifier: BSD-3-Clause */
/* Files of arrival patterns. */
#include "arrival/arrival.h"
#include "fuzz.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    char spec[64];
    struct arrival arrival;
    struct ictus_why why;
    (void)snprintf(spec, sizeof(spec), "file:%s,scale=1", fuzz_file(bytes, length));
    for (int rank = 0; rank < 5; rank++) {
        if (ictusi_arrival_init(&arrival, spec, rank, 5, &why) == ICTUS_OK) {
            const struct arrival_turn turn = ictusi_arrival_turn(&arrival, rank + 7);
            fuzz_require(turn.delay_ns >= 0 && turn.delay_ns <= INT64_C(10000000000));
            fuzz_require(turn.gap_ns >= 0 && turn.gap_ns <= turn.lead_ns + turn.delay_ns);
        }
        ictusi_arrival_fini(&arrival);
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* MPICH's selection trees, as files or inside a library, and winners put into them. */
#include "fuzz.h"
#include "results/tune.h"

#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    struct winner list[] = {
        {.operation = "allreduce", .algorithm = "ring", .processes = 4, .bytes = 8},
        {.operation = "bcast", .algorithm = "binomial", .processes = 4, .bytes = 64},
        {.operation = "barrier", .algorithm = "dissemination", .processes = 7},
    };
    const struct winners winners = {.list = list, .count = sizeof(list) / sizeof(list[0])};
    json_t *base = NULL;
    struct ictus_why why;
    if (tune_read_base(fuzz_file(bytes, length), &base, &why) == ICTUS_OK) {
        FILE *nowhere = fopen("/dev/null", "we");
        fuzz_require(nowhere);
        (void)tune_write_mpich(&winners, base, nowhere, &why);
        (void)fclose(nowhere);
        json_decref(base);
    }
    return 0;
}

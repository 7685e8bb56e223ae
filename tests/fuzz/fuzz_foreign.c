/* SPDX-License-Identifier: BSD-3-Clause */
/* What other benchmarks print. */
#include "fuzz.h"
#include "results/foreign.h"

#include <ictus/result.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    json_t *objects = NULL;
    struct ictus_why why;
    if (foreign_read(fuzz_file(bytes, length), &objects, &why) == ICTUS_OK) {
        /* What is read is a result: a header first, and measurements that JSON can hold. */
        char *text = json_dumps(objects, 0);
        fuzz_require(text && json_array_size(objects) > 1);
        free(text);
        json_decref(objects);
    }
    return 0;
}

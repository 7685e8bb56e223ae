/* SPDX-License-Identifier: BSD-3-Clause */
/* Trace Event JSON as the report reads it. */
#include "fuzz.h"
#include "results/timeline.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    const char *path = fuzz_file(bytes, length);
    json_t *objects = NULL;
    struct ictus_why why;
    (void)timeline_is_trace(path);
    if (timeline_read(path, length > 0 && bytes[0] == '[' ? 3 : 100, &objects, &why) == ICTUS_OK) {
        fuzz_require(json_array_size(objects) == 2);
        json_decref(objects);
    }
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
#include "results/report_patterns.h"

#include <string.h>

static const size_t most_offsets = 20000;

/* Every k-th row of a table, such that not too many numbers are left; NULL where not even one fits.
 */
static json_t *pattern_rows(const json_t *table, size_t *every)
{
    const size_t rows = json_array_size(table);
    const size_t ranks = json_array_size(json_array_get(table, 0));
    if (ranks == 0 || ranks > most_offsets) {
        return NULL;
    }
    const size_t wanted = most_offsets / ranks;
    json_t *kept = json_array();
    *every = (rows + wanted - 1) / wanted;
    for (size_t i = 0; i < rows; i += *every) {
        (void)json_array_append(kept, json_array_get(table, i));
    }
    return kept;
}

void report_thin_patterns(json_t *objects)
{
    size_t i = 0;
    json_t *object = NULL;
    json_array_foreach(objects, i, object)
    {
        const char *type = json_string_value(json_object_get(object, "type"));
        const json_t *table = json_object_get(object, "raw_offsets_ns");
        size_t every = 1;
        json_t *kept = type && strcmp(type, "arrivals") == 0 ? pattern_rows(table, &every) : NULL;
        if (kept) {
            (void)json_object_set_new(object, "offsets_ns", kept);
            (void)json_object_set_new(object, "offsets_every", json_integer((json_int_t)every));
        }
    }
}

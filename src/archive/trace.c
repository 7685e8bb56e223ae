/* SPDX-License-Identifier: BSD-3-Clause */
/* Looks up what an archive's definitions state. */
#include "archive/trace.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

uint32_t ictusi_archive_location(const struct trace *trace, uint64_t ref)
{
    const int64_t index = ictusi_idmap_get(&trace->location_index, ref, 0);
    return index == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)index;
}

uint32_t ictusi_archive_comm(const struct trace *trace, uint32_t ref)
{
    const int64_t index = ictusi_idmap_get(&trace->comm_index, ref, 0);
    return index == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)index;
}

uint32_t ictusi_archive_window(const struct trace *trace, uint32_t ref)
{
    const int64_t index = ictusi_idmap_get(&trace->window_index, ref, 0);
    return index == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)index;
}

int ictusi_archive_beyond(const struct trace *trace, uint32_t location)
{
    return ictus_because(trace->why, ICTUS_ERR_CORRUPT,
                         "%s: location %llu has time stamps beyond 2^%d ticks", trace->path,
                         (unsigned long long)trace->layout.locations[location].ref, STAMP_BITS);
}

const char *ictusi_archive_string(const struct trace *trace, uint32_t ref)
{
    const int64_t index = ictusi_idmap_get(&trace->string_index, ref, 0);
    return index == IDMAP_NONE || !trace->strings[index] ? "" : trace->strings[index];
}

const char *ictusi_archive_name(const struct trace *trace, const struct name_table *table,
                                uint64_t ref)
{
    const int64_t row = ictusi_idmap_get(&table->index, ref, 0);
    return row == IDMAP_NONE ? "" : ictusi_archive_string(trace, table->rows[row].string);
}

uint64_t ictusi_archive_ns(const struct trace *trace, uint64_t stamp)
{
    __extension__ typedef unsigned __int128 wide;
    const uint64_t since = stamp > trace->global_offset ? stamp - trace->global_offset : 0;
    const uint64_t resolution = trace->layout.resolution;
    return resolution == 1000000000 ? since : (uint64_t)((wide)since * 1000000000 / resolution);
}

/* The names are listed first, because OTF2 reports an error if a property does not exist. */
char *ictusi_archive_property(const struct trace *trace, const char *name)
{
    uint32_t count = 0;
    char **names = NULL;
    char *value = NULL;
    if (OTF2_Reader_GetPropertyNames(trace->reader, &count, &names) != OTF2_SUCCESS) {
        return NULL;
    }
    for (uint32_t i = 0; i < count && !value; i++) {
        if (strcmp(names[i], name) == 0 &&
            OTF2_Reader_GetProperty(trace->reader, name, &value) != OTF2_SUCCESS) {
            value = NULL;
        }
    }
    free(names);
    return value;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads the events of all locations in order of time; OTF2's global reader merges them. */
#include "archive/global_events.h"

#include <ictus/text.h>

static int events_fail(const struct trace *trace, const char *what)
{
    return ictus_because(trace->said ? NULL : trace->why, ICTUS_ERR_CORRUPT, "%s: %s", trace->path,
                         what);
}

int ictusi_global_events_read(struct trace *trace, const OTF2_GlobalEvtReaderCallbacks *callbacks,
                              void *user)
{
    uint64_t count = 0;
    if (OTF2_Reader_OpenEvtFiles(trace->reader) != OTF2_SUCCESS) {
        return events_fail(trace, "the event files cannot be opened");
    }
    for (uint64_t i = 0; i < trace->layout.location_count; i++) {
        (void)OTF2_Reader_GetEvtReader(trace->reader, trace->layout.locations[i].ref);
    }
    OTF2_GlobalEvtReader *reader = OTF2_Reader_GetGlobalEvtReader(trace->reader);
    if (!reader ||
        OTF2_Reader_RegisterGlobalEvtCallbacks(trace->reader, reader, callbacks, user) !=
            OTF2_SUCCESS ||
        OTF2_Reader_ReadAllGlobalEvents(trace->reader, reader, &count) != OTF2_SUCCESS) {
        return events_fail(trace, "the events cannot be read");
    }
    (void)OTF2_Reader_CloseGlobalEvtReader(trace->reader, reader);
    (void)OTF2_Reader_CloseEvtFiles(trace->reader);
    return ICTUS_OK;
}

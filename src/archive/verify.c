/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads an archive back to count what it contains. */
#include "archive/verify.h"

#include <ictus/text.h>
#include <otf2/otf2.h>

static bool verify_global_whole(OTF2_Reader *reader)
{
    uint64_t wanted = 0;
    uint64_t read = 0;
    OTF2_GlobalDefReader *definitions = OTF2_Reader_GetGlobalDefReader(reader);
    return definitions &&
           OTF2_Reader_GetNumberOfGlobalDefinitions(reader, &wanted) == OTF2_SUCCESS &&
           OTF2_Reader_ReadAllGlobalDefinitions(reader, definitions, &read) == OTF2_SUCCESS &&
           read == wanted;
}

static bool definitions_whole(OTF2_Reader *reader, uint64_t location)
{
    uint64_t read = 0;
    OTF2_DefReader *definitions = OTF2_Reader_GetDefReader(reader, location);
    if (!definitions) {
        return false;
    }
    const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalDefinitions(reader, definitions, &read);
    (void)OTF2_Reader_CloseDefReader(reader, definitions);
    return code == OTF2_SUCCESS;
}

static bool events_whole(OTF2_Reader *reader, const struct archive_count *count)
{
    uint64_t read = 0;
    OTF2_EvtReader *events = OTF2_Reader_GetEvtReader(reader, count->location);
    if (!events) {
        return count->events == 0;
    }
    /* The definitions were not read, so times and references are left as they are. */
    (void)OTF2_EvtReader_ApplyClockOffsets(events, false);
    (void)OTF2_EvtReader_ApplyMappingTables(events, false);
    const OTF2_ErrorCode code = OTF2_Reader_ReadAllLocalEvents(reader, events, &read);
    (void)OTF2_Reader_CloseEvtReader(reader, events);
    return (code == OTF2_SUCCESS || count->events == 0) && read == count->events;
}

/* Whether the locations are complete. *missing becomes the first one that is not. */
static bool locations_whole(OTF2_Reader *reader, const struct archive_count *counts, size_t count,
                            uint64_t *missing)
{
    bool whole = true;
    for (size_t i = 0; i < count; i++) {
        (void)OTF2_Reader_SelectLocation(reader, counts[i].location);
    }
    whole = OTF2_Reader_OpenDefFiles(reader) == OTF2_SUCCESS &&
            OTF2_Reader_OpenEvtFiles(reader) == OTF2_SUCCESS;
    for (size_t i = 0; i < count && whole; i++) {
        *missing = counts[i].location;
        whole = definitions_whole(reader, counts[i].location) &&
                (counts[i].sure || events_whole(reader, &counts[i]));
    }
    (void)OTF2_Reader_CloseDefFiles(reader);
    (void)OTF2_Reader_CloseEvtFiles(reader);
    return whole;
}

int ictusi_archive_verify(const char *anchor, const struct archive_count *counts, size_t count,
                          bool global, struct ictus_why *why)
{
    uint64_t missing = 0;
    OTF2_Reader *reader = OTF2_Reader_Open(anchor);
    if (!reader && !global) {
        return ICTUS_OK; /* a network file system may show the anchor only later */
    }
    bool whole = reader && OTF2_Reader_SetSerialCollectiveCallbacks(reader) == OTF2_SUCCESS;
    if (whole && global && !verify_global_whole(reader)) {
        (void)OTF2_Reader_Close(reader);
        return ictus_because(why, ICTUS_ERR_IO,
                             "%.200s was not written completely: its definitions are cut off; is "
                             "the disk full?",
                             anchor);
    }
    if (whole && count > 0) {
        whole = locations_whole(reader, counts, count, &missing);
    }
    if (reader) {
        (void)OTF2_Reader_Close(reader);
    }
    return whole ? ICTUS_OK
                 : ictus_because(
                       why, ICTUS_ERR_IO,
                       "%.200s was not written completely: location %llu is cut off; is the "
                       "disk full?",
                       anchor, (unsigned long long)missing);
}

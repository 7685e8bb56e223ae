/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading nothing but the times of a location. */
#include "correct/stamps.h"

#include <stdlib.h>

static OTF2_ErrorCode read_all(const struct trace *trace, OTF2_EvtReader *reader, bool shown,
                               const OTF2_EvtReaderCallbacks *set, struct stamps *stamps)
{
    uint64_t read = 0;
    OTF2_ErrorCode code = OTF2_EvtReader_ApplyClockOffsets(reader, shown);
    if (code == OTF2_SUCCESS) {
        code = OTF2_Reader_RegisterEvtCallbacks(trace->reader, reader, set, stamps);
    }
    return code == OTF2_SUCCESS ? OTF2_Reader_ReadAllLocalEvents(trace->reader, reader, &read)
                                : code;
}

int ictusi_stamps_read(const struct trace *trace, uint32_t location, bool shown,
                       struct stamps *stamps)
{
    const uint64_t events = trace->locations[location].events;
    const uint64_t ref = trace->locations[location].ref;
    OTF2_EvtReaderCallbacks *set = OTF2_EvtReaderCallbacks_New();
    OTF2_ErrorCode code = OTF2_SUCCESS;
    *stamps = (struct stamps){malloc((events + 1) * sizeof *stamps->list), 0, events};
    if (!set || !stamps->list) {
        OTF2_EvtReaderCallbacks_Delete(set);
        return ICTUS_ERR_NOMEM;
    }
    (void)ictusi_register_event_stamps(set);
    OTF2_EvtReader *reader = events ? OTF2_Reader_GetEvtReader(trace->reader, ref) : NULL;
    if (reader) {
        code = read_all(trace, reader, shown, set, stamps);
        (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    }
    OTF2_EvtReaderCallbacks_Delete(set);
    return code == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_CORRUPT;
}

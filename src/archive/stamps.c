/* SPDX-License-Identifier: BSD-3-Clause */
/* Reads only the times of a location's events, and computes where they move. */
#include "archive/stamps.h"

#include <stdlib.h>

/* Offsets are switched on or off for a whole reader, so a fresh one is needed. */
static OTF2_ErrorCode stamps_read_all(const struct trace *trace, OTF2_EvtReader *reader, bool shown,
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

/*
 * shown: apply the archive's clock offsets, as readers of the archive do; otherwise read the stamps
 * as recorded. One more element than there are events is allocated, because malloc(0) may return
 * NULL.
 */
int ictusi_stamps_read(const struct trace *trace, uint32_t location, bool shown,
                       struct stamps *stamps)
{
    const uint64_t events = trace->layout.locations[location].events;
    const uint64_t ref = trace->layout.locations[location].ref;
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
        code = stamps_read_all(trace, reader, shown, set, stamps);
        (void)OTF2_Reader_CloseEvtReader(trace->reader, reader);
    }
    OTF2_EvtReaderCallbacks_Delete(set);
    return code == OTF2_SUCCESS ? ICTUS_OK : ICTUS_ERR_CORRUPT;
}

/*
 * The same events are read twice, as readers show them and raw, so that the i-th times of both
 * lists belong to the same event. Events are identified by index and not by time, because two
 * events may have the same time as shown and different ones when moved. The walk does not count,
 * since the events are copied with another one. This takes 16 bytes per event, for one location at
 * a time.
 */
int ictusi_moved_times_make(const struct copy_job *job, uint32_t location,
                            struct moved_times *times)
{
    struct stamps moved = {.list = NULL};
    int err = ictusi_stamps_read(job->trace, location, true, &times->shown);
    err = err ? err : ictusi_stamps_read(job->trace, location, false, &moved);
    void *walk = err ? NULL : job->clock.open(job->clock.self, location);
    err = err || walk ? err : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < moved.count && !err; i++) {
        moved.list[i] = job->clock.event(walk, moved.list[i]);
    }
    if (walk) {
        (void)job->clock.close(job->clock.self, walk, false);
    }
    times->moved = moved.list;
    return !err && moved.count != times->shown.count ? ICTUS_ERR_CORRUPT : err;
}

void ictusi_moved_times_free(struct moved_times *times)
{
    free(times->shown.list);
    free(times->moved);
    *times = (struct moved_times){.moved = NULL};
}

/*
 * Binary search, with the invariant shown[i] < stamp for i < next and shown[i] >= stamp for i >=
 * high. It finds the first event that is not before the stamp. An instant before all events keeps
 * its distance from the first one, but not below 0. One between two events must not pass the later
 * one. One after the last event keeps its distance from it.
 */
uint64_t ictusi_moved_time(const struct moved_times *times, uint64_t stamp)
{
    const uint64_t *shown = times->shown.list;
    const uint64_t count = times->shown.count;
    uint64_t next = 0;
    for (uint64_t high = count; next < high;) {
        const uint64_t middle = next + (high - next) / 2;
        if (shown[middle] < stamp) {
            next = middle + 1;
        } else {
            high = middle;
        }
    }
    if (count == 0) {
        return stamp;
    }
    if (next == 0) {
        const uint64_t ahead = shown[0] - stamp;
        return times->moved[0] - (ahead < times->moved[0] ? ahead : times->moved[0]);
    }
    const uint64_t before = times->moved[next - 1];
    const uint64_t since = stamp - shown[next - 1];
    const uint64_t gap = next < count ? times->moved[next] - before : UINT64_MAX;
    const bool event = next < count && shown[next] == stamp;
    return before + (event || since > gap ? gap : since);
}

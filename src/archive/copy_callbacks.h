/* SPDX-License-Identifier: BSD-3-Clause */
/* What the generated reader-to-writer callbacks need. */
#ifndef ICTUS_ARCHIVE_COPY_CALLBACKS_H
#define ICTUS_ARCHIVE_COPY_CALLBACKS_H

#include <otf2/otf2.h>
#include <stdbool.h>

/*
 * Where new times come from. Several locations may be open, each with a walk along its events in
 * order; any thread may open and walk, only one at a time closes.
 */
struct copy_clock {
    /* Begin a location; NULL: no memory. */
    void *(*open)(void *self, uint32_t location);
    /* The new time of its next event, and of another instant near that event. */
    uint64_t (*event)(void *walk, uint64_t stamp);
    uint64_t (*other)(const void *walk, uint64_t stamp);
    /* End a walk; copied: all its events are, and it counts. False: some time, old or new, is
     * beyond STAMP_BITS. */
    bool (*close)(void *self, void *walk, bool copied);
    void *self;
};

/* Copying the events of one location. */
struct event_copy {
    OTF2_EvtWriter *writer;
    const struct copy_clock *clock;
    void *walk;          /* of the location */
    OTF2_ErrorCode code; /* first failure of the writer */
    uint64_t unknown;    /* records whose type this OTF2 library does not know */
};

/* Copying definitions. */
struct definition_copy {
    OTF2_DefWriter *local;
    OTF2_GlobalDefWriter *global;
    OTF2_ErrorCode code;
    uint64_t unknown;
    bool keep_offsets; /* write ClockOffset records too */
    uint64_t clock[4]; /* the new ClockProperties: resolution, offset, length, real time */
};

static inline uint64_t ictusi_copy_time(struct event_copy *copy, uint64_t stamp)
{
    return copy->clock->event(copy->walk, stamp);
}

static inline uint64_t ictusi_copy_other_time(const struct event_copy *copy, uint64_t stamp)
{
    return copy->clock->other(copy->walk, stamp);
}

/* What a callback returns after it wrote: the writer's first failure is kept, and ends the reading.
 */
static inline OTF2_CallbackCode ictusi_written(OTF2_ErrorCode *kept, OTF2_ErrorCode code)
{
    if (code == OTF2_SUCCESS) {
        return OTF2_CALLBACK_SUCCESS;
    }
    *kept = code;
    return OTF2_CALLBACK_INTERRUPT;
}

/* Collecting the stamps of one location. */
struct stamps {
    uint64_t *list;
    uint64_t count, room;
};

static inline OTF2_CallbackCode ictusi_copy_see_stamp(struct stamps *stamps, uint64_t stamp)
{
    if (stamps->count == stamps->room) {
        return OTF2_CALLBACK_INTERRUPT;
    }
    stamps->list[stamps->count++] = stamp;
    return OTF2_CALLBACK_SUCCESS;
}

/* Of each event of a location, in order: the time that readers show, and the one written. */
struct moved_times {
    struct stamps shown;
    uint64_t *moved;
};

/*
 * What an event's time becomes; any other instant stays as far after the event before it, but not
 * after the next. Without events a stamp stays as it is.
 */
uint64_t ictusi_moved_time(const struct moved_times *times, uint64_t stamp);

/* Copying the snapshots of one location. */
struct snapshot_copy {
    OTF2_SnapWriter *writer;
    struct moved_times times;
    OTF2_ErrorCode code;
    uint64_t unknown;
};

/* Generated: register a copying callback for every record type. Zero for success. */
int ictusi_register_event_copies(OTF2_EvtReaderCallbacks *set);
int ictusi_register_event_stamps(OTF2_EvtReaderCallbacks *set);
int ictusi_register_snapshot_copies(OTF2_SnapReaderCallbacks *set);
int ictusi_register_local_copies(OTF2_DefReaderCallbacks *set);
int ictusi_register_global_copies(OTF2_GlobalDefReaderCallbacks *set);

#endif

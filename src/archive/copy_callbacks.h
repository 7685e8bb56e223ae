/* SPDX-License-Identifier: BSD-3-Clause */
/* What the generated callbacks from reader to writer need. */
#ifndef ICTUS_ARCHIVE_COPY_CALLBACKS_H
#define ICTUS_ARCHIVE_COPY_CALLBACKS_H

#include <otf2/otf2.h>
#include <stdbool.h>

/*
 * The source of new times. Several locations may be open at once, each with a walk that follows its
 * events in order. Any thread may open and advance walks, but only one thread at a time may close
 * them.
 */
struct copy_clock {
    /* Begin a location. NULL: no memory. */
    void *(*open)(void *self, uint32_t location);
    /* The new time of the location's next event, and of another instant near that event. */
    uint64_t (*event)(void *walk, uint64_t stamp);
    uint64_t (*other)(const void *walk, uint64_t stamp);
    /*
     * End a walk. copied: all its events were written, so it counts. Returns false if some old or
     * new time is beyond STAMP_BITS.
     */
    bool (*close)(void *self, void *walk, bool copied);
    void *self;
};

/* The state of copying the events of one location. */
struct event_copy {
    OTF2_EvtWriter *writer;
    const struct copy_clock *clock;
    void *walk;          /* of the location */
    OTF2_ErrorCode code; /* the writer's first failure */
    uint64_t unknown;    /* records of a type that this OTF2 library does not know */
};

/* The state of copying definitions. */
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

/*
 * The return value of a callback that has written a record. The writer's first failure is kept and
 * ends the reading.
 */
static inline OTF2_CallbackCode ictusi_written(OTF2_ErrorCode *kept, OTF2_ErrorCode code)
{
    if (code == OTF2_SUCCESS) {
        return OTF2_CALLBACK_SUCCESS;
    }
    *kept = code;
    return OTF2_CALLBACK_INTERRUPT;
}

/* The stamps of one location as they are collected. */
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

/*
 * For each event of a location, in order, the time that readers show and the time that is written.
 */
struct moved_times {
    struct stamps shown;
    uint64_t *moved;
};

/*
 * The new time of a stamp. An event's time is looked up. Any other instant keeps its distance from
 * the preceding event, but does not pass the next one. Without events a stamp is unchanged.
 */
uint64_t ictusi_moved_time(const struct moved_times *times, uint64_t stamp);

/* The state of copying the snapshots of one location. */
struct snapshot_copy {
    OTF2_SnapWriter *writer;
    struct moved_times times;
    OTF2_ErrorCode code;
    uint64_t unknown;
};

/* Generated: register a copying callback for every record type. They return 0 on success. */
int ictusi_register_event_copies(OTF2_EvtReaderCallbacks *set);
int ictusi_register_event_stamps(OTF2_EvtReaderCallbacks *set);
int ictusi_register_snapshot_copies(OTF2_SnapReaderCallbacks *set);
int ictusi_register_local_copies(OTF2_DefReaderCallbacks *set);
int ictusi_register_global_copies(OTF2_GlobalDefReaderCallbacks *set);

#endif

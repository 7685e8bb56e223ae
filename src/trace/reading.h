/* SPDX-License-Identifier: BSD-3-Clause */
/* An archive's definitions in memory, and its events in order of time. */
#ifndef ICTUS_TRACE_READING_H
#define ICTUS_TRACE_READING_H

#include "trace/keymap.h"

#include <ictus/error.h>
#include <otf2/otf2.h>

struct reading_location {
    uint64_t id;
    uint32_t group; /* of the location: its process */
    uint32_t name;
};

struct reading_comm {
    uint32_t id, group_a, group_b; /* group_b: KEYMAP_NONE in an intra-communicator */
};

/* A group of a communicator, or the locations that their members are indices of. */
struct reading_group {
    uint32_t id;
    OTF2_GroupType type;
    uint64_t *members;
    uint32_t count;
};

struct reading_pair {
    uint64_t id;
    uint32_t name;
};

struct reading {
    OTF2_Reader *reader;
    uint64_t resolution, offset, length;
    char **strings;
    struct reading_pair *regions, *processes, *parameters;
    struct reading_location *locations;
    struct reading_comm *comms;
    struct reading_group *groups;
    /* Numbers in the archive to places in the arrays. */
    struct keymap string_keys, region_keys, process_keys, location_keys, comm_keys, group_keys,
        parameter_keys;
    int failed;
};

/* Open an archive (a directory or its anchor) and read its definitions. */
int ictusi_reading_open(const char *archive, struct reading *reading, struct ictus_why *why);

/* Read all events with the callbacks given, in order of time. */
int ictusi_reading_events(struct reading *reading, OTF2_GlobalEvtReaderCallbacks *callbacks,
                          void *user, struct ictus_why *why);

void ictusi_reading_close(struct reading *reading);

/* Names; "" where there is none. */
const char *ictusi_reading_string(const struct reading *reading, uint32_t string);
const char *ictusi_reading_region(const struct reading *reading, uint32_t region);
const char *ictusi_reading_parameter(const struct reading *reading, uint32_t parameter);
const struct reading_location *ictusi_reading_location(const struct reading *reading, uint64_t id);

/* The location of a communicator's rank, as the one at location sees it; UINT64_MAX: unknown. */
uint64_t ictusi_reading_peer(const struct reading *reading, uint64_t location, uint32_t comm,
                             uint32_t rank);

/* Nanoseconds since the trace began. */
uint64_t ictusi_reading_ns(const struct reading *reading, uint64_t time);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An OTF2 archive opened for reading, and what its definitions say: locations, processes, nodes,
 * communicators with their members, regions that are barriers, the clock and its offsets.
 */
#ifndef ICTUS_ARCHIVE_TRACE_H
#define ICTUS_ARCHIVE_TRACE_H

#include "core/idmap.h"

#include <ictus/error.h>
#include <otf2/otf2.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRACE_NONE UINT32_MAX

/* Stamps below 2^62, so that sums of a few of them and of offsets fit into 64 bits. */
#define TRACE_STAMP_BITS 62

struct clock_offset {
    uint64_t time;  /* on the location's clock, ticks */
    int64_t offset; /* global minus local, ticks */
    double sd;      /* ticks; 0 where the recorder did not say */
};

struct trace_location {
    uint64_t ref;
    uint64_t events;  /* as the definitions say */
    uint32_t process; /* index */
    uint8_t type;     /* OTF2_LocationType */
    struct clock_offset *offsets;
    uint32_t offset_count;
};

struct trace_process {
    uint32_t ref;
    uint32_t parent;  /* system tree node, reference */
    uint32_t creator; /* of an accelerator: the process whose clock stamps it, reference */
    uint32_t node;    /* index of its node */
    uint32_t
        rank_location; /* the location that stands for it in MPI communicators, or TRACE_NONE */
};

struct trace_group {
    uint32_t ref;
    uint8_t type, paradigm;
    bool global_members;
    uint32_t count;
    uint64_t *members;
};

struct trace_comm {
    uint32_t ref;
    uint32_t group_a, group_b; /* references; group_b is OTF2_UNDEFINED_GROUP unless inter */
    bool self, inter;
    uint32_t size_a, size_b;
    uint32_t *members;  /* location indices: group A, then group B */
    struct idmap ranks; /* location index -> position in members */
};

struct trace {
    OTF2_Reader *reader;
    char *path;
    uint64_t resolution, global_offset, length, realtime;
    uint64_t location_count, process_count, group_count, comm_count, node_count;
    struct trace_location *locations;
    struct trace_process *processes;
    struct trace_group *groups;
    struct trace_comm *comms;
    struct idmap location_index, process_index, group_index, comm_index, region_barrier;
    struct idmap window_comm;             /* RMA window -> communicator reference */
    struct idmap tree_parent, tree_class; /* system tree: node -> parent, is a "node" */
    struct idmap strings;                 /* reference -> 1 if the text is "node" */
    uint64_t definitions;
    struct ictus_why *why; /* first complaint of the OTF2 library goes here */
    bool said;
    const char *output; /* what is written meanwhile: a full disk is its trouble */
};

/*
 * Open an archive and read its global definitions and all locations' clock offsets.
 * Errors: ICTUS_ERR_ARG (no such file), ICTUS_ERR_FORMAT, ICTUS_ERR_CORRUPT, ICTUS_ERR_NOMEM.
 */
int ictusi_trace_open(const char *path, struct trace **out, struct ictus_why *why);
void ictusi_trace_close(struct trace *trace);

/* The index of a location or communicator by its reference; TRACE_NONE where there is none. */
uint32_t ictusi_trace_location(const struct trace *trace, uint64_t ref);
uint32_t ictusi_trace_comm(const struct trace *trace, uint32_t ref);

/* Say that a location has stamps of more than TRACE_STAMP_BITS bits. Gives ICTUS_ERR_CORRUPT. */
int ictusi_trace_beyond(const struct trace *trace, uint32_t location);

/* A location's position among a communicator's members, or that of its process; TRACE_NONE. */
uint32_t ictusi_trace_rank(const struct trace *trace, uint32_t comm, uint32_t location);

/*
 * The location at a rank as the member at position own (this location, or its process) names it: of
 * the other group in an inter-communicator.
 */
uint32_t ictusi_trace_peer(const struct trace *trace, uint32_t comm, uint32_t location,
                           uint32_t own, uint32_t rank);

#endif

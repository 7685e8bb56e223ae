/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who takes part in a recorded run, whatever the file format: locations (threads, streams), their
 * processes and nodes, and the communicators with their members.
 */
#ifndef ICTUS_CAUSALITY_LAYOUT_H
#define ICTUS_CAUSALITY_LAYOUT_H

#include "core/idmap.h"

#include <stdbool.h>
#include <stdint.h>

/* Stamps are below 2^62, so that sums of a few stamps and offsets fit into 64 bits. */
#define STAMP_BITS 62

/* No index. */
#define LAYOUT_NONE UINT32_MAX

struct clock_offset {
    uint64_t time;  /* on the location's clock, ticks */
    int64_t offset; /* global minus local, ticks */
    double sd;      /* standard deviation, ticks; 0: not recorded */
};

struct layout_location {
    uint64_t ref; /* its number in the archive */
    uint64_t events;
    uint32_t process; /* index, or LAYOUT_NONE */
    struct clock_offset *offsets;
    uint32_t offset_count;
};

struct layout_process {
    uint32_t ref;
    uint32_t node; /* index */
    /* of an accelerator: index of the process whose clock stamps it, else LAYOUT_NONE */
    uint32_t creator;
    uint32_t rank_location; /* represents the process in MPI communicators, or LAYOUT_NONE */
};

struct layout_comm {
    uint32_t ref;
    bool self, inter;
    uint32_t size_a, size_b; /* size_b: of an inter-communicator's other group */
    uint32_t *members;       /* location indices: group A, then group B; NULL: unknown */
    struct idmap ranks;      /* location index -> position in members */
};

struct layout {
    uint64_t resolution; /* ticks a second */
    uint64_t length;     /* of the run, ticks; 0: unknown */
    uint64_t location_count, process_count, comm_count, node_count;
    struct layout_location *locations;
    struct layout_process *processes;
    struct layout_comm *comms;
};

static inline uint32_t layout_members(const struct layout_comm *comm)
{
    return comm->size_a + comm->size_b;
}

void ictusi_layout_fini(struct layout *layout);

/* The position of a location, or of its process, among a communicator's members, or LAYOUT_NONE. */
uint32_t ictusi_layout_rank(const struct layout *layout, uint32_t comm, uint32_t location);

/*
 * The location that a rank refers to, as seen by the member at position own, which is this location
 * or its process. In an inter-communicator the rank is one of the other group.
 */
uint32_t ictusi_layout_peer(const struct layout *layout, uint32_t comm, uint32_t location,
                            uint32_t own, uint32_t rank);

/* The process whose clock stamps a location. An accelerator is stamped by its creator's clock. */
uint32_t ictusi_layout_clock_process(const struct layout *layout, uint32_t location);

#endif

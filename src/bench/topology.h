/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who the neighbours of a process are in neighbourhood operations: on a ring, on a Cartesian grid,
 * or in a directed graph; and which of a neighbour's blocks comes from it (MPI-3.1, section 7.6).
 */
#ifndef ICTUS_BENCH_TOPOLOGY_H
#define ICTUS_BENCH_TOPOLOGY_H

#include "core/spec.h"

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

enum topology_kind { TOPOLOGY_RING, TOPOLOGY_CART, TOPOLOGY_GRAPH };

enum { DIMENSIONS_MAX = 6 };

/* "ring", "cart:dimensions=3,periodic=0", "graph:degree=4", "graph:file=edges.txt" */
struct topology_options {
    enum topology_kind kind;
    int64_t dimensions;
    bool periodic;
    int64_t degree;
    struct spec_text file;
};

/*
 * Where several blocks come from one process, because both directions of a short dimension lead
 * there, libraries differ in which is which: as MPI-4 has it, or in the order of the sender's
 * blocks, or in the opposite one.
 */
enum slot_order { SLOT_RIGHT, SLOT_ASCENDING, SLOT_DESCENDING, SLOT_ORDERS };

/* From whom a block comes. */
struct source_neighbor {
    int rank;              /* MPI_PROC_NULL: none, beyond the edge of a grid */
    int slot[SLOT_ORDERS]; /* which of the blocks that it sends */
};

struct topology {
    enum topology_kind kind;
    int dimensions, periodic, dims[DIMENSIONS_MAX];
    struct source_neighbor *sources; /* in the order of the blocks that are received */
    int *targets;                    /* in the order of the blocks that are sent */
    int source_count, target_count;
};

/* Read a specification; NULL stands for "ring". Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC. Local.
 */
int ictusi_topology_read(const char *text, struct topology_options *options, struct ictus_why *why);

/*
 * Find the neighbours of a rank among so many. Errors: ICTUS_ERR_ARG (it does not go with so many
 * processes), ICTUS_ERR_SPEC (its file is none), ICTUS_ERR_NOMEM. Local.
 */
int ictusi_topology_init(struct topology *topology, const struct topology_options *options,
                         int rank, int size, struct ictus_why *why);

/* A communicator with this topology, ranks as in comm. Collective. Returns an MPI error code. */
int ictusi_topology_comm(const struct topology *topology, MPI_Comm comm, MPI_Comm *made);

void ictusi_topology_fini(struct topology *topology);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The neighbours of a process in neighbourhood operations (on a ring, on a Cartesian grid, or in a
 * directed graph), and which of a neighbour's blocks a process receives (MPI-3.1, section 7.6).
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

/*
 * Specifications: "ring", "cart:dimensions=3,periodic=0", "graph:degree=4", "graph:file=edges.txt".
 */
struct topology_options {
    enum topology_kind kind;
    int64_t dimensions;
    bool periodic;
    int64_t degree;
    struct spec_text file;
};

/*
 * Several blocks come from one process if both directions of a short dimension lead to it.
 * Libraries differ in the order in which they deliver them: as MPI-4 defines it, in the order of
 * the sender's blocks, or in the reverse order.
 */
enum slot_order { SLOT_RIGHT, SLOT_ASCENDING, SLOT_DESCENDING, SLOT_ORDERS };

/* The sender of a block. */
struct source_neighbor {
    int rank; /* MPI_PROC_NULL: none, beyond the edge of a grid */
    /* index of the block among those that the sender sends, for each order */
    int slot[SLOT_ORDERS];
};

struct topology {
    enum topology_kind kind;
    int dimensions, periodic, dims[DIMENSIONS_MAX];
    struct source_neighbor *sources; /* in the order of the received blocks */
    int *targets;                    /* in the order of the sent blocks */
    int source_count, target_count;
};

/* Read a specification; NULL means "ring". Errors: ICTUS_ERR_UNKNOWN, ICTUS_ERR_SPEC. Local. */
int ictusi_topology_read(const char *text, struct topology_options *options, struct ictus_why *why);

/*
 * Find the neighbours of a rank. Errors: ICTUS_ERR_ARG (the topology is impossible with this number
 * of processes), ICTUS_ERR_SPEC (the file is not valid), ICTUS_ERR_NOMEM. Local.
 */
int ictusi_topology_init(struct topology *topology, const struct topology_options *options,
                         int rank, int size, struct ictus_why *why);

/*
 * Make a communicator with this topology and the ranks of comm. Collective. Returns an MPI error
 * code.
 */
int ictusi_topology_comm(const struct topology *topology, MPI_Comm comm, MPI_Comm *made);

void ictusi_topology_fini(struct topology *topology);

#endif

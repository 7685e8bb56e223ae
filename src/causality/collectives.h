/* SPDX-License-Identifier: BSD-3-Clause */
/* Connects the instances of collectives. */
#ifndef ICTUS_CAUSALITY_COLLECTIVES_H
#define ICTUS_CAUSALITY_COLLECTIVES_H

#include "causality/graph.h"

/* What the ranks must agree on about one communicator's collectives. */
struct agreement {
    uint64_t calls;             /* instances that all members took part in */
    uint32_t *base;             /* by MPI rank: its first virtual node for this communicator */
    uint32_t *op_low, *op_high; /* by instance */
    uint32_t *root;             /* by instance */
    uint32_t *sums;             /* by instance: COLLECTIVE_SUMS numbers */
};

/* Connect all instances of the graph's history; agreements as for ictusi_connect_history(). */
int ictusi_collectives_connect(struct graph *graph, const struct agreement *agreements);

/* How many virtual nodes per instance of this communicator other ranks must be able to refer to. */
uint32_t ictusi_collectives_slots(const struct layout *layout, const struct share *share,
                                  uint32_t comm, int rank);

#endif

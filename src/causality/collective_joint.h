/* SPDX-License-Identifier: BSD-3-Clause */
/* One call of a collective operation while its points are being connected. */
#ifndef ICTUS_CAUSALITY_COLLECTIVE_JOINT_H
#define ICTUS_CAUSALITY_COLLECTIVE_JOINT_H

#include "causality/collective_plan.h"
#include "causality/collectives.h"

struct joint {
    struct graph *graph;
    const struct collective_plan *plan;
    const struct instance *instance;
    const struct agreement *agreement;
    uint32_t root;    /* position */
    bool everybody;   /* sizes are unknown or do not matter, so every member takes part */
    uint32_t *enters; /* this rank's points in no particular order; the chains are taken apart */
    uint32_t *exits;
    uint32_t count;
};

/* A list of nodes under construction. */
struct node_list {
    uint32_t *nodes;
    uint32_t count;
};

/* One direction: the enters of members [from, from_end) happen before the exits of [to, to_end). */
struct direction {
    uint32_t from, from_end, to, to_end;
    uint32_t first_slot;
};

/* The number of the node in a slot of this call, on any rank. */
uint32_t ictusi_joint_slot(struct joint *j, uint32_t rank, uint32_t slot);

/* Fill the lists of a new or reserved node and link its points to it. Errors: ICTUS_ERR_NOMEM. */
int ictusi_joint_fill(struct joint *j, uint32_t node, const struct node_list *in,
                      const struct node_list *out);

/* Connect one direction through one node, or through a tree of ranks. Errors: ICTUS_ERR_NOMEM. */
int ictusi_joint_direction(struct joint *j, const struct direction *d, bool root_sends,
                           bool root_receives);

/* Connect a Scan or Exscan. Errors: ICTUS_ERR_NOMEM. */
int ictusi_joint_scan(struct joint *j);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* How the members of a communicator are distributed over the ranks of a team. */
#ifndef ICTUS_CAUSALITY_COLLECTIVE_PLAN_H
#define ICTUS_CAUSALITY_COLLECTIVE_PLAN_H

#include "causality/graph.h"

/*
 * On each rank, each of the two directions of an operation has a node that gathers and one that
 * spreads.
 */
enum { SLOT_GATHER, SLOT_SPREAD, SLOTS };

struct collective_plan {
    const struct layout_comm *comm;
    const struct share *share;
    uint32_t size;            /* members; 0: no other process takes part */
    uint32_t *ranks;          /* ranks that have members, in the order of their first member */
    uint32_t rank_count, own; /* own: index of this rank, or rank_count */
    uint32_t *run_first;      /* runs of neighbouring members on one rank; run_count + 1 entries */
    uint32_t run_count, levels;
    uint32_t *slots; /* by rank: its nodes per instance that other ranks can refer to */
};

/* ictusi_collective_plan_fini() must follow, also after an error: ICTUS_ERR_NOMEM. */
int ictusi_collective_plan_init(struct collective_plan *plan, const struct layout_comm *comm,
                                const struct share *share);
void ictusi_collective_plan_fini(struct collective_plan *plan);

/*
 * The rank that replays a member. A member that recorded nothing is assigned to rank 0, so that all
 * ranks agree.
 */
static inline uint32_t plan_owner(const struct collective_plan *plan, uint32_t member)
{
    const uint32_t location = plan->comm->members[member];
    return location == LAYOUT_NONE ? 0 : plan->share->owner[location];
}

#endif

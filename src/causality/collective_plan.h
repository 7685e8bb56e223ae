/* SPDX-License-Identifier: BSD-3-Clause */
/* How a communicator's members are spread over the ranks of a team. */
#ifndef ICTUS_CAUSALITY_COLLECTIVE_PLAN_H
#define ICTUS_CAUSALITY_COLLECTIVE_PLAN_H

#include "causality/graph.h"

/* Two directions of an operation have these nodes each on a rank: what gathers, what spreads. */
enum { SLOT_GATHER, SLOT_SPREAD, SLOTS };

struct collective_plan {
    const struct layout_comm *comm;
    const struct share *share;
    uint32_t size;            /* members; 0: nobody else takes part */
    uint32_t *ranks;          /* ranks that have members, in the order of their first member */
    uint32_t rank_count, own; /* own: index of this rank, or rank_count */
    uint32_t *run_first;      /* runs of neighbouring members on one rank; run_count + 1 entries */
    uint32_t run_count, levels;
    uint32_t *slots; /* by rank: nodes of one instance there that other ranks can name */
};

/* Ended by ictusi_collective_plan_fini(), also after an error: ICTUS_ERR_NOMEM. */
int ictusi_collective_plan_init(struct collective_plan *plan, const struct layout_comm *comm,
                                const struct share *share);
void ictusi_collective_plan_fini(struct collective_plan *plan);

/*
 * The rank that replays a member. One that recorded nothing is rank 0's, so that all ranks name the
 * same one.
 */
static inline uint32_t plan_owner(const struct collective_plan *plan, uint32_t member)
{
    const uint32_t location = plan->comm->members[member];
    return location == LAYOUT_NONE ? 0 : plan->share->owner[location];
}

#endif

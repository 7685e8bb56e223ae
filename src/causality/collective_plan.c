/* SPDX-License-Identifier: BSD-3-Clause */
/* Which rank replays which members of a communicator, and how many nodes each rank has per call. */
#include "causality/collective_plan.h"

#include <ictus/error.h>
#include <stdlib.h>

/*
 * Find the runs of neighbouring members, and list the ranks in the order of their first member.
 * slots holds the number of a rank's runs until plan_count_slots() turns it into nodes.
 */
static void plan_find_runs(struct collective_plan *plan, bool *seen)
{
    for (uint32_t i = 0; i < plan->size; i++) {
        const uint32_t rank = plan_owner(plan, i);
        if (i == 0 || rank != plan_owner(plan, i - 1)) {
            plan->run_first[plan->run_count++] = i;
            plan->slots[rank]++;
        }
        if (!seen[rank]) {
            seen[rank] = true;
            plan->ranks[plan->rank_count++] = rank;
        }
    }
    plan->run_first[plan->run_count] = plan->size;
}

/* Each direction takes two nodes. The nodes of the runs follow. */
static void plan_count_slots(struct collective_plan *plan)
{
    plan->own = plan->rank_count;
    for (uint32_t i = 0; i < plan->rank_count; i++) {
        plan->own = plan->ranks[i] == (uint32_t)plan->share->rank ? i : plan->own;
    }
    /* ceil(log2(runs)): the number of steps of recursive doubling over runs (collective_scan.c). */
    while ((1U << plan->levels) < plan->run_count) {
        plan->levels++;
    }
    for (int r = 0; r < plan->share->size; r++) {
        const uint32_t runs = plan->rank_count < 2 ? 0 : plan->slots[r];
        plan->slots[r] = runs ? 2 * SLOTS + runs * (plan->levels + 2) : 0;
    }
}

/* One plan per communicator serves all calls on it, because who replays whom does not change. */
int ictusi_collective_plan_init(struct collective_plan *plan, const struct layout_comm *comm,
                                const struct share *share)
{
    *plan = (struct collective_plan){.comm = comm, .share = share};
    plan->slots = calloc((size_t)share->size + 1, sizeof *plan->slots);
    if (comm->self || !comm->members) {
        return plan->slots ? ICTUS_OK : ICTUS_ERR_NOMEM;
    }
    plan->size = layout_members(comm);
    bool *seen = calloc((size_t)share->size + 1, sizeof *seen);
    plan->ranks = calloc(plan->size + 1UL, sizeof *plan->ranks);
    plan->run_first = malloc((plan->size + 2UL) * sizeof *plan->run_first);
    const bool room = plan->slots && seen && plan->ranks && plan->run_first;
    if (room) {
        plan_find_runs(plan, seen);
        plan_count_slots(plan);
    }
    free(seen);
    return room ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

void ictusi_collective_plan_fini(struct collective_plan *plan)
{
    free(plan->ranks);
    free(plan->run_first);
    free(plan->slots);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as happened-before pairs S x R (B07 4.1): who sends, who receives, and through which
 * virtual nodes. If several MPI ranks replay the members of a communicator, each rank has nodes
 * that others can refer to: see collective_tree.c and collective_scan.c.
 */
#include "causality/collectives.h"

#include "causality/collective_joint.h"

#include <ictus/error.h>
#include <stdlib.h>

uint32_t ictusi_collectives_slots(const struct layout *layout, const struct share *share,
                                  uint32_t comm, int rank)
{
    struct collective_plan plan;
    const int err = ictusi_collective_plan_init(&plan, &layout->comms[comm], share);
    const uint32_t slots = err ? 0 : plan.slots[rank];
    ictusi_collective_plan_fini(&plan);
    return slots;
}

/*
 * Whether the pairs of a sparse operation (Alltoallv, Alltoallw) are known. They are if one member
 * sends or one receives, or if each member is recorded to have received from all senders. The sums
 * are enough to tell: no member can receive from more than all senders other than itself, so the
 * total reaches the product only if each receives from all.
 */
static bool collectives_is_proven(const struct joint *j, bool from_b, bool to_b)
{
    const uint32_t *sums =
        j->plan->rank_count > 1
            ? &j->agreement->sums[(uint64_t)j->instance->sequence * COLLECTIVE_SUMS]
            : j->instance->sums;
    if (!collective_is_sparse(j->instance->op)) {
        return true;
    }
    const uint64_t senders = sums[collective_side(from_b, false)];
    const uint64_t receivers = sums[collective_side(to_b, true)];
    const uint64_t selves = from_b == to_b ? sums[COLLECTIVE_BOTH] : 0;
    const bool dense = sums[COLLECTIVE_TOLD] == j->plan->size &&
                       sums[COLLECTIVE_PAIRS + to_b] == senders * receivers - selves;
    return !j->everybody && (senders <= 1 || receivers <= 1 || dense);
}

/*
 * Unproven instances are counted by the first rank of the plan alone, since the reported number is
 * the sum over ranks.
 */
static int collectives_connect_proven(struct joint *j, const struct direction *d, bool root_sends,
                                      bool root_receives)
{
    const uint32_t half = j->plan->comm->inter ? j->plan->comm->size_a : UINT32_MAX;
    if (collectives_is_proven(j, d->from >= half, d->to >= half)) {
        return ictusi_joint_direction(j, d, root_sends, root_receives);
    }
    j->graph->unproven += j->plan->own == 0;
    return ICTUS_OK;
}

/*
 * Which enters happen before which exits (B07 4.1): the root's before all, all before the root's,
 * or all before all. Scans have an order of their own.
 */
static int collectives_connect_op(struct joint *j)
{
    const struct layout_comm *comm = j->plan->comm;
    const uint32_t all = j->plan->size;
    bool root_sends = false;
    bool root_receives = false;
    switch (j->instance->op) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_SCATTERV:
        root_sends = true;
        break;
    case COLLECTIVE_GATHER:
    case COLLECTIVE_GATHERV:
    case COLLECTIVE_REDUCE:
        root_receives = true;
        break;
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
        return ictusi_joint_scan(j);
    default:
        break;
    }
    if (!comm->inter) {
        const struct direction d = {0, all, 0, all, 0};
        return collectives_connect_proven(j, &d, root_sends, root_receives);
    }
    /*
     * Data goes from one group to the other, never within a group. A rooted operation goes one way
     * only.
     */
    const bool root_in_a = j->root < comm->size_a;
    const struct direction from_a = {0, comm->size_a, comm->size_a, all, 0};
    const struct direction from_b = {comm->size_a, all, 0, comm->size_a, SLOTS};
    const bool rooted = root_sends || root_receives;
    int err = ICTUS_OK;
    if (!rooted || root_in_a == root_sends) {
        err = collectives_connect_proven(j, &from_a, root_sends, root_receives);
    }
    if (!err && (!rooted || root_in_a != root_sends)) {
        err = collectives_connect_proven(j, &from_b, root_sends, root_receives);
    }
    return err;
}

/*
 * Take a chain apart into a list. The links of a chain later become links to nodes, so all points
 * must be in the list before the first one is connected.
 */
static uint64_t chain_detach(struct points *points, uint32_t from, uint32_t *list)
{
    uint64_t count = 0;
    while (from != NODE_NONE) {
        const uint32_t next = points->link[from];
        points->link[from] = NODE_NONE;
        list[count++] = from;
        from = next;
    }
    return count;
}

/*
 * Whether all members took part in the same operation. If several ranks replay members, each sees
 * only its own, and what all of them agreed on decides.
 */
static bool collectives_is_usable(const struct joint *j)
{
    const struct instance *instance = j->instance;
    const struct agreement *agreement = j->agreement;
    if (j->plan->rank_count < 2) {
        return !instance->broken && instance->out.count == j->plan->size && j->plan->size > 1;
    }
    return instance->sequence < agreement->calls &&
           agreement->op_low[instance->sequence] == agreement->op_high[instance->sequence];
}

/*
 * Whether recording began later for some members than for others, so that calls cannot be counted.
 */
static bool collectives_begins_late(const struct graph *graph, const struct collective_plan *plan,
                                    uint32_t comm)
{
    const struct stretch_list *stretches = &graph->history->matching.stretches;
    const uint32_t *list = graph->history->layout->comms[comm].members;
    bool late = false;
    for (uint32_t i = 0; stretches->begin_late && i < plan->size && !late; i++) {
        late = stretches->gaps[list[i]].late;
    }
    return late;
}

/*
 * Connect one call of all members. Its points leave their chains in any case, because a link within
 * a chain would be mistaken for a partner.
 */
static int collectives_connect_instance(struct graph *graph, const struct collective_plan *plan,
                                        const struct instance *instance,
                                        const struct agreement *agreement)
{
    struct joint j = {graph, plan, instance, agreement, instance->root, false, NULL, NULL, 0};
    int err = ICTUS_OK;
    j.enters = malloc(((size_t)instance->out.count + instance->in.count + 1) * sizeof *j.enters);
    if (!j.enters) {
        return ICTUS_ERR_NOMEM;
    }
    j.exits = j.enters + instance->out.count;
    j.count = (uint32_t)chain_detach(&graph->history->points, instance->out.head, j.enters);
    (void)chain_detach(&graph->history->points, instance->in.head, j.exits);
    if (plan->rank_count > 1 && agreement && instance->sequence < agreement->calls) {
        j.root = agreement->root[instance->sequence];
    }
    /*
     * Barriers and calls that create or free handles move no data, but still wait for all members.
     */
    j.everybody = instance->op == COLLECTIVE_BARRIER || instance->op >= COLLECTIVE_CREATE_HANDLE ||
                  !graph->history->matching.sizes_known;
    if (collectives_begins_late(graph, plan, instance->comm)) {
        graph->left_out += j.count;
    } else if (!collectives_is_usable(&j) ||
               (collective_is_rooted(instance->op) && j.root >= plan->size)) {
        graph->incomplete += plan->size > 1;
    } else {
        graph->collectives += plan->own == 0;
        err = collectives_connect_op(&j);
    }
    free(j.enters);
    return err;
}

/*
 * Reserve the nodes that other ranks refer to. They must be made before all others, because
 * ictusi_joint_slot() computes their numbers.
 */
static int collectives_reserve_slots(struct graph *graph, const struct collective_plan *plan,
                                     const struct agreement *agreement)
{
    int err = ICTUS_OK;
    if (!agreement || plan->rank_count < 2 || plan->own == plan->rank_count) {
        return ICTUS_OK;
    }
    const uint64_t slots = plan->slots[graph->share->rank];
    for (uint64_t i = 0; i < slots * agreement->calls && !err; i++) {
        uint32_t node = NODE_NONE;
        err = ictusi_graph_vnode(graph, 0, 0, POINT_COLLECTIVE, &node);
    }
    return err;
}

int ictusi_collectives_connect(struct graph *graph, const struct agreement *agreements)
{
    const struct layout *layout = graph->history->layout;
    const struct matching *m = &graph->history->matching;
    const uint64_t comms = layout->comm_count;
    struct collective_plan *plans = calloc(comms + 1, sizeof *plans);
    int err = plans ? ICTUS_OK : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; i < comms && !err; i++) {
        err = ictusi_collective_plan_init(&plans[i], &layout->comms[i], graph->share);
    }
    for (uint64_t i = 0; agreements && i < POINT_CLASSES * comms && !err; i++) {
        err = collectives_reserve_slots(graph, &plans[i % comms], &agreements[i]);
    }
    for (uint64_t i = 0; i < m->instance_count && !err; i++) {
        const struct instance *instance = &m->instances[i];
        if (instance->op < OP_FORK) {
            const struct agreement *agreement =
                agreements ? &agreements[instance->class * comms + instance->comm] : NULL;
            err = collectives_connect_instance(graph, &plans[instance->comm], instance, agreement);
        }
    }
    for (uint64_t i = 0; plans && i < comms; i++) {
        ictusi_collective_plan_fini(&plans[i]);
    }
    free(plans);
    return err;
}

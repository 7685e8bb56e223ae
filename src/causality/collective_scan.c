/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Scan and Exscan. Runs of neighbouring members are combined by recursive doubling (Hillis and
 * Steele 1986); the members within a run form a chain.
 */
#include "causality/collective_joint.h"

#include <ictus/error.h>
#include <stdlib.h>

/* An inner node of a scan. Any of the neighbours may be NODE_NONE and is then left out. */
static int scan_node(struct joint *j, uint32_t node, uint32_t in_a, uint32_t in_b, uint32_t out_a,
                     uint32_t out_b)
{
    uint32_t ins[2];
    uint32_t outs[2];
    struct node_list in = {ins, 0};
    struct node_list out = {outs, 0};
    const uint32_t given[4] = {in_a, in_b, out_a, out_b};
    for (int i = 0; i < 4; i++) {
        struct node_list *list = i < 2 ? &in : &out;
        if (given[i] != NODE_NONE) {
            list->nodes[list->count++] = given[i];
        }
    }
    return ictusi_joint_fill(j, node, &in, &out);
}

/*
 * The node of a run in a slot. Slots 0..levels combine runs; slot levels + 1 holds what comes from
 * the runs below. The runs of one rank follow each other there. They are few, since ranks replay
 * neighbouring locations, so counting the earlier ones is cheap.
 */
static uint32_t collective_scan_run_node(struct joint *j, uint32_t run, uint32_t slot)
{
    const struct collective_plan *plan = j->plan;
    const uint32_t rank = plan_owner(plan, plan->run_first[run]);
    uint32_t before = 0;
    for (uint32_t i = 0; i < run; i++) {
        before += plan_owner(plan, plan->run_first[i]) == rank;
    }
    return ictusi_joint_slot(j, rank, 2 * SLOTS + before * (plan->levels + 2) + slot);
}

/*
 * Recursive doubling over runs: node k of a run holds the maximum of the 2^k runs up to it. It
 * depends on node k - 1 of its own run and on that of the run 2^(k-1) before, each of which holds
 * half of them. The exits depend on the highest node of the preceding run, which holds all runs up
 * to that one.
 */
static int collective_scan_connect_levels(struct joint *j, uint32_t run, uint32_t chain_end,
                                          const struct node_list *exits)
{
    const struct collective_plan *plan = j->plan;
    int err = ICTUS_OK;
    for (uint32_t k = 0; k <= plan->levels && !err; k++) {
        const uint32_t reach = 1U << k;
        const bool top = k == plan->levels;
        const uint32_t in_a = k == 0 ? chain_end : collective_scan_run_node(j, run, k - 1);
        const uint32_t in_b = k > 0 && run >= reach / 2
                                  ? collective_scan_run_node(j, run - reach / 2, k - 1)
                                  : NODE_NONE;
        const uint32_t out_a = top ? NODE_NONE : collective_scan_run_node(j, run, k + 1);
        uint32_t out_b = NODE_NONE;
        if (top && run + 1 < plan->run_count) {
            out_b = collective_scan_run_node(j, run + 1, plan->levels + 1);
        } else if (!top && run + reach < plan->run_count) {
            out_b = collective_scan_run_node(j, run + reach, k + 1);
        }
        err = scan_node(j, collective_scan_run_node(j, run, k), in_a, in_b, out_a, out_b);
    }
    if (!err && run > 0) {
        uint32_t below = collective_scan_run_node(j, run - 1, plan->levels);
        const struct node_list in = {&below, 1};
        err = ictusi_joint_fill(j, collective_scan_run_node(j, run, plan->levels + 1), &in, exits);
    }
    return err;
}

/*
 * The new nodes of a run: n chain nodes, then one per exit. They are numbered consecutively, so
 * that base identifies all of them.
 */
static int collective_scan_make_run_nodes(struct joint *j, uint32_t n, uint32_t *base)
{
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < 2 * n && !err; i++) {
        uint32_t node = NODE_NONE;
        err = ictusi_graph_vnode(j->graph, 0, 0, j->instance->class, &node);
        *base = i == 0 ? node : *base;
    }
    return err;
}

/*
 * Connect one run of members. Node i of the chain holds the maximum of the enters up to member i.
 * An exit depends on its own node (Scan) or on the one before (Exscan: no dependency on itself),
 * and on the preceding runs.
 */
static int collective_scan_connect_run(struct joint *j, const uint32_t *enter, const uint32_t *exit,
                                       uint32_t run)
{
    const uint32_t first = j->plan->run_first[run];
    const uint32_t n = j->plan->run_first[run + 1] - first;
    const uint32_t own = j->instance->op == COLLECTIVE_SCAN ? 0 : 1;
    const bool several = j->plan->run_count > 1;
    const uint32_t above = several ? collective_scan_run_node(j, run, 0) : NODE_NONE;
    const uint32_t below =
        run > 0 ? collective_scan_run_node(j, run, j->plan->levels + 1) : NODE_NONE;
    uint32_t *exits = malloc(n * sizeof *exits);
    uint32_t base = NODE_NONE;
    int err = exits ? collective_scan_make_run_nodes(j, n, &base) : ICTUS_ERR_NOMEM;
    for (uint32_t i = 0; i < n && !err; i++) {
        const uint32_t listener = i + own < n ? base + n + i + own : NODE_NONE;
        err = scan_node(j, base + i, enter[first + i], i > 0 ? base + i - 1 : NODE_NONE,
                        i + 1 < n ? base + i + 1 : above, listener);
    }
    for (uint32_t i = 0; i < n && !err; i++) {
        exits[i] = base + n + i;
        err = scan_node(j, exits[i], i >= own ? base + i - own : NODE_NONE, below, exit[first + i],
                        NODE_NONE);
    }
    const struct node_list list = {exits, n};
    if (!err && several) {
        err = collective_scan_connect_levels(j, run, base + n - 1, &list);
    }
    free(exits);
    return err;
}

/*
 * First sort the points by member: a chain needs them in the order of the ranks, which is not the
 * order in which they were read. Each rank makes the nodes of the runs that it replays.
 */
int ictusi_joint_scan(struct joint *j)
{
    const struct points *points = &j->graph->history->points;
    const uint32_t size = j->plan->size;
    uint32_t *enter = malloc(2 * (size + 1UL) * sizeof *enter);
    if (!enter) {
        return ICTUS_ERR_NOMEM;
    }
    uint32_t *exit = enter + size;
    for (uint32_t i = 0; i < j->count; i++) {
        enter[points->peer[j->enters[i]]] = j->enters[i];
        exit[points->peer[j->exits[i]]] = j->exits[i];
    }
    int err = ICTUS_OK;
    for (uint32_t run = 0; run < j->plan->run_count && !err; run++) {
        if (plan_owner(j->plan, j->plan->run_first[run]) == (uint32_t)j->graph->share->rank) {
            err = collective_scan_connect_run(j, enter, exit, run);
        }
    }
    free(enter);
    return err;
}

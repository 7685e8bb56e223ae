/* SPDX-License-Identifier: BSD-3-Clause */
/* The nodes of one call of a collective operation. */
#include "causality/collective_joint.h"

#include <ictus/error.h>

/*
 * Nodes of a call have numbers that each rank can compute for any other one: calls follow each
 * other in order, and each has as many slots as the plan says. So no rank needs to ask another.
 */
uint32_t ictusi_joint_slot(struct joint *j, uint32_t rank, uint32_t slot)
{
    const uint32_t slots = j->plan->slots[rank];
    const uint32_t node =
        NODE_VIRTUAL | (j->agreement->base[rank] + j->instance->sequence * slots + slot);
    return rank == (uint32_t)j->graph->share->rank ? node
                                                   : ictusi_graph_remote(j->graph, rank, node);
}

/*
 * Both lists of a node lie in one piece, with its predecessors first. Nodes on other ranks are only
 * referred to here: their own ranks fill them in with the other end of each edge.
 */
int ictusi_joint_fill(struct joint *j, uint32_t node, const struct node_list *in,
                      const struct node_list *out)
{
    const int err = ictusi_graph_edges(j->graph, node, in->count, out->count);
    if (err) {
        return err;
    }
    uint32_t *link = j->graph->history->points.link;
    uint32_t *edges = ictusi_graph_in(j->graph, node);
    graph_vnode(j->graph, node)->class = j->instance->class;
    /* A point has a single link, to the node of its call. Nodes have lists instead. */
    for (uint32_t i = 0; i < in->count; i++) {
        edges[i] = in->nodes[i];
        if (!(in->nodes[i] & NODE_VIRTUAL)) {
            link[in->nodes[i]] = node;
        }
    }
    for (uint32_t i = 0; i < out->count; i++) {
        edges[in->count + i] = out->nodes[i];
        if (!(out->nodes[i] & NODE_VIRTUAL)) {
            link[out->nodes[i]] = node;
        }
    }
    return ICTUS_OK;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* The storage of nodes and edges. */
#include "causality/graph.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

/* Doubling the array makes an append cost O(1) on average. */
static int graph_reserve(void **array, uint64_t count, uint64_t more, size_t size)
{
    /* The capacity is the next power of two above count, so it need not be stored. */
    uint64_t capacity = 1;
    while (capacity < count) {
        capacity *= 2;
    }
    if (*array && count + more <= capacity) {
        return ICTUS_OK;
    }
    while (capacity < count + more) {
        capacity *= 2;
    }
    void *wide = realloc(*array, capacity * size);
    if (!wide) {
        return ICTUS_ERR_NOMEM;
    }
    *array = wide;
    return ICTUS_OK;
}

/* The edges of a node are contiguous, incoming ones first, and cannot grow afterwards. */
int ictusi_graph_edges(struct graph *graph, uint32_t node, uint32_t in, uint32_t out)
{
    const uint64_t more = (uint64_t)in + out;
    if (graph->edge_count + more > UINT32_MAX ||
        graph_reserve((void **)&graph->edges, graph->edge_count, more, sizeof *graph->edges)) {
        return ICTUS_ERR_NOMEM;
    }
    struct vnode *v = graph_vnode(graph, node);
    v->edges = (uint32_t)graph->edge_count;
    v->in_count = in;
    v->out_count = out;
    graph->edge_count += more;
    return ICTUS_OK;
}

int ictusi_graph_vnode(struct graph *graph, uint32_t in, uint32_t out, uint8_t class,
                       uint32_t *node)
{
    if (graph->vnode_count >= NODE_INDEX ||
        graph_reserve((void **)&graph->vnodes, graph->vnode_count, 1, sizeof *graph->vnodes)) {
        return ICTUS_ERR_NOMEM;
    }
    *node = NODE_VIRTUAL | (uint32_t)graph->vnode_count;
    graph->vnodes[graph->vnode_count++] = (struct vnode){.class = class};
    return ictusi_graph_edges(graph, *node, in, out);
}

uint32_t *ictusi_graph_in(struct graph *graph, uint32_t node)
{
    return graph->edges + graph_vnode(graph, node)->edges;
}

uint32_t *ictusi_graph_out(struct graph *graph, uint32_t node)
{
    const struct vnode *v = graph_vnode(graph, node);
    return graph->edges + v->edges + v->in_count;
}

/*
 * Nodes on other ranks are marked by a bit and an index into a table, so that links stay 32 bits
 * wide.
 */
uint32_t ictusi_graph_remote(struct graph *graph, uint32_t rank, uint32_t node)
{
    if (graph_reserve((void **)&graph->remotes, graph->remote_count, 1, sizeof *graph->remotes)) {
        return NODE_NONE;
    }
    graph->remotes[graph->remote_count] = (struct remote){rank, node};
    return NODE_REMOTE | (uint32_t)graph->remote_count++;
}

static bool graph_is_point(uint32_t node)
{
    return !(node & NODE_VIRTUAL);
}

/*
 * Link each end that is a point here to the other one. A point on another rank is linked by its
 * owner.
 */
void ictusi_graph_pair(struct graph *graph, uint32_t send, uint32_t receive, uint32_t send_location,
                       uint32_t receive_location)
{
    struct points *points = &graph->history->points;
    if (graph_is_point(send)) {
        points->link[send] = receive;
        points->peer[send] = receive_location;
    }
    if (graph_is_point(receive)) {
        points->link[receive] = send;
        points->peer[receive] = send_location;
    }
}

/* Disconnect the rest of a chain; returns the number of its points. */
static uint64_t graph_drop_chain(struct points *points, uint32_t from)
{
    uint64_t count = 0;
    while (from != NODE_NONE) {
        const uint32_t next = points->link[from];
        points->link[from] = NODE_NONE;
        from = next;
        count++;
    }
    return count;
}

uint64_t ictusi_graph_drop(struct graph *graph, uint32_t from)
{
    return graph_drop_chain(&graph->history->points, from);
}

void ictusi_graph_fini(struct graph *graph)
{
    free(graph->vnodes);
    free(graph->edges);
    free(graph->remotes);
    memset(graph, 0, sizeof(*graph));
}

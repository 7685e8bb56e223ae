/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The happened-before relation as a graph. Points are connected directly (a send and its receive)
 * or through virtual nodes (all enters of a collective -> one node -> all its exits), which keep
 * the work per collective linear, and the depth logarithmic in the number of MPI ranks that replay.
 */
#ifndef ICTUS_CAUSALITY_GRAPH_H
#define ICTUS_CAUSALITY_GRAPH_H

#include "causality/history.h"

/*
 * A virtual node takes the maximum of what arrives (backward: the minimum) and passes it on. It
 * remembers which location that came from, and the best value from any other location, so that no
 * process depends on itself.
 */
struct vnode {
    int64_t first, second;
    uint32_t who, other; /* the locations that first and second come from */
    uint32_t pending;
    uint32_t edges; /* where its lists begin in graph.edges: in_count nodes, then out_count */
    uint32_t in_count, out_count;
    uint8_t class;
};

/* A node of another MPI rank. */
struct remote {
    uint32_t rank;
    uint32_t node;
};

/* Which MPI rank replays which location; one rank without MPI. */
struct share {
    int rank, size;
    uint32_t *owner; /* by location */
    bool *mine;
};

struct graph {
    struct history *history;
    const struct share *share;
    struct vnode *vnodes;
    uint64_t vnode_count;
    uint32_t *edges;
    uint64_t edge_count;
    struct remote *remotes;
    uint64_t remote_count;
    uint64_t messages, collectives, thread_pairs; /* the numbers that were connected */
    uint64_t unmatched_sends, unmatched_receives, incomplete;
    uint64_t left_out; /* messages next to a stretch that was not recorded */
    uint64_t unproven; /* calls of which the archive does not show who waited for whom */
};

void ictusi_graph_fini(struct graph *graph);

/*
 * Building blocks. The sizes of a node's lists are either given when it is made, or reserved later.
 */
int ictusi_graph_vnode(struct graph *graph, uint32_t in, uint32_t out, uint8_t class,
                       uint32_t *node);
int ictusi_graph_edges(struct graph *graph, uint32_t node, uint32_t in, uint32_t out);
uint32_t *ictusi_graph_in(struct graph *graph, uint32_t node);
uint32_t *ictusi_graph_out(struct graph *graph, uint32_t node);

/* The local number of another rank's node, or NODE_NONE if there is no memory. */
uint32_t ictusi_graph_remote(struct graph *graph, uint32_t rank, uint32_t node);

/* Connect a send and a receive, or any two points or remote points. */
void ictusi_graph_pair(struct graph *graph, uint32_t send, uint32_t receive, uint32_t send_location,
                       uint32_t receive_location);

/* Disconnect the rest of a chain; returns the number of its points. */
uint64_t ictusi_graph_drop(struct graph *graph, uint32_t from);

static inline struct vnode *graph_vnode(const struct graph *graph, uint32_t node)
{
    return &graph->vnodes[node & NODE_INDEX];
}

#endif

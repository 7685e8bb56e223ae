/* SPDX-License-Identifier: BSD-3-Clause */
/* Records neighborhood collectives as the messages between neighbors. */
#include "tracer/neighbors.h"

#include "tracer/p2p.h"

#include <stdlib.h>

/*
 * edges: first the `out` destinations, then the `in` sources, each in MPI's order of blocks
 * (edge.index).
 */
static struct neighbors *neighbors_allocate(int out, int in)
{
    const size_t edges = (size_t)out + (size_t)in;
    return calloc(1, sizeof(struct neighbors) + edges * sizeof(struct edge));
}

/*
 * The neighbors in a Cartesian grid: in each dimension first downwards, then upwards. What is sent
 * downwards arrives from above. The sources are in that order too, so that if a dimension has two
 * processes, the two messages between them are received in the order in which they are sent. The
 * buffers have two blocks per dimension, also at borders without a neighbor (MPI_PROC_NULL; MPI
 * 4.1, 8.6), so the index of a block is 2 d + side. i ^ 1 exchanges the two sides of a dimension.
 */
static struct neighbors *neighbors_cart(MPI_Comm comm)
{
    int dims = 0;
    if (REAL(Cartdim_get)(comm, &dims) != MPI_SUCCESS) {
        return NULL;
    }
    struct neighbors *n = neighbors_allocate(2 * dims, 2 * dims);
    for (int d = 0; n && d < dims; d++) {
        int peers[2] = {MPI_PROC_NULL, MPI_PROC_NULL};
        (void)REAL(Cart_shift)(comm, d, 1, &peers[0], &peers[1]);
        for (int side = 0; side < 2; side++) {
            n->edges[n->out++] = (struct edge){peers[side], 2 * d + side};
        }
    }
    for (int i = 0; n && i < 2 * dims; i++) {
        n->edges[n->out + n->in++] = n->edges[i ^ 1];
    }
    return n;
}

static void edges_fill(struct edge *edges, const int *peers, int count)
{
    for (int i = 0; i < count; i++) {
        edges[i] = (struct edge){peers[i], i};
    }
}

/* A graph of MPI-1 lists the neighbors of each process once, for both directions. */
static struct neighbors *neighbors_graph(MPI_Comm comm, int rank)
{
    int count = 0;
    if (REAL(Graph_neighbors_count)(comm, rank, &count) != MPI_SUCCESS) {
        return NULL;
    }
    struct neighbors *n = neighbors_allocate(count, count);
    int *peers = calloc((size_t)count + 1, sizeof(*peers));
    if (n && peers && REAL(Graph_neighbors)(comm, rank, count, peers) == MPI_SUCCESS) {
        n->out = n->in = count;
        edges_fill(n->edges, peers, count);
        edges_fill(n->edges + count, peers, count);
    }
    free(peers);
    return n;
}

/*
 * MPI_UNWEIGHTED could be passed for weights that are not needed, but an array works for both kinds
 * of graph.
 */
static struct neighbors *neighbors_dist_graph(MPI_Comm comm)
{
    int in = 0;
    int out = 0;
    int weighted = 0;
    if (REAL(Dist_graph_neighbors_count)(comm, &in, &out, &weighted) != MPI_SUCCESS) {
        return NULL;
    }
    const size_t both = (size_t)in + (size_t)out;
    struct neighbors *n = neighbors_allocate(out, in);
    int *peers = calloc(2 * both + 2, sizeof(*peers));
    int *weights = peers ? peers + both + 1 : NULL; /* Open MPI writes them, requested or not */
    if (n && peers &&
        REAL(Dist_graph_neighbors)(comm, in, peers, weights, out, peers + in, weights + in) ==
            MPI_SUCCESS) {
        n->out = out;
        n->in = in;
        edges_fill(n->edges, peers + in, out);
        edges_fill(n->edges + out, peers, in);
    }
    free(peers);
    return n;
}

/*
 * Leave out edges that lead nowhere or to the process itself, in place and in order: kept never
 * overtakes i. An edge to the process itself is a copy in memory, for which the archive has no
 * message.
 */
static void neighbors_prune(struct neighbors *n, int rank)
{
    const int all = n->out + n->in;
    const int out = n->out;
    int kept = 0;
    n->out = 0;
    for (int i = 0; i < all; i++) {
        const struct edge edge = n->edges[i];
        if (edge.peer >= 0 && edge.peer != rank) {
            n->edges[kept++] = edge;
            n->out += i < out;
        }
    }
    n->in = kept - n->out;
}

/*
 * Called in the wrapper of a neighborhood collective, so the communicator has a topology. The
 * queries are local (MPI 4.1, 8.5).
 */
static struct neighbors *neighbors_ask(const struct trace_comm *info, MPI_Comm comm)
{
    struct neighbors *n = NULL;
    int kind = MPI_UNDEFINED;
    (void)REAL(Topo_test)(comm, &kind);
    if (kind == MPI_CART) {
        n = neighbors_cart(comm);
    } else if (kind == MPI_GRAPH) {
        n = neighbors_graph(comm, info->rank);
    } else if (kind == MPI_DIST_GRAPH) {
        n = neighbors_dist_graph(comm);
    }
    if (n) {
        neighbors_prune(n, info->rank);
    }
    return n;
}

/*
 * A communicator's neighbors, queried once. NULL: it has none, or nothing may be recorded. Several
 * threads may query at the same time: the first result is kept, and the communicator owns it. The
 * acquire pairs with the release of the exchange, so whoever sees the pointer sees the edges.
 */
static const struct neighbors *neighbors_of(struct trace_comm *info, MPI_Comm comm)
{
    if (!info || info->foreign) {
        return NULL;
    }
    struct neighbors *known = atomic_load_explicit(&info->neighbors, memory_order_acquire);
    if (!known) {
        struct neighbors *asked = neighbors_ask(info, comm);
        if (atomic_compare_exchange_strong(&info->neighbors, &known, asked)) {
            known = asked;
        } else {
            free(asked);
        }
    }
    return known;
}

/*
 * The bytes that are sent along an edge, or received. counts.width is 0 if one count applies to all
 * edges. typed means that each edge has a datatype (Alltoallw).
 */
static uint64_t edge_bytes(struct recorder *r, const struct coll_args *a, const struct edge *edge,
                           bool out)
{
    const struct counts *counts = out ? &a->sendcounts : &a->recvcounts;
    const MPI_Datatype *types = out ? a->sendtypes : a->recvtypes;
    int64_t count = out ? a->sendcount : a->recvcount;
    MPI_Datatype type = out ? a->sendtype : a->recvtype;
    if (counts->width) {
        count = ictusi_tracer_count_at(counts, edge->index);
    }
    if (a->typed) {
        type = types ? types[edge->index] : MPI_DATATYPE_NULL;
    }
    return count > 0 ? (uint64_t)(count * trace_type_bytes(r, type)) : 0;
}

/*
 * Edges of 0 bytes are not recorded: MPI libraries may not send them either, and the other side
 * sees the same count.
 */
void ictusi_tracer_note_neighbors_sent(struct recorder *r, MPI_Comm comm,
                                       const struct coll_args *args)
{
    struct trace_comm *info = trace_comm(r, comm);
    const struct neighbors *n = neighbors_of(info, comm);
    for (int i = 0; n && i < n->out; i++) {
        const uint64_t bytes = edge_bytes(r, args, &n->edges[i], true);
        if (bytes) {
            recorder_make_room(r);
            recorder_put2(r, RECORD_SEND, 0, (uint32_t)n->edges[i].peer,
                          comm_and_tag(info, NEIGHBOR_TAG), bytes);
        }
    }
}

/*
 * Sizes are taken from the receiving side's counts and types, which in a correct program equal what
 * was sent.
 */
void ictusi_tracer_note_neighbors_received(struct recorder *r, MPI_Comm comm,
                                           const struct coll_args *args)
{
    struct trace_comm *info = trace_comm(r, comm);
    const struct neighbors *n = neighbors_of(info, comm);
    for (int i = n ? n->out : 0; n && i < n->out + n->in; i++) {
        const uint64_t bytes = edge_bytes(r, args, &n->edges[i], false);
        if (bytes) {
            recorder_make_room(r);
            recorder_put2(r, RECORD_RECV, 0, (uint32_t)n->edges[i].peer,
                          comm_and_tag(info, NEIGHBOR_TAG), bytes);
        }
    }
}

/*
 * Make a request with its exchange, including the bytes of each edge in the order of n->edges,
 * because counts and types may be gone before it is complete.
 */
static struct trace_request neighbor_request(struct recorder *r, MPI_Comm comm,
                                             const struct coll_args *args)
{
    struct trace_comm *info = trace_comm(r, comm);
    struct trace_request request = {.kind = REQUEST_NEIGHBORS};
    const struct neighbors *n = neighbors_of(info, comm);
    const int edges = n ? n->out + n->in : 0;
    struct exchange *exchange =
        edges ? malloc(sizeof(*exchange) + (size_t)edges * sizeof(uint64_t)) : NULL;
    if (exchange) {
        exchange->neighbors = n;
        exchange->tag = NEIGHBOR_TAG;
        for (int i = 0; i < edges; i++) {
            exchange->bytes[i] = edge_bytes(r, args, &n->edges[i], i < n->out);
        }
        request.comm = info;
        request.exchange = exchange;
    }
    return request;
}

/*
 * The edges have consecutive numbers, so that the receives and their ends need not store theirs.
 * request->id is the first of out + in numbers; edge i has id + i. 0: nothing is recorded.
 */
void ictusi_tracer_exchange_send(struct recorder *r, struct trace_request *request)
{
    const struct exchange *x = request->exchange;
    const struct neighbors *n = x->neighbors;
    request->id = recorder_requests(r, (uint64_t)n->out + (uint64_t)n->in);
    for (int i = 0; i < n->out && request->id; i++) {
        if (x->bytes[i]) {
            recorder_make_room(r);
            recorder_put3(r, RECORD_ISEND, 0, (uint32_t)n->edges[i].peer,
                          comm_and_tag(request->comm, x->tag), x->bytes[i],
                          request->id + (uint64_t)i);
        }
    }
}

/*
 * Called after the sends, so that a reader of the thread's records finds each receive posted at the
 * end of the call, when MPI certainly has it.
 */
void ictusi_tracer_exchange_post(struct recorder *r, const struct trace_request *request)
{
    const struct exchange *x = request->exchange;
    const struct neighbors *n = x->neighbors;
    for (int i = n->out; i < n->out + n->in && request->id; i++) {
        if (x->bytes[i]) {
            recorder_make_room(r);
            recorder_put1(r, RECORD_IRECV, 0, 0, request->id + (uint64_t)i);
        }
    }
}

/* All edges end at the same instant, because MPI does not tell which one completed first. */
void ictusi_tracer_exchange_done(struct recorder *r, const struct trace_request *request)
{
    const struct exchange *x = request->exchange;
    const struct neighbors *n = x->neighbors;
    for (int i = 0; i < n->out + n->in; i++) {
        const uint64_t id = request->id + (uint64_t)i;
        if (x->bytes[i] == 0) {
            continue;
        }
        recorder_make_room(r);
        if (i < n->out) {
            recorder_put1(r, RECORD_ISEND_DONE, 0, 0, id);
        } else {
            recorder_put3(r, RECORD_IRECV_DONE, 0, (uint32_t)n->edges[i].peer,
                          comm_and_tag(request->comm, x->tag), x->bytes[i], id);
        }
    }
}

struct trace_request ictusi_tracer_note_ineighbor(struct recorder *r, MPI_Comm comm,
                                                  const struct coll_args *args)
{
    struct trace_request made = neighbor_request(r, comm, args);
    if (made.exchange) {
        ictusi_tracer_exchange_send(r, &made);
    }
    return made;
}

void ictusi_tracer_track_ineighbor(struct recorder *r, MPI_Request handle,
                                   struct trace_request *made)
{
    if (made->exchange) {
        ictusi_tracer_exchange_post(r, made);
        ictusi_request_track(r, handle, made);
    }
}

/*
 * The tag distinguishes the channels: NEIGHBOR_TAG for calls, and one more for each persistent
 * request of the communicator, which is numbered alike in all processes.
 */
void ictusi_tracer_track_neighbor_init(struct recorder *r, MPI_Request handle, MPI_Comm comm,
                                       const struct coll_args *args)
{
    struct trace_request made = neighbor_request(r, comm, args);
    if (made.exchange) {
        /*
         * Processes make persistent requests in the same order, but may start them in any order, so
         * each has a channel of its own.
         */
        struct trace_comm *info = trace_comm(r, comm);
        made.persistent = true;
        made.exchange->tag += 1 + atomic_fetch_add(&info->neighbor_inits, 1);
        ictusi_request_track(r, handle, &made);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighborhood collectives as records of messages: who is sent what, and received from, in grids
 * and graphs that are written down by hand. MPI's answers are simulated.
 */
#include "../check.h"

#include <mpi.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

static int model_type_size(MPI_Datatype type, MPI_Count *bytes);
#undef PMPI_Type_size_x
/* NOLINTNEXTLINE(readability-identifier-naming): the MPI library's name */
#define PMPI_Type_size_x(type, bytes) model_type_size(type, bytes)

/* NOLINTBEGIN(bugprone-suspicious-include): its static functions are what is looked at */
#include "tracer/neighbors.c"
/* NOLINTEND(bugprone-suspicious-include) */

enum { INT_BYTES = 4, CHAR_BYTES = 1, COMM_ID = 3, RANK = 1, FIRST = 70, EDGES_MAX = 4 };

struct tracer ictusi_tracer;

static int model_type_size(MPI_Datatype type, MPI_Count *bytes)
{
    *bytes = type == MPI_INT ? INT_BYTES : CHAR_BYTES;
    return MPI_SUCCESS;
}

/* A topology: neighbors by dimension and side, or a list, or two. */
struct topology {
    int kind, dims, in, out;
    int sources[EDGES_MAX], destinations[EDGES_MAX];
};

static const struct topology *topology;
static int questions;
static bool fails;

static int model_topo_test(MPI_Comm comm, int *kind)
{
    CHECK(comm == MPI_COMM_WORLD);
    questions++;
    *kind = topology->kind;
    return MPI_SUCCESS;
}

static int model_cartdim_get(MPI_Comm comm, int *dims)
{
    (void)comm;
    *dims = topology->dims;
    return fails ? MPI_ERR_TOPOLOGY : MPI_SUCCESS;
}

static int model_cart_shift(MPI_Comm comm, int dim, int by, int *source, int *destination)
{
    (void)comm;
    CHECK(dim >= 0 && dim < topology->dims && by == 1);
    *source = topology->destinations[2 * dim];
    *destination = topology->destinations[2 * dim + 1];
    return MPI_SUCCESS;
}

static int model_graph_count(MPI_Comm comm, int rank, int *count)
{
    (void)comm;
    CHECK(rank == RANK);
    *count = topology->out;
    return fails ? MPI_ERR_TOPOLOGY : MPI_SUCCESS;
}

static int model_graph_neighbors(MPI_Comm comm, int rank, int most, int *peers)
{
    (void)comm;
    CHECK(rank == RANK && most == topology->out);
    memcpy(peers, topology->destinations, (size_t)topology->out * sizeof(*peers));
    return MPI_SUCCESS;
}

static int model_dist_graph_count(MPI_Comm comm, int *in, int *out, int *weighted)
{
    (void)comm;
    *in = topology->in;
    *out = topology->out;
    *weighted = 0;
    return fails ? MPI_ERR_TOPOLOGY : MPI_SUCCESS;
}

/* Weights are written too, each into room of its own. */
static int model_dist_graph_neighbors(MPI_Comm comm, int in, int *sources, int *in_weights, int out,
                                      int *destinations, int *out_weights)
{
    (void)comm;
    CHECK(in == topology->in && out == topology->out);
    memcpy(sources, topology->sources, (size_t)in * sizeof(*sources));
    memcpy(destinations, topology->destinations, (size_t)out * sizeof(*destinations));
    for (int i = 0; i < in; i++) {
        in_weights[i] = -1;
    }
    for (int i = 0; i < out; i++) {
        out_weights[i] = -1;
    }
    return MPI_SUCCESS;
}

struct real_mpi ictusi_real = {.P_Topo_test = model_topo_test,
                               .P_Cartdim_get = model_cartdim_get,
                               .P_Cart_shift = model_cart_shift,
                               .P_Graph_neighbors_count = model_graph_count,
                               .P_Graph_neighbors = model_graph_neighbors,
                               .P_Dist_graph_neighbors_count = model_dist_graph_count,
                               .P_Dist_graph_neighbors = model_dist_graph_neighbors};

struct trace_comm *ictusi_comm_find(struct recorder *r, MPI_Comm comm)
{
    (void)r;
    (void)comm;
    CHECK_ABORT();
}

/* From here on there is room for one record. */
static int switches;

void ictusi_recorder_switch(struct recorder *r)
{
    r->soft = r->pos;
    switches++;
}

void ictusi_recorder_flush(struct recorder *r)
{
    (void)r;
    CHECK_ABORT();
}

int64_t ictusi_tracer_count_at(const struct counts *counts, int64_t i)
{
    CHECK(i >= 0 && i < EDGES_MAX);
    return ((const int *)counts->values)[i];
}

static struct trace_request tracked;
static int tracked_count;

void ictusi_request_track(struct recorder *r, MPI_Request handle, const struct trace_request *made)
{
    (void)r;
    (void)handle;
    tracked = *made;
    tracked_count++;
}

static uint64_t words[256];
static uint64_t *looked_at; /* records up to here have been checked */
static struct trace_comm comm;

static struct recorder recorder_in(const struct topology *made)
{
    topology = made;
    questions = tracked_count = 0;
    fails = false;
    looked_at = words;
    memset(words, 0, sizeof(words));
    free(comm.neighbors);
    comm = (struct trace_comm){.id = COMM_ID, .rank = RANK, .size = 9, .remote = -1};
    return (struct recorder){.pos = words,
                             .soft = words + 200,
                             .comm = MPI_COMM_WORLD,
                             .comm_info = &comm,
                             .next_request = FIRST};
}

/* Whether the next record is this one, with this many further words. */
static bool recorded(const struct recorder *r, enum record_kind kind, int peer, int count, ...)
{
    const uint64_t *record = looked_at;
    bool same =
        record < r->pos && *record == record_head(kind, 1 + (unsigned)count, 0, (uint32_t)peer);
    va_list rest;
    va_start(rest, count);
    for (int i = 1; i <= count; i++) {
        const uint64_t wanted = va_arg(rest, uint64_t);
        same = same && record[i] == wanted;
    }
    va_end(rest);
    looked_at += record < r->pos ? record_words(*record) : 0;
    return same;
}

static bool nothing_more(const struct recorder *r)
{
    return looked_at == r->pos;
}

#define CHANNEL(request) ((uint64_t)COMM_ID << 32 | (NEIGHBOR_TAG + (request)))

/* What a process sends and receives, in order: whom, and which of its blocks. */
struct route {
    int peer, block;
};

struct topology_case {
    struct topology topology;
    int out, in;
    struct route sent[EDGES_MAX], received[EDGES_MAX];
};

/*
 * A row of three that is closed: downwards is rank 0, and upwards rank 2. A grid whose first
 * dimension has two processes, and at whose border this process is: what the other one sends first,
 * downwards, arrives in the block from above. Neighbors that are the process itself, which copies.
 */
static const struct topology_case cases[] = {
    {{.kind = MPI_CART, .dims = 1, .destinations = {0, 2}},
     2,
     2,
     {{0, 0}, {2, 1}},
     {{2, 1}, {0, 0}}},
    {{.kind = MPI_CART, .dims = 2, .destinations = {4, 4, MPI_PROC_NULL, 2}},
     3,
     3,
     {{4, 0}, {4, 1}, {2, 3}},
     {{4, 1}, {4, 0}, {2, 3}}},
    {{.kind = MPI_GRAPH, .out = 4, .destinations = {7, RANK, 5, 0}},
     3,
     3,
     {{7, 0}, {5, 2}, {0, 3}},
     {{7, 0}, {5, 2}, {0, 3}}},
    {{.kind = MPI_DIST_GRAPH,
      .in = 3,
      .out = 2,
      .sources = {8, 6, RANK},
      .destinations = {RANK, 3}},
     1,
     2,
     {{3, 1}},
     {{8, 0}, {6, 1}}},
    {{.kind = MPI_DIST_GRAPH, .in = 1, .out = 4, .sources = {6}, .destinations = {2, 3, 4, 2}},
     4,
     1,
     {{2, 0}, {3, 1}, {4, 2}, {2, 3}},
     {{6, 0}}},
    {{.kind = MPI_UNDEFINED}, 0, 0, {{0, 0}}, {{0, 0}}},
};
enum { CASES = sizeof(cases) / sizeof(cases[0]) };

/* Counts by block, of which one is none. */
static const int sends[EDGES_MAX] = {10, 20, 30, 40}, receives[EDGES_MAX] = {5, 6, 7, 8};

static const struct coll_args by_block = {.sendcounts = {sends, sizeof(int)},
                                          .recvcounts = {receives, sizeof(int)},
                                          .sendtype = MPI_INT,
                                          .recvtype = MPI_CHAR};

static void calls_are_messages(const struct topology_case *c)
{
    struct recorder r = recorder_in(&c->topology);
    ictusi_tracer_note_neighbors_sent(&r, MPI_COMM_WORLD, &by_block);
    for (int i = 0; i < c->out; i++) {
        CHECK(recorded(&r, RECORD_SEND, c->sent[i].peer, 2, CHANNEL(0),
                       (uint64_t)INT_BYTES * (uint64_t)sends[c->sent[i].block]));
    }
    ictusi_tracer_note_neighbors_received(&r, MPI_COMM_WORLD, &by_block);
    for (int i = 0; i < c->in; i++) {
        CHECK(recorded(&r, RECORD_RECV, c->received[i].peer, 2, CHANNEL(0),
                       (uint64_t)CHAR_BYTES * (uint64_t)receives[c->received[i].block]));
    }
    CHECK(nothing_more(&r));
    CHECK(questions == (c->out + c->in > 0 ? 1 : 2)); /* a topology never changes */
}

/* A request ends with all of its messages, whose numbers are those that they began with. */
static void requests_are_messages(const struct topology_case *c)
{
    struct recorder r = recorder_in(&c->topology);
    struct trace_request made = ictusi_tracer_note_ineighbor(&r, MPI_COMM_WORLD, &by_block);
    for (int i = 0; i < c->out; i++) {
        CHECK(recorded(&r, RECORD_ISEND, c->sent[i].peer, 3, CHANNEL(0),
                       (uint64_t)INT_BYTES * (uint64_t)sends[c->sent[i].block],
                       (uint64_t)(FIRST + i)));
    }
    ictusi_tracer_track_ineighbor(&r, MPI_REQUEST_NULL, &made);
    for (int i = 0; i < c->in; i++) {
        CHECK(recorded(&r, RECORD_IRECV, 0, 1, (uint64_t)(FIRST + c->out + i)));
    }
    CHECK(nothing_more(&r) && tracked_count == (c->out + c->in > 0));
    if (c->out + c->in == 0) {
        CHECK(!made.exchange);
        return;
    }
    CHECK(tracked.kind == REQUEST_NEIGHBORS && !tracked.persistent && tracked.comm == &comm);
    ictusi_tracer_exchange_done(&r, &tracked);
    for (int i = 0; i < c->out; i++) {
        CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 1, (uint64_t)(FIRST + i)));
    }
    for (int i = 0; i < c->in; i++) {
        CHECK(recorded(&r, RECORD_IRECV_DONE, c->received[i].peer, 3, CHANNEL(0),
                       (uint64_t)CHAR_BYTES * (uint64_t)receives[c->received[i].block],
                       (uint64_t)(FIRST + c->out + i)));
    }
    CHECK(nothing_more(&r));
    CHECK(r.next_request == (uint64_t)(FIRST + c->out + c->in));
    free(tracked.exchange);
}

/* Each persistent request has a channel of its own, and each of its starts messages of its own. */
static void persistent_ones_have_channels(void)
{
    const struct topology_case *c = &cases[3];
    struct recorder r = recorder_in(&c->topology);
    struct trace_request made[2];
    for (int i = 0; i < 2; i++) {
        ictusi_tracer_track_neighbor_init(&r, MPI_REQUEST_NULL, MPI_COMM_WORLD, &by_block);
        made[i] = tracked;
        CHECK(tracked_count == i + 1 && tracked.persistent && tracked.comm == &comm);
    }
    CHECK(nothing_more(&r));
    for (int i = 1; i >= 0; i--) {
        const uint64_t id = r.next_request;
        ictusi_tracer_exchange_send(&r, &made[i]);
        ictusi_tracer_exchange_post(&r, &made[i]);
        ictusi_tracer_exchange_done(&r, &made[i]);
        CHECK(recorded(&r, RECORD_ISEND, 3, 3, CHANNEL(1 + (uint64_t)i), (uint64_t)80, id));
        CHECK(recorded(&r, RECORD_IRECV, 0, 1, id + 1) && recorded(&r, RECORD_IRECV, 0, 1, id + 2));
        CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 1, id));
        CHECK(recorded(&r, RECORD_IRECV_DONE, 8, 3, CHANNEL(1 + (uint64_t)i), (uint64_t)5, id + 1));
        CHECK(recorded(&r, RECORD_IRECV_DONE, 6, 3, CHANNEL(1 + (uint64_t)i), (uint64_t)6, id + 2));
        free(made[i].exchange);
    }
    CHECK(nothing_more(&r));
    r.after = AFTER_MUTED; /* a start out of view has no numbers, and so no messages */
    ictusi_tracer_track_neighbor_init(&r, MPI_REQUEST_NULL, MPI_COMM_WORLD, &by_block);
    ictusi_tracer_exchange_send(&r, &tracked);
    ictusi_tracer_exchange_post(&r, &tracked);
    CHECK(nothing_more(&r) && tracked.id == 0);
    free(tracked.exchange);
}

/* What is sent along all edges alike; a datatype for each; and nothing. */
static void sizes_are_those_of_edges(void)
{
    static const int some[EDGES_MAX] = {0, 20, -30, 1}, none[EDGES_MAX] = {0};
    const MPI_Datatype types[EDGES_MAX] = {MPI_INT, MPI_CHAR, MPI_INT, MPI_INT};
    const struct coll_args alike = {
        .sendcount = 3, .recvcount = 2, .sendtype = MPI_INT, .recvtype = MPI_CHAR};
    const struct coll_args typed = {.sendcounts = {some, sizeof(int)},
                                    .recvcounts = {none, sizeof(int)},
                                    .sendtypes = types,
                                    .recvtypes = types,
                                    .typed = true};
    struct recorder r = recorder_in(&cases[4].topology);
    ictusi_tracer_note_neighbors_sent(&r, MPI_COMM_WORLD, &alike);
    for (int i = 0; i < 4; i++) {
        CHECK(recorded(&r, RECORD_SEND, cases[4].sent[i].peer, 2, CHANNEL(0), (uint64_t)12));
    }
    ictusi_tracer_note_neighbors_received(&r, MPI_COMM_WORLD, &alike);
    CHECK(recorded(&r, RECORD_RECV, 6, 2, CHANNEL(0), (uint64_t)2));
    ictusi_tracer_note_neighbors_sent(&r, MPI_COMM_WORLD, &typed);
    CHECK(recorded(&r, RECORD_SEND, 3, 2, CHANNEL(0), (uint64_t)20));
    CHECK(recorded(&r, RECORD_SEND, 2, 2, CHANNEL(0), (uint64_t)4));
    ictusi_tracer_note_neighbors_received(&r, MPI_COMM_WORLD, &typed);
    struct trace_request made = ictusi_tracer_note_ineighbor(&r, MPI_COMM_WORLD, &typed);
    ictusi_tracer_track_ineighbor(&r, MPI_REQUEST_NULL, &made);
    ictusi_tracer_exchange_done(&r, &tracked);
    CHECK(recorded(&r, RECORD_ISEND, 3, 3, CHANNEL(0), (uint64_t)20, (uint64_t)FIRST + 1));
    CHECK(recorded(&r, RECORD_ISEND, 2, 3, CHANNEL(0), (uint64_t)4, (uint64_t)FIRST + 3));
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 1, (uint64_t)FIRST + 1));
    CHECK(recorded(&r, RECORD_ISEND_DONE, 0, 1, (uint64_t)FIRST + 3));
    CHECK(nothing_more(&r));
    free(tracked.exchange);
}

/* Nothing is recorded of processes of another job, nor where MPI cannot say who the neighbors are.
 */
static void strangers_are_left_out(void)
{
    for (int i = 0; i < CASES; i++) {
        struct recorder r = recorder_in(&cases[i].topology);
        comm.foreign = i % 2;
        fails = !comm.foreign;
        ictusi_tracer_note_neighbors_sent(&r, MPI_COMM_WORLD, &by_block);
        ictusi_tracer_note_neighbors_received(&r, MPI_COMM_WORLD, &by_block);
        CHECK(!ictusi_tracer_note_ineighbor(&r, MPI_COMM_WORLD, &by_block).exchange);
        ictusi_tracer_track_neighbor_init(&r, MPI_REQUEST_NULL, MPI_COMM_WORLD, &by_block);
        CHECK(nothing_more(&r) && tracked_count == 0 && r.next_request == FIRST);
        CHECK(!comm.foreign || questions == 0);
    }
}

/* Each record has room, however many neighbors there are. */
static void records_have_room(void)
{
    const struct topology_case *c = &cases[1];
    struct recorder r = recorder_in(&c->topology);
    int records = 0;
    r.soft = words;
    switches = 0;
    ictusi_tracer_note_neighbors_sent(&r, MPI_COMM_WORLD, &by_block);
    ictusi_tracer_note_neighbors_received(&r, MPI_COMM_WORLD, &by_block);
    struct trace_request made = ictusi_tracer_note_ineighbor(&r, MPI_COMM_WORLD, &by_block);
    ictusi_tracer_track_ineighbor(&r, MPI_REQUEST_NULL, &made);
    ictusi_tracer_exchange_done(&r, &tracked);
    for (const uint64_t *record = words; record < r.pos; record += record_words(*record)) {
        records++;
    }
    CHECK(records == 3 * (c->out + c->in) && switches == records - 1);
    free(tracked.exchange);
}

int main(void)
{
    for (int i = 0; i < CASES; i++) {
        calls_are_messages(&cases[i]);
        requests_are_messages(&cases[i]);
    }
    persistent_ones_have_channels();
    sizes_are_those_of_edges();
    records_have_room();
    strangers_are_left_out();
    free(comm.neighbors);
    return check_result();
}

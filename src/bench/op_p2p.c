/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point operations: round trips and streams between pairs, and shifts and exchanges around
 * a ring.
 */
#include "bench/operation.h"

#include <stddef.h>

/* Starting and waiting are different functions here, which the checker cannot pair. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

enum { TAG = 11 };

/* One round trip; `first` says whether this process sends first. */
static int p2p_bounce(const struct call *c, int peer, bool first)
{
    int err = MPI_SUCCESS;
    if (first) {
        err = MPI_Send(c->send, c->count, c->type, peer, TAG, c->comm);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Recv(c->recv, c->count, c->type, peer, TAG, c->comm, MPI_STATUS_IGNORE);
    }
    if (err == MPI_SUCCESS && !first) {
        err = MPI_Send(c->send, c->count, c->type, peer, TAG, c->comm);
    }
    return err;
}

static int p2p_run_ping_pong(struct call *c)
{
    return c->rank < 2 ? p2p_bounce(c, 1 - c->rank, c->rank == 0) : MPI_SUCCESS;
}

static int p2p_run_multi_ping_pong(struct call *c)
{
    const int peer = ictusi_operation_partner(c);
    return peer == MPI_PROC_NULL ? MPI_SUCCESS : p2p_bounce(c, peer, c->rank < peer);
}

static int p2p_run_ping_ping(struct call *c)
{
    const int peer = 1 - c->rank;
    MPI_Request request;
    if (c->rank >= 2) {
        return MPI_SUCCESS;
    }
    /*
     * Not MPI_Send: with large messages each would wait for the receive of the other, a deadlock.
     */
    int err = MPI_Isend(c->send, c->count, c->type, peer, TAG, c->comm, &request);
    if (err == MPI_SUCCESS) {
        err = MPI_Recv(c->recv, c->count, c->type, peer, TAG, c->comm, MPI_STATUS_IGNORE);
    }
    return err == MPI_SUCCESS ? MPI_Wait(&request, MPI_STATUS_IGNORE) : err;
}

/*
 * Send a window of messages to the peer, receive one from it, or both. Each message has a receive
 * buffer of its own.
 */
static int p2p_stream(const struct call *c, int peer, bool sends, bool receives)
{
    const size_t block = c->layout.extent;
    int made = 0;
    int err = MPI_SUCCESS;
    for (int i = 0; i < c->messages && receives && err == MPI_SUCCESS; i++) {
        err = MPI_Irecv((char *)c->recv + (size_t)i * block, c->count, c->type, peer, TAG, c->comm,
                        &c->requests[made++]);
    }
    for (int i = 0; i < c->messages && sends && err == MPI_SUCCESS; i++) {
        err = MPI_Isend(c->send, c->count, c->type, peer, TAG, c->comm, &c->requests[made++]);
    }
    return err == MPI_SUCCESS ? MPI_Waitall(made, c->requests, c->statuses) : err;
}

/*
 * An empty reply from the receiver ends the repetition. Without it the sender would time only how
 * fast it can hand messages to the library.
 */
static int p2p_run_bandwidth(struct call *c)
{
    const int peer = ictusi_operation_partner(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const bool sends = c->rank < peer;
    const int err = p2p_stream(c, peer, sends, !sends);
    if (err != MPI_SUCCESS) {
        return err;
    }
    return sends ? MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, c->comm, MPI_STATUS_IGNORE)
                 : MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, c->comm);
}

/*
 * Both directions at once. Both processes receive, so no reply is needed to know that the data has
 * arrived.
 */
static int p2p_run_bibandwidth(struct call *c)
{
    const int peer = ictusi_operation_partner(c);
    return peer == MPI_PROC_NULL ? MPI_SUCCESS : p2p_stream(c, peer, true, true);
}

/*
 * All other processes send to the root, which receives from any source. The statuses show where
 * each message came from.
 */
static int p2p_fan_in(const struct call *c, int messages)
{
    const int wanted = (c->size - 1) * messages;
    int made = 0;
    int err = MPI_SUCCESS;
    for (int i = 0; i < wanted && c->rank == c->root && err == MPI_SUCCESS; i++) {
        err = MPI_Irecv((char *)c->recv + (size_t)i * c->layout.extent, c->count, c->type,
                        MPI_ANY_SOURCE, TAG, c->comm, &c->requests[made++]);
    }
    for (int i = 0; i < messages && c->rank != c->root && err == MPI_SUCCESS; i++) {
        err = MPI_Isend(c->send, c->count, c->type, c->root, TAG, c->comm, &c->requests[made++]);
    }
    return err == MPI_SUCCESS ? MPI_Waitall(made, c->requests, c->statuses) : err;
}

/* The root sends to the others in turn, one message each, as many rounds as there are messages. */
static int p2p_fan_out(const struct call *c, int messages)
{
    const int wanted = c->size * messages;
    int made = 0;
    int err = MPI_SUCCESS;
    for (int i = 0; i < wanted && c->rank == c->root && err == MPI_SUCCESS; i++) {
        const int peer = i % c->size;
        if (peer != c->root) {
            err = MPI_Isend((char *)c->send + (size_t)peer * c->layout.extent, c->count, c->type,
                            peer, TAG, c->comm, &c->requests[made++]);
        }
    }
    for (int i = 0; i < messages && c->rank != c->root && err == MPI_SUCCESS; i++) {
        err = MPI_Irecv((char *)c->recv + (size_t)i * c->layout.extent, c->count, c->type,
                        MPI_ANY_SOURCE, TAG, c->comm, &c->requests[made++]);
    }
    return err == MPI_SUCCESS ? MPI_Waitall(made, c->requests, c->statuses) : err;
}

static int p2p_run_fan_in(struct call *c)
{
    return p2p_fan_in(c, 1);
}

static int p2p_run_fan_in_bandwidth(struct call *c)
{
    return p2p_fan_in(c, c->messages);
}

static int p2p_run_fan_out(struct call *c)
{
    return p2p_fan_out(c, 1);
}

static int p2p_run_fan_out_bandwidth(struct call *c)
{
    return p2p_fan_out(c, c->messages);
}

static int p2p_left_of(const struct call *c)
{
    return (c->rank + c->size - 1) % c->size;
}

static int p2p_right_of(const struct call *c)
{
    return (c->rank + 1) % c->size;
}

static int p2p_run_sendrecv(struct call *c)
{
    return MPI_Sendrecv(c->send, c->count, c->type, p2p_right_of(c), TAG, c->recv, c->count,
                        c->type, p2p_left_of(c), TAG, c->comm, MPI_STATUS_IGNORE);
}

/* Tests and waits use the request of the receive. The request of the send is kept beside it. */
static int p2p_start_isend_irecv(struct call *c)
{
    int err = MPI_Irecv(c->recv, c->count, c->type, p2p_left_of(c), TAG, c->comm, &c->request);
    if (err == MPI_SUCCESS) {
        err =
            MPI_Isend(c->send, c->count, c->type, p2p_right_of(c), TAG, c->comm, &c->request_twin);
    }
    return err;
}

static int p2p_run_isend_irecv(struct call *c)
{
    int err = p2p_start_isend_irecv(c);
    if (err == MPI_SUCCESS) {
        err = ictusi_operation_wait(c);
    }
    return err;
}

/*
 * Exchange with all neighbours at once. Several neighbours may be the same process, so the sender
 * numbers its messages by the tag.
 */
static int p2p_run_exchange(struct call *c)
{
    const struct topology *t = &c->topology;
    int made = 0;
    int err = MPI_SUCCESS;
    for (int i = 0; i < t->source_count && err == MPI_SUCCESS; i++) {
        err = MPI_Irecv((char *)c->recv + (size_t)i * c->layout.extent, c->count, c->type,
                        t->sources[i].rank, TAG + 1 + t->sources[i].slot[SLOT_RIGHT], c->comm,
                        &c->requests[made++]);
    }
    for (int i = t->target_count; i-- > 0 && err == MPI_SUCCESS;) {
        err = MPI_Isend(c->send, c->count, c->type, t->targets[i], TAG + 1 + i, c->comm,
                        &c->requests[made++]);
    }
    return err == MPI_SUCCESS ? MPI_Waitall(made, c->requests, c->statuses) : err;
}

const struct operation ictusi_point_to_point[] = {
    {.name = "ping_pong",
     .summary = "a round trip of MPI_Send and MPI_Recv between ranks 0 and 1",
     .shape = SHAPE_PING_PONG,
     .run = p2p_run_ping_pong},
    {.name = "ping_ping",
     .summary = "ranks 0 and 1 send to each other at once",
     .shape = SHAPE_PING_PONG,
     .run = p2p_run_ping_ping},
    {.name = "multi_ping_pong",
     .summary = "round trips between the first and the second half",
     .shape = SHAPE_PAIRS,
     .run = p2p_run_multi_ping_pong},
    {.name = "bandwidth",
     .summary = "many messages at once from the first half to the second half, and one reply",
     .shape = SHAPE_STREAM,
     .run = p2p_run_bandwidth},
    {.name = "bibandwidth",
     .summary = "many messages at once between the halves, both ways",
     .shape = SHAPE_STREAMS,
     .run = p2p_run_bibandwidth},
    {.name = "sendrecv",
     .summary = "MPI_Sendrecv around the ring",
     .shape = SHAPE_SHIFT,
     .run = p2p_run_sendrecv},
    {.name = "isend_irecv",
     .summary = "MPI_Isend and MPI_Irecv around the ring",
     .shape = SHAPE_SHIFT,
     .run = p2p_run_isend_irecv,
     .start = p2p_start_isend_irecv},
    {.name = "exchange",
     .summary = "MPI_Isend and MPI_Irecv with all neighbours at once",
     .shape = SHAPE_EXCHANGE,
     .run = p2p_run_exchange},
    {.name = "fan_in",
     .summary = "a message from each other process to the root, received from MPI_ANY_SOURCE",
     .shape = SHAPE_FAN_IN,
     .run = p2p_run_fan_in},
    {.name = "fan_in_bandwidth",
     .summary = "many messages at once from each other process to the root, from any source",
     .shape = SHAPE_FAN_INS,
     .run = p2p_run_fan_in_bandwidth},
    {.name = "fan_out",
     .summary = "a message from the root to each other process, received from MPI_ANY_SOURCE",
     .shape = SHAPE_FAN_OUT,
     .run = p2p_run_fan_out},
    {.name = "fan_out_bandwidth",
     .summary = "many messages at once from the root to each other process, from any source",
     .shape = SHAPE_FAN_OUTS,
     .run = p2p_run_fan_out_bandwidth},
    {.name = NULL},
};
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

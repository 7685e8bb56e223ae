/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Point-to-point operations whose requests are made once and started in each repetition: persistent
 * requests, and the partitioned communication of MPI-4 (MPI-4.0, sections 3.9 and 4.2).
 */
#include "bench/operation.h"

#include <stddef.h>

/* Starting and waiting are different functions here, which the checker cannot pair. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

enum { TAG = 13 };

/* The process that this one communicates with, or MPI_PROC_NULL if it takes no part. */
static int persistent_peer(const struct call *c)
{
    if (c->operation->shape != SHAPE_PING_PONG) {
        return ictusi_operation_partner(c);
    }
    return c->rank < 2 ? 1 - c->rank : MPI_PROC_NULL;
}

static bool persistent_is_first(const struct call *c)
{
    return c->rank < persistent_peer(c);
}

static int persistent_release_requests(struct call *c)
{
    int err = MPI_SUCCESS;
    while (c->request_count > 0 && err == MPI_SUCCESS) {
        err = MPI_Request_free(&c->requests[--c->request_count]);
    }
    return err;
}

static int persistent_prepare_sends(struct call *c, int peer, int n)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = MPI_Send_init(c->send, c->count, c->type, peer, TAG, c->comm,
                            &c->requests[c->request_count]);
        c->request_count += err == MPI_SUCCESS;
    }
    return err;
}

/* Each message has a receive buffer of its own. */
static int persistent_prepare_receives(struct call *c, int peer, int n)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < n && err == MPI_SUCCESS; i++) {
        err = MPI_Recv_init((char *)c->recv + (size_t)i * c->layout.extent, c->count, c->type, peer,
                            TAG, c->comm, &c->requests[c->request_count]);
        c->request_count += err == MPI_SUCCESS;
    }
    return err;
}

enum { REQUEST_SEND, REQUEST_RECEIVE };

static int persistent_prepare_round_trip(struct call *c)
{
    const int peer = persistent_peer(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const int err = persistent_prepare_sends(c, peer, 1);
    return err == MPI_SUCCESS ? persistent_prepare_receives(c, peer, 1) : err;
}

static int persistent_finish(struct call *c, int which)
{
    const int err = MPI_Start(&c->requests[which]);
    return err == MPI_SUCCESS ? MPI_Wait(&c->requests[which], MPI_STATUS_IGNORE) : err;
}

/* A process without a partner has prepared no request, and does nothing. */
static int persistent_run_round_trip(struct call *c)
{
    if (c->request_count == 0) {
        return MPI_SUCCESS;
    }
    const bool first = persistent_is_first(c);
    const int err = persistent_finish(c, first ? REQUEST_SEND : REQUEST_RECEIVE);
    return err == MPI_SUCCESS ? persistent_finish(c, first ? REQUEST_RECEIVE : REQUEST_SEND) : err;
}

static int persistent_prepare_stream(struct call *c)
{
    const int peer = persistent_peer(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    return persistent_is_first(c) ? persistent_prepare_sends(c, peer, c->messages)
                                  : persistent_prepare_receives(c, peer, c->messages);
}

static int persistent_prepare_streams(struct call *c)
{
    const int peer = persistent_peer(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const int err = persistent_prepare_receives(c, peer, c->messages);
    return err == MPI_SUCCESS ? persistent_prepare_sends(c, peer, c->messages) : err;
}

static int persistent_run_all_requests(struct call *c)
{
    const int err = MPI_Startall(c->request_count, c->requests);
    return err == MPI_SUCCESS ? MPI_Waitall(c->request_count, c->requests, c->statuses) : err;
}

/* An empty reply from the receiver ends the repetition, as in op_p2p.c. */
static int persistent_run_stream(struct call *c)
{
    const int peer = persistent_peer(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const int err = persistent_run_all_requests(c);
    if (err != MPI_SUCCESS) {
        return err;
    }
    return persistent_is_first(c)
               ? MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, c->comm, MPI_STATUS_IGNORE)
               : MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, c->comm);
}

static int persistent_prepare_shift(struct call *c)
{
    const int left = (c->rank + c->size - 1) % c->size;
    int err = MPI_Recv_init(c->recv, c->count, c->type, left, TAG, c->comm, &c->request);
    if (err == MPI_SUCCESS) {
        err = MPI_Send_init(c->send, c->count, c->type, (c->rank + 1) % c->size, TAG, c->comm,
                            &c->request_twin);
    }
    return err;
}

static int persistent_start_shift(struct call *c)
{
    const int err = MPI_Start(&c->request);
    return err == MPI_SUCCESS ? MPI_Start(&c->request_twin) : err;
}

static int persistent_run_shift(struct call *c)
{
    const int err = persistent_start_shift(c);
    return err == MPI_SUCCESS ? ictusi_operation_wait(c) : err;
}

static int persistent_release_shift(struct call *c)
{
    const int err = MPI_Request_free(&c->request);
    return err == MPI_SUCCESS ? MPI_Request_free(&c->request_twin) : err;
}

#if MPI_VERSION >= 4
/* ictusi_plan_fits() has checked that the elements divide evenly among the partitions. */
static int persistent_prepare_partitions(struct call *c)
{
    const int peer = persistent_peer(c);
    const MPI_Count each = c->count / c->partitions;
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    int err = MPI_Psend_init(c->send, c->partitions, each, c->type, peer, TAG, c->comm,
                             MPI_INFO_NULL, &c->requests[REQUEST_SEND]);
    c->request_count += err == MPI_SUCCESS;
    if (err == MPI_SUCCESS) {
        err = MPI_Precv_init(c->recv, c->partitions, each, c->type, peer, TAG, c->comm,
                             MPI_INFO_NULL, &c->requests[REQUEST_RECEIVE]);
        c->request_count += err == MPI_SUCCESS;
    }
    return err;
}

/*
 * The partitions become ready one after the other, as when each is filled by a thread of its own.
 * The library may send each at once or wait for all.
 */
static int partitions_send(struct call *c)
{
    int err = MPI_Start(&c->requests[REQUEST_SEND]);
    for (int i = 0; i < c->partitions && err == MPI_SUCCESS; i++) {
        err = MPI_Pready(i, c->requests[REQUEST_SEND]);
    }
    return err == MPI_SUCCESS ? MPI_Wait(&c->requests[REQUEST_SEND], MPI_STATUS_IGNORE) : err;
}

static int persistent_run_partitions(struct call *c)
{
    if (c->request_count == 0) {
        return MPI_SUCCESS;
    }
    const bool first = persistent_is_first(c);
    const int err = first ? partitions_send(c) : persistent_finish(c, REQUEST_RECEIVE);
    if (err != MPI_SUCCESS) {
        return err;
    }
    return first ? persistent_finish(c, REQUEST_RECEIVE) : partitions_send(c);
}

#define PARTITIONED                                                                                \
    .run = persistent_run_partitions, .prepare = persistent_prepare_partitions,                    \
    .release = persistent_release_requests
#else
#define PARTITIONED .absent = "MPI_Psend_init, which MPI has had since version 4.0"
#endif

const struct operation ictusi_persistent_p2p[] = {
    {.name = "ping_pong_init",
     .summary = "a round trip of persistent requests between ranks 0 and 1",
     .shape = SHAPE_PING_PONG,
     .run = persistent_run_round_trip,
     .prepare = persistent_prepare_round_trip,
     .release = persistent_release_requests},
    {.name = "multi_ping_pong_init",
     .summary = "round trips of persistent requests between the halves",
     .shape = SHAPE_PAIRS,
     .run = persistent_run_round_trip,
     .prepare = persistent_prepare_round_trip,
     .release = persistent_release_requests},
    {.name = "bandwidth_init",
     .summary = "many persistent requests at once to the second half, and one reply",
     .shape = SHAPE_STREAM,
     .run = persistent_run_stream,
     .prepare = persistent_prepare_stream,
     .release = persistent_release_requests},
    {.name = "bibandwidth_init",
     .summary = "many persistent requests at once between the halves, both ways",
     .shape = SHAPE_STREAMS,
     .run = persistent_run_all_requests,
     .prepare = persistent_prepare_streams,
     .release = persistent_release_requests},
    {.name = "isend_irecv_init",
     .summary = "MPI_Start of a persistent send and receive around the ring",
     .shape = SHAPE_SHIFT,
     .run = persistent_run_shift,
     .start = persistent_start_shift,
     .prepare = persistent_prepare_shift,
     .release = persistent_release_shift},
    {.name = "ping_pong_partitioned",
     .summary = "a round trip of partitioned messages between ranks 0 and 1",
     .shape = SHAPE_PING_PONG,
     .is_partitioned = true,
     PARTITIONED},
    {.name = "multi_ping_pong_partitioned",
     .summary = "round trips of partitioned messages between the halves",
     .shape = SHAPE_PAIRS,
     .is_partitioned = true,
     PARTITIONED},
    {.name = NULL},
};
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

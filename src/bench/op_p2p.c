/* SPDX-License-Identifier: BSD-3-Clause */
/* Point-to-point: a round trip between ranks 0 and 1, and a shift around the ring. */
#include "bench/operation.h"

/* Starting and waiting are different functions here, which the checker cannot pair. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

enum { TAG = 11 };

static int run_ping_pong(struct call *c)
{
    const int peer = 1 - c->rank;
    int err = MPI_SUCCESS;
    if (c->rank == 0) {
        err = MPI_Send(c->send, c->count, c->type, peer, TAG, c->comm);
        if (err == MPI_SUCCESS) {
            err = MPI_Recv(c->recv, c->count, c->type, peer, TAG, c->comm, MPI_STATUS_IGNORE);
        }
    } else if (c->rank == 1) {
        err = MPI_Recv(c->recv, c->count, c->type, peer, TAG, c->comm, MPI_STATUS_IGNORE);
        if (err == MPI_SUCCESS) {
            err = MPI_Send(c->send, c->count, c->type, peer, TAG, c->comm);
        }
    }
    return err;
}

static int left_of(const struct call *c)
{
    return (c->rank + c->size - 1) % c->size;
}

static int right_of(const struct call *c)
{
    return (c->rank + 1) % c->size;
}

static int run_sendrecv(struct call *c)
{
    return MPI_Sendrecv(c->send, c->count, c->type, right_of(c), TAG, c->recv, c->count, c->type,
                        left_of(c), TAG, c->comm, MPI_STATUS_IGNORE);
}

/* The receive is the request that is tested and waited for; the send is its twin. */
static int start_isend_irecv(struct call *c)
{
    int err = MPI_Irecv(c->recv, c->count, c->type, left_of(c), TAG, c->comm, &c->request);
    if (err == MPI_SUCCESS) {
        err = MPI_Isend(c->send, c->count, c->type, right_of(c), TAG, c->comm, &c->request_twin);
    }
    return err;
}

static int run_isend_irecv(struct call *c)
{
    int err = start_isend_irecv(c);
    if (err == MPI_SUCCESS) {
        err = ictusi_wait(c);
    }
    return err;
}

const struct operation ictusi_point_to_point[] = {
    {"ping_pong", "a round trip of MPI_Send and MPI_Recv between ranks 0 and 1", SHAPE_PING_PONG,
     run_ping_pong, NULL, NULL, NULL, NULL},
    {"sendrecv", "MPI_Sendrecv around the ring", SHAPE_SHIFT, run_sendrecv, NULL, NULL, NULL, NULL},
    {"isend_irecv", "MPI_Isend and MPI_Irecv around the ring", SHAPE_SHIFT, run_isend_irecv,
     start_isend_irecv, NULL, NULL, NULL},
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

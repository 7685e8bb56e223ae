/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checking what an operation left in its buffers. Every element is a small integer, exact in every
 * datatype, so that there are no false alarms from rounding or overflow.
 */
#include "bench/call.h"

#include "bench/fit.h"
#include "sync/sync.h"

#include <ictus/text.h>

#include <string.h>

/* Sums stay below 128 with any number of processes: only so many ranks contribute to an element. */
enum { CONTRIBUTORS = 16, VALUE_CYCLE = 7, PLAIN_CYCLE = 101, BIT_STRIDE = 37 };

struct check {
    struct call *call;
    struct datatype type;
    struct reduction reduction;
    /* Where both neighbours are one process, libraries differ in which block is which. */
    bool turned;
};

/* Whose turn it is to differ in element i of block b, and how far after it this rank comes. */
static int turn_of(const struct check *c, int rank, int b, int64_t i)
{
    const int size = c->call->size;
    return (int)(((int64_t)rank + size - (b + i) % size) % size);
}

/* What rank contributes to element i of block b in a reduction: each one's part shows. */
static int64_t check_contribution(const struct check *c, int rank, int b, int64_t i)
{
    const int turn = turn_of(c, rank, b, i);
    const bool even = (b + i) % 2 == 0;
    switch (c->reduction.kind) {
    case KIND_SUM:
        return turn < CONTRIBUTORS ? turn % VALUE_CYCLE + 1 : 0;
    case KIND_PROD:
        return turn < 2 ? turn + 2 : 1;
    case KIND_LAND:
        return even || turn != 0; /* all of them, or all but one */
    case KIND_LOR:
    case KIND_LXOR:
        return even && turn == 0; /* one of them, or none */
    case KIND_BAND:
    case KIND_BOR:
    case KIND_BXOR:
        return (rank * BIT_STRIDE + b + i) & 0x7f;
    case KIND_MINLOC:
    case KIND_MAXLOC:
        return (turn / 2 % VALUE_CYCLE + 1) * PAIR_PLACES + rank % PAIR_PLACES;
    default:
        return (rank * BIT_STRIDE + b + i * 3) % PLAIN_CYCLE;
    }
}

/* What rank sends in element i of block b where nothing is reduced. */
static int64_t check_plain(int rank, int b, int64_t i)
{
    return (int64_t)((rank * 31 + b * VALUE_CYCLE + i) % PLAIN_CYCLE);
}

/* Logical values in a C bool are 0 and 1: moved data must fit as well. */
static int64_t check_fit(const struct check *c, int64_t value)
{
    return c->type.class == CLASS_LOGICAL ? value & 1 : value;
}

static bool check_reduces(const struct check *c)
{
    return ictusi_shape(c->call->operation->shape)->reduces;
}

static int64_t check_sent(const struct check *c, int rank, int b, int64_t i)
{
    return check_fit(c, check_reduces(c) ? check_contribution(c, rank, b, i)
                                         : check_plain(rank, b, i));
}

/* The reduction over ranks [first, last]. */
static int64_t check_reduced(const struct check *c, int first, int last, int b, int64_t i)
{
    int64_t value = check_sent(c, first, b, i);
    for (int rank = first + 1; rank <= last; rank++) {
        value = ictusi_reduction_apply(c->reduction.kind, value, check_sent(c, rank, b, i));
    }
    return value;
}

static void check_fill(const struct check *c, void *buffer, int rank, int first_block, int blocks)
{
    unsigned char *element = buffer;
    for (int b = 0; b < blocks; b++) {
        for (int64_t i = 0; i < c->call->elements; i++) {
            c->type.set(element, check_sent(c, rank, first_block + b, i));
            element += c->type.size;
        }
    }
}

static int sent_blocks(const struct call *call)
{
    return (int)ictusi_block_count(call, ictusi_shape(call->operation->shape)->sends);
}

static int received_blocks(const struct call *call)
{
    /* A broadcast receives where it sends from. */
    return call->operation->shape == SHAPE_BCAST
               ? 1
               : (int)ictusi_block_count(call, ictusi_shape(call->operation->shape)->receives);
}

/* The value that must stand in element i of what comes from the partner; likewise. */
static bool expected_of_pair(const struct check *c, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const enum shape shape = call->operation->shape;
    const int partner = ictusi_partner(call);
    const bool first_half = call->rank < call->size / 2;
    const bool to_second = shape == SHAPE_STREAM || shape == SHAPE_PUT || shape == SHAPE_PUTS;
    const bool to_first = shape == SHAPE_GET || shape == SHAPE_GETS;
    if (partner == MPI_PROC_NULL || (first_half && to_second) || (!first_half && to_first)) {
        return false;
    }
    *value = check_sent(c, partner, 0, i);
    return true;
}

/* What the target held, reduced with what the origin sent. */
static bool expected_of_target(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const int partner = ictusi_partner(call);
    if (partner == MPI_PROC_NULL || call->rank < partner) {
        return false;
    }
    *value = ictusi_reduction_apply(c->reduction.kind, check_sent(c, partner, 0, i),
                                    check_sent(c, call->rank, b, i));
    return true;
}

/* What the root took came from whom the status of its receive says; the others get their block. */
static bool expected_of_fan(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const bool is_root = call->rank == call->root;
    const enum shape shape = call->operation->shape;
    if (shape == SHAPE_FAN_OUT || shape == SHAPE_FAN_OUTS) {
        *value = check_sent(c, call->root, call->rank, i);
        return !is_root;
    }
    const int messages = shape == SHAPE_FAN_INS ? call->messages : 1;
    const bool is_received = is_root && b < (call->size - 1) * messages;
    *value = is_received ? check_sent(c, call->statuses[b].MPI_SOURCE, 0, i) : 0;
    return is_received;
}

/* Of operations whose data comes from a neighbour or a partner: as check_expected(). */
static bool check_from_neighbor(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const int left = (call->rank + call->size - 1) % call->size;
    const int right = (call->rank + 1) % call->size;
    switch (call->operation->shape) {
    case SHAPE_NEIGHBOR_ALLGATHER:
        *value = check_sent(c, b ? right : left, 0, i);
        return true;
    case SHAPE_NEIGHBOR_ALLTOALL:
        /* The left neighbour's block for its right one, and the other way round. */
        *value = check_sent(c, b ? right : left, c->turned ? b : 1 - b, i);
        /* Of logical values, one way is what the other spoils. */
        return call->size > 2 || c->type.class != CLASS_LOGICAL;
    case SHAPE_SHIFT:
        *value = check_sent(c, left, 0, i);
        return true;
    case SHAPE_PING_PONG:
        *value = check_sent(c, 1 - call->rank, 0, i);
        return call->rank < 2;
    case SHAPE_PAIRS:
    case SHAPE_STREAM:
    case SHAPE_STREAMS:
    case SHAPE_PUT:
    case SHAPE_PUTS:
    case SHAPE_GET:
    case SHAPE_GETS:
        return expected_of_pair(c, i, value);
    case SHAPE_ACCUMULATE:
    case SHAPE_ACCUMULATES:
        return expected_of_target(c, b, i, value);
    case SHAPE_FAN_IN:
    case SHAPE_FAN_INS:
    case SHAPE_FAN_OUT:
    case SHAPE_FAN_OUTS:
        return expected_of_fan(c, b, i, value);
    default:
        return false;
    }
}

/* The value that must stand in element i of received block b; false where nothing is defined. */
static bool check_expected(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const int last = call->size - 1;
    switch (call->operation->shape) {
    case SHAPE_BCAST:
        *value = check_sent(c, call->root, b, i);
        return true;
    case SHAPE_REDUCE:
        *value = check_reduced(c, 0, last, b, i);
        return call->rank == call->root;
    case SHAPE_ALLREDUCE:
        *value = check_reduced(c, 0, last, b, i);
        return true;
    case SHAPE_GATHER:
        *value = check_sent(c, b, 0, i);
        return call->rank == call->root;
    case SHAPE_ALLGATHER:
        *value = check_sent(c, b, 0, i);
        return true;
    case SHAPE_SCATTER:
        *value = check_sent(c, call->root, call->rank, i);
        return call->recv != MPI_IN_PLACE;
    case SHAPE_ALLTOALL:
        *value = check_sent(c, b, call->rank, i);
        return true;
    case SHAPE_REDUCE_SCATTER:
        *value = check_reduced(c, 0, last, call->rank, i);
        return true;
    case SHAPE_SCAN:
        *value = check_reduced(c, 0, call->rank, b, i);
        return true;
    case SHAPE_EXSCAN:
        *value = call->rank ? check_reduced(c, 0, call->rank - 1, b, i) : 0;
        return call->rank > 0;
    case SHAPE_REDUCE_LOCAL:
        *value = ictusi_reduction_apply(c->reduction.kind, check_sent(c, call->rank, b, i),
                                        check_sent(c, call->rank + 1, b, i));
        return true;
    default:
        return check_from_neighbor(c, b, i, value);
    }
}

/* Where the operation leaves what it computes. */
static unsigned char *call_received(const struct call *call)
{
    return call->operation->shape == SHAPE_BCAST ? call->sends[call->set] : call->recvs[call->set];
}

/* Have in each element what must not be there, so that a call that does nothing is found out. */
static void check_spoil(const struct check *c)
{
    unsigned char *element = call_received(c->call);
    const int blocks = received_blocks(c->call);
    for (int b = 0; b < blocks; b++) {
        for (int64_t i = 0; i < c->call->elements; i++, element += c->type.size) {
            int64_t value = 0;
            if (check_expected(c, b, i, &value)) {
                c->type.set(element, value ^ 1);
            }
        }
    }
}

/* Put the data to be sent where the call takes it from: in place that is the receive buffer. */
static void fill_all(const struct check *c)
{
    struct call *call = c->call;
    void *recv = call->recvs[call->set];
    if (call->operation->shape == SHAPE_BCAST && call->rank != call->root) {
        return;
    }
    check_fill(c, call->sends[call->set], call->rank, 0, sent_blocks(call));
    if (call->operation->shape == SHAPE_ACCUMULATE || call->operation->shape == SHAPE_ACCUMULATES) {
        check_fill(c, recv, call->rank, 0, received_blocks(call));
        return;
    }
    if (call->operation->shape == SHAPE_REDUCE_LOCAL) {
        check_fill(c, recv, call->rank + 1, 0, 1);
        return;
    }
    if (call->send != MPI_IN_PLACE) {
        return;
    }
    const size_t block = (size_t)call->elements * c->type.size;
    if (call->operation->shape == SHAPE_GATHER || call->operation->shape == SHAPE_ALLGATHER) {
        check_fill(c, (unsigned char *)recv + (size_t)call->rank * block, call->rank, 0, 1);
    } else {
        check_fill(c, recv, call->rank, 0, sent_blocks(call));
    }
}

static int check_compare(const struct check *c, struct ictus_why *why)
{
    const struct call *call = c->call;
    const unsigned char *element = call_received(call);
    const int blocks = received_blocks(call);
    for (int b = 0; b < blocks; b++) {
        for (int64_t i = 0; i < call->elements; i++, element += c->type.size) {
            int64_t value = 0;
            if (!check_expected(c, b, i, &value)) {
                continue;
            }
            const int64_t found = c->type.get(element);
            if (found != value) {
                return ictus_because(
                    why, ICTUS_ERR_CORRUPT,
                    "%s of %llu bytes gave a wrong result: on rank %d, in block %d, "
                    "element %lld is %lld but should be %lld",
                    call->operation->name, (unsigned long long)call->bytes, call->rank, b,
                    (long long)i, (long long)found, (long long)value);
            }
        }
    }
    return ICTUS_OK;
}

/* All blocks as they should be, or all the other way round where that is as good. */
static int check_either(struct check *c, struct ictus_why *why)
{
    const int err = check_compare(c, why);
    if (!err || c->call->operation->shape != SHAPE_NEIGHBOR_ALLTOALL || c->call->size > 2) {
        return err;
    }
    struct ictus_why unheard = {""};
    c->turned = true;
    const int turned = check_compare(c, &unheard);
    c->turned = false;
    return turned ? err : ICTUS_OK;
}

/* What a user's operation should leave is only known to its author. */
static bool check_knows(const struct call *call)
{
    return !call->operation->user;
}

int ictusi_check_ready(struct call *call)
{
    struct check c = {.call = call};
    if (!check_knows(call) || ictusi_fit_types(call->every, &c.type, &c.reduction, NULL)) {
        return MPI_SUCCESS;
    }
    check_spoil(&c);
    fill_all(&c);
    /* Nobody puts into a window that is yet to be filled, even where a start was late. */
    return ictusi_shape(call->operation->shape)->window == WINDOW_NONE ? MPI_SUCCESS
                                                                       : MPI_Barrier(call->comm);
}

void ictusi_check_repetition(struct call *call)
{
    struct check c = {.call = call};
    struct ictus_why why = {""};
    if (!check_knows(call) || ictusi_fit_types(call->every, &c.type, &c.reduction, NULL) ||
        !check_either(&c, &why)) {
        return;
    }
    if (call->wrong++ == 0) {
        call->wrong_why = why;
    }
}

int ictusi_call_check(struct call *call, const struct ictus_bench_plan *plan, struct ictus_why *why)
{
    struct check c = {.call = call};
    int err = ictusi_fit_types(plan, &c.type, &c.reduction, why);
    if (err || !check_knows(call)) {
        return err;
    }
    check_spoil(&c);
    fill_all(&c);
    /* Nobody puts into a window that is yet to be filled. */
    if (MPI_Barrier(call->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    err = ictusi_call_run(call);
    err = err ? err : check_either(&c, why);
    return ictusi_sync_agree(call->comm, err, why);
}

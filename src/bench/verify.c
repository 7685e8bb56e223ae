/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks the result that an operation left in its buffers. Every element is a small integer, which
 * is exact in every datatype, so rounding and overflow cause no false alarms.
 */
#include "bench/call.h"

#include "bench/plan.h"
#include "bench/verify_values.h"
#include "sync/sync.h"

#include <ictus/text.h>

#include <string.h>

/* Elements at each end of a block that a quick check covers. */
enum { EDGE = 256 };

/* The byte that fills the gaps between elements, and must still be there afterwards. */
enum { GAP = 0x5a };

struct check {
    struct call *call;
    struct datatype type;
    struct reduction reduction;
    enum slot_order order; /* assumed order of the blocks from one neighbour */
    bool quick;            /* check only the ends of each block */
    bool unlike;           /* swaps: the first one does not find what it compares with */
};

/*
 * The element to check after element i. A quick check goes from the first EDGE elements to the last
 * EDGE ones, where errors of segmentation and of block boundaries show.
 */
static int64_t element_after(const struct check *c, int64_t i)
{
    const int64_t last = c->call->elements - EDGE;
    return c->quick && i + 1 == EDGE && last > EDGE ? last : i + 1;
}

/* The address of element i of block b; if i is the number of elements, the end of the block. */
static unsigned char *element_at(const struct check *c, const void *buffer, int b, int64_t i)
{
    const struct data_layout *layout = &c->call->layout;
    return (unsigned char *)buffer + (size_t)b * layout->extent +
           ictusi_data_layout_offset(layout, i);
}

/* A C bool holds only 0 and 1, so logical values that are moved are limited to these. */
static int64_t verify_check_fit(const struct check *c, int64_t value)
{
    return c->type.class == CLASS_LOGICAL ? value & 1 : value;
}

static bool verify_check_reduces(const struct check *c)
{
    return ictusi_operation_shape(c->call->operation->shape)->reduces;
}

static int64_t verify_check_sent(const struct check *c, int rank, int b, int64_t i)
{
    const int64_t value =
        verify_check_reduces(c)
            ? ictusi_verify_contribution(c->reduction.kind, c->call->size, rank, b, i)
            : ictusi_verify_plain(rank, b, i);
    return verify_check_fit(c, value);
}

/*
 * The reduction over the ranks first to last, in rank order. MPI prescribes this order for
 * operators that do not commute. All others give the same result in any order, since the values are
 * exact.
 */
static int64_t verify_check_reduced(const struct check *c, int first, int last, int b, int64_t i)
{
    int64_t value = verify_check_sent(c, first, b, i);
    for (int rank = first + 1; rank <= last; rank++) {
        value = ictusi_reduction_apply(c->reduction.kind, value, verify_check_sent(c, rank, b, i));
    }
    return value;
}

static void verify_check_fill(const struct check *c, void *buffer, int rank, int first_block,
                              int blocks)
{
    for (int b = 0; b < blocks; b++) {
        for (int64_t i = 0; i < c->call->elements; i = element_after(c, i)) {
            c->type.set(element_at(c, buffer, b, i),
                        verify_check_sent(c, rank, first_block + b, i));
        }
    }
}

static int sent_blocks(const struct call *call)
{
    return (int)ictusi_operation_block_count(call,
                                             ictusi_operation_shape(call->operation->shape)->sends);
}

static int verify_received_blocks(const struct call *call)
{
    /* A broadcast receives into its send buffer. */
    return call->operation->shape == SHAPE_BCAST
               ? 1
               : (int)ictusi_operation_block_count(
                     call, ictusi_operation_shape(call->operation->shape)->receives);
}

/* The value due in element i of what comes from the partner; false if there is none. */
static bool verify_expected_of_pair(const struct check *c, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const enum shape shape = call->operation->shape;
    const int partner = ictusi_operation_partner(call);
    const bool first_half = call->rank < call->size / 2;
    const bool to_second = shape == SHAPE_STREAM || shape == SHAPE_PUT || shape == SHAPE_PUTS;
    const bool to_first = shape == SHAPE_GET || shape == SHAPE_GETS;
    if (partner == MPI_PROC_NULL || (first_half && to_second) || (!first_half && to_first)) {
        return false;
    }
    *value = verify_check_sent(c, partner, 0, i);
    return true;
}

static bool verify_swaps(const struct call *call)
{
    return call->operation->shape == SHAPE_SWAP || call->operation->shape == SHAPE_SWAPS;
}

/* Every other swap finds the value that it compares with. */
static bool verify_swap_succeeds(const struct check *c, int b)
{
    return (b % 2 == 0) != c->unlike;
}

/* What swaps store: a value that no other element has, except for logical values. */
static int64_t verify_swapped(const struct check *c, int target)
{
    return c->type.class == CLASS_LOGICAL ? verify_check_sent(c, target, 0, 0) ^ 1
                                          : ictusi_verify_swapped(target);
}

/* The value that a target holds afterwards, or for an origin the old value, which it fetches. */
static bool verify_expected_of_target(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const enum shape shape = call->operation->shape;
    const int partner = ictusi_operation_partner(call);
    if (partner == MPI_PROC_NULL) {
        return false;
    }
    if (call->rank < partner) {
        *value = verify_check_sent(c, partner, b, i);
        return shape != SHAPE_ACCUMULATE && shape != SHAPE_ACCUMULATES;
    }
    *value = verify_check_sent(c, call->rank, b, i);
    if (!verify_swaps(call)) {
        *value =
            ictusi_reduction_apply(c->reduction.kind, verify_check_sent(c, partner, 0, i), *value);
    } else if (verify_swap_succeeds(c, b)) {
        *value = verify_swapped(c, call->rank);
    }
    return true;
}

/*
 * The order in which messages of MPI_ANY_SOURCE arrive is known from the statuses alone. The root
 * therefore expects the data of the source in the status of each receive. In a fan-out each process
 * expects its own block.
 */
static bool verify_expected_of_fan(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const bool is_root = call->rank == call->root;
    const enum shape shape = call->operation->shape;
    if (shape == SHAPE_FAN_OUT || shape == SHAPE_FAN_OUTS) {
        *value = verify_check_sent(c, call->root, call->rank, i);
        return !is_root;
    }
    const int messages = shape == SHAPE_FAN_INS ? call->messages : 1;
    const bool is_received = is_root && b < (call->size - 1) * messages;
    *value = is_received ? verify_check_sent(c, call->statuses[b].MPI_SOURCE, 0, i) : 0;
    return is_received;
}

/* What the neighbour from which the block comes sends, if there is such a neighbour. */
static bool verify_expected_of_neighbor(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const struct source_neighbor *source = &call->topology.sources[b];
    const bool same = call->operation->shape != SHAPE_NEIGHBOR_ALLTOALL;
    if (source->rank == MPI_PROC_NULL) {
        return false;
    }
    *value = verify_check_sent(c, source->rank, same ? 0 : source->slot[c->order], i);
    /* Logical values in the other order equal the spoiled ones, so they cannot be checked. */
    return same || c->type.class != CLASS_LOGICAL ||
           source->slot[SLOT_ASCENDING] == source->slot[SLOT_DESCENDING];
}

/* As verify_check_expected(), for data that comes from a neighbour or a partner. */
static bool verify_check_from_neighbor(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const int left = (call->rank + call->size - 1) % call->size;
    switch (call->operation->shape) {
    case SHAPE_NEIGHBOR_ALLGATHER:
    case SHAPE_NEIGHBOR_ALLTOALL:
    case SHAPE_EXCHANGE:
        return verify_expected_of_neighbor(c, b, i, value);
    case SHAPE_SHIFT:
        *value = verify_check_sent(c, left, 0, i);
        return true;
    case SHAPE_PING_PONG:
    case SHAPE_THREADS:
        *value = verify_check_sent(c, 1 - call->rank, b, i);
        return call->rank < 2;
    case SHAPE_PAIRS:
    case SHAPE_STREAM:
    case SHAPE_STREAMS:
    case SHAPE_PUT:
    case SHAPE_PUTS:
    case SHAPE_GET:
    case SHAPE_GETS:
        return verify_expected_of_pair(c, i, value);
    case SHAPE_ACCUMULATE:
    case SHAPE_ACCUMULATES:
    case SHAPE_GET_ACCUMULATE:
    case SHAPE_GET_ACCUMULATES:
    case SHAPE_SWAP:
    case SHAPE_SWAPS:
        return verify_expected_of_target(c, b, i, value);
    case SHAPE_FAN_IN:
    case SHAPE_FAN_INS:
    case SHAPE_FAN_OUT:
    case SHAPE_FAN_OUTS:
        return verify_expected_of_fan(c, b, i, value);
    default:
        return false;
    }
}

/* The value due in element i of received block b; false if MPI defines none there. */
static bool verify_check_expected(const struct check *c, int b, int64_t i, int64_t *value)
{
    const struct call *call = c->call;
    const int last = call->size - 1;
    switch (call->operation->shape) {
    case SHAPE_BCAST:
        *value = verify_check_sent(c, call->root, b, i);
        return true;
    case SHAPE_REDUCE:
        *value = verify_check_reduced(c, 0, last, b, i);
        return call->rank == call->root;
    case SHAPE_ALLREDUCE:
        *value = verify_check_reduced(c, 0, last, b, i);
        return true;
    case SHAPE_GATHER:
        *value = verify_check_sent(c, b, 0, i);
        return call->rank == call->root;
    case SHAPE_ALLGATHER:
        *value = verify_check_sent(c, b, 0, i);
        return true;
    case SHAPE_SCATTER:
        *value = verify_check_sent(c, call->root, call->rank, i);
        return call->recv != MPI_IN_PLACE;
    case SHAPE_ALLTOALL:
        *value = verify_check_sent(c, b, call->rank, i);
        return true;
    case SHAPE_REDUCE_SCATTER:
        *value = verify_check_reduced(c, 0, last, call->rank, i);
        return true;
    case SHAPE_SCAN:
        *value = verify_check_reduced(c, 0, call->rank, b, i);
        return true;
    case SHAPE_EXSCAN:
        *value = call->rank ? verify_check_reduced(c, 0, call->rank - 1, b, i) : 0;
        return call->rank > 0;
    case SHAPE_REDUCE_LOCAL:
        *value = ictusi_reduction_apply(c->reduction.kind, verify_check_sent(c, call->rank, b, i),
                                        verify_check_sent(c, call->rank + 1, b, i));
        return true;
    default:
        return verify_check_from_neighbor(c, b, i, value);
    }
}

/* The buffer in which the operation leaves its result. */
static unsigned char *call_received(const struct call *call)
{
    return call->operation->shape == SHAPE_BCAST ? call->sends[call->set] : call->recvs[call->set];
}

/* Put a wrong value in each element, so that a call that does nothing is detected. */
static void verify_check_spoil(const struct check *c)
{
    unsigned char *received = call_received(c->call);
    const int blocks = verify_received_blocks(c->call);
    if (c->call->owns_type) {
        memset(received, GAP, (size_t)blocks * c->call->layout.extent);
    }
    for (int b = 0; b < blocks; b++) {
        for (int64_t i = 0; i < c->call->elements; i = element_after(c, i)) {
            int64_t value = 0;
            /*
             * Flipping the lowest bit gives a value that is wrong in every datatype, also in
             * logical ones, and never out of range.
             */
            if (verify_check_expected(c, b, i, &value)) {
                c->type.set(element_at(c, received, b, i), value ^ 1);
            }
        }
    }
}

/* What the origin of swaps sends: the value to store, then the values to compare with. */
static void verify_fill_swaps(const struct check *c)
{
    const struct call *call = c->call;
    const int target = ictusi_operation_partner(call);
    void *send = call->sends[call->set];
    if (call->rank > target) {
        return; /* a target, or a process without a partner */
    }
    c->type.set(send, verify_swapped(c, target));
    for (int b = 0; b + 1 < sent_blocks(call); b++) {
        const int64_t there = verify_check_sent(c, target, b, 0);
        c->type.set(element_at(c, send, b + 1, 0), verify_swap_succeeds(c, b) ? there : there ^ 1);
    }
}

/* The process that owns a window fills it before it is reduced into or swapped with. */
static void verify_fill_window(const struct check *c)
{
    const struct call *call = c->call;
    const int partner = ictusi_operation_partner(call);
    if (verify_swaps(call)) {
        verify_fill_swaps(c);
    }
    if (partner != MPI_PROC_NULL && call->rank > partner) {
        verify_check_fill(c, call->recvs[call->set], call->rank, 0, verify_received_blocks(call));
    }
}

/* Put the data to send where the call takes it from. In place, that is the receive buffer. */
static void verify_fill_all(const struct check *c)
{
    struct call *call = c->call;
    void *recv = call->recvs[call->set];
    if (call->operation->shape == SHAPE_BCAST && call->rank != call->root) {
        return;
    }
    verify_check_fill(c, call->sends[call->set], call->rank, 0, sent_blocks(call));
    if (call->operation->shape >= SHAPE_ACCUMULATE && call->operation->shape <= SHAPE_SWAPS) {
        verify_fill_window(c);
        return;
    }
    if (call->operation->shape == SHAPE_REDUCE_LOCAL) {
        verify_check_fill(c, recv, call->rank + 1, 0, 1);
        return;
    }
    if (call->send != MPI_IN_PLACE) {
        return;
    }
    if (call->operation->shape == SHAPE_GATHER || call->operation->shape == SHAPE_ALLGATHER) {
        verify_check_fill(c, element_at(c, recv, call->rank, 0), call->rank, 0, 1);
    } else {
        verify_check_fill(c, recv, call->rank, 0, sent_blocks(call));
    }
}

/* The first wrong element is reported and ends the check: most of its block is wrong, too. */
static int verify_check_element(const struct check *c, int b, int64_t i, struct ictus_why *why)
{
    const struct call *call = c->call;
    int64_t value = 0;
    if (!verify_check_expected(c, b, i, &value)) {
        return ICTUS_OK;
    }
    const int64_t found = c->type.get(element_at(c, call_received(call), b, i));
    return found == value
               ? ICTUS_OK
               : ictus_because(why, ICTUS_ERR_CORRUPT,
                               "%s of %llu bytes gave a wrong result: on rank %d, in block %d, "
                               "element %lld is %lld but should be %lld",
                               call->operation->name, (unsigned long long)call->bytes, call->rank,
                               b, (long long)i, (long long)found, (long long)value);
}

/*
 * Nothing may be written between element i and the next one. A library that copies whole extents
 * would overwrite the gap.
 */
static int verify_check_gap(const struct check *c, int b, int64_t i, struct ictus_why *why)
{
    const struct call *call = c->call;
    const unsigned char *at = element_at(c, call_received(call), b, i) + c->type.size;
    const unsigned char *end = element_at(c, call_received(call), b, i + 1);
    while (call->owns_type && at < end) {
        if (*at++ != GAP) {
            return ictus_because(why, ICTUS_ERR_CORRUPT,
                                 "%s of %llu bytes wrote into a gap of the datatype: on rank %d, "
                                 "in block %d, after element %lld",
                                 call->operation->name, (unsigned long long)call->bytes, call->rank,
                                 b, (long long)i);
        }
    }
    return ICTUS_OK;
}

static int verify_check_compare(const struct check *c, struct ictus_why *why)
{
    const int blocks = verify_received_blocks(c->call);
    int err = ICTUS_OK;
    for (int b = 0; b < blocks && !err; b++) {
        for (int64_t i = 0; i < c->call->elements && !err; i = element_after(c, i)) {
            err = verify_check_element(c, b, i, why);
            err = err ? err : verify_check_gap(c, b, i, why);
        }
    }
    return err;
}

/*
 * Check all blocks in the order that MPI defines, then in the other orders that libraries use. If a
 * process is a neighbour twice, any one order of its blocks is accepted, but not a mixture of
 * orders.
 */
static int verify_check_orders(struct check *c, struct ictus_why *why)
{
    int err = verify_check_compare(c, why);
    const bool any = c->call->operation->shape == SHAPE_NEIGHBOR_ALLTOALL;
    for (int order = SLOT_ASCENDING; err && any && order < SLOT_ORDERS; order++) {
        struct ictus_why unheard = {""};
        c->order = (enum slot_order)order;
        err = verify_check_compare(c, &unheard) ? err : ICTUS_OK;
    }
    c->order = SLOT_RIGHT;
    return err;
}

/* Only the author of a plugin's operation knows what it should leave. */
static bool verify_check_knows(const struct call *call)
{
    return !call->operation->user;
}

/*
 * Each process calls this at its own time. No agreement is needed, since the types were checked
 * with the plan.
 */
int ictusi_verify_is_ready(struct call *call)
{
    struct check c = {.call = call, .unlike = call->turn % 2 == 0};
    if (!verify_check_knows(call) || ictusi_plan_types(call->every, &c.type, &c.reduction, NULL)) {
        return MPI_SUCCESS;
    }
    verify_check_spoil(&c);
    verify_fill_all(&c);
    /*
     * Without this barrier, an origin could put into a window before its owner has filled it, even
     * after a common start, which may be late.
     */
    return ictusi_operation_shape(call->operation->shape)->window == WINDOW_NONE
               ? MPI_SUCCESS
               : MPI_Barrier(call->comm);
}

/*
 * Wrong repetitions are only counted here, and the first reason is kept. The processes agree on it
 * after the batch, since agreeing inside it would disturb the next repetition.
 */
void ictusi_verify_repetition(struct call *call)
{
    struct check c = {.call = call, .unlike = call->turn % 2 == 0};
    struct ictus_why why = {""};
    if (!verify_check_knows(call) || ictusi_plan_types(call->every, &c.type, &c.reduction, NULL) ||
        !verify_check_orders(&c, &why)) {
        return;
    }
    if (call->wrong++ == 0) {
        call->wrong_why = why;
    }
}

/* Untimed. All ranks report a wrong result, also those whose own part is right. */
static int verify_run_once(struct check *c, struct ictus_why *why)
{
    struct call *call = c->call;
    verify_check_spoil(c);
    verify_fill_all(c);
    /* No process may put into a window that its owner has not filled yet. */
    if (MPI_Barrier(call->comm) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    int err = ictusi_call_run(call);
    err = err ? err : verify_check_orders(c, why);
    return ictusi_sync_agree(call->comm, err, why);
}

/*
 * Check swaps that find the value that they compare with, and swaps that do not. All elements are
 * equal afterwards, so each swap that is timed finds it.
 */
static int verify_run_swaps(struct check *c, struct ictus_why *why)
{
    struct call *call = c->call;
    int err = verify_run_once(c, why);
    if (!err) {
        c->unlike = true;
        err = verify_run_once(c, why);
    }
    memset(call->sends[call->set], 0, (size_t)sent_blocks(call) * call->layout.extent);
    memset(call->recvs[call->set], 0, (size_t)verify_received_blocks(call) * call->layout.extent);
    return err;
}

static int call_check_once(struct call *call, const struct ictus_bench_plan *plan, bool quick,
                           struct ictus_why *why)
{
    struct check c = {.call = call, .quick = quick};
    const int err = ictusi_plan_types(plan, &c.type, &c.reduction, why);
    if (err || !verify_check_knows(call)) {
        return err;
    }
    return verify_swaps(call) ? verify_run_swaps(&c, why) : verify_run_once(&c, why);
}

int ictusi_verify_call(struct call *call, const struct ictus_bench_plan *plan,
                       struct ictus_why *why)
{
    return call_check_once(call, plan, false, why);
}

int ictusi_verify_glance(struct call *call, const struct ictus_bench_plan *plan,
                         struct ictus_why *why)
{
    return call_check_once(call, plan, true, why);
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One-sided communication between pairs of processes, one in each half. The origin, in the first
 * half, puts into, gets from or accumulates into the window of its partner, or fetches the old
 * value in the same operation. It does one operation or many in one epoch, for each way to open and
 * close an epoch (MPI-3.1, section 11.5). The epoch is timed; the window is made in advance.
 */
#include "bench/operation.h"

#include <stdlib.h>

enum { TAG = 12 };

/* Starts a number of transfers to or from the partner, each at a different place in the window. */
typedef int move(struct call *c, int peer, int transfers);

static MPI_Aint op_onesided_place_of(const struct call *c, int i)
{
    /*
     * In bytes, because windows are made with a displacement unit of 1. Each transfer has a place
     * of its own, since two puts to one place in the same epoch are erroneous.
     */
    return c->target + (MPI_Aint)i * (MPI_Aint)c->layout.extent;
}

/* Where transfer i stores what it fetches. */
static void *op_onesided_result_of(const struct call *c, int i)
{
    return (char *)c->recv + (size_t)i * c->layout.extent;
}

static int onesided_move_put(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        err = MPI_Put(c->send, c->count, c->type, peer, op_onesided_place_of(c, i), c->count,
                      c->type, c->win);
    }
    return err;
}

static int onesided_move_get(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        err = MPI_Get(op_onesided_result_of(c, i), c->count, c->type, peer, c->target, c->count,
                      c->type, c->win);
    }
    return err;
}

static int onesided_move_accumulate(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        err = MPI_Accumulate(c->send, c->count, c->type, peer, op_onesided_place_of(c, i), c->count,
                             c->type, c->op, c->win);
    }
    return err;
}

static int onesided_move_get_accumulate(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        err = MPI_Get_accumulate(c->send, c->count, c->type, op_onesided_result_of(c, i), c->count,
                                 c->type, peer, op_onesided_place_of(c, i), c->count, c->type,
                                 c->op, c->win);
    }
    return err;
}

static int onesided_move_fetch_and_op(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        err = MPI_Fetch_and_op(c->send, op_onesided_result_of(c, i), c->type, peer,
                               op_onesided_place_of(c, i), c->op, c->win);
    }
    return err;
}

/*
 * The first block that is sent is the value to store. The blocks after it are the values to compare
 * with, one for each swap.
 */
static int onesided_move_compare_and_swap(struct call *c, int peer, int transfers)
{
    int err = MPI_SUCCESS;
    for (int i = 0; i < transfers && err == MPI_SUCCESS; i++) {
        void *compared = (char *)c->send + ((size_t)i + 1) * c->layout.extent;
        err = MPI_Compare_and_swap(c->send, compared, op_onesided_result_of(c, i), c->type, peer,
                                   op_onesided_place_of(c, i), c->win);
    }
    return err;
}

static bool onesided_is_origin(const struct call *c)
{
    return c->rank < c->size / 2;
}

/*
 * Passive target with a lock for each repetition: the unlock returns when all transfers are
 * complete at the target.
 */
static int epoch_lock(struct call *c, move *begin, int transfers)
{
    const int peer = ictusi_operation_partner(c);
    if (!onesided_is_origin(c)) {
        return MPI_SUCCESS;
    }
    /* The lock is shared: a target has a single origin, so there is nobody to exclude. */
    int err = MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, c->win);
    if (err == MPI_SUCCESS) {
        err = begin(c, peer, transfers);
    }
    return err == MPI_SUCCESS ? MPI_Win_unlock(peer, c->win) : err;
}

/*
 * Passive target inside the lock of all repetitions: the flush completes the transfers without
 * closing the epoch.
 */
static int epoch_flush(struct call *c, move *begin, int transfers)
{
    const int peer = ictusi_operation_partner(c);
    if (!onesided_is_origin(c)) {
        return MPI_SUCCESS;
    }
    const int err = begin(c, peer, transfers);
    return err == MPI_SUCCESS ? MPI_Win_flush(peer, c->win) : err;
}

/*
 * Active target over the whole communicator: every process takes part in both fences, also one
 * without a partner.
 */
static int epoch_fence(struct call *c, move *begin, int transfers)
{
    int err = MPI_Win_fence(0, c->win);
    if (err == MPI_SUCCESS && onesided_is_origin(c)) {
        err = begin(c, ictusi_operation_partner(c), transfers);
    }
    return err == MPI_SUCCESS ? MPI_Win_fence(0, c->win) : err;
}

/*
 * Active target between the pair only (post, start, complete, wait): nobody outside the pair is
 * synchronised.
 */
static int epoch_pscw(struct call *c, move *begin, int transfers)
{
    const int peer = ictusi_operation_partner(c);
    if (peer == MPI_PROC_NULL) {
        return MPI_SUCCESS;
    }
    const bool exposes = !onesided_is_origin(c);
    int err = exposes ? MPI_Win_post(c->peers, 0, c->win) : MPI_Win_start(c->peers, 0, c->win);
    if (err == MPI_SUCCESS && !exposes) {
        err = begin(c, peer, transfers);
    }
    if (err != MPI_SUCCESS) {
        return err;
    }
    return exposes ? MPI_Win_wait(c->win) : MPI_Win_complete(c->win);
}

/* Use memory that MPI allocated as the buffer that the window exposes. */
static void window_adopt(struct call *c, void *memory)
{
    void **set =
        ictusi_operation_shape(c->operation->shape)->window == WINDOW_ON_SEND ? c->sends : c->recvs;
    void **now =
        ictusi_operation_shape(c->operation->shape)->window == WINDOW_ON_SEND ? &c->send : &c->recv;
    /*
     * There is only one set of buffers here: a plan for an operation that is prepared once cannot
     * ask for more.
     */
    free(set[0]);
    set[0] = memory;
    *now = memory;
}

static MPI_Aint window_bytes(const struct call *c)
{
    const struct shape_info *shape = ictusi_operation_shape(c->operation->shape);
    const enum blocks blocks = shape->window == WINDOW_ON_SEND ? shape->sends : shape->receives;
    const MPI_Aint bytes =
        (MPI_Aint)(ictusi_operation_block_count(c, blocks) * (int64_t)c->layout.extent);
    return bytes > 0 ? bytes : 1;
}

/*
 * A dynamic window is addressed by absolute addresses, so the target sends its address to the
 * origin.
 */
static int window_attach(struct call *c, void *memory, MPI_Aint bytes)
{
    MPI_Aint mine = 0;
    const int peer = ictusi_operation_partner(c);
    int err = MPI_Win_create_dynamic(MPI_INFO_NULL, c->comm, &c->win);
    if (err == MPI_SUCCESS) {
        err = MPI_Win_attach(c->win, memory, bytes);
    }
    if (err == MPI_SUCCESS) {
        err = MPI_Get_address(memory, &mine);
    }
    return err == MPI_SUCCESS ? MPI_Sendrecv(&mine, 1, MPI_AINT, peer, TAG, &c->target, 1, MPI_AINT,
                                             peer, TAG, c->comm, MPI_STATUS_IGNORE)
                              : err;
}

/*
 * Create the window on the call's own buffer, or on memory that MPI allocates. A window in shared
 * memory is possible only if all processes are on one node.
 */
static int window_make(struct call *c)
{
    const MPI_Aint bytes = window_bytes(c);
    void *const own =
        ictusi_operation_shape(c->operation->shape)->window == WINDOW_ON_SEND ? c->send : c->recv;
    void *given = NULL;
    int err = MPI_SUCCESS;
    switch (c->window_kind) {
    case WINDOW_DYNAMIC:
        return window_attach(c, own, bytes);
    case WINDOW_ALLOCATE:
        err = MPI_Win_allocate(bytes, 1, MPI_INFO_NULL, c->comm, (void *)&given, &c->win);
        break;
    case WINDOW_SHARED:
        err = MPI_Win_allocate_shared(bytes, 1, MPI_INFO_NULL, c->comm, (void *)&given, &c->win);
        break;
    default:
        return MPI_Win_create(own, bytes, 1, MPI_INFO_NULL, c->comm, &c->win);
    }
    if (err == MPI_SUCCESS) {
        window_adopt(c, given);
    }
    return err;
}

static int onesided_name_peer(struct call *c)
{
    MPI_Group all;
    const int peer = ictusi_operation_partner(c);
    int err = MPI_Comm_group(c->comm, &all);
    if (err == MPI_SUCCESS) {
        err = MPI_Group_incl(all, peer != MPI_PROC_NULL, &peer, &c->peers);
        MPI_Group_free(&all);
    }
    return err;
}

static int onesided_prepare_window(struct call *c)
{
    int err = window_make(c);
    if (err == MPI_SUCCESS) {
        err = MPI_Win_set_errhandler(c->win, MPI_ERRORS_RETURN);
    }
    return err == MPI_SUCCESS ? onesided_name_peer(c) : err;
}

static int onesided_release_window(struct call *c)
{
    const bool lent = c->window_kind == WINDOW_ALLOCATE || c->window_kind == WINDOW_SHARED;
    int err = MPI_SUCCESS;
    if (c->peers != MPI_GROUP_EMPTY) {
        MPI_Group_free(&c->peers);
    }
    if (c->window_kind == WINDOW_DYNAMIC) {
        const bool on_send = ictusi_operation_shape(c->operation->shape)->window == WINDOW_ON_SEND;
        /*
         * The barrier makes sure that no process still accesses the memory that is detached next.
         */
        err = MPI_Barrier(c->comm);
        err = err == MPI_SUCCESS ? MPI_Win_detach(c->win, on_send ? c->send : c->recv) : err;
    }
    if (lent) {
        const bool on_send = ictusi_operation_shape(c->operation->shape)->window == WINDOW_ON_SEND;
        *(on_send ? &c->sends[0] : &c->recvs[0]) = NULL; /* freed together with the window */
    }
    const int freed = MPI_Win_free(&c->win);
    return err == MPI_SUCCESS ? freed : err;
}

/*
 * One access epoch spans all repetitions. Each repetition ends with a flush, which completes its
 * transfers.
 */
static int onesided_prepare_locked(struct call *c)
{
    const int err = onesided_prepare_window(c);
    return err == MPI_SUCCESS ? MPI_Win_lock_all(0, c->win) : err;
}

static int onesided_release_locked(struct call *c)
{
    const int unlocked = MPI_Win_unlock_all(c->win);
    const int err = onesided_release_window(c);
    return err == MPI_SUCCESS ? unlocked : err;
}

/*
 * A passive target calls nothing, but its library may have to make progress for the origin, so the
 * target must stay inside MPI. It also must not read the window before the origin is done.
 */
static int onesided_settle_passive(struct call *c)
{
    const int peer = ictusi_operation_partner(c);
    return onesided_is_origin(c)
               ? MPI_Send(NULL, 0, MPI_BYTE, peer, TAG, c->comm)
               : MPI_Recv(NULL, 0, MPI_BYTE, peer, TAG, c->comm, MPI_STATUS_IGNORE);
}

#define FORM(operation, epoch)                                                                     \
    static int onesided_run_##operation##_##epoch(struct call *c)                                  \
    {                                                                                              \
        return epoch_##epoch(c, onesided_move_##operation, 1);                                     \
    }                                                                                              \
    static int onesided_run_##operation##_##epoch##_bandwidth(struct call *c)                      \
    {                                                                                              \
        return epoch_##epoch(c, onesided_move_##operation, c->messages);                           \
    }
#define FORMS(operation)                                                                           \
    FORM(operation, lock) FORM(operation, flush) FORM(operation, fence) FORM(operation, pscw)
FORMS(put)
FORMS(get)
FORMS(accumulate)
FORMS(get_accumulate)
FORMS(fetch_and_op)
FORMS(compare_and_swap)

#define ROW(operation, Name, epoch, words, one, many, single, make, undo, after)                   \
    {.name = #operation "_" #epoch,                                                                \
     .summary = "MPI_" #Name " between the halves, " words,                                        \
     .shape = (one),                                                                               \
     .run = onesided_run_##operation##_##epoch,                                                    \
     .prepare = (make),                                                                            \
     .release = (undo),                                                                            \
     .settle = (after),                                                                            \
     .is_single = (single)},                                                                       \
    {                                                                                              \
        .name = #operation "_" #epoch "_bandwidth",                                                \
        .summary = "many MPI_" #Name " at once between the halves, " words, .shape = (many),       \
        .run = onesided_run_##operation##_##epoch##_bandwidth, .prepare = (make),                  \
        .release = (undo), .settle = (after), .is_single = (single)                                \
    }
#define ROWS(operation, Name, one, many, single)                                                   \
    ROW(operation, Name, lock, "in MPI_Win_lock and unlock", one, many, single,                    \
        onesided_prepare_window, onesided_release_window, onesided_settle_passive),                \
        ROW(operation, Name, flush, "and MPI_Win_flush", one, many, single,                        \
            onesided_prepare_locked, onesided_release_locked, onesided_settle_passive),            \
        ROW(operation, Name, fence, "between two MPI_Win_fence", one, many, single,                \
            onesided_prepare_window, onesided_release_window, NULL),                               \
        ROW(operation, Name, pscw, "from MPI_Win_post and start to complete and wait", one, many,  \
            single, onesided_prepare_window, onesided_release_window, NULL)

const struct operation ictusi_one_sided[] = {
    ROWS(put, Put, SHAPE_PUT, SHAPE_PUTS, false),
    ROWS(get, Get, SHAPE_GET, SHAPE_GETS, false),
    ROWS(accumulate, Accumulate, SHAPE_ACCUMULATE, SHAPE_ACCUMULATES, false),
    ROWS(get_accumulate, Get_accumulate, SHAPE_GET_ACCUMULATE, SHAPE_GET_ACCUMULATES, false),
    ROWS(fetch_and_op, Fetch_and_op, SHAPE_GET_ACCUMULATE, SHAPE_GET_ACCUMULATES, true),
    ROWS(compare_and_swap, Compare_and_swap, SHAPE_SWAP, SHAPE_SWAPS, true),
    {.name = NULL},
};

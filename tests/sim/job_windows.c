/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Windows of a simulated job under MPI's own names, see job_blocks.h. Transfers must be inside of
 * an epoch and of the window, and do nothing before their epoch ends or is flushed.
 */
#include "job_blocks.h"

#include "../check.h"

enum { WINDOWS = 4, TRANSFERS = 256, FIRST_WINDOW = 0x5000, FIRST_GROUP = 0x6000 };

enum transfer_kind { TRANSFER_PUT, TRANSFER_GET, TRANSFER_REDUCE, TRANSFER_SWAP };

struct transfer {
    enum transfer_kind kind;
    int origin, target, count;
    MPI_Datatype type;
    MPI_Op op;
    const void *from, *compared;
    void *result; /* NULL: the old value is not fetched */
    MPI_Aint place;
};

/* By rank, of the origin first. */
struct window {
    bool dynamic, returns;                           /* returns errors */
    unsigned char *base[JOB_RANKS], *own[JOB_RANKS]; /* own: to be freed with it */
    size_t size[JOB_RANKS];
    bool access[JOB_RANKS][JOB_RANKS], fenced[JOB_RANKS];
    bool posted[JOB_RANKS][JOB_RANKS], completed[JOB_RANKS][JOB_RANKS]; /* by target first */
    struct transfer pending[JOB_RANKS][TRANSFERS];
    int pending_count[JOB_RANKS];
};

static struct window windows[WINDOWS];

static void nobody_acts(const struct blocks_part *const *parts)
{
    (void)parts;
}

static void all_meet(void)
{
    (void)blocks_meet(NULL, nobody_acts);
}

static struct window *window_at(MPI_Win win)
{
    const intptr_t i = (intptr_t)win - FIRST_WINDOW;
    REQUIRE(i >= 0 && i < WINDOWS);
    return &windows[i];
}

/* All ranks make the same one, in turn. */
static struct window *window_new(MPI_Win *win)
{
    const int i = blocks_windows[job_rank()]++ % WINDOWS;
    *win = (MPI_Win)(intptr_t)(FIRST_WINDOW + i);
    blocks_things[job_rank()]++;
    return &windows[i];
}

static int window_expose(MPI_Win *win, void *base, MPI_Aint size, int unit)
{
    struct window *w = window_new(win);
    REQUIRE(unit == 1);
    w->dynamic = w->returns = false;
    w->base[job_rank()] = base;
    w->size[job_rank()] = (size_t)size;
    all_meet();
    return MPI_SUCCESS;
}

int MPI_Win_create(void *base, MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    (void)info;
    (void)comm;
    return window_expose(win, base, size, unit);
}

int MPI_Win_allocate(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                     MPI_Win *win)
{
    void *made = calloc(1, (size_t)size);
    (void)info;
    (void)comm;
    REQUIRE(made);
    memcpy(base, &made, sizeof(made));
    (void)window_expose(win, made, size, unit);
    window_at(*win)->own[job_rank()] = made;
    return MPI_SUCCESS;
}

int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base,
                            MPI_Win *win)
{
    return MPI_Win_allocate(size, unit, info, comm, base, win);
}

int MPI_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win *win)
{
    (void)info;
    (void)comm;
    (void)window_expose(win, NULL, 0, 1);
    window_at(*win)->dynamic = true;
    return MPI_SUCCESS;
}

int MPI_Win_attach(MPI_Win win, void *base, MPI_Aint size)
{
    struct window *w = window_at(win);
    REQUIRE(w->dynamic && !w->base[job_rank()]);
    w->base[job_rank()] = base;
    w->size[job_rank()] = (size_t)size;
    return MPI_SUCCESS;
}

int MPI_Win_detach(MPI_Win win, const void *base)
{
    struct window *w = window_at(win);
    REQUIRE(w->dynamic && w->base[job_rank()] == base);
    w->base[job_rank()] = NULL;
    return MPI_SUCCESS;
}

int MPI_Win_free(MPI_Win *win)
{
    struct window *w = window_at(*win);
    const int me = job_rank();
    all_meet();
    REQUIRE(w->pending_count[me] == 0 && !(w->dynamic && w->base[me]));
    for (int r = 0; r < job_options()->ranks; r++) {
        REQUIRE(!w->access[me][r]);
    }
    free(w->own[me]);
    w->own[me] = NULL;
    w->fenced[me] = false;
    blocks_things[me]--;
    *win = MPI_WIN_NULL;
    return MPI_SUCCESS;
}

int MPI_Win_set_errhandler(MPI_Win win, MPI_Errhandler handler)
{
    window_at(win)->returns = handler == MPI_ERRORS_RETURN;
    return MPI_SUCCESS;
}

static unsigned char *transfer_place(const struct window *w, const struct transfer *t)
{
    const unsigned char *base = w->base[t->target];
    unsigned char *at =
        w->dynamic ? (unsigned char *)(intptr_t)t->place : w->base[t->target] + t->place;
    const struct block_type *type = block_type(t->type);
    const size_t reach = (size_t)(t->count > 0 ? t->count - 1 : 0) * type->extent +
                         type->places[type->count - 1] + type->unit;
    REQUIRE(t->count == 0 || (at >= base && at + reach <= base + w->size[t->target]));
    return at;
}

static void transfer_do(const struct window *w, const struct transfer *t)
{
    const size_t size = block_bytes(t->type, t->count);
    unsigned char *there = transfer_place(w, t);
    unsigned char *sent = malloc(size + 1);
    unsigned char *old = malloc(size + 1);
    REQUIRE(sent && old);
    block_pack(there, t->count, t->type, old);
    if (t->kind != TRANSFER_GET) {
        block_pack(t->from, t->count, t->type, sent);
    }
    if (t->result) {
        block_unpack(t->result, t->count, t->type, old);
    }
    if (t->kind == TRANSFER_REDUCE && !blocks_plant.replaces) {
        block_reduce(t->op, t->type, old, sent, t->count);
    }
    if (t->kind == TRANSFER_SWAP && !blocks_plant.swaps &&
        (blocks_plant.keeps || memcmp(old, t->compared, size) != 0)) {
        memcpy(sent, old, size);
    }
    if (t->kind != TRANSFER_GET) {
        block_unpack(there, t->count, t->type, sent);
    }
    free(sent);
    free(old);
}

static void transfers_end(struct window *w)
{
    const int me = job_rank();
    job_spend(200.0);
    for (int i = 0; i < w->pending_count[me] && !(blocks_plant.unsent && i > 0); i++) {
        transfer_do(w, &w->pending[me][i]);
    }
    w->pending_count[me] = 0;
}

static int transfer_begin(MPI_Win win, struct transfer t)
{
    struct window *w = window_at(win);
    const int me = job_rank();
    t.origin = me;
    REQUIRE(w->returns && (w->fenced[me] || w->access[me][t.target]));
    REQUIRE(w->pending_count[me] < TRANSFERS);
    w->pending[me][w->pending_count[me]++] = t;
    return MPI_SUCCESS;
}

int MPI_Put(const void *from, int count, MPI_Datatype type, int target, MPI_Aint place,
            int there_count, MPI_Datatype there_type, MPI_Win win)
{
    REQUIRE(count == there_count && type == there_type);
    return transfer_begin(win, (struct transfer){.kind = TRANSFER_PUT,
                                                 .target = target,
                                                 .count = count,
                                                 .type = type,
                                                 .from = from,
                                                 .place = place});
}

int MPI_Get(void *to, int count, MPI_Datatype type, int target, MPI_Aint place, int there_count,
            MPI_Datatype there_type, MPI_Win win)
{
    REQUIRE(count == there_count && type == there_type);
    return transfer_begin(win, (struct transfer){.kind = TRANSFER_GET,
                                                 .target = target,
                                                 .count = count,
                                                 .type = type,
                                                 .result = to,
                                                 .place = place});
}

int MPI_Get_accumulate(const void *from, int count, MPI_Datatype type, void *result,
                       int result_count, MPI_Datatype result_type, int target, MPI_Aint place,
                       int there_count, MPI_Datatype there_type, MPI_Op op, MPI_Win win)
{
    REQUIRE(count == there_count && type == there_type);
    REQUIRE(!result || (count == result_count && type == result_type));
    return transfer_begin(win, (struct transfer){.kind = TRANSFER_REDUCE,
                                                 .target = target,
                                                 .count = count,
                                                 .type = type,
                                                 .from = from,
                                                 .result = result,
                                                 .op = op,
                                                 .place = place});
}

int MPI_Accumulate(const void *from, int count, MPI_Datatype type, int target, MPI_Aint place,
                   int there_count, MPI_Datatype there_type, MPI_Op op, MPI_Win win)
{
    return MPI_Get_accumulate(from, count, type, NULL, 0, type, target, place, there_count,
                              there_type, op, win);
}

int MPI_Fetch_and_op(const void *from, void *result, MPI_Datatype type, int target, MPI_Aint place,
                     MPI_Op op, MPI_Win win)
{
    return MPI_Get_accumulate(from, 1, type, result, 1, type, target, place, 1, type, op, win);
}

int MPI_Compare_and_swap(const void *from, const void *compared, void *result, MPI_Datatype type,
                         int target, MPI_Aint place, MPI_Win win)
{
    return transfer_begin(win, (struct transfer){.kind = TRANSFER_SWAP,
                                                 .target = target,
                                                 .count = 1,
                                                 .type = type,
                                                 .from = from,
                                                 .compared = compared,
                                                 .result = result,
                                                 .place = place});
}

int MPI_Win_lock(int kind, int target, int asserted, MPI_Win win)
{
    struct window *w = window_at(win);
    REQUIRE(asserted == 0 && (kind == MPI_LOCK_SHARED || kind == MPI_LOCK_EXCLUSIVE));
    REQUIRE(!w->access[job_rank()][target]);
    w->access[job_rank()][target] = true;
    return MPI_SUCCESS;
}

int MPI_Win_unlock(int target, MPI_Win win)
{
    struct window *w = window_at(win);
    REQUIRE(w->access[job_rank()][target]);
    transfers_end(w);
    w->access[job_rank()][target] = false;
    return MPI_SUCCESS;
}

int MPI_Win_lock_all(int asserted, MPI_Win win)
{
    for (int r = 0; r < job_options()->ranks; r++) {
        (void)MPI_Win_lock(MPI_LOCK_SHARED, r, asserted, win);
    }
    return MPI_SUCCESS;
}

int MPI_Win_unlock_all(MPI_Win win)
{
    for (int r = 0; r < job_options()->ranks; r++) {
        (void)MPI_Win_unlock(r, win);
    }
    return MPI_SUCCESS;
}

int MPI_Win_flush(int target, MPI_Win win)
{
    REQUIRE(window_at(win)->access[job_rank()][target]);
    transfers_end(window_at(win));
    return MPI_SUCCESS;
}

int MPI_Win_fence(int asserted, MPI_Win win)
{
    REQUIRE(asserted == 0);
    transfers_end(window_at(win));
    all_meet();
    window_at(win)->fenced[job_rank()] = true;
    return MPI_SUCCESS;
}

/* A group is one process, all, or nobody. */
int MPI_Comm_group(MPI_Comm comm, MPI_Group *group)
{
    (void)comm;
    *group = (MPI_Group)(intptr_t)FIRST_GROUP;
    blocks_things[job_rank()]++;
    return MPI_SUCCESS;
}

int MPI_Group_incl(MPI_Group group, int n, const int *ranks, MPI_Group *chosen)
{
    REQUIRE((intptr_t)group == FIRST_GROUP && n <= 1);
    *chosen = n ? (MPI_Group)(intptr_t)(FIRST_GROUP + 1 + ranks[0]) : MPI_GROUP_EMPTY;
    blocks_things[job_rank()] += n;
    return MPI_SUCCESS;
}

int MPI_Group_free(MPI_Group *group)
{
    REQUIRE(*group != MPI_GROUP_EMPTY);
    blocks_things[job_rank()]--;
    *group = MPI_GROUP_NULL;
    return MPI_SUCCESS;
}

static int group_peer(MPI_Group group)
{
    const intptr_t peer = (intptr_t)group - FIRST_GROUP - 1;
    REQUIRE(peer >= 0 && peer < job_options()->ranks);
    return (int)peer;
}

int MPI_Win_post(MPI_Group group, int asserted, MPI_Win win)
{
    const int peer = group_peer(group);
    REQUIRE(asserted == 0);
    window_at(win)->posted[job_rank()][peer] = true;
    job_spend(100.0);
    job_wake(peer);
    return MPI_SUCCESS;
}

int MPI_Win_start(MPI_Group group, int asserted, MPI_Win win)
{
    struct window *w = window_at(win);
    const int peer = group_peer(group);
    REQUIRE(asserted == 0);
    while (!w->posted[peer][job_rank()]) {
        job_block("MPI_Win_start", peer);
    }
    w->posted[peer][job_rank()] = false;
    w->access[job_rank()][peer] = true;
    return MPI_SUCCESS;
}

int MPI_Win_complete(MPI_Win win)
{
    struct window *w = window_at(win);
    const int me = job_rank();
    transfers_end(w);
    for (int r = 0; r < job_options()->ranks; r++) {
        if (w->access[me][r]) {
            w->access[me][r] = false;
            w->completed[r][me] = true;
            job_wake(r);
        }
    }
    return MPI_SUCCESS;
}

/* For the one origin that there is. */
int MPI_Win_wait(MPI_Win win)
{
    struct window *w = window_at(win);
    const int me = job_rank();
    for (;;) {
        for (int r = 0; r < job_options()->ranks; r++) {
            if (w->completed[me][r]) {
                w->completed[me][r] = false;
                return MPI_SUCCESS;
            }
        }
        job_block("MPI_Win_wait", -1);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives of a simulated job under MPI's own names, see job_blocks.h. */
#include "job_blocks.h"

#include "../check.h"

#include <ctype.h>

struct blocks_plant blocks_plant;
int blocks_things[JOB_RANKS], blocks_windows[JOB_RANKS], blocks_sums[JOB_RANKS];
char blocks_calls[512];
size_t blocks_most;

static struct {
    const struct blocks_part *parts[JOB_RANKS];
    void (*act)(const struct blocks_part *const *parts);
    int arrived, turn;
} meeting;

static int ranks(void)
{
    return job_options()->ranks;
}

void blocks_start(void)
{
    memset(blocks_things, 0, sizeof(blocks_things));
    memset(blocks_windows, 0, sizeof(blocks_windows));
    memset(blocks_sums, 0, sizeof(blocks_sums));
}

/* Its name without MPI's prefix, in small letters. */
void blocks_called(const char *function)
{
    size_t at = strlen(blocks_calls);
    if (job_rank() + 1 != ranks() || at + strlen(function) + 2 > sizeof(blocks_calls)) {
        return;
    }
    if (at) {
        blocks_calls[at++] = '+';
    }
    for (const char *c = function + strlen("MPI_"); *c; c++) {
        blocks_calls[at++] = (char)tolower(*c);
    }
    blocks_calls[at] = '\0';
}

int blocks_meet(const struct blocks_part *mine, void (*act)(const struct blocks_part *const *parts))
{
    const int turn = meeting.turn;
    REQUIRE(meeting.arrived == 0 || meeting.act == act);
    meeting.act = act;
    meeting.parts[job_rank()] = mine;
    job_spend(100.0);
    if (++meeting.arrived < ranks()) {
        while (meeting.turn == turn) {
            job_block("a collective", -1);
        }
        return MPI_SUCCESS;
    }
    act(meeting.parts);
    meeting.arrived = 0;
    meeting.turn++;
    for (int r = 0; r < ranks(); r++) {
        job_wake(r);
    }
    return MPI_SUCCESS;
}

struct block block_at(const struct block_side *s, int b)
{
    struct block block = {s->bytes, s->counts ? s->counts[b] : s->count,
                          s->types ? s->types[b] : s->type};
    const size_t extent = block_type(block.type)->extent;
    if (s->places) {
        block.bytes += s->places[b];
    } else if (s->displs) {
        block.bytes += (size_t)s->displs[b] * (s->types ? 1 : extent);
    } else {
        block.bytes += (size_t)b * (size_t)s->count * extent;
    }
    return block;
}

/* Blocks on their way: all are taken before one is stored, since some are replaced. */
enum { MOVES = 4 * JOB_RANKS * JOB_RANKS };
static struct {
    struct block to;
    unsigned char *packed;
    size_t size;
} moves[MOVES];
static int move_count;

void block_move(struct block from, struct block to)
{
    const size_t size = block_bytes(from.type, from.count);
    unsigned char *packed = malloc(size + 1);
    REQUIRE(packed && move_count < MOVES && size == block_bytes(to.type, to.count));
    block_pack(from.bytes, from.count, from.type, packed);
    moves[move_count].to = to;
    moves[move_count].size = size;
    moves[move_count++].packed = packed;
}

void blocks_moved(void)
{
    size_t all = 0;
    for (int i = 0; i < move_count; i++) {
        const struct block *to = &moves[i].to;
        all += block_bytes(to->type, to->count);
    }
    blocks_most = all > blocks_most ? all : blocks_most;
    for (int i = 0; i < move_count; i++) {
        const struct block *to = &moves[i].to;
        block_unpack(to->bytes, to->count, to->type, moves[i].packed);
        free(moves[i].packed);
    }
    move_count = 0;
}

static void agree_on_root(const struct blocks_part *const *parts)
{
    for (int r = 1; r < ranks(); r++) {
        REQUIRE(parts[r]->root == parts[0]->root && parts[r]->op == parts[0]->op);
    }
    REQUIRE(parts[0]->root >= 0 && parts[0]->root < ranks());
}

static bool in_place(const struct block_side *s)
{
    return s->bytes == MPI_IN_PLACE;
}

static void act_barrier(const struct blocks_part *const *parts)
{
    (void)parts;
}

static void act_bcast(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        if (r != parts[0]->root) {
            block_move(block_at(&parts[parts[0]->root]->out, 0), block_at(&parts[r]->out, 0));
        }
    }
    blocks_moved();
}

static void act_gather(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        if (!in_place(&parts[r]->out)) {
            block_move(block_at(&parts[r]->out, 0), block_at(&parts[parts[0]->root]->in, r));
        } else {
            REQUIRE(r == parts[0]->root);
        }
    }
    blocks_moved();
}

static void act_scatter(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        if (!in_place(&parts[r]->in)) {
            block_move(block_at(&parts[parts[0]->root]->out, r), block_at(&parts[r]->in, 0));
        } else {
            REQUIRE(r == parts[0]->root);
        }
    }
    blocks_moved();
}

static void act_allgather(const struct blocks_part *const *parts)
{
    for (int from = 0; from < ranks(); from++) {
        const struct blocks_part *p = parts[from];
        REQUIRE(in_place(&p->out) == in_place(&parts[0]->out));
        for (int to = 0; to < ranks(); to++) {
            block_move(in_place(&p->out) ? block_at(&p->in, from) : block_at(&p->out, 0),
                       block_at(&parts[to]->in, from));
        }
    }
    blocks_moved();
}

static void act_alltoall(const struct blocks_part *const *parts)
{
    for (int from = 0; from < ranks(); from++) {
        const struct blocks_part *p = parts[from];
        for (int to = 0; to < ranks(); to++) {
            block_move(block_at(in_place(&p->out) ? &p->in : &p->out, to),
                       block_at(&parts[to]->in, from));
        }
    }
    blocks_moved();
}

/*
 * The reduction of block b over the ranks first to last, in this order. In place, a rank's
 * contribution is what it receives into.
 */
static unsigned char *reduced(const struct blocks_part *const *parts, int first, int last, int b)
{
    unsigned char *value = NULL;
    for (int r = last; r >= first; r--) {
        const struct block_side *side = in_place(&parts[r]->out) ? &parts[r]->in : &parts[r]->out;
        const struct block block = block_at(side, b);
        if (r + 1 == blocks_plant.lost && last > first) {
            continue;
        }
        unsigned char *one = malloc(block_bytes(block.type, block.count) + 1);
        REQUIRE(one);
        block_pack(block.bytes, block.count, block.type, one);
        if (!value) {
            value = one;
            continue;
        }
        block_reduce(parts[r]->op, block.type, one, value, block.count);
        free(one);
    }
    return value;
}

/* Rank r gets block b of the reduction over the ranks up to last. */
static void reduce_to(const struct blocks_part *const *parts, int r, int last, int b)
{
    const struct block_side *like = in_place(&parts[0]->out) ? &parts[0]->in : &parts[0]->out;
    moves[move_count].packed = reduced(parts, 0, last, b);
    moves[move_count].to = block_at(&parts[r]->in, 0);
    moves[move_count].to.count = block_at(like, b).count;
    move_count++;
}

static void act_reduce(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        REQUIRE(!in_place(&parts[r]->out) || r == parts[0]->root);
    }
    reduce_to(parts, parts[0]->root, ranks() - 1, 0);
    blocks_moved();
}

static void act_allreduce(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        reduce_to(parts, r, ranks() - 1, 0);
    }
    blocks_moved();
}

static void act_reduce_scatter(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        reduce_to(parts, r, ranks() - 1, r);
    }
    blocks_moved();
}

static void act_scan(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 0; r < ranks(); r++) {
        reduce_to(parts, r, r, 0);
    }
    blocks_moved();
}

static void act_exscan(const struct blocks_part *const *parts)
{
    agree_on_root(parts);
    for (int r = 1; r < ranks(); r++) {
        reduce_to(parts, r, r - 1, 0);
    }
    blocks_moved();
}

/* NOLINTBEGIN(readability-non-const-parameter): MPI's prototypes */
static struct block_side side_of(const void *bytes, int count, MPI_Datatype type)
{
    return (struct block_side){.bytes = (void *)(uintptr_t)bytes, .count = count, .type = type};
}

static struct block_side side_v(const void *bytes, const int *counts, const int *displs,
                                MPI_Datatype type)
{
    return (struct block_side){
        .bytes = (void *)(uintptr_t)bytes, .counts = counts, .displs = displs, .type = type};
}

int blocks_meet_as(const char *function, struct block_side out, struct block_side in, MPI_Op op,
                   int root, void (*act)(const struct blocks_part *const *parts))
{
    blocks_called(function);
    const struct blocks_part part = {out, in, op, root};
    return blocks_meet(&part, act);
}

#define meet(...) blocks_meet_as(__func__, __VA_ARGS__)
static const struct block_side nothing = {.bytes = NULL};

int MPI_Barrier(MPI_Comm comm)
{
    (void)comm;
    return meet(nothing, nothing, MPI_OP_NULL, 0, act_barrier);
}

int MPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(bytes, count, type), nothing, MPI_OP_NULL, root, act_bcast);
}

int MPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_of(all, count, type), op, root, act_reduce);
}

int MPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_of(all, count, type), op, 0, act_allreduce);
}

int MPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
               MPI_Datatype all_type, int root, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_of(all, all_count, all_type), MPI_OP_NULL, root,
                act_gather);
}

int MPI_Gatherv(const void *mine, int count, MPI_Datatype type, void *all, const int counts[],
                const int displs[], MPI_Datatype all_type, int root, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_v(all, counts, displs, all_type), MPI_OP_NULL,
                root, act_gather);
}

int MPI_Scatter(const void *all, int all_count, MPI_Datatype all_type, void *mine, int count,
                MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(all, all_count, all_type), side_of(mine, count, type), MPI_OP_NULL, root,
                act_scatter);
}

int MPI_Scatterv(const void *all, const int counts[], const int displs[], MPI_Datatype all_type,
                 void *mine, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    (void)comm;
    return meet(side_v(all, counts, displs, all_type), side_of(mine, count, type), MPI_OP_NULL,
                root, act_scatter);
}

int MPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                  MPI_Datatype all_type, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_of(all, all_count, all_type), MPI_OP_NULL, 0,
                act_allgather);
}

int MPI_Allgatherv(const void *mine, int count, MPI_Datatype type, void *all, const int counts[],
                   const int displs[], MPI_Datatype all_type, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(mine, count, type), side_v(all, counts, displs, all_type), MPI_OP_NULL, 0,
                act_allgather);
}

int MPI_Alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in, int count,
                 MPI_Datatype type, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(out, out_count, out_type), side_of(in, count, type), MPI_OP_NULL, 0,
                act_alltoall);
}

int MPI_Alltoallv(const void *out, const int out_counts[], const int out_displs[],
                  MPI_Datatype out_type, void *in, const int counts[], const int displs[],
                  MPI_Datatype type, MPI_Comm comm)
{
    (void)comm;
    return meet(side_v(out, out_counts, out_displs, out_type), side_v(in, counts, displs, type),
                MPI_OP_NULL, 0, act_alltoall);
}

int MPI_Alltoallw(const void *out, const int out_counts[], const int out_displs[],
                  const MPI_Datatype out_types[], void *in, const int counts[], const int displs[],
                  const MPI_Datatype types[], MPI_Comm comm)
{
    struct block_side from = side_v(out, out_counts, out_displs, MPI_BYTE);
    struct block_side to = side_v(in, counts, displs, MPI_BYTE);
    (void)comm;
    from.types = out_types;
    to.types = types;
    return meet(from, to, MPI_OP_NULL, 0, act_alltoall);
}

int MPI_Reduce_scatter(const void *out, void *in, const int counts[], MPI_Datatype type, MPI_Op op,
                       MPI_Comm comm)
{
    int displs[JOB_RANKS] = {0};
    (void)comm;
    for (int r = 1; r < ranks(); r++) {
        displs[r] = displs[r - 1] + counts[r - 1];
    }
    const struct block_side from = side_v(out, counts, displs, type);
    struct block_side to = side_v(in, counts, displs, type);
    if (!in_place(&from)) {
        to = side_of(in, counts[job_rank()], type);
    }
    return meet(from, to, op, 0, act_reduce_scatter);
}

int MPI_Reduce_scatter_block(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op,
                             MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(out, count, type), side_of(in, count, type), op, 0, act_reduce_scatter);
}

int MPI_Scan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(out, count, type), side_of(in, count, type), op, 0, act_scan);
}

int MPI_Exscan(const void *out, void *in, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    (void)comm;
    return meet(side_of(out, count, type), side_of(in, count, type), op, 0, act_exscan);
}

int MPI_Reduce_local(const void *in, void *inout, int count, MPI_Datatype type, MPI_Op op)
{
    blocks_called(__func__);
    block_reduce(op, type, in, inout, count);
    return MPI_SUCCESS;
}
/* NOLINTEND(readability-non-const-parameter) */

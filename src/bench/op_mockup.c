/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mock-ups: compositions of other collectives that do the same as one collective. A library's
 * collective should not be slower than its mock-up (the self-consistent performance guidelines of
 * Träff, Gropp and Thakur 2010; the list is from Hunold et al. 2016 (PGMPI) and Hunold and
 * Carpen-Amarie 2018 (PGMPITuneLib), and split-robustness is from the former). Everything that a
 * caller would have to do in place of the library is timed, including the copies. What she could
 * prepare once, such as memory and counts, is not.
 */
#include "bench/operation.h"

#include <string.h>

static void *mockup_block(const struct call *c, void *buffer, int i)
{
    return (unsigned char *)buffer + (size_t)i * c->bytes;
}

static void *mockup_element(const struct call *c, void *buffer, int i)
{
    return (unsigned char *)buffer + (size_t)i * c->element;
}

/* ictusi_call_init() has checked that an int can count the elements of all blocks together. */
static int mockup_all_elements(const struct call *c)
{
    return c->count * c->size;
}

static int mockup_all_bytes(const struct call *c)
{
    return (int)((uint64_t)c->size * c->bytes);
}

/*
 * Elements of one part of a block that is cut into equal parts. The last part may reach beyond the
 * end of the block.
 */
static int mockup_chunk(const struct call *c)
{
    return (c->count + c->size - 1) / c->size;
}

static bool mockup_is_even(const struct call *c)
{
    return c->count % c->size == 0;
}

/*
 * Copy a block to the beginning of the scratch space, and pad it with zeros to a whole number of
 * parts.
 */
static void *mockup_padded(const struct call *c, const void *buffer)
{
    memcpy(c->scratch, buffer, c->bytes);
    memset(mockup_element(c, c->scratch, c->count), 0,
           (size_t)(mockup_chunk(c) * c->size - c->count) * c->element);
    return c->scratch;
}

/* The scratch space after the padded block. */
static void *mockup_beside(const struct call *c)
{
    return mockup_element(c, c->scratch, mockup_chunk(c) * c->size);
}

static bool mockup_at_root(const struct call *c)
{
    return c->rank == c->root;
}

/*
 * Put the process's own block in its place, and zeros everywhere else. A reduction by bitwise or
 * then acts as a gather.
 */
static void mockup_place_alone(const struct call *c, void *buffer)
{
    memset(buffer, 0, (size_t)mockup_all_bytes(c));
    memcpy(mockup_block(c, buffer, c->rank), c->send, c->bytes);
}

/* Defines a mock-up that consists of two calls. */
#define TWO(name, first, second)                                                                   \
    static int mockup_##name(struct call *c)                                                       \
    {                                                                                              \
        const int err = (first);                                                                   \
        return err == MPI_SUCCESS ? (second) : err;                                                \
    }

/* Defines a mock-up that consists of one call. */
#define ONE(name, only)                                                                            \
    static int mockup_##name(struct call *c)                                                       \
    {                                                                                              \
        return (only);                                                                             \
    }

TWO(allgather_gather_bcast,
    MPI_Gather(c->send, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm),
    MPI_Bcast(c->recv, mockup_all_elements(c), c->type, c->root, c->comm))
ONE(allgather_allgatherv,
    MPI_Allgatherv(c->send, c->count, c->type, c->recv, c->counts, c->displs, c->type, c->comm))
ONE(alltoall_alltoallv, MPI_Alltoallv(c->send, c->counts, c->displs, c->type, c->recv, c->counts,
                                      c->displs, c->type, c->comm))
TWO(allreduce_reduce_bcast,
    MPI_Reduce(c->send, c->recv, c->count, c->type, c->op, c->root, c->comm),
    MPI_Bcast(c->recv, c->count, c->type, c->root, c->comm))
TWO(allreduce_reduce_scatter_allgatherv,
    MPI_Reduce_scatter(c->send, mockup_element(c, c->recv, c->share_displs[c->rank]), c->shares,
                       c->type, c->op, c->comm),
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->recv, c->shares, c->share_displs, c->type,
                   c->comm))
ONE(gather_allgather,
    MPI_Allgather(c->send, c->count, c->type, mockup_at_root(c) ? c->recv : c->scratch, c->count,
                  c->type, c->comm))
ONE(gather_gatherv, MPI_Gatherv(c->send, c->count, c->type, c->recv, c->counts, c->displs, c->type,
                                c->root, c->comm))
ONE(reduce_allreduce, MPI_Allreduce(c->send, mockup_at_root(c) ? c->recv : c->scratch, c->count,
                                    c->type, c->op, c->comm))
TWO(reduce_scatter_block_reduce_scatter,
    MPI_Reduce(c->send, c->scratch, mockup_all_elements(c), c->type, c->op, c->root, c->comm),
    MPI_Scatter(c->scratch, c->count, c->type, c->recv, c->count, c->type, c->root, c->comm))
ONE(reduce_scatter_block_whole,
    MPI_Reduce_scatter(c->send, c->recv, c->counts, c->type, c->op, c->comm))
TWO(reduce_scatter_reduce_scatterv,
    MPI_Reduce(c->send, c->scratch, mockup_all_elements(c), c->type, c->op, c->root, c->comm),
    MPI_Scatterv(c->scratch, c->counts, c->displs, c->type, c->recv, c->count, c->type, c->root,
                 c->comm))
ONE(scatter_scatterv, MPI_Scatterv(c->send, c->counts, c->displs, c->type, c->recv, c->count,
                                   c->type, c->root, c->comm))

/*
 * The same block goes to every process, so the send buffer holds a copy of it for each. An
 * all-to-all on the copies is an allgather.
 */
static int mockup_allgather_alltoall(struct call *c)
{
    for (int i = 0; i < c->size; i++) {
        memcpy(mockup_block(c, c->scratch, i), c->send, c->bytes);
    }
    return MPI_Alltoall(c->scratch, c->count, c->type, c->recv, c->count, c->type, c->comm);
}

/*
 * With zeros in all blocks but its own, a bitwise or over all contributions gives the gathered
 * buffer.
 */
static int mockup_allgather_allreduce(struct call *c)
{
    mockup_place_alone(c, c->recv);
    return MPI_Allreduce(MPI_IN_PLACE, c->recv, mockup_all_bytes(c), MPI_BYTE, MPI_BOR, c->comm);
}

static int mockup_gather_reduce(struct call *c)
{
    mockup_place_alone(c, c->scratch);
    return MPI_Reduce(c->scratch, c->recv, mockup_all_bytes(c), MPI_BYTE, MPI_BOR, c->root,
                      c->comm);
}

/* Reduce the block and leave in share the part of it that belongs to this process. */
static int mockup_reduce_chunks(struct call *c, void *share)
{
    const void *from = mockup_is_even(c) ? c->send : mockup_padded(c, c->send);
    return MPI_Reduce_scatter_block(from, share, mockup_chunk(c), c->type, c->op, c->comm);
}

/*
 * Rabenseifner's algorithm for long vectors as a composition: a reduce-scatter, then an allgather
 * of the parts. A block that cannot be cut evenly is padded, and the result is copied out of the
 * scratch space.
 */
static int mockup_allreduce_reduce_scatter_block_allgather(struct call *c)
{
    const int n = mockup_chunk(c);
    if (mockup_is_even(c)) {
        const int err = mockup_reduce_chunks(c, mockup_element(c, c->recv, c->rank * n));
        return err == MPI_SUCCESS
                   ? MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->recv, n, c->type, c->comm)
                   : err;
    }
    void *share = mockup_beside(c);
    int err = mockup_reduce_chunks(c, share);
    if (err == MPI_SUCCESS) {
        err = MPI_Allgather(share, n, c->type, c->scratch, n, c->type, c->comm);
    }
    memcpy(c->recv, c->scratch, c->bytes);
    return err;
}

/* As above, but only the root collects the parts. */
static int mockup_reduce_reduce_scatter_block_gather(struct call *c)
{
    const int n = mockup_chunk(c);
    const bool in_place = mockup_is_even(c) && mockup_at_root(c);
    void *whole = mockup_is_even(c) ? c->recv : c->scratch;
    void *share = in_place ? mockup_element(c, c->recv, c->rank * n) : mockup_beside(c);
    int err = mockup_reduce_chunks(c, share);
    if (err == MPI_SUCCESS) {
        err = MPI_Gather(in_place ? MPI_IN_PLACE : share, n, c->type, whole, n, c->type, c->root,
                         c->comm);
    }
    if (mockup_at_root(c) && !mockup_is_even(c)) {
        memcpy(c->recv, c->scratch, c->bytes);
    }
    return err;
}

/* As above, with parts that need not be equal, which saves the padding. */
static int mockup_reduce_reduce_scatter_gatherv(struct call *c)
{
    const int place = c->share_displs[c->rank];
    void *share = mockup_at_root(c) ? mockup_element(c, c->recv, place) : c->scratch;
    const int err = MPI_Reduce_scatter(c->send, share, c->shares, c->type, c->op, c->comm);
    return err == MPI_SUCCESS
               ? MPI_Gatherv(mockup_at_root(c) ? MPI_IN_PLACE : share, c->shares[c->rank], c->type,
                             c->recv, c->shares, c->share_displs, c->type, c->root, c->comm)
               : err;
}

/*
 * Van de Geijn's broadcast for long messages as a composition: the root scatters its block, and all
 * gather the parts.
 */
static int mockup_bcast_scatter_allgather(struct call *c)
{
    const int n = mockup_chunk(c);
    void *whole = mockup_is_even(c) ? c->send : c->scratch;
    if (!mockup_is_even(c) && mockup_at_root(c)) {
        (void)mockup_padded(c, c->send);
    }
    int err = MPI_Scatter(whole, n, c->type,
                          mockup_at_root(c) ? MPI_IN_PLACE : mockup_element(c, whole, c->rank * n),
                          n, c->type, c->root, c->comm);
    if (err == MPI_SUCCESS) {
        err = MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, whole, n, c->type, c->comm);
    }
    if (!mockup_is_even(c) && !mockup_at_root(c)) {
        memcpy(c->send, c->scratch, c->bytes);
    }
    return err;
}

/* A broadcast as an allgather in which the root contributes its block and the others nothing. */
static int mockup_bcast_allgatherv(struct call *c)
{
    for (int i = 0; i < c->size; i++) {
        c->shares[i] = i == c->root ? c->count : 0;
        c->share_displs[i] = 0;
    }
    return MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->send, c->shares, c->share_displs,
                          c->type, c->comm);
}

/* Every process gets the whole reduced buffer and copies its own share from it. */
static int mockup_reduce_scatter_allreduce(struct call *c)
{
    const int err =
        MPI_Allreduce(c->send, c->scratch, mockup_all_elements(c), c->type, c->op, c->comm);
    memcpy(c->recv, mockup_block(c, c->scratch, c->rank), c->bytes);
    return err;
}

static int mockup_reduce_scatter_block_allreduce(struct call *c)
{
    return mockup_reduce_scatter_allreduce(c);
}

/*
 * An inclusive scan is the exclusive scan combined with the process's own block. Rank 0 receives
 * nothing from the exclusive scan.
 */
static int mockup_scan_exscan_reduce_local(struct call *c)
{
    const int err = MPI_Exscan(c->send, c->scratch, c->count, c->type, c->op, c->comm);
    memcpy(c->recv, c->send, c->bytes);
    return err == MPI_SUCCESS && c->rank > 0
               ? MPI_Reduce_local(c->scratch, c->recv, c->count, c->type, c->op)
               : err;
}

/* Every process gets all blocks and copies its own. */
static int mockup_scatter_bcast(struct call *c)
{
    void *whole = mockup_at_root(c) ? c->send : c->scratch;
    const int err = MPI_Bcast(whole, mockup_all_elements(c), c->type, c->root, c->comm);
    memcpy(c->recv, mockup_block(c, whole, c->rank), c->bytes);
    return err;
}

/*
 * Defines the operation on consecutive pieces of the block, with n elements each at send and recv.
 * A library that picks a bad algorithm for a large block is slower than the same operation on
 * pieces (split-robustness).
 */
#define PIECES(name, only)                                                                         \
    static int mockup_##name##_pieces(struct call *c)                                              \
    {                                                                                              \
        const int pieces = c->operation->mockup->pieces;                                           \
        int err = MPI_SUCCESS;                                                                     \
        for (int64_t i = 0; i < pieces && err == MPI_SUCCESS; i++) {                               \
            const int first = (int)(i * c->count / pieces);                                        \
            const int n = (int)((i + 1) * c->count / pieces) - first;                              \
            void *send = mockup_element(c, c->send, first);                                        \
            void *recv = mockup_element(c, c->recv, first);                                        \
            (void)recv;                                                                            \
            err = n > 0 ? (only) : err;                                                            \
        }                                                                                          \
        return err;                                                                                \
    }

PIECES(bcast, MPI_Bcast(send, n, c->type, c->root, c->comm))
PIECES(reduce, MPI_Reduce(send, recv, n, c->type, c->op, c->root, c->comm))
PIECES(allreduce, MPI_Allreduce(send, recv, n, c->type, c->op, c->comm))
PIECES(scan, MPI_Scan(send, recv, n, c->type, c->op, c->comm))
PIECES(exscan, MPI_Exscan(send, recv, n, c->type, c->op, c->comm))

#define MOCKUP(operation, parts, operation_shape, function, space)                                 \
    {                                                                                              \
        .name = #operation "_as_" parts, .summary = "the work of " #operation " by " parts,        \
        .shape = (operation_shape), .run = mockup_##operation##_##function,                        \
        .is_placed = true, /* it may use displacements, or count all blocks */                     \
            .mockup = &(const struct mockup){.of = #operation, .scratch = (space)},                \
    }
#define IN_PIECES(operation, operation_shape, count)                                               \
    {                                                                                              \
        .name = #operation "_in_" #count, .summary = #operation " in " #count " pieces",           \
        .shape = (operation_shape), .run = mockup_##operation##_pieces, .is_placed = true,         \
        .mockup = &(const struct mockup){.of = #operation, .pieces = (count)},                     \
    }
#define IN_ALL_PIECES(operation, shape)                                                            \
    IN_PIECES(operation, shape, 2), IN_PIECES(operation, shape, 4), IN_PIECES(operation, shape, 16)

const struct operation ictusi_mockups[] = {
    MOCKUP(allgather, "gather+bcast", SHAPE_ALLGATHER, gather_bcast, BLOCKS_NONE),
    MOCKUP(allgather, "alltoall", SHAPE_ALLGATHER, alltoall, BLOCKS_ALL),
    MOCKUP(allgather, "allreduce", SHAPE_ALLGATHER, allreduce, BLOCKS_NONE),
    MOCKUP(allgather, "allgatherv", SHAPE_ALLGATHER, allgatherv, BLOCKS_NONE),
    MOCKUP(allreduce, "reduce+bcast", SHAPE_ALLREDUCE, reduce_bcast, BLOCKS_NONE),
    MOCKUP(allreduce, "reduce_scatter+allgatherv", SHAPE_ALLREDUCE, reduce_scatter_allgatherv,
           BLOCKS_NONE),
    MOCKUP(allreduce, "reduce_scatter_block+allgather", SHAPE_ALLREDUCE,
           reduce_scatter_block_allgather, BLOCKS_ONE),
    MOCKUP(alltoall, "alltoallv", SHAPE_ALLTOALL, alltoallv, BLOCKS_NONE),
    MOCKUP(bcast, "scatter+allgather", SHAPE_BCAST, scatter_allgather, BLOCKS_ONE),
    MOCKUP(bcast, "allgatherv", SHAPE_BCAST, allgatherv, BLOCKS_NONE),
    MOCKUP(gather, "allgather", SHAPE_GATHER, allgather, BLOCKS_ALL),
    MOCKUP(gather, "gatherv", SHAPE_GATHER, gatherv, BLOCKS_NONE),
    MOCKUP(gather, "reduce", SHAPE_GATHER, reduce, BLOCKS_ALL),
    MOCKUP(reduce, "allreduce", SHAPE_REDUCE, allreduce, BLOCKS_ONE),
    MOCKUP(reduce, "reduce_scatter+gatherv", SHAPE_REDUCE, reduce_scatter_gatherv, BLOCKS_ONE),
    MOCKUP(reduce, "reduce_scatter_block+gather", SHAPE_REDUCE, reduce_scatter_block_gather,
           BLOCKS_ONE),
    MOCKUP(reduce_scatter, "allreduce", SHAPE_REDUCE_SCATTER, allreduce, BLOCKS_ALL),
    MOCKUP(reduce_scatter, "reduce+scatterv", SHAPE_REDUCE_SCATTER, reduce_scatterv, BLOCKS_ALL),
    MOCKUP(reduce_scatter_block, "reduce+scatter", SHAPE_REDUCE_SCATTER, reduce_scatter,
           BLOCKS_ALL),
    MOCKUP(reduce_scatter_block, "reduce_scatter", SHAPE_REDUCE_SCATTER, whole, BLOCKS_NONE),
    MOCKUP(reduce_scatter_block, "allreduce", SHAPE_REDUCE_SCATTER, allreduce, BLOCKS_ALL),
    MOCKUP(scan, "exscan+reduce_local", SHAPE_SCAN, exscan_reduce_local, BLOCKS_ONE),
    MOCKUP(scatter, "bcast", SHAPE_SCATTER, bcast, BLOCKS_ALL),
    MOCKUP(scatter, "scatterv", SHAPE_SCATTER, scatterv, BLOCKS_NONE),
    IN_ALL_PIECES(bcast, SHAPE_BCAST),
    IN_ALL_PIECES(reduce, SHAPE_REDUCE),
    IN_ALL_PIECES(allreduce, SHAPE_ALLREDUCE),
    IN_ALL_PIECES(scan, SHAPE_SCAN),
    IN_ALL_PIECES(exscan, SHAPE_EXSCAN),
    {.name = NULL},
};

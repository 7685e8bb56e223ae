/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of a simulated job, made of its messages along binomial trees, so that every fault of
 * a message is one of theirs as well.
 */
#include "job.h"

#include <stdlib.h>
#include <string.h>

enum { TAG_TREE = 1 << 20 };

struct circle {
    int rank, size;
};

static struct circle circle_of(MPI_Comm comm)
{
    struct circle c = {0, 0};
    (void)PMPI_Comm_rank(comm, &c.rank);
    (void)PMPI_Comm_size(comm, &c.size);
    return c;
}

static void tree_send(MPI_Comm comm, int to, const void *bytes, size_t size)
{
    (void)PMPI_Send(bytes, (int)size, MPI_BYTE, to, TAG_TREE, comm);
}

static void tree_receive(MPI_Comm comm, int from, void *bytes, size_t size)
{
    (void)PMPI_Recv(bytes, (int)size, MPI_BYTE, from, TAG_TREE, comm, MPI_STATUS_IGNORE);
}

#define COMBINE(type)                                                                              \
    do {                                                                                           \
        type *to = (type *)all + i;                                                                \
        const type more = ((const type *)one)[i];                                                  \
        if (op == MPI_MAX) {                                                                       \
            *to = more > *to ? more : *to;                                                         \
        } else if (op == MPI_MIN) {                                                                \
            *to = more < *to ? more : *to;                                                         \
        } else if (op == MPI_SUM) {                                                                \
            *to = *to + more;                                                                      \
        } else {                                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void combine_pair(int *all, const int *one)
{
    if (one[0] < all[0] || (one[0] == all[0] && one[1] < all[1])) {
        all[0] = one[0];
        all[1] = one[1];
    }
}

static void combine_one(void *all, const void *one, int i, MPI_Datatype type, MPI_Op op)
{
    if (op == MPI_MINLOC && type == MPI_2INT) {
        combine_pair((int *)all + 2 * i, (const int *)one + 2 * i);
    } else if (op == MPI_BOR && type == MPI_BYTE) {
        ((unsigned char *)all)[i] |= ((const unsigned char *)one)[i];
    } else if (type == MPI_INT) {
        COMBINE(int);
    } else if (type == MPI_INT64_T) {
        COMBINE(int64_t);
    } else if (type == MPI_UINT64_T) {
        COMBINE(uint64_t);
    } else if (type == MPI_DOUBLE) {
        COMBINE(double);
    } else {
        abort();
    }
}

static void tree_down(MPI_Comm comm, int root, void *bytes, size_t size)
{
    const struct circle c = circle_of(comm);
    const int me = (c.rank - root + c.size) % c.size;
    int bit = 1;
    while (bit < c.size && !(me & bit)) {
        bit <<= 1;
    }
    if (me) {
        tree_receive(comm, (me - bit + root) % c.size, bytes, size);
    }
    for (bit >>= 1; bit > 0; bit >>= 1) {
        if (me + bit < c.size) {
            tree_send(comm, (me + bit + root) % c.size, bytes, size);
        }
    }
}

/* `bytes` is what this process has, and on the root what all have. */
static void tree_up(MPI_Comm comm, int root, void *bytes, int count, MPI_Datatype type, MPI_Op op)
{
    const struct circle c = circle_of(comm);
    const size_t size = (size_t)count * job_type_size(type);
    const int me = (c.rank - root + c.size) % c.size;
    void *more = malloc(size + 1);
    int bit = 1;
    if (!more) {
        abort();
    }
    for (; bit < c.size && !(me & bit); bit <<= 1) {
        if (me + bit < c.size) {
            tree_receive(comm, (me + bit + root) % c.size, more, size);
            for (int i = 0; i < count; i++) {
                combine_one(bytes, more, i, type, op);
            }
        }
    }
    if (me) {
        tree_send(comm, (me - bit + root) % c.size, bytes, size);
    }
    free(more);
}

int PMPI_Bcast(void *bytes, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    tree_down(comm, root, bytes, (size_t)count * job_type_size(type));
    return MPI_SUCCESS;
}

int PMPI_Reduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op, int root,
                MPI_Comm comm)
{
    const size_t size = (size_t)count * job_type_size(type);
    const struct circle c = circle_of(comm);
    const bool first = c.rank == root;
    void *bytes = malloc(size + 1);
    if (!bytes) {
        abort();
    }
    memcpy(bytes, mine == MPI_IN_PLACE ? all : mine, size);
    tree_up(comm, root, bytes, count, type, op);
    if (first) {
        memcpy(all, bytes, size);
    }
    free(bytes);
    return MPI_SUCCESS;
}

int PMPI_Allreduce(const void *mine, void *all, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm)
{
    const size_t size = (size_t)count * job_type_size(type);
    if (mine != MPI_IN_PLACE) {
        memcpy(all, mine, size);
    }
    tree_up(comm, 0, all, count, type, op);
    tree_down(comm, 0, all, size);
    return MPI_SUCCESS;
}

int PMPI_Barrier(MPI_Comm comm)
{
    int nothing[2] = {0, 0};
    return PMPI_Allreduce(MPI_IN_PLACE, nothing, 1, MPI_2INT, MPI_MINLOC, comm);
}

int PMPI_Gather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                MPI_Datatype all_type, int root, MPI_Comm comm)
{
    const struct circle c = circle_of(comm);
    const size_t size = (size_t)count * job_type_size(type);
    (void)all_count;
    (void)all_type;
    if (c.rank != root) {
        tree_send(comm, root, mine, size);
        return MPI_SUCCESS;
    }
    memcpy((char *)all + (size_t)root * size, mine, size);
    for (int i = 0; i < c.size; i++) {
        if (i != root) {
            tree_receive(comm, i, (char *)all + (size_t)i * size, size);
        }
    }
    return MPI_SUCCESS;
}

int PMPI_Scatter(const void *all, int all_count, MPI_Datatype all_type, void *mine, int count,
                 MPI_Datatype type, int root, MPI_Comm comm)
{
    const struct circle c = circle_of(comm);
    const size_t size = (size_t)count * job_type_size(type);
    (void)all_count;
    (void)all_type;
    if (c.rank != root) {
        tree_receive(comm, root, mine, size);
        return MPI_SUCCESS;
    }
    for (int i = 0; i < c.size; i++) {
        if (i != root) {
            tree_send(comm, i, (const char *)all + (size_t)i * size, size);
        }
    }
    memcpy(mine, (const char *)all + (size_t)root * size, size);
    return MPI_SUCCESS;
}

int PMPI_Allgather(const void *mine, int count, MPI_Datatype type, void *all, int all_count,
                   MPI_Datatype all_type, MPI_Comm comm)
{
    (void)PMPI_Gather(mine, count, type, all, all_count, all_type, 0, comm);
    return PMPI_Bcast(all, circle_of(comm).size * all_count, all_type, 0, comm);
}

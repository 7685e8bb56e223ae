/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binomial trees of messages: ceil(log2(p)) steps, p - 1 messages, whatever p is. SimGrid's choice
 * of algorithms is one for the whole program, and ictus's own agreements must neither take the time
 * of an algorithm under study nor fail where it does. Processes are numbered from the root; the
 * parent of number v is v without its lowest bit, and the subtree of v are the numbers from v to
 * below v plus that bit.
 */
#include "own_trees.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Of no other message of ictus. Messages of one tag between two processes keep their order. */
enum { TREE_TAG = 30131 };

/* Where this process is. */
struct tree {
    MPI_Comm comm;
    int root, size;
    int number;   /* from the root */
    int span;     /* numbers from this one on that are below it, itself included, if all existed */
    size_t bytes; /* of what each process has */
};

/*
 * Where this process is in the tree from a root. Its span doubles until its own lowest bit, so that
 * the root's covers all and a leaf's is 1. Data goes as bytes: types are ictus's own, without gaps.
 */
static struct tree tree_at(int root, int count, MPI_Datatype type, MPI_Comm comm)
{
    struct tree t = {.comm = comm, .root = root, .span = 1};
    int rank = 0;
    int bytes = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &t.size);
    MPI_Type_size(type, &bytes);
    t.number = (rank - root + t.size) % t.size;
    t.bytes = (size_t)bytes * (size_t)count;
    while (t.span < t.size && !(t.number & t.span)) {
        t.span *= 2;
    }
    return t;
}

static int tree_rank(const struct tree *t, int number)
{
    return (number + t->root) % t->size;
}

/* Of numbers from `first` on, how many of `span` there are. */
static int tree_members(const struct tree *t, int first, int span)
{
    return first + span < t->size ? span : t->size - first;
}

static int tree_send(const struct tree *t, const void *from, int blocks, int number)
{
    return MPI_Send(from, blocks * (int)t->bytes, MPI_BYTE, tree_rank(t, number), TREE_TAG,
                    t->comm);
}

static int tree_receive(const struct tree *t, void *to, int blocks, int number)
{
    return MPI_Recv(to, blocks * (int)t->bytes, MPI_BYTE, tree_rank(t, number), TREE_TAG, t->comm,
                    MPI_STATUS_IGNORE);
}

static int own_tree_parent(const struct tree *t)
{
    return t->number & (t->number - 1);
}

/* From the largest subtree to the smallest, so that the longest way begins first. */
int ictusi_tree_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    const struct tree t = tree_at(root, count, type, comm);
    int err = t.number ? tree_receive(&t, buffer, 1, own_tree_parent(&t)) : MPI_SUCCESS;
    for (int step = t.span / 2; step > 0 && err == MPI_SUCCESS; step /= 2) {
        if (t.number + step < t.size) {
            err = tree_send(&t, buffer, 1, t.number + step);
        }
    }
    return err;
}

/*
 * From the smallest subtree to the largest, the reverse of a broadcast. The order of operands is
 * not that of ranks unless the root is 0: ictus uses commutative operations only.
 */
int ictusi_tree_reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm)
{
    const struct tree t = tree_at(root, count, type, comm);
    char *spare = calloc(2, t.bytes + 1);
    void *sum = t.number ? spare : recv;
    int err = spare ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    if (!err && send != MPI_IN_PLACE && t.bytes) {
        memcpy(sum, send, t.bytes);
    }
    for (int step = 1; step < t.span && err == MPI_SUCCESS; step *= 2) {
        if (t.number + step < t.size) {
            err = tree_receive(&t, spare + t.bytes, 1, t.number + step);
            err = err ? err : MPI_Reduce_local(spare + t.bytes, sum, count, type, op);
        }
    }
    if (!err && t.number) {
        err = tree_send(&t, sum, 1, own_tree_parent(&t));
    }
    free(spare);
    return err;
}

int ictusi_tree_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    /* In place is for the root only; the others' values are where the result goes. */
    const void *from = send == MPI_IN_PLACE && rank ? recv : send;
    const int err = ictusi_tree_reduce(from, recv, count, type, op, 0, comm);
    return err ? err : ictusi_tree_bcast(recv, count, type, 0, comm);
}

/* Blocks between their order by rank and that by number, which only the root has to know. */
static void tree_turn(const struct tree *t, char *by_rank, char *by_number, bool to_rank)
{
    const size_t first = (size_t)t->root * t->bytes; /* of number 0 */
    const size_t rest = (size_t)t->size * t->bytes - first;
    if (to_rank) {
        memcpy(by_rank + first, by_number, rest);
        memcpy(by_rank, by_number + rest, first);
    } else {
        memcpy(by_number, by_rank + first, rest);
        memcpy(by_number + rest, by_rank, first);
    }
}

int ictusi_tree_gather(const void *send, int count, MPI_Datatype type, void *recv, int recv_count,
                       MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    const struct tree t = tree_at(root, count, type, comm);
    const int members = tree_members(&t, t.number, t.span);
    char *blocks = calloc((size_t)members, t.bytes + 1);
    int err = blocks ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    (void)recv_count;
    (void)recv_type;
    if (!err && t.bytes) {
        memcpy(blocks, send, t.bytes);
    }
    for (int step = 1; step < t.span && err == MPI_SUCCESS; step *= 2) {
        if (t.number + step < t.size) {
            err = tree_receive(&t, blocks + (size_t)step * t.bytes,
                               tree_members(&t, t.number + step, step), t.number + step);
        }
    }
    if (!err && t.number) {
        err = tree_send(&t, blocks, members, own_tree_parent(&t));
    } else if (!err && t.bytes) {
        tree_turn(&t, recv, blocks, true);
    }
    free(blocks);
    return err;
}

int ictusi_tree_allgather(const void *send, int count, MPI_Datatype type, void *recv,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm comm)
{
    int size = 1;
    MPI_Comm_size(comm, &size);
    const int err = ictusi_tree_gather(send, count, type, recv, recv_count, recv_type, 0, comm);
    return err ? err : ictusi_tree_bcast(recv, recv_count * size, recv_type, 0, comm);
}

int ictusi_tree_scatter(const void *send, int count, MPI_Datatype type, void *recv, int recv_count,
                        MPI_Datatype recv_type, int root, MPI_Comm comm)
{
    const struct tree t = tree_at(root, recv_count, recv_type, comm);
    const int members = tree_members(&t, t.number, t.span);
    char *blocks = calloc((size_t)members, t.bytes + 1);
    int err = blocks ? MPI_SUCCESS : MPI_ERR_NO_MEM;
    (void)count;
    (void)type;
    if (!err && t.number) {
        err = tree_receive(&t, blocks, members, own_tree_parent(&t));
    } else if (!err && t.bytes) {
        tree_turn(&t, (char *)send, blocks, false);
    }
    for (int step = t.span / 2; step > 0 && err == MPI_SUCCESS; step /= 2) {
        if (t.number + step < t.size) {
            err = tree_send(&t, blocks + (size_t)step * t.bytes,
                            tree_members(&t, t.number + step, step), t.number + step);
        }
    }
    if (!err && t.bytes) {
        memcpy(recv, blocks, t.bytes);
    }
    free(blocks);
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program of known communication, traced unchanged: it prints how many events of each kind a
 * trace of it must hold, summed over the ranks, as "KIND count" lines.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 50, PAUSE_US = 100 };

/* What must be found, in the words of otf2-print. */
struct tally {
    long mpi_send, mpi_recv, mpi_isend, mpi_isend_complete, mpi_irecv_request, mpi_irecv;
    long collective_end, nbc_request, nbc_complete, cancelled;
    long rma_put, rma_get, rma_atomic, win_create, win_destroy;
};

static void blocking(int rank, int size, struct tally *t)
{
    int value = rank;
    int other = 0;
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Sendrecv(&value, 1, MPI_INT, next, i, &other, 1, MPI_INT, before, i, MPI_COMM_WORLD,
                     i % 2 ? MPI_STATUS_IGNORE : &(MPI_Status){0});
        t->mpi_send++;
        t->mpi_recv++;
    }
    for (int i = 0; i < ROUNDS; i++) {
        if (rank == 0) {
            for (int n = 1; n < size; n++) {
                MPI_Recv(&other, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
                         MPI_STATUS_IGNORE);
                t->mpi_recv++;
            }
        } else {
            MPI_Ssend(&value, 1, MPI_INT, 0, 100 + i, MPI_COMM_WORLD);
            t->mpi_send++;
        }
    }
    /* What follows must not meet the wildcards. */
    MPI_Barrier(MPI_COMM_WORLD);
    t->collective_end++;
    MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void probed(int rank, int size, struct tally *t)
{
    int value = rank;
    int later = 0;
    MPI_Status status;
    MPI_Message message;
    int flag = 0;
    if (size < 2 || rank > 1) {
        return;
    }
    if (rank == 0) {
        MPI_Send(&value, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        (void)usleep(20000); /* whoever matches this with the probed one finds it too late */
        MPI_Send(&value, 1, MPI_INT, 1, 8, MPI_COMM_WORLD);
        MPI_Send(&value, 1, MPI_INT, 1, 9, MPI_COMM_WORLD);
        t->mpi_send += 4;
        t->mpi_recv++;
        return;
    }
    MPI_Request request;
    MPI_Probe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &status);
    MPI_Recv(&value, 1, MPI_INT, status.MPI_SOURCE, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(0, 8, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Irecv(&later, 1, MPI_INT, 0, 8, MPI_COMM_WORLD, &request);
    MPI_Mrecv(&value, 1, MPI_INT, &message, &status);
    MPI_Send(&value, 1, MPI_INT, 0, 8, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    while (!flag) {
        (void)usleep(PAUSE_US); /* each probe is an event */
        MPI_Improbe(0, 9, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    }
    MPI_Imrecv(&value, 1, MPI_INT, &message, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    t->mpi_recv++;
    t->mpi_send++;
    t->mpi_irecv_request += 3;
    t->mpi_irecv += 3;
}

static void nonblocking(int rank, int size, struct tally *t)
{
    double out[4] = {1, 2, 3, 4};
    double in[4] = {0};
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[4];
        int done = 0;
        int indices[4];
        MPI_Irecv(&in[0], 1, MPI_DOUBLE, before, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_DOUBLE, MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &requests[1]);
        MPI_Isend(&out[0], 1, MPI_DOUBLE, next, 1, MPI_COMM_WORLD, &requests[2]);
        MPI_Issend(&out[1], 1, MPI_DOUBLE, next, 2, MPI_COMM_WORLD, &requests[3]);
        switch (i % 5) {
        case 0:
            MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
            break;
        case 1:
            for (int k = 0; k < 4; k++) {
                MPI_Waitany(4, requests, &done, MPI_STATUS_IGNORE);
            }
            break;
        case 2:
            for (int left = 4; left > 0; left -= done) {
                MPI_Waitsome(4, requests, &done, indices, MPI_STATUSES_IGNORE);
            }
            break;
        case 3:
            while (!done) {
                (void)usleep(PAUSE_US);
                MPI_Testall(4, requests, &done, MPI_STATUSES_IGNORE);
            }
            break;
        default:
            for (int k = 0; k < 4; k++) {
                for (done = 0; !done;) {
                    (void)usleep(PAUSE_US);
                    MPI_Test(&requests[k], &done, MPI_STATUS_IGNORE);
                }
            }
            break;
        }
        t->mpi_irecv_request += 2;
        t->mpi_irecv += 2;
        t->mpi_isend += 2;
        t->mpi_isend_complete += 2;
    }
}

static void persistent(int rank, int size, struct tally *t)
{
    int value = 0;
    int other = 0;
    MPI_Request requests[2];
    MPI_Request lonely;
    MPI_Send_init(&value, 1, MPI_INT, (rank + 1) % size, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Recv_init(&other, 1, MPI_INT, (rank + size - 1) % size, 3, MPI_COMM_WORLD, &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        const MPI_Request first = requests[0];
        requests[0] = requests[1]; /* in turns: the send before the receive, and after it */
        requests[1] = first;
        t->mpi_isend++;
        t->mpi_isend_complete++;
        t->mpi_irecv_request++;
        t->mpi_irecv++;
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
    MPI_Irecv(&other, 1, MPI_INT, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, &lonely);
    MPI_Cancel(&lonely);
    MPI_Wait(&lonely, MPI_STATUS_IGNORE);
    t->mpi_irecv_request++;
    t->cancelled++;
}

static void collectives(MPI_Comm comm, struct tally *t)
{
    int rank = 0;
    int size = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    int *a = calloc((size_t)size * 4, sizeof(int));
    int *b = calloc((size_t)size * 4, sizeof(int));
    int *counts = calloc((size_t)size, sizeof(int));
    int *offsets = calloc((size_t)size, sizeof(int));
    for (int i = 0; i < size; i++) {
        counts[i] = 1;
        offsets[i] = i;
    }
    MPI_Barrier(comm);
    MPI_Bcast(a, 3, MPI_INT, size - 1, comm);
    MPI_Gather(rank == 0 ? MPI_IN_PLACE : a, 1, MPI_INT, rank == 0 ? b : NULL, 1,
               rank == 0 ? MPI_INT : MPI_DATATYPE_NULL, 0, comm);
    MPI_Gatherv(a, 1, MPI_INT, b, counts, offsets, MPI_INT, 0, comm);
    MPI_Scatter(a, 1, MPI_INT, b, 1, MPI_INT, 0, comm);
    MPI_Scatterv(a, counts, offsets, MPI_INT, b, 1, MPI_INT, 0, comm);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 1, MPI_INT, comm);
    MPI_Allgatherv(a, 1, MPI_INT, b, counts, offsets, MPI_INT, comm);
    MPI_Alltoall(a, 1, MPI_INT, b, 1, MPI_INT, comm);
    MPI_Alltoallv(a, counts, offsets, MPI_INT, b, counts, offsets, MPI_INT, comm);
    MPI_Reduce(a, b, 2, MPI_INT, MPI_SUM, 0, comm);
    MPI_Allreduce(MPI_IN_PLACE, b, 2, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter(a, b, counts, MPI_INT, MPI_SUM, comm);
    MPI_Reduce_scatter_block(a, b, 1, MPI_INT, MPI_SUM, comm);
    MPI_Scan(a, b, 1, MPI_INT, MPI_SUM, comm);
    MPI_Exscan(a, b, 1, MPI_INT, MPI_SUM, comm);
    t->collective_end += 16;
    MPI_Request requests[3];
    MPI_Ibarrier(comm, &requests[0]);
    MPI_Iallreduce(a, b, 1, MPI_INT, MPI_SUM, comm, &requests[1]);
    MPI_Ibcast(a, 1, MPI_INT, 0, comm, &requests[2]);
    MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
    t->nbc_request += 3;
    t->nbc_complete += 3;
    free(a);
    free(b);
    free(counts);
    free(offsets);
}

static void communicators(int rank, int size, struct tally *t)
{
    MPI_Comm half;
    MPI_Comm copy;
    MPI_Comm later;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
    MPI_Comm_set_name(half, rank % 2 ? "odd ones" : "even ones");
    collectives(half, t);
    MPI_Comm_dup(half, &copy);
    MPI_Barrier(copy);
    t->collective_end++;
    MPI_Comm_idup(MPI_COMM_WORLD, &later, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Barrier(later);
    MPI_Barrier(MPI_COMM_SELF);
    t->collective_end += 2;
    if (size > 1) {
        MPI_Comm inter;
        MPI_Comm merged;
        int value = rank;
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD,
                             rank % 2 ? (size - 1) / 2 * 2 : (size - 2) / 2 * 2 + 1, 5, &inter);
        MPI_Barrier(inter);
        t->collective_end++;
        int inner = 0;
        MPI_Comm_rank(inter, &inner);
        if (inner == 0) {
            int other = 0;
            MPI_Sendrecv(&value, 1, MPI_INT, 0, 6, &other, 1, MPI_INT, 0, 6, inter,
                         MPI_STATUS_IGNORE);
            t->mpi_send++;
            t->mpi_recv++;
        }
        MPI_Intercomm_merge(inter, rank % 2, &merged);
        MPI_Barrier(merged);
        t->collective_end++;
        MPI_Comm_free(&merged);
        MPI_Comm_free(&inter);
    }
    MPI_Comm_free(&later);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
}

static void one_sided(int rank, int size, struct tally *t)
{
    int memory[8] = {0};
    int value = rank;
    int got = 0;
    MPI_Win win;
    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_set_name(win, "memory");
    MPI_Win_fence(0, win);
    MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_fence(0, win);
    MPI_Win_lock(MPI_LOCK_SHARED, (rank + 1) % size, 0, win);
    MPI_Get(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win);
    MPI_Win_flush((rank + 1) % size, win);
    MPI_Accumulate(&value, 1, MPI_INT, (rank + 1) % size, 1, 1, MPI_INT, MPI_SUM, win);
    MPI_Win_unlock((rank + 1) % size, win);
    MPI_Win_lock_all(0, win);
    MPI_Fetch_and_op(&value, &got, MPI_INT, 0, 2, MPI_SUM, win);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    t->rma_put++;
    t->rma_get++;
    t->rma_atomic += 2;
    t->win_create++;
    t->win_destroy++;
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    struct tally mine;
    struct tally all;
    memset(&mine, 0, sizeof(mine));
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    blocking(rank, size, &mine);
    probed(rank, size, &mine);
    nonblocking(rank, size, &mine);
    persistent(rank, size, &mine);
    collectives(MPI_COMM_WORLD, &mine);
    communicators(rank, size, &mine);
    one_sided(rank, size, &mine);
    mine.collective_end++;
    MPI_Reduce(&mine, &all, sizeof(mine) / sizeof(long), MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0) {
        printf("MPI_SEND %ld\nMPI_RECV %ld\nMPI_ISEND %ld\nMPI_ISEND_COMPLETE %ld\n", all.mpi_send,
               all.mpi_recv, all.mpi_isend, all.mpi_isend_complete);
        printf("MPI_IRECV_REQUEST %ld\nMPI_IRECV %ld\nMPI_REQUEST_CANCELLED %ld\n",
               all.mpi_irecv_request, all.mpi_irecv, all.cancelled);
        printf("MPI_COLLECTIVE_BEGIN %ld\nMPI_COLLECTIVE_END %ld\n", all.collective_end,
               all.collective_end);
        printf("NON_BLOCKING_COLLECTIVE_REQUEST %ld\nNON_BLOCKING_COLLECTIVE_COMPLETE %ld\n",
               all.nbc_request, all.nbc_complete);
        printf("RMA_PUT %ld\nRMA_GET %ld\nRMA_ATOMIC %ld\n", all.rma_put, all.rma_get,
               all.rma_atomic);
        printf("RMA_WIN_CREATE %ld\nRMA_WIN_DESTROY %ld\n", all.win_create, all.win_destroy);
    }
    MPI_Finalize();
    return 0;
}

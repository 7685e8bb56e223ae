/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What programs do less often: epochs of groups, one-sided requests, neighbourhood collectives,
 * files, buffered sends. Prints what a trace must hold like basic.c.
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 20, PAUSE_US = 100, AGAIN = 6, COMMS = 29000 };

/* Each process writes to the next one, in epochs that only these two know of. */
static void epochs(int rank, int size, MPI_Win win)
{
    MPI_Group all;
    MPI_Group origin;
    MPI_Group target;
    const int next = (rank + 1) % size;
    const int before = (rank + size - 1) % size;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &before, &origin);
    MPI_Group_incl(all, 1, &next, &target);
    for (int i = 0; i < ROUNDS; i++) {
        int flag = 0;
        MPI_Win_post(origin, 0, win);
        MPI_Win_start(target, 0, win);
        MPI_Put(&rank, 1, MPI_INT, next, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        if (i % 2) {
            MPI_Win_wait(win);
        }
        while (i % 2 == 0 && !flag) {
            (void)usleep(PAUSE_US); /* each test is an event */
            MPI_Win_test(win, &flag);
        }
    }
    MPI_Group_free(&origin);
    MPI_Group_free(&target);
    MPI_Group_free(&all);
}

static void one_sided(int rank, int size)
{
    int *memory = NULL;
    int got = 0;
    MPI_Win win;
    MPI_Request request;
    MPI_Win_allocate(2 * sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    epochs(rank, size, win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock_all(0, win);
    MPI_Rget(&got, 1, MPI_INT, (rank + 1) % size, 0, 1, MPI_INT, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
}

/* Two messages of each process a call, on a ring of at least two. */
static void neighbours(void)
{
    const int periods[1] = {1};
    int dims[1] = {0};
    int size = 0;
    int in[2] = {0, 0};
    const int out[2] = {1, 2};
    MPI_Comm ring;
    MPI_Request request;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    dims[0] = size;
    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &ring);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Neighbor_allgather(out, 1, MPI_INT, in, 1, MPI_INT, ring);
        MPI_Ineighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, ring, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Barrier(ring);
    MPI_Comm_free(&ring);
}

static void buffered(int rank, int size)
{
    static char room[65536];
    void *back = NULL;
    int bytes = 0;
    int in = 0;
    MPI_Request request;
    MPI_Buffer_attach(room, sizeof(room));
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Bsend(&i, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
        MPI_Ibsend(&i, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Buffer_detach(&back, &bytes);
}

/*
 * Buffered sends are complete before they are received. Open MPI starts such a request again under
 * another handle.
 */
static void buffered_again(int rank, int size)
{
    enum { WORDS = 1 << 16, SPARE = 4096 };
    static int out[WORDS];
    static int in[WORDS];
    static char room[AGAIN * (sizeof(out) + SPARE)];
    void *back = NULL;
    int bytes = 0;
    MPI_Request request[2];
    MPI_Status statuses[2];
    MPI_Buffer_attach(room, sizeof(room));
    MPI_Bsend_init(out, WORDS, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD, &request[0]);
    MPI_Bsend_init(out, WORDS, MPI_INT, (rank + 1) % size, 1, MPI_COMM_WORLD, &request[1]);
    for (int i = 0; i < AGAIN / 2; i++) {
        if (i % 2) {
            MPI_Start(&request[0]);
            MPI_Start(&request[1]);
        } else {
            MPI_Startall(2, request);
        }
        MPI_Waitall(2, request, statuses);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < AGAIN; i++) {
        MPI_Recv(in, WORDS, MPI_INT, (rank + size - 1) % size, i % 2, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request[0]);
    MPI_Request_free(&request[1]);
    MPI_Buffer_detach(&back, &bytes);
}

/* A program that holds more communicators than most do: what the last does is in the trace. */
static void many_communicators(void)
{
    MPI_Comm *made = malloc(COMMS * sizeof(MPI_Comm));
    int count = 0;
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    while (made && count < COMMS && MPI_Comm_dup(MPI_COMM_SELF, &made[count]) == MPI_SUCCESS) {
        count++;
    }
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
    MPI_Barrier(made && count > 0 ? made[count - 1] : MPI_COMM_SELF);
    while (count > 0) {
        MPI_Comm_free(&made[--count]);
    }
    free(made);
}

/* A message that is too long fails in the status of its own, and all of the call is complete. */
static void truncated(int rank, int size)
{
    int in[2] = {0, 0};
    const int out[2] = {1, 2};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Irecv(&in[0], 1, MPI_INT, (rank + size - 1) % size, 2 * i, MPI_COMM_WORLD,
                  &requests[0]);
        MPI_Irecv(&in[1], 1, MPI_INT, (rank + size - 1) % size, 2 * i + 1, MPI_COMM_WORLD,
                  &requests[1]);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Send(out, 2, MPI_INT, (rank + 1) % size, 2 * i, MPI_COMM_WORLD);
        MPI_Send(out, 1, MPI_INT, (rank + 1) % size, 2 * i + 1, MPI_COMM_WORLD);
        if (MPI_Waitall(2, requests, statuses) == MPI_SUCCESS) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
        /* Open MPI leaves the one that failed, or those after it, to the program. */
        for (int k = 0; k < 2; k++) {
            if (requests[k] != MPI_REQUEST_NULL) {
                (void)MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
            }
        }
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
}

static void files(int rank)
{
    MPI_File file;
    MPI_Request request;
    int value = rank;
    if (MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file) !=
        MPI_SUCCESS) {
        return;
    }
    MPI_File_write(file, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
    MPI_File_iwrite(file, &value, 1, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    one_sided(rank, size);
    neighbours();
    buffered(rank, size);
    buffered_again(rank, size);
    if (rank == 0) {
        many_communicators();
    }
    truncated(rank, size);
    files(rank);
    if (rank == 0) {
        printf("RMA_PUT %d\nRMA_GET %d\nRMA_SYNC %d\n", ROUNDS * size, size, 3 * ROUNDS * size);
        printf("RMA_WIN_CREATE %d\nRMA_WIN_DESTROY %d\n", size, size);
        const int ring = size > 1 ? 2 * ROUNDS * size : 0;
        const int nonblocking = (ROUNDS + AGAIN) * size + ring;
        const int received = (2 * ROUNDS + AGAIN) * size + ring;
        printf("MPI_SEND %d\nMPI_ISEND %d\nMPI_ISEND_COMPLETE %d\nMPI_RECV %d\n",
               3 * ROUNDS * size + ring, nonblocking, nonblocking, received);
        printf("MPI_IRECV_REQUEST %d\nMPI_IRECV %d\n", 2 * ROUNDS * size + ring,
               2 * ROUNDS * size + ring);
        printf("MPI_COLLECTIVE_END %d\nNON_BLOCKING_COLLECTIVE_REQUEST 0\n",
               (4 + ROUNDS) * size + 1);
    }
    MPI_Finalize();
    return 0;
}

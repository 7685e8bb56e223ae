/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads that send to the next process and receive from the one before at the same time, each on a
 * communicator of its own, and fence windows of one communicator, each its own; prints what a trace
 * must hold like basic.c. Skipped (77) without MPI_THREAD_MULTIPLE.
 */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { THREADS = 3, ROUNDS = 200, FENCES = 20, PAUSE_US = 100 };

struct task {
    MPI_Comm comm;
    MPI_Win window;
    int rank, size;
};

/* Matched probes: the library gives one thread the handle that another's receive has just freed. */
static void receive_matched(const struct task *task, int next, int before)
{
    for (int i = 0; i < ROUNDS; i++) {
        int out = i;
        int in = -1;
        MPI_Request sent = MPI_REQUEST_NULL;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Isend(&out, 1, MPI_INT, next, i, task->comm, &sent);
        MPI_Mprobe(before, i, task->comm, &message, MPI_STATUS_IGNORE);
        if (i % 2) {
            MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Request received = MPI_REQUEST_NULL;
            MPI_Imrecv(&in, 1, MPI_INT, &message, &received);
            MPI_Wait(&received, MPI_STATUS_IGNORE);
        }
        MPI_Wait(&sent, MPI_STATUS_IGNORE);
        if (in != i) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

static void *work(void *argument)
{
    const struct task *task = argument;
    const int next = (task->rank + 1) % task->size;
    const int before = (task->rank + task->size - 1) % task->size;
    for (int i = 0; i < ROUNDS; i++) {
        int out = i;
        int in = -1;
        MPI_Request requests[2];
        MPI_Irecv(&in, 1, MPI_INT, before, i, task->comm, &requests[0]);
        MPI_Isend(&out, 1, MPI_INT, next, i, task->comm, &requests[1]);
        if (i % 2) {
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        } else {
            int flag = 0;
            MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
            while (!flag) {
                /* Each test is an event: spinning on a crowded machine would make millions. */
                (void)usleep(PAUSE_US);
                MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE);
            }
        }
        if (in != i) {
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    receive_matched(task, next, before);
    for (int i = 0; i < FENCES; i++) {
        MPI_Win_fence(0, task->window);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int provided = 0;
    int rank = 0;
    int size = 0;
    struct task tasks[THREADS];
    pthread_t threads[THREADS];
    /* Open MPI's component for messages makes no windows for threads that all call MPI. */
    (void)setenv("OMPI_MCA_osc", "sm", 1);
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (provided < MPI_THREAD_MULTIPLE) {
        MPI_Finalize();
        return 77;
    }
    for (int i = 0; i < THREADS; i++) {
        int *memory = NULL;
        tasks[i] = (struct task){MPI_COMM_NULL, MPI_WIN_NULL, rank, size};
        MPI_Comm_dup(MPI_COMM_WORLD, &tasks[i].comm);
        MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory,
                         &tasks[i].window);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_create(&threads[i], NULL, work, &tasks[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        MPI_Win_free(&tasks[i].window);
        MPI_Comm_free(&tasks[i].comm);
    }
    if (rank == 0) {
        const long messages = 2L * THREADS * ROUNDS * size;
        printf("MPI_ISEND %ld\nMPI_ISEND_COMPLETE %ld\n", messages, messages);
        printf("MPI_IRECV_REQUEST %ld\nMPI_IRECV %ld\n", messages, messages);
    }
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls that fail: messages too long for their receives, in every way to receive one; calls whose
 * arguments MPI refuses; epochs of groups in which each of two processes is origin and target at
 * once. Whatever MPI did is in the trace with both its ends, and nothing else. Two processes.
 */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

enum { MESSAGES = 7, EPOCHS = 10 };

static void expect_failure(const char *call, int err)
{
    if (err == MPI_SUCCESS) {
        (void)fprintf(stderr, "%s does not fail\n", call);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void send_too_much(int to)
{
    const int out[2] = {1, 2};
    for (int tag = 0; tag < MESSAGES; tag++) {
        MPI_Send(out, 2, MPI_INT, to, tag, MPI_COMM_WORLD);
    }
}

static void receive_too_little(int from)
{
    const int out = 1;
    int in = 0;
    int flag = 0;
    int index = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Message message = MPI_MESSAGE_NULL;
    expect_failure("MPI_Recv",
                   MPI_Recv(&in, 1, MPI_INT, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Irecv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    expect_failure("MPI_Wait", MPI_Wait(&request, MPI_STATUS_IGNORE));
    MPI_Irecv(&in, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &request);
    int err = MPI_SUCCESS;
    while (!flag && err == MPI_SUCCESS) {
        err = MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    }
    expect_failure("MPI_Test", err);
    MPI_Irecv(&in, 1, MPI_INT, from, 3, MPI_COMM_WORLD, &request);
    expect_failure("MPI_Waitany", MPI_Waitany(1, &request, &index, MPI_STATUS_IGNORE));
    MPI_Mprobe(from, 4, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    expect_failure("MPI_Mrecv", MPI_Mrecv(&in, 1, MPI_INT, &message, MPI_STATUS_IGNORE));
    expect_failure("MPI_Sendrecv", MPI_Sendrecv(&out, 1, MPI_INT, from, 5, &in, 1, MPI_INT, from, 5,
                                                MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    MPI_Irecv(&in, 1, MPI_INT, from, 6, MPI_COMM_WORLD, &request);
    expect_failure("MPI_Waitall", MPI_Waitall(1, &request, MPI_STATUSES_IGNORE));
}

static void call_in_vain(int size)
{
    int value = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    expect_failure("MPI_Send", MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD));
    expect_failure("MPI_Isend", MPI_Isend(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
    expect_failure("MPI_Bcast", MPI_Bcast(&value, 1, MPI_INT, size, MPI_COMM_WORLD));
    expect_failure("MPI_Allreduce",
                   MPI_Allreduce(&value, &value, 1, MPI_DATATYPE_NULL, MPI_SUM, MPI_COMM_WORLD));
}

static void expose_and_access(int rank)
{
    int *memory = NULL;
    MPI_Win win;
    MPI_Group all;
    MPI_Group other;
    const int peer = 1 - rank;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &peer, &other);
    MPI_Win_allocate(sizeof(int), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int i = 0; i < EPOCHS; i++) {
        if (rank == 0) {
            (void)usleep(2000); /* the other waits for the post */
        }
        MPI_Win_post(other, 0, win);
        MPI_Win_start(other, 0, win);
        MPI_Put(&rank, 1, MPI_INT, peer, 0, 1, MPI_INT, win);
        MPI_Win_complete(win);
        MPI_Win_wait(win);
    }
    MPI_Win_free(&win);
    MPI_Group_free(&other);
    MPI_Group_free(&all);
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    int in = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    expose_and_access(rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (rank == 0) {
        send_too_much(1);
        MPI_Recv(&in, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        receive_too_little(0);
    }
    call_in_vain(size);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators that only their members know of, with one tag and one first member, and messages
 * that are matched by a probe before another receive is posted: each barrier has all its members,
 * and no message goes back in time. Where MPI has persistent collectives, three of them are started
 * twice, by each process in another order, which it says. At least 3 processes.
 */
#include <mpi.h>

#include <stdio.h>
#include <unistd.h>

enum { ROUNDS = 12, MESSAGES = 5, PAUSE_US = 20000 };

static MPI_Comm make_comm(MPI_Group world, const int *ranks, int count)
{
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made = MPI_COMM_NULL;
    MPI_Group_incl(world, count, ranks, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 7, &made);
    MPI_Group_free(&group);
    return made;
}

/* Rank 0 with each of the others in turn, and with more of them. */
static void meet_in_groups(int rank, int size)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 0; i < ROUNDS; i++) {
        const int second = 1 + i % (size - 1);
        const int third = 1 + (i + 1) % (size - 1);
        const int ranks[3] = {0, second, third};
        const int count = i % 4 == 3 && second != third ? 3 : 2;
        if (rank == 0 || rank == second || (count == 3 && rank == third)) {
            MPI_Comm comm = make_comm(world, ranks, count);
            MPI_Barrier(comm);
            MPI_Comm_free(&comm);
        }
    }
    MPI_Group_free(&world);
}

static void probe_first(int rank)
{
    for (int i = 0; i < MESSAGES && rank < 2; i++) {
        int value = i;
        if (rank == 0) {
            MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            (void)usleep(PAUSE_US);
            MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
            continue;
        }
        int other = 0;
        int flag = 0;
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Request request[2];
        while (i % 2 && !flag) {
            MPI_Improbe(0, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
        }
        if (i % 2 == 0) {
            MPI_Mprobe(0, 3, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        }
        MPI_Irecv(&other, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, &request[0]);
        if (i % 3 == 0) {
            MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        } else {
            MPI_Imrecv(&value, 1, MPI_INT, &message, &request[1]);
            MPI_Wait(&request[1], MPI_STATUS_IGNORE);
        }
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
    }
}

/* Matched by the order in which they were made, whatever the order of starts. */
static void start_crosswise(int rank)
{
#if MPI_VERSION >= 4
    enum { KINDS = 3 };
    int values[2] = {rank, 0};
    MPI_Request requests[KINDS];
    MPI_Bcast_init(&values[0], 1, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[2]);
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < KINDS; i++) {
            MPI_Start(&requests[(i + rank + round) % KINDS]);
        }
        for (int i = 0; i < KINDS; i++) {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        }
    }
    for (int i = 0; i < KINDS; i++) {
        MPI_Request_free(&requests[i]);
    }
    if (rank == 0) {
        (void)printf("persistent 6\n");
    }
#else
    (void)rank;
#endif
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    meet_in_groups(rank, size);
    probe_first(rank);
    start_crosswise(rank);
    MPI_Finalize();
    return 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Communicators in all the ways in which they are made, several at a time: MPI libraries agree on
 * a number for each, which Open MPI 4.1 does by messages that hang when the processes' lowest free
 * numbers differ. Whatever is preloaded must leave them alike, also where only some processes meet
 * at a barrier; and it makes no copies of attributes. Says how many it made.
 */
#include <mpi.h>

#include <stdio.h>

enum { FLIGHT = 7, ROUNDS = 4, PARTS = 5 };

static int failures;
static int copies;

/* Open MPI numbers handles like contexts: the lowest that is free. */
static void contexts_compare(const char *when)
{
#if defined(OPEN_MPI)
    MPI_Comm comm = MPI_COMM_NULL;
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    const int mine = (int)MPI_Comm_c2f(comm);
    int least = 0;
    int most = 0;
    MPI_Allreduce(&mine, &least, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    MPI_Allreduce(&mine, &most, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (least != most && rank == 0) {
        (void)printf("%s: the next handle is %d on one process, %d on another\n", when, least,
                     most);
    }
    failures += least != most;
    MPI_Comm_free(&comm);
#else
    (void)when;
#endif
}

static int comms_meet(MPI_Comm *comms, int count)
{
    for (int i = 0; i < count; i++) {
        int size = 0;
        int sum = 0;
        const int one = 1;
        MPI_Comm_size(comms[i], &size);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comms[i]);
        failures += sum != size;
        MPI_Comm_free(&comms[i]);
    }
    return count;
}

/* Several under way on one communicator, or alternately on two. */
static int comms_idup(MPI_Comm first, MPI_Comm second)
{
    MPI_Comm made[FLIGHT];
    MPI_Request requests[FLIGHT];
    MPI_Status statuses[FLIGHT];
    for (int i = 0; i < FLIGHT; i++) {
        MPI_Comm_idup(i % 2 ? second : first, &made[i], &requests[i]);
    }
    MPI_Waitall(FLIGHT, requests, statuses);
    return comms_meet(made, FLIGHT);
}

/* Of every other process. */
static int comms_in_group(int rank)
{
    MPI_Group world = MPI_GROUP_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    MPI_Comm made[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int range[1][3] = {{rank % 2, size - 1, 2}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_range_incl(world, 1, range, &group);
    MPI_Comm_create_group(MPI_COMM_WORLD, group, 3, &made[0]);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    MPI_Comm_dup(made[0], &made[1]);
    return comms_meet(made, 2);
}

static int count_copy(MPI_Comm comm, int key, void *extra, void *value, void *copy, int *flag)
{
    (void)comm;
    (void)key;
    (void)extra;
    *(void **)copy = value;
    *flag = 1;
    copies++;
    return MPI_SUCCESS;
}

/* Barriers of the first processes alone, on communicators with an attribute, which stay. */
static void parts_meet(MPI_Comm *parts, int rank, int size)
{
    int key = MPI_KEYVAL_INVALID;
    MPI_Comm_create_keyval(count_copy, MPI_COMM_NULL_DELETE_FN, &key, NULL);
    for (int i = 0; i < PARTS; i++) {
        const int members = 1 + i % (size - 1);
        MPI_Comm_split(MPI_COMM_WORLD, rank < members ? 0 : 1 + rank, rank, &parts[i]);
        MPI_Comm_set_attr(parts[i], key, &copies);
        if (rank < members) {
            MPI_Barrier(parts[i]);
        }
    }
    MPI_Comm_free_keyval(&key);
    if (copies > 0 && rank == 0) {
        (void)printf("an attribute was copied %d times\n", copies);
    }
    failures += copies;
    contexts_compare("after barriers of some");
}

int main(int argc, char **argv)
{
    int rank = 0;
    int made = 0;
    int size = 0;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm parts[PARTS];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    contexts_compare("after MPI_Init");
    MPI_Barrier(MPI_COMM_WORLD);
    contexts_compare("after a barrier");
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    parts_meet(parts, rank, size);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
    for (int round = 0; round < ROUNDS; round++) {
        made += comms_idup(MPI_COMM_WORLD, MPI_COMM_WORLD);
        made += comms_idup(half, half);
        made += comms_idup(half, MPI_COMM_WORLD);
        made += comms_in_group(rank);
    }
    MPI_Comm_free(&half);
    for (int i = 0; i < PARTS; i++) {
        MPI_Comm_free(&parts[i]);
    }
    contexts_compare("at the end");
    if (rank == 0) {
        (void)printf("made %d\n", made);
    }
    MPI_Allreduce(MPI_IN_PLACE, &failures, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Finalize();
    return failures > 0;
}

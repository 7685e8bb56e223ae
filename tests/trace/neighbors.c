/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Neighborhood collectives on a line (a grid of one dimension), on a ring of a distributed graph
 * and on a graph that is a star, each process before its right neighbor: blocking, nonblocking and,
 * where the library has them, persistent.
 */
#include <mpi.h>

#include <stdlib.h>
#include <unistd.h>

enum { ROUNDS = 5 };

static void late(MPI_Comm comm)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    (void)usleep(1000U * (unsigned)rank);
}

/* Zero or one number with each neighbor: the line's ends have none on one side. */
static void exchange_line(MPI_Comm line)
{
    int one[2] = {1, 1};
    int places[2] = {0, 1};
    MPI_Aint bytes[2] = {0, sizeof(int)};
    MPI_Datatype types[2] = {MPI_INT, MPI_INT};
    int from[2] = {1, 2};
    int to[2] = {0, 0};
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request = MPI_REQUEST_NULL;
        late(line);
        MPI_Neighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, line);
        MPI_Neighbor_alltoallv(from, one, places, MPI_INT, to, one, places, MPI_INT, line);
        MPI_Neighbor_alltoallw(from, one, bytes, types, to, one, bytes, types, line);
        MPI_Neighbor_allgather(from, 1, MPI_INT, to, 1, MPI_INT, line);
        MPI_Neighbor_allgatherv(from, 1, MPI_INT, to, one, places, MPI_INT, line);
        MPI_Ineighbor_alltoall(from, 1, MPI_INT, to, 1, MPI_INT, line, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Ineighbor_alltoallw(from, one, bytes, types, to, one, bytes, types, line, &request);
        int done = 0;
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        }
    }
    /* Nothing at all to the one below: nobody waits for anybody there. */
    one[0] = 0;
    int got[2] = {1, 0};
    MPI_Neighbor_alltoallv(from, one, places, MPI_INT, to, got, places, MPI_INT, line);
}

static void exchange_ring(MPI_Comm ring)
{
    int from = 1;
    int to = 0;
    int one = 1;
    int zero = 0;
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request requests[2];
        late(ring);
        MPI_Neighbor_alltoall(&from, 1, MPI_INT, &to, 1, MPI_INT, ring);
        MPI_Ineighbor_allgather(&from, 1, MPI_INT, &to, 1, MPI_INT, ring, &requests[0]);
        MPI_Ineighbor_alltoallv(&from, &one, &zero, MPI_INT, &one, &one, &zero, MPI_INT, ring,
                                &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
}

static void exchange_star(MPI_Comm star, int degree)
{
    int *to = calloc((size_t)degree, sizeof(*to));
    int from = 1;
    for (int i = 0; i < ROUNDS && to; i++) {
        late(star);
        MPI_Neighbor_allgather(&from, 1, MPI_INT, to, 1, MPI_INT, star);
    }
    free(to);
}

static void exchange_persistent(MPI_Comm line)
{
#if MPI_VERSION >= 4
    int from[2] = {1, 2};
    int to[2] = {0, 0};
    int back[2] = {0, 0};
    MPI_Request requests[2];
    MPI_Neighbor_alltoall_init(from, 1, MPI_INT, to, 1, MPI_INT, line, MPI_INFO_NULL, &requests[0]);
    MPI_Neighbor_allgather_init(from, 1, MPI_INT, back, 1, MPI_INT, line, MPI_INFO_NULL,
                                &requests[1]);
    for (int i = 0; i < ROUNDS; i++) {
        late(line);
        MPI_Startall(2, requests);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#else
    (void)line;
#endif
}

/* Topologies of nothing, which no process need wait for: some make no communicator. */
static void make_empty(void)
{
    MPI_Comm empty[2] = {MPI_COMM_NULL, MPI_COMM_NULL};
    int none[1] = {0};
    late(MPI_COMM_WORLD);
    MPI_Cart_create(MPI_COMM_WORLD, 0, none, none, 0, &empty[0]);
    late(MPI_COMM_WORLD);
    MPI_Graph_create(MPI_COMM_WORLD, 0, none, none, 0, &empty[1]);
    for (int i = 0; i < 2; i++) {
        if (empty[i] != MPI_COMM_NULL) {
            MPI_Comm_free(&empty[i]);
        }
    }
}

int main(int argc, char **argv)
{
    int rank = 0;
    int size = 0;
    int flat = 0;
    const int weight = 1;
    MPI_Comm line = MPI_COMM_NULL;
    MPI_Comm ring = MPI_COMM_NULL;
    MPI_Comm star = MPI_COMM_NULL;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    late(MPI_COMM_WORLD);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &size, &flat, 0, &line);
    exchange_line(line);
    exchange_persistent(line);
    const int before = (rank + size - 1) % size;
    const int next = (rank + 1) % size;
    late(MPI_COMM_WORLD);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &before, &weight, 1, &next, &weight,
                                   MPI_INFO_NULL, 0, &ring);
    exchange_ring(ring);
    /* Process 0 with all others. */
    int *ends = calloc((size_t)size, sizeof(*ends));
    int *edges = calloc(2 * (size_t)size, sizeof(*edges));
    for (int i = 0; ends && edges && i < size; i++) {
        ends[i] = size - 1 + i;
        edges[i] = i + 1 < size ? i + 1 : 0;
    }
    late(MPI_COMM_WORLD);
    MPI_Graph_create(MPI_COMM_WORLD, size, ends, edges, 0, &star);
    exchange_star(star, rank ? 1 : size - 1);
    make_empty();
    free(ends);
    free(edges);
    MPI_Comm_free(&star);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&line);
    MPI_Finalize();
    return 0;
}

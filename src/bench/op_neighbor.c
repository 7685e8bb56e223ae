/* SPDX-License-Identifier: BSD-3-Clause */
/* Neighbourhood collectives of MPI-3.1, on a periodic ring: two neighbours a process. */
#include "bench/operation.h"

#if defined(ICTUS_SIMGRID)

/* SimGrid's MPI has none: they abort. */
const struct operation ictusi_neighbor[] = {
    {.name = NULL},
};

#else

/* Defines both forms of NAME from one list of arguments. */
#define NEIGHBOR(name, blocking, nonblocking, ...)                                                 \
    static int run_##name(struct call *c)                                                          \
    {                                                                                              \
        return blocking(__VA_ARGS__);                                                              \
    }                                                                                              \
    static int start_i##name(struct call *c)                                                       \
    {                                                                                              \
        return nonblocking(__VA_ARGS__, &c->request);                                              \
    }                                                                                              \
    static int run_i##name(struct call *c)                                                         \
    {                                                                                              \
        const int err = start_i##name(c);                                                          \
        return err == MPI_SUCCESS ? ictusi_wait(c) : err;                                          \
    }

NEIGHBOR(neighbor_allgather, MPI_Neighbor_allgather, MPI_Ineighbor_allgather, c->send, c->count,
         c->type, c->recv, c->count, c->type, c->comm)
NEIGHBOR(neighbor_allgatherv, MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, c->send, c->count,
         c->type, c->recv, c->counts, c->displs, c->type, c->comm)
NEIGHBOR(neighbor_alltoall, MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, c->send, c->count,
         c->type, c->recv, c->count, c->type, c->comm)
NEIGHBOR(neighbor_alltoallv, MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, c->send, c->counts,
         c->displs, c->type, c->recv, c->counts, c->displs, c->type, c->comm)
NEIGHBOR(neighbor_alltoallw, MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, c->send, c->counts,
         c->aint_displs, c->types, c->recv, c->counts, c->aint_displs, c->types, c->comm)

#define ROWS(name, mpi_name, mpi_iname, shape)                                                     \
    {#name, mpi_name, shape, run_##name, NULL, NULL, NULL, NULL},                                  \
    {                                                                                              \
        "i" #name, mpi_iname, shape, run_i##name, start_i##name, NULL, NULL, NULL                  \
    }

const struct operation ictusi_neighbor[] = {
    ROWS(neighbor_allgather, "MPI_Neighbor_allgather", "MPI_Ineighbor_allgather",
         SHAPE_NEIGHBOR_ALLGATHER),
    ROWS(neighbor_allgatherv, "MPI_Neighbor_allgatherv", "MPI_Ineighbor_allgatherv",
         SHAPE_NEIGHBOR_ALLGATHER),
    ROWS(neighbor_alltoall, "MPI_Neighbor_alltoall", "MPI_Ineighbor_alltoall",
         SHAPE_NEIGHBOR_ALLTOALL),
    ROWS(neighbor_alltoallv, "MPI_Neighbor_alltoallv", "MPI_Ineighbor_alltoallv",
         SHAPE_NEIGHBOR_ALLTOALL),
    ROWS(neighbor_alltoallw, "MPI_Neighbor_alltoallw", "MPI_Ineighbor_alltoallw",
         SHAPE_NEIGHBOR_ALLTOALL),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};

#endif

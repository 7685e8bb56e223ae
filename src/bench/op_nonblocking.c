/* SPDX-License-Identifier: BSD-3-Clause */
/* The nonblocking collectives of MPI-3.1: begun and waited for at once. */
#include "bench/operation.h"

/* Starting and waiting are different functions here, which the checker cannot pair. */
/* NOLINTBEGIN(clang-analyzer-optin.mpi.MPI-Checker) */

/* Defines how NAME is begun; the request comes last, as in MPI. */
#define NONBLOCKING(name, function, ...)                                                           \
    static int start_##name(struct call *c)                                                        \
    {                                                                                              \
        return function(__VA_ARGS__, &c->request);                                                 \
    }                                                                                              \
    static int run_##name(struct call *c)                                                          \
    {                                                                                              \
        const int err = start_##name(c);                                                           \
        return err == MPI_SUCCESS ? ictusi_wait(c) : err;                                          \
    }

NONBLOCKING(ibarrier, MPI_Ibarrier, c->comm)
NONBLOCKING(ibcast, MPI_Ibcast, c->send, c->count, c->type, c->root, c->comm)
NONBLOCKING(ireduce, MPI_Ireduce, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm)
NONBLOCKING(iallreduce, MPI_Iallreduce, c->send, c->recv, c->count, c->type, c->op, c->comm)
NONBLOCKING(igather, MPI_Igather, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
            c->comm)
NONBLOCKING(igatherv, MPI_Igatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs,
            c->type, c->root, c->comm)
NONBLOCKING(iscatter, MPI_Iscatter, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
            c->comm)
NONBLOCKING(iscatterv, MPI_Iscatterv, c->send, c->counts, c->displs, c->type, c->recv, c->count,
            c->type, c->root, c->comm)
NONBLOCKING(iallgather, MPI_Iallgather, c->send, c->count, c->type, c->recv, c->count, c->type,
            c->comm)
NONBLOCKING(iallgatherv, MPI_Iallgatherv, c->send, c->count, c->type, c->recv, c->counts, c->displs,
            c->type, c->comm)
NONBLOCKING(ialltoall, MPI_Ialltoall, c->send, c->count, c->type, c->recv, c->count, c->type,
            c->comm)
NONBLOCKING(ialltoallv, MPI_Ialltoallv, c->send, c->counts, c->displs, c->type, c->recv, c->counts,
            c->displs, c->type, c->comm)
NONBLOCKING(ialltoallw, MPI_Ialltoallw, c->send, c->counts, c->byte_displs, c->types, c->recv,
            c->counts, c->byte_displs, c->types, c->comm)
NONBLOCKING(ireduce_scatter, MPI_Ireduce_scatter, c->send, c->recv, c->counts, c->type, c->op,
            c->comm)
NONBLOCKING(ireduce_scatter_block, MPI_Ireduce_scatter_block, c->send, c->recv, c->count, c->type,
            c->op, c->comm)
NONBLOCKING(iscan, MPI_Iscan, c->send, c->recv, c->count, c->type, c->op, c->comm)
NONBLOCKING(iexscan, MPI_Iexscan, c->send, c->recv, c->count, c->type, c->op, c->comm)

#define ROW(name, mpi_name, shape)                                                                 \
    {                                                                                              \
#name, mpi_name, shape, run_##name, start_##name, NULL, NULL, NULL                         \
    }

const struct operation ictusi_nonblocking[] = {
    ROW(ibarrier, "MPI_Ibarrier", SHAPE_BARRIER),
    ROW(ibcast, "MPI_Ibcast", SHAPE_BCAST),
    ROW(ireduce, "MPI_Ireduce", SHAPE_REDUCE),
    ROW(iallreduce, "MPI_Iallreduce", SHAPE_ALLREDUCE),
    ROW(igather, "MPI_Igather", SHAPE_GATHER),
    ROW(igatherv, "MPI_Igatherv", SHAPE_GATHER),
    ROW(iscatter, "MPI_Iscatter", SHAPE_SCATTER),
    ROW(iscatterv, "MPI_Iscatterv", SHAPE_SCATTER),
    ROW(iallgather, "MPI_Iallgather", SHAPE_ALLGATHER),
    ROW(iallgatherv, "MPI_Iallgatherv", SHAPE_ALLGATHER),
    ROW(ialltoall, "MPI_Ialltoall", SHAPE_ALLTOALL),
    ROW(ialltoallv, "MPI_Ialltoallv", SHAPE_ALLTOALL),
    ROW(ialltoallw, "MPI_Ialltoallw", SHAPE_ALLTOALL),
    ROW(ireduce_scatter, "MPI_Ireduce_scatter", SHAPE_REDUCE_SCATTER),
    ROW(ireduce_scatter_block, "MPI_Ireduce_scatter_block", SHAPE_REDUCE_SCATTER),
    ROW(iscan, "MPI_Iscan", SHAPE_SCAN),
    ROW(iexscan, "MPI_Iexscan", SHAPE_EXSCAN),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};
/* NOLINTEND(clang-analyzer-optin.mpi.MPI-Checker) */

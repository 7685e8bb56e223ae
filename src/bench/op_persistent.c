/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Persistent collectives: made once, started again and again. MPI-4 has them; Open MPI 4 offers
 * them as an extension under MPIX_ names.
 */
#include "bench/operation.h"

#if MPI_VERSION >= 4
#define PERSISTENT_PREFIX(function) MPI_##function
#define HAVE_PERSISTENT 1
#elif defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT_PREFIX(function) MPIX_##function
#define HAVE_PERSISTENT 1
#endif
#endif

#ifdef HAVE_PERSISTENT

static int start_persistent(struct call *c)
{
    return MPI_Start(&c->request);
}

static int run_persistent(struct call *c)
{
    const int err = MPI_Start(&c->request);
    return err == MPI_SUCCESS ? ictusi_wait(c) : err;
}

/* Defines how NAME is made; info and request come last, as in MPI. */
#define PERSISTENT(name, function, ...)                                                            \
    static int prepare_##name(struct call *c)                                                      \
    {                                                                                              \
        return PERSISTENT_PREFIX(function)(__VA_ARGS__, MPI_INFO_NULL, &c->request);               \
    }

PERSISTENT(barrier, Barrier_init, c->comm)
PERSISTENT(bcast, Bcast_init, c->send, c->count, c->type, c->root, c->comm)
PERSISTENT(reduce, Reduce_init, c->send, c->recv, c->count, c->type, c->op, c->root, c->comm)
PERSISTENT(allreduce, Allreduce_init, c->send, c->recv, c->count, c->type, c->op, c->comm)
PERSISTENT(gather, Gather_init, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
           c->comm)
PERSISTENT(gatherv, Gatherv_init, c->send, c->count, c->type, c->recv, c->counts, c->displs,
           c->type, c->root, c->comm)
PERSISTENT(scatter, Scatter_init, c->send, c->count, c->type, c->recv, c->count, c->type, c->root,
           c->comm)
PERSISTENT(scatterv, Scatterv_init, c->send, c->counts, c->displs, c->type, c->recv, c->count,
           c->type, c->root, c->comm)
PERSISTENT(allgather, Allgather_init, c->send, c->count, c->type, c->recv, c->count, c->type,
           c->comm)
PERSISTENT(allgatherv, Allgatherv_init, c->send, c->count, c->type, c->recv, c->counts, c->displs,
           c->type, c->comm)
PERSISTENT(alltoall, Alltoall_init, c->send, c->count, c->type, c->recv, c->count, c->type, c->comm)
PERSISTENT(alltoallv, Alltoallv_init, c->send, c->counts, c->displs, c->type, c->recv, c->counts,
           c->displs, c->type, c->comm)
PERSISTENT(alltoallw, Alltoallw_init, c->send, c->counts, c->byte_displs, c->types, c->recv,
           c->counts, c->byte_displs, c->types, c->comm)
PERSISTENT(reduce_scatter, Reduce_scatter_init, c->send, c->recv, c->counts, c->type, c->op,
           c->comm)
PERSISTENT(reduce_scatter_block, Reduce_scatter_block_init, c->send, c->recv, c->count, c->type,
           c->op, c->comm)
PERSISTENT(scan, Scan_init, c->send, c->recv, c->count, c->type, c->op, c->comm)
PERSISTENT(exscan, Exscan_init, c->send, c->recv, c->count, c->type, c->op, c->comm)
PERSISTENT(neighbor_allgather, Neighbor_allgather_init, c->send, c->count, c->type, c->recv,
           c->count, c->type, c->comm)
PERSISTENT(neighbor_allgatherv, Neighbor_allgatherv_init, c->send, c->count, c->type, c->recv,
           c->counts, c->displs, c->type, c->comm)
PERSISTENT(neighbor_alltoall, Neighbor_alltoall_init, c->send, c->count, c->type, c->recv, c->count,
           c->type, c->comm)
PERSISTENT(neighbor_alltoallv, Neighbor_alltoallv_init, c->send, c->counts, c->displs, c->type,
           c->recv, c->counts, c->displs, c->type, c->comm)
PERSISTENT(neighbor_alltoallw, Neighbor_alltoallw_init, c->send, c->counts, c->aint_displs,
           c->types, c->recv, c->counts, c->aint_displs, c->types, c->comm)

#define ROW(name, shape)                                                                           \
    {                                                                                              \
#name "_init", "MPI_Start of a persistent " #name, shape, run_persistent,                  \
            start_persistent, prepare_##name, NULL, NULL                                           \
    }

const struct operation ictusi_persistent[] = {
    ROW(barrier, SHAPE_BARRIER),
    ROW(bcast, SHAPE_BCAST),
    ROW(reduce, SHAPE_REDUCE),
    ROW(allreduce, SHAPE_ALLREDUCE),
    ROW(gather, SHAPE_GATHER),
    ROW(gatherv, SHAPE_GATHER),
    ROW(scatter, SHAPE_SCATTER),
    ROW(scatterv, SHAPE_SCATTER),
    ROW(allgather, SHAPE_ALLGATHER),
    ROW(allgatherv, SHAPE_ALLGATHER),
    ROW(alltoall, SHAPE_ALLTOALL),
    ROW(alltoallv, SHAPE_ALLTOALL),
    ROW(alltoallw, SHAPE_ALLTOALL),
    ROW(reduce_scatter, SHAPE_REDUCE_SCATTER),
    ROW(reduce_scatter_block, SHAPE_REDUCE_SCATTER),
    ROW(scan, SHAPE_SCAN),
    ROW(exscan, SHAPE_EXSCAN),
    ROW(neighbor_allgather, SHAPE_NEIGHBOR_ALLGATHER),
    ROW(neighbor_allgatherv, SHAPE_NEIGHBOR_ALLGATHER),
    ROW(neighbor_alltoall, SHAPE_NEIGHBOR_ALLTOALL),
    ROW(neighbor_alltoallv, SHAPE_NEIGHBOR_ALLTOALL),
    ROW(neighbor_alltoallw, SHAPE_NEIGHBOR_ALLTOALL),
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};

#else

const struct operation ictusi_persistent[] = {
    {NULL, NULL, SHAPE_BARRIER, NULL, NULL, NULL, NULL, NULL},
};

#endif

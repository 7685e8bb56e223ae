/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ictus itself tells between measurements, in simulations: along trees of its own, which
 * `ictus simulate --collectives` does not change. SimGrid chooses an algorithm for a whole
 * simulation, so the one under study would carry these calls, too: some take MPI_IN_PLACE for an
 * address, some fail on one process, and some need n^2 messages where n would do. Included before
 * every source but those that make the measured calls (ICTUS_MEASURED).
 *
 * All are for types without holes, for operations that commute, and for root 0 or any other.
 * Barriers are SimGrid's: measurements begin with them, and they are measured.
 */
#ifndef ICTUS_SIMULATE_OWN_TREES_H
#define ICTUS_SIMULATE_OWN_TREES_H

#include <mpi.h>

/* As the functions of MPI; collective over the communicator. @return as MPI */
int ictusi_tree_bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int ictusi_tree_reduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                       int root, MPI_Comm comm);
int ictusi_tree_allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                          MPI_Comm comm);

/* Blocks have the same size on both sides, and are never in place. */
int ictusi_tree_gather(const void *send, int count, MPI_Datatype type, void *recv, int recv_count,
                       MPI_Datatype recv_type, int root, MPI_Comm comm);
int ictusi_tree_allgather(const void *send, int count, MPI_Datatype type, void *recv,
                          int recv_count, MPI_Datatype recv_type, MPI_Comm comm);
int ictusi_tree_scatter(const void *send, int count, MPI_Datatype type, void *recv, int recv_count,
                        MPI_Datatype recv_type, int root, MPI_Comm comm);

#if !defined(ICTUS_MEASURED)
#undef MPI_Bcast
#undef MPI_Reduce
#undef MPI_Allreduce
#undef MPI_Gather
#undef MPI_Allgather
#undef MPI_Scatter
#define MPI_Bcast ictusi_tree_bcast
#define MPI_Reduce ictusi_tree_reduce
#define MPI_Allreduce ictusi_tree_allreduce
#define MPI_Gather ictusi_tree_gather
#define MPI_Allgather ictusi_tree_allgather
#define MPI_Scatter ictusi_tree_scatter
#define PMPI_Bcast ictusi_tree_bcast
#define PMPI_Reduce ictusi_tree_reduce
#define PMPI_Allreduce ictusi_tree_allreduce
#define PMPI_Gather ictusi_tree_gather
#define PMPI_Allgather ictusi_tree_allgather
#define PMPI_Scatter ictusi_tree_scatter
#endif

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a hierarchy: the processes that share a node, a socket, ..., and their leaders. */
#ifndef ICTUS_SYNC_LEVEL_H
#define ICTUS_SYNC_LEVEL_H

#include <mpi.h>

enum level_kind { LEVEL_NODE, LEVEL_SOCKET, LEVEL_NUMA, LEVEL_L3, LEVEL_KINDS };

extern const char *const ictusi_level_names[];

/* A communicator that is divided into groups. */
struct level {
    MPI_Comm within;  /* this process's group, in the order of the communicator */
    MPI_Comm between; /* the first process of each group; every other process is alone */
};

/*
 * Divide `comm` into groups by a kind of place. Kinds below the node need hwloc, and `comm` must be
 * within one node. A process that is not bound to a single place of the kind belongs to the first
 * place. Collective. Errors: ICTUS_ERR_MPI, ICTUS_ERR_NOMEM.
 */
int ictusi_level_create(MPI_Comm comm, enum level_kind kind, struct level *level);

void ictusi_level_free(struct level *level);

#endif

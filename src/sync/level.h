/* SPDX-License-Identifier: BSD-3-Clause */
/* The groups of a hierarchy: who shares a node, a socket, ..., and who leads each group. */
#ifndef ICTUS_SYNC_LEVEL_H
#define ICTUS_SYNC_LEVEL_H

#include <mpi.h>

enum level_kind { LEVEL_NODE, LEVEL_SOCKET, LEVEL_NUMA, LEVEL_L3, LEVEL_KINDS };

extern const char *const ictusi_level_names[];

/* One communicator cut into groups. */
struct level {
    MPI_Comm within;  /* this process's group, in the order of the communicator */
    MPI_Comm between; /* the first of each group; the others are alone in theirs */
};

/*
 * Cut comm by a kind of place; kinds below the node need hwloc and comm within one node. A process
 * that is not bound to one such place counts to the first. Collective. Errors: ICTUS_ERR_MPI,
 * ICTUS_ERR_NOMEM.
 */
int ictusi_level_create(MPI_Comm comm, enum level_kind kind, struct level *level);

void ictusi_level_free(struct level *level);

#endif

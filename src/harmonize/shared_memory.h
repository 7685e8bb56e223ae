/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that processes share: zeroed, without a name once all have it, gone with the last of them.
 */
#ifndef ICTUS_HARMONIZE_SHARED_MEMORY_H
#define ICTUS_HARMONIZE_SHARED_MEMORY_H

#include <mpi.h>
#include <stddef.h>

/*
 * Memory for the processes of a communicator that are on one node. NULL on all of them where one
 * cannot have it: a container with a /dev/shm of its own, no room. Collective.
 */
void *ictusi_shared_memory_open(MPI_Comm node, size_t size);

/* NULL is legal. Local. */
void ictusi_shared_memory_close(void *page, size_t size);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory that processes share. It is zeroed, has no name once all processes have opened it, and
 * vanishes with the last of them. */
#ifndef ICTUS_HARMONIZE_SHARED_MEMORY_H
#define ICTUS_HARMONIZE_SHARED_MEMORY_H

#include <mpi.h>
#include <stddef.h>

/*
 * Get memory for the processes of a communicator, which must be on one node. The result is NULL on
 * all of them if one cannot have it, for example in a container with its own /dev/shm, or without
 * space. Collective.
 */
void *ictusi_shared_memory_open(MPI_Comm node, size_t size);

/* Release the memory. NULL is allowed. Local. */
void ictusi_shared_memory_close(void *page, size_t size);

#endif

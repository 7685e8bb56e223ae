/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Letting processes that a traced one spawns be traced as well. Open MPI starts them with the
 * environment of its launcher, which knows nothing of the trace, and takes additions as text under
 * the key "env" of MPI_Comm_spawn's info: lines of NAME=VALUE. Under other libraries they are
 * traced if they get the environment of their own accord.
 */
#ifndef ICTUS_TRACER_SPAWN_H
#define ICTUS_TRACER_SPAWN_H

#include <mpi.h>
#include <stdbool.h>

/*
 * The program's info for processes to be spawned, with what tracing them needs. Only the process
 * with rank root of comm may look at info; anywhere else, and where nothing is to be added, or too
 * much for an info's value (which is said once), it is the same info.
 * @return to be given to ictusi_spawn_info_free() after the call, with the program's own
 */
MPI_Info ictusi_spawn_info(int root, MPI_Comm comm, MPI_Info info);
void ictusi_spawn_info_free(MPI_Info made, MPI_Info info);

/* Likewise for the count infos of MPI_Comm_spawn_multiple, which only the root may look at, too. */
const MPI_Info *ictusi_spawn_infos(int root, MPI_Comm comm, int count, const MPI_Info *infos);
void ictusi_spawn_infos_free(const MPI_Info *made, int count, const MPI_Info *infos);

#endif

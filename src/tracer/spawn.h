/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lets processes spawned by a traced process be traced as well. Open MPI starts them with the
 * environment of its launcher, which knows nothing of the trace, and accepts additions as lines
 * NAME=VALUE under the key "env" of MPI_Comm_spawn's info. With other libraries, they are traced if
 * they inherit the environment.
 */
#ifndef ICTUS_TRACER_SPAWN_H
#define ICTUS_TRACER_SPAWN_H

#include <mpi.h>
#include <stdbool.h>

/*
 * The program's info for processes to be spawned, with what tracing them needs. Only the process
 * with rank root of comm may read info. In other processes, or if nothing is to be added, or if it
 * would exceed an info's value (which is reported once), the same info is returned. @return must be
 * passed to ictusi_spawn_info_free() after the call, with the program's own
 */
MPI_Info ictusi_spawn_info(int root, MPI_Comm comm, MPI_Info info);
void ictusi_spawn_info_free(MPI_Info made, MPI_Info info);

/* The same for the count infos of MPI_Comm_spawn_multiple, which also only the root may read. */
const MPI_Info *ictusi_spawn_infos(int root, MPI_Comm comm, int count, const MPI_Info *infos);
void ictusi_spawn_infos_free(const MPI_Info *made, int count, const MPI_Info *infos);

#endif

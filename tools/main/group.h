/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring on fewer processes than run: who takes part, and how the others rest meanwhile. */
#ifndef ICTUS_TOOLS_GROUP_H
#define ICTUS_TOOLS_GROUP_H

#include <ictus/error.h>
#include <mpi.h>
#include <stdbool.h>

enum placement { PLACE_PACKED, PLACE_SPREAD };

/* For option tables: --placement=... */
extern const char *const group_placements[];

enum { GROUP_COUNTS_MAX = 64 };

/*
 * Read --processes: counts between 1 and the processes that run; NULL stands for all of them.
 * Errors: ICTUS_ERR_SPEC.
 */
int group_counts(const char *text, int *counts, int *count, struct ictus_why *why);

/*
 * A communicator of so many processes; rank 0 is always one of them. Collective over
 * MPI_COMM_WORLD. *comm is MPI_COMM_NULL on the others; free it.
 */
void group_split(int processes, enum placement placement, MPI_Comm *comm);

/* Wait for all processes without using the core: others may be measuring. Collective. */
void group_rest(void);

#endif

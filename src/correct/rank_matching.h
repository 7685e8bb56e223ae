/* SPDX-License-Identifier: BSD-3-Clause */
/* Matches the sends of one MPI rank with the receives of another, once, before any value flows. */
#ifndef ICTUS_CORRECT_RANK_MATCHING_H
#define ICTUS_CORRECT_RANK_MATCHING_H

#include "correct/rank_exchange.h"

/*
 * Connect all sends of this rank's locations with their receives on other ranks, and vice versa,
 * and list them as crossings. Collective over comm; all ranks fail together. Errors:
 * ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, ICTUS_ERR_UNSUPPORTED (more messages between two ranks than an
 * int can count).
 */
int ictusi_rank_matching_run(MPI_Comm comm, struct graph *graph, struct crossings *crossings);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends of one MPI rank and receives of another find each other, once, before any value flows. */
#ifndef ICTUS_CORRECT_RANK_MATCHING_H
#define ICTUS_CORRECT_RANK_MATCHING_H

#include "correct/rank_exchange.h"

/*
 * Connect all sends of this rank's locations with their receives elsewhere, and the other way
 * round, and list them as crossings. Collective over comm, and all ranks fail together. Errors:
 * ICTUS_ERR_NOMEM, ICTUS_ERR_MPI, ICTUS_ERR_UNSUPPORTED (more messages between two ranks than an
 * int can count).
 */
int ictusi_rank_matching_run(MPI_Comm comm, struct graph *graph, struct crossings *crossings);

#endif

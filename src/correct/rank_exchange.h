/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the trace between locations of different MPI ranks: both sides list them in one
 * order, so that where all values are known they cross in bulk, without a word about which is
 * which.
 */
#ifndef ICTUS_CORRECT_RANK_EXCHANGE_H
#define ICTUS_CORRECT_RANK_EXCHANGE_H

#include "causality/flow.h"

#include <mpi.h>

/* The points of this rank, those of one other rank after the other. */
struct crossing_list {
    uint32_t *points;
    uint64_t *starts; /* by rank; one more than there are ranks */
};

struct crossings {
    struct crossing_list sends, receives;
    uint64_t longest; /* list of any two ranks: all ranks exchange in as many rounds */
    uint64_t piece;   /* values to a rank in a round */
    int *counts, *starts, *in_counts;
    int64_t *out, *in;
    int size;
    MPI_Comm comm;
};

/* The least of all ranks' errors, which are negative: every rank's. Collective. */
int ictusi_ranks_agree(MPI_Comm comm, int err);

/* Room for a list of so many points by rank, which are then filled in. Errors: ICTUS_ERR_NOMEM. */
int ictusi_crossing_list(struct crossing_list *list, const uint64_t *counts, int ranks);

/* All lists are filled: agree on the rounds. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI. */
int ictusi_crossings_ready(struct crossings *crossings, MPI_Comm comm);
void ictusi_crossings_fini(struct crossings *crossings);

/*
 * Bring values across: FLOW_CHECK from the sends, which the observer is told of; FLOW_LIMIT from
 * the receives, as limits of the sends; FLOW_CLOCK C(s) + mu from the sends into the receives'
 * notes. Collective. Errors: ICTUS_ERR_MPI.
 */
int ictusi_crossings_exchange(struct crossings *crossings, struct flow *flow);

#endif

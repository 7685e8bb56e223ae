/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Messages of the trace between locations of different MPI ranks. Both sides list them in the same
 * order. So when all values are known, they can be exchanged in bulk, without saying which is
 * which.
 */
#ifndef ICTUS_CORRECT_RANK_EXCHANGE_H
#define ICTUS_CORRECT_RANK_EXCHANGE_H

#include "causality/flow.h"

#include <mpi.h>

/* Points of this rank, grouped by the other rank. */
struct crossing_list {
    uint32_t *points;
    uint64_t *starts; /* by rank: where its points begin; one entry more than there are ranks */
};

struct crossings {
    struct crossing_list sends, receives;
    uint64_t longest; /* of all lists between two ranks: determines the number of rounds */
    uint64_t piece;   /* values per rank and round */
    int *counts, *starts, *in_counts;
    int64_t *out, *in;
    int size;
    MPI_Comm comm;
};

/* The worst error of all ranks: the minimum, since errors are negative. Collective. */
int ictusi_ranks_agree(MPI_Comm comm, int err);

/*
 * Allocate a list of this many points per rank, which the caller fills in. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_crossing_list(struct crossing_list *list, const uint64_t *counts, int ranks);

/*
 * Call when all lists are filled in; agrees on the rounds. Errors: ICTUS_ERR_NOMEM, ICTUS_ERR_MPI.
 */
int ictusi_crossings_ready(struct crossings *crossings, MPI_Comm comm);
void ictusi_crossings_fini(struct crossings *crossings);

/*
 * Exchange values. FLOW_CHECK: from the sends, reported to the observer. FLOW_LIMIT: from the
 * receives, as limits of the sends. FLOW_CLOCK: C(s) + mu from the sends, into the notes of the
 * receives. Collective. Errors: ICTUS_ERR_MPI.
 */
int ictusi_crossings_exchange(struct crossings *crossings, struct flow *flow);

#endif

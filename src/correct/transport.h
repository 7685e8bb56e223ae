/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A team of MPI ranks, and its messages while values flow: bundled, asynchronous, and with an end
 * that all ranks agree on.
 */
#ifndef ICTUS_CORRECT_TRANSPORT_H
#define ICTUS_CORRECT_TRANSPORT_H

#include "correct/rank_exchange.h"

#include <mpi.h>

/* The largest number of messages in a bundle. */
enum { BUNDLE = 512 };

struct bundle {
    struct bundle *next; /* in the list of those in transit, or of spare ones */
    MPI_Request request;
    int count;
    struct message messages[BUNDLE];
};

struct mpi_team {
    struct team team; /* first member */
    MPI_Comm comm;
    struct bundle **open; /* by rank: not sent yet */
    struct bundle *under_way, *spare;
    struct message *inbox;
    int epoch;                    /* of the flow; the tag of its messages */
    int64_t counts[3], totals[3]; /* sent, received, ranks that have finished */
    int64_t before[3];            /* totals of the previous round */
    int64_t sent, received;
    MPI_Request round;
    struct crossings crossings;
    bool counting, had_round;
};

/* The MPI team that a table belongs to. */
struct mpi_team *ictusi_transport_team(struct team *team);

/*
 * Fill in rank, size, and the functions by which messages reach other ranks. Errors:
 * ICTUS_ERR_NOMEM.
 */
int ictusi_transport_init(struct mpi_team *t, MPI_Comm comm);
void ictusi_transport_fini(struct mpi_team *t);

#endif

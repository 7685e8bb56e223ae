/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators that only hold their numbers for a moment. */
#include "harmonize/ballast.h"

#include "sync/place.h"

#include <ictus/error.h>

#include <stdbool.h>

#if defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION < 5
/* All processes of MPI_COMM_WORLD take the same numbers together, so only communicators of a
 * part of them need this. */
static bool ballast_is_needed(MPI_Comm comm)
{
    int up = 0;
    int size = 0;
    int all = 0;
    PMPI_Initialized(&up);
    if (!up) {
        return false;
    }
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_size(MPI_COMM_WORLD, &all);
    return size < all;
}
#else
static bool ballast_is_needed(MPI_Comm comm)
{
    (void)comm;
    return false;
}
#endif

/* If memory is short, fewer numbers are taken, and a hang is possible after correspondingly
 * fewer new communicators. */
void ictusi_ballast_take(struct ballast *ballast, MPI_Comm comm)
{
    const int wanted = ballast_is_needed(comm) ? BALLAST_COMMS : 0;
    ballast->count = 0;
    while (ballast->count < wanted &&
           ictusi_place_twin(comm, &ballast->comms[ballast->count]) == ICTUS_OK) {
        ballast->count++;
    }
}

void ictusi_ballast_drop(struct ballast *ballast)
{
    while (ballast->count > 0) {
        PMPI_Comm_free(&ballast->comms[--ballast->count]);
    }
}

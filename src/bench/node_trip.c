/* SPDX-License-Identifier: BSD-3-Clause */
/* Trips of a word through a node's shared memory. */
#include "bench/node_trip.h"

#include "core/stats.h"
#include "harmonize/board.h"

#include <ictus/error.h>

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TRIPS = 33 };

struct node_trip {
    MPI_Comm node;
    struct board *board; /* NULL: this process is alone on its node */
    int rank;
};

void ictusi_node_trip_free(struct node_trip *trip)
{
    if (!trip) {
        return;
    }
    ictusi_board_free(trip->board);
    if (trip->node != MPI_COMM_NULL) {
        PMPI_Comm_free(&trip->node);
    }
    free(trip);
}

/* Whether a value is set on any process. A failure counts as set. */
static bool node_trip_any(MPI_Comm comm, bool mine)
{
    int any = mine;
    return PMPI_Allreduce(MPI_IN_PLACE, &any, 1, MPI_INT, MPI_MAX, comm) != MPI_SUCCESS || any;
}

static int node_trip_build(struct node_trip *trip, MPI_Comm comm)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    if (PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &trip->node) !=
        MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    PMPI_Comm_rank(trip->node, &trip->rank);
    return ictusi_board_create_on(trip->node, trip->node, false, &trip->board);
}

int ictusi_node_trip_create(MPI_Comm comm, bool crowded, struct node_trip **trip)
{
    *trip = NULL;
#if defined(ICTUS_SIMGRID)
    (void)comm; /* simulated processes have no memory in which simulated time passes */
    (void)crowded;
    (void)node_trip_build;
    (void)node_trip_any;
    return ICTUS_OK;
#else
    if (node_trip_any(comm, crowded)) {
        return ICTUS_OK;
    }
    struct node_trip *made = calloc(1, sizeof(*made));
    if (node_trip_any(comm, !made) || !made) {
        free(made);
        return ICTUS_ERR_NOMEM;
    }
    made->node = MPI_COMM_NULL;
    const int err = node_trip_build(made, comm);
    if (err) {
        ictusi_node_trip_free(made);
        return err;
    }
    *trip = made;
    return ICTUS_OK;
#endif
}

static int64_t node_trip_now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

double ictusi_node_trip_measure(struct node_trip *trip)
{
    double took_s[TRIPS];
    int64_t none[BOARD_WORDS] = {0};
    int64_t all[BOARD_WORDS] = {0};
    int err = ICTUS_OK;
    if (!trip || !trip->board) {
        return 0.0;
    }
    for (int i = 0; i < TRIPS && !err; i++) {
        const int64_t start_ns = node_trip_now_ns();
        err = ictusi_board_max(trip->board, none, all);
        err = err ? err : ictusi_board_tell(trip->board, all);
        took_s[i] = 1e-9 * (double)(node_trip_now_ns() - start_ns);
    }
    if (err || trip->rank > 0) {
        return 0.0;
    }
    ictusi_stats_sort(took_s, TRIPS);
    return took_s[TRIPS / 2];
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Barriers made of point-to-point messages: dissemination, binomial tree, linear. */
#include <ictus/barrier.h>

#include "core/container.h"
#include "harmonize/attach.h"
#include "harmonize/ballast.h"
#include "sync/place.h"

#include <ictus/harmonize.h>

#include <stddef.h>
#include <stdlib.h>

/* A private communicator, so that our messages cannot match others. */
struct lane {
    struct attached attached;
    MPI_Comm comm;
    int rank;
    int size;
};

static const char *const names[] = {
    [ICTUS_BARRIER_DISSEMINATION] = "dissemination",
    [ICTUS_BARRIER_TREE] = "tree",
    [ICTUS_BARRIER_LINEAR] = "linear",
    [ICTUS_BARRIER_MPI] = "mpi",
    [ICTUS_BARRIER_HARMONIZE] = "harmonize",
    NULL,
};

const char *const *ictus_barrier_names(void)
{
    return names;
}

static void barrier_release_lane(struct attached *attached)
{
    struct lane *lane = container_of(attached, struct lane, attached);
    PMPI_Comm_free(&lane->comm);
    free(lane);
}

static int barrier_check_comm(MPI_Comm comm)
{
    int inter = 0;
    if (comm == MPI_COMM_NULL) {
        return ICTUS_ERR_ARG;
    }
    if (PMPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    return inter ? ICTUS_ERR_INTERCOMM : ICTUS_OK;
}

/* Created at the first barrier of a communicator. Either all ranks get it or none. */
static int barrier_make_lane(MPI_Comm comm, struct lane **out)
{
    struct lane *lane = calloc(1, sizeof(*lane));
    struct ballast ballast;
    int enough = lane != NULL;
    int all = 0;
    if (PMPI_Allreduce(&enough, &all, 1, MPI_INT, MPI_MIN, comm) != MPI_SUCCESS || !all || !lane) {
        free(lane);
        return ICTUS_ERR_NOMEM;
    }
    ictusi_ballast_take(&ballast, comm);
    const int err = ictusi_place_twin(comm, &lane->comm);
    ictusi_ballast_drop(&ballast);
    if (err) {
        free(lane);
        return err;
    }
    PMPI_Comm_rank(comm, &lane->rank);
    PMPI_Comm_size(comm, &lane->size);
    lane->attached.release = barrier_release_lane;
    *out = lane;
    return ictusi_attach(comm, ATTACH_BARRIER, &lane->attached);
}

static int barrier_find_lane(MPI_Comm comm, struct lane **lane)
{
    struct attached *attached = ictusi_harmonize_attached(comm, ATTACH_BARRIER);
    if (attached) {
        *lane = container_of(attached, struct lane, attached);
        return ICTUS_OK;
    }
    return barrier_make_lane(comm, lane);
}

static int barrier_tell(const struct lane *lane, int to)
{
    return PMPI_Send(NULL, 0, MPI_BYTE, to, 0, lane->comm);
}

static int barrier_hear(const struct lane *lane, int from)
{
    return PMPI_Recv(NULL, 0, MPI_BYTE, from, 0, lane->comm, MPI_STATUS_IGNORE);
}

/*
 * Hensgen, Finkel and Manber 1988. After round k each process has heard of 2^(k+1) processes, so
 * the barrier takes ceil(log2 p) rounds of p messages. All ranks do the same. Their exits therefore
 * differ by the message of the last round and by interruptions only.
 */
static int barrier_dissemination(const struct lane *lane)
{
    int err = MPI_SUCCESS;
    for (int step = 1; step < lane->size && !err; step *= 2) {
        const int to = (lane->rank + step) % lane->size;
        const int from = (lane->rank - step + lane->size) % lane->size;
        err = PMPI_Sendrecv(NULL, 0, MPI_BYTE, to, 0, NULL, 0, MPI_BYTE, from, 0, lane->comm,
                            MPI_STATUS_IGNORE);
    }
    return err;
}

/*
 * Up a binomial tree to rank 0 and down again: 2 log2 p messages in a row, 2 (p - 1) in all. Rank 0
 * leaves first and the leaves of the longest branch last, so the skew is the same each time.
 */
static int barrier_tree(const struct lane *lane)
{
    int err = MPI_SUCCESS;
    int step = 1;
    for (; step < lane->size && !(lane->rank & step) && !err; step *= 2) {
        if (lane->rank + step < lane->size) {
            err = barrier_hear(lane, lane->rank + step);
        }
    }
    if (lane->rank > 0 && !err) {
        err = barrier_tell(lane, lane->rank - step);
        err = err ? err : barrier_hear(lane, lane->rank - step);
    }
    for (step /= 2; step > 0 && !err; step /= 2) {
        if (lane->rank + step < lane->size) {
            err = barrier_tell(lane, lane->rank + step);
        }
    }
    return err;
}

/*
 * 2 (p - 1) messages through rank 0, which answers in the order of ranks. The last rank leaves p -
 * 1 messages after the first one. It is implemented for comparison, as the oldest benchmarks have
 * it.
 */
static int barrier_linear(const struct lane *lane)
{
    if (lane->rank > 0) {
        const int err = barrier_tell(lane, 0);
        return err ? err : barrier_hear(lane, 0);
    }
    int err = MPI_SUCCESS;
    for (int i = 1; i < lane->size && !err; i++) {
        err = barrier_hear(lane, i);
    }
    for (int i = 1; i < lane->size && !err; i++) {
        err = barrier_tell(lane, i);
    }
    return err;
}

int ictus_barrier(MPI_Comm comm, enum ictus_barrier_algorithm algorithm)
{
    struct lane *lane = NULL;
    if (algorithm == ICTUS_BARRIER_HARMONIZE) {
        return ictus_harmonize(comm, NULL);
    }
    int err = barrier_check_comm(comm);
    if (err) {
        return err;
    }
    if (algorithm == ICTUS_BARRIER_MPI) {
        return PMPI_Barrier(comm) == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
    }
    err = barrier_find_lane(comm, &lane);
    if (err) {
        return err;
    }
    switch (algorithm) {
    case ICTUS_BARRIER_DISSEMINATION:
        err = barrier_dissemination(lane);
        break;
    case ICTUS_BARRIER_TREE:
        err = barrier_tree(lane);
        break;
    case ICTUS_BARRIER_LINEAR:
        err = barrier_linear(lane);
        break;
    default:
        return ICTUS_ERR_ARG;
    }
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes, their numbers and their cores. Sources are opened in the same way on all processes of a
 * node. */
#include "sync/place.h"

#include "sync/sync.h"

#include <ictus/text.h>

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* Rank 0: replace the leader flags by the numbers of the nodes. This is an exclusive prefix sum
 * in place. */
static void place_number_leaders(int *leads, int size)
{
    int before = 0;
    for (int i = 0; i < size; i++) {
        const int leader = leads[i];
        leads[i] = before;
        before += leader;
    }
}

/*
 * Nodes are numbered by their lowest rank: the number is the count of leaders before this node's
 * leader. A single MPI_Exscan would do, but libraries implement it with p^2 messages (16384
 * simulated ranks: 24 GB).
 */
static int node_number(MPI_Comm comm, MPI_Comm node, int *number)
{
    int rank_on_node = 0;
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    PMPI_Comm_rank(node, &rank_on_node);
    const int leads = rank_on_node == 0;
    int *all = rank == 0 ? malloc((size_t)size * sizeof(*all)) : NULL;
    int enough = rank != 0 || all;
    int err = PMPI_Bcast(&enough, 1, MPI_INT, 0, comm);
    if (err == MPI_SUCCESS && enough) {
        err = PMPI_Gather(&leads, 1, MPI_INT, all, 1, MPI_INT, 0, comm);
        if (rank == 0 && err == MPI_SUCCESS) {
            place_number_leaders(all, size);
        }
        err = err == MPI_SUCCESS ? PMPI_Scatter(all, 1, MPI_INT, number, 1, MPI_INT, 0, comm) : err;
        err = err == MPI_SUCCESS ? PMPI_Bcast(number, 1, MPI_INT, 0, node) : err;
    }
    free(all);
    return err != MPI_SUCCESS ? ICTUS_ERR_MPI : enough ? ICTUS_OK : ICTUS_ERR_NOMEM;
}

/* Find the number of cores that the processes of a node may use together: the union of their
 * affinities. */
static int node_cores(MPI_Comm node, int *cores)
{
    cpu_set_t mine;
    cpu_set_t all;
    CPU_ZERO(&mine);
    if (sched_getaffinity(0, sizeof(mine), &mine)) {
        *cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
        return ICTUS_OK;
    }
    const int size = (int)sizeof(mine);
    if (PMPI_Allreduce(&mine, &all, size, MPI_BYTE, MPI_BOR, node) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    *cores = CPU_COUNT(&all);
    return ICTUS_OK;
}

#if !defined(ICTUS_SIMGRID)
/* Return how many processes of the whole job are on this node according to the launcher, or 0 if
 * it does not say. */
static int launched_here(void)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        int64_t count = 0;
        const char *text = getenv(names[i]);
        if (text && !ictus_parse_int(text, &count) && count > 0 && count < INT32_MAX) {
            return (int)count;
        }
    }
    return 0;
}

/*
 * Return whether processes outnumber cores. Either the communicator's processes outnumber the cores
 * that they may use, or the job's processes outnumber those of the node. The two halves of a
 * crowded job are as crowded as the whole, even though neither knows of the other.
 */
static bool place_is_crowded(int processes, int cores)
{
    return processes > cores || launched_here() > (int)sysconf(_SC_NPROCESSORS_ONLN);
}
#endif

static int place_inspect(MPI_Comm comm, MPI_Comm node, struct source_place *place, bool *crowded)
{
    int processes = 1;
    int cores = 1;
    int world = 0;
    PMPI_Initialized(&world); /* false in a program that only uses MPI sessions */
    PMPI_Comm_rank(world ? MPI_COMM_WORLD : comm, &place->process);
    PMPI_Comm_size(node, &processes);
    int err = node_number(comm, node, &place->node);
#if defined(ICTUS_SIMGRID)
    *crowded = false; /* a simulated rank has a core of its own */
    (void)node_cores;
    (void)cores;
#else
    err = err ? err : node_cores(node, &cores);
    *crowded = place_is_crowded(processes, cores);
#endif
    return err;
}

static int place_split_node(MPI_Comm comm, MPI_Comm *node)
{
    int rank = 0;
    PMPI_Comm_rank(comm, &rank);
    const int err = PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, node);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

static int place_share_state(struct source *source, MPI_Comm node)
{
    size_t size = 0;
    if (!source->ops->state) {
        return ICTUS_OK;
    }
    void *state = source->ops->state(source, &size);
    return PMPI_Bcast(state, (int)size, MPI_BYTE, 0, node) == MPI_SUCCESS ? ICTUS_OK
                                                                          : ICTUS_ERR_MPI;
}

int ictusi_place_open_source(MPI_Comm comm, const char *spec, struct source **source, bool *crowded,
                             struct ictus_why *why)
{
    MPI_Comm node = MPI_COMM_NULL;
    struct source_place place = {0, 0};
    struct source *opened = NULL;
    int err = place_split_node(comm, &node);
    if (err) {
        return err;
    }
    /* A call on a node's communicator may fail on this node alone. */
    err = place_inspect(comm, node, &place, crowded);
    err = err ? err : ictusi_source_open(spec, &place, &opened, why);
    err = ictusi_sync_agree(comm, err, why);
    if (!err) {
        err = ictusi_sync_agree(comm, place_share_state(opened, node), why);
    }
    PMPI_Comm_free(&node);
    if (err) {
        ictusi_source_free(opened);
        return err;
    }
    *source = opened;
    return ICTUS_OK;
}

int ictusi_place_gather_nodes(MPI_Comm comm, int *nodes)
{
    MPI_Comm node = MPI_COMM_NULL;
    int mine = 0;
    int err = place_split_node(comm, &node);
    if (err) {
        return err;
    }
    err = node_number(comm, node, &mine);
    PMPI_Comm_free(&node);
    if (!err && PMPI_Gather(&mine, 1, MPI_INT, nodes, 1, MPI_INT, 0, comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    return err;
}

/*
 * MPI_Comm_create copies no attributes and, unlike MPI_Comm_split, exchanges no colors. MPICH 4.0
 * crashes in it if a session's communicator has a single process, where a split costs nothing.
 */
static int twin_create(MPI_Comm comm, MPI_Comm *twin)
{
    MPI_Group all = MPI_GROUP_NULL;
    int size = 0;
    int err = PMPI_Comm_size(comm, &size);
    if (err == MPI_SUCCESS && size == 1) {
        return PMPI_Comm_split(comm, 0, 0, twin);
    }
    err = err == MPI_SUCCESS ? PMPI_Comm_group(comm, &all) : err;
    if (err == MPI_SUCCESS) {
        err = PMPI_Comm_create(comm, all, twin);
        PMPI_Group_free(&all);
    }
    return err;
}

int ictusi_place_twin(MPI_Comm comm, MPI_Comm *twin)
{
    if (twin_create(comm, twin) != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    PMPI_Comm_set_errhandler(*twin, MPI_ERRORS_RETURN);
    return ICTUS_OK;
}

#if defined(ICTUS_SIMGRID)
/* Duplicating a communicator of 16384 simulated ranks takes 3.3 GB. Nothing else uses it while a
 * simulated clock synchronises, so it is used directly. */
int ictusi_place_own(MPI_Comm comm, MPI_Comm *own)
{
    *own = comm;
    return ICTUS_OK;
}

void ictusi_place_disown(MPI_Comm *own)
{
    *own = MPI_COMM_NULL;
}
#else
int ictusi_place_own(MPI_Comm comm, MPI_Comm *own)
{
    return ictusi_place_twin(comm, own);
}

void ictusi_place_disown(MPI_Comm *own)
{
    PMPI_Comm_free(own);
}
#endif

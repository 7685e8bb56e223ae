/* SPDX-License-Identifier: BSD-3-Clause */
/* Divides communicators by nodes (MPI-3) and by places inside a node (hwloc). */
#include "sync/level.h"

#include "sync/place.h"
#include "sync/sync.h"

#include <ictus/error.h>

#include <hwloc.h>
#include <stdbool.h>
#include <stdlib.h>

const char *const ictusi_level_names[] = {"node", "socket", "numa", "l3", NULL};

static hwloc_obj_type_t hwloc_type(enum level_kind kind)
{
    switch (kind) {
    case LEVEL_NUMA:
        return HWLOC_OBJ_NUMANODE;
    case LEVEL_L3:
        return HWLOC_OBJ_L3CACHE;
    default:
        return HWLOC_OBJ_PACKAGE;
    }
}

/* Return the index of the place that contains the whole binding of this process, or 0 if none
 * does. */
static int level_place_of(hwloc_topology_t topology, hwloc_obj_type_t type)
{
    int place = 0;
    hwloc_bitmap_t bound = hwloc_bitmap_alloc();
    if (bound && hwloc_get_cpubind(topology, bound, HWLOC_CPUBIND_PROCESS) == 0) {
        const int count = hwloc_get_nbobjs_by_type(topology, type);
        for (int i = 0; i < count; i++) {
            const hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned)i);
            if (object->cpuset && hwloc_bitmap_isincluded(bound, object->cpuset)) {
                place = i;
                break;
            }
        }
    }
    hwloc_bitmap_free(bound);
    return place;
}

/* The binding decides, because a process that may move between sockets belongs to neither. All
 * unbound processes of a node get place 0 and form one group, which is slower but correct. */
static int level_my_place(enum level_kind kind)
{
    hwloc_topology_t topology;
    int place = 0;
    if (hwloc_topology_init(&topology)) {
        return 0;
    }
    if (hwloc_topology_load(topology) == 0) {
        place = level_place_of(topology, hwloc_type(kind));
    }
    hwloc_topology_destroy(topology);
    return place;
}

/* Create a communicator of some ranks. Only its members take part. On 16384 simulated ranks this
 * takes 1 s, whereas a split by all ranks takes 200 s. */
static int level_join(MPI_Comm comm, int count, const int *ranks, MPI_Comm *between)
{
    MPI_Group all;
    MPI_Group chosen;
    int size = 0;
    PMPI_Comm_size(comm, &size);
    if (size == 1) {
        return ictusi_place_twin(comm, between);
    }
    PMPI_Comm_group(comm, &all);
    PMPI_Group_incl(all, count, ranks, &chosen);
    const int err = PMPI_Comm_create_group(comm, chosen, 0, between);
    PMPI_Group_free(&chosen);
    PMPI_Group_free(&all);
    return err == MPI_SUCCESS ? ICTUS_OK : ICTUS_ERR_MPI;
}

/* Return the ranks of all leaders in an array that the caller frees. Thousands of simulated
 * processes share one memory, so only rank 0 allocates room for all ranks. */
static int level_find_leaders(MPI_Comm comm, bool leads, int **leaders, int *n)
{
    int rank = 0;
    int size = 0;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    int *ranks = rank == 0 ? malloc((size_t)size * sizeof(*ranks)) : NULL;
    int err = ictusi_sync_agree(comm, rank != 0 || ranks ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    const int mine = leads ? rank : -1;
    if (!err && PMPI_Gather(&mine, 1, MPI_INT, ranks, 1, MPI_INT, 0, comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    *n = 0;
    for (int i = 0; ranks && i < size && !err; i++) {
        if (ranks[i] >= 0) {
            ranks[(*n)++] = ranks[i];
        }
    }
    if (!err && PMPI_Bcast(n, 1, MPI_INT, 0, comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    if (rank != 0) {
        ranks = malloc(((size_t)*n + 1) * sizeof(*ranks));
    }
    *leaders = ranks;
    return err;
}

/*
 * Create the leaders' communicator, and one of its own for each other process. Processes that hold
 * different numbers of communicators would no longer agree on the lowest free context id. Open MPI
 * 4.1 then hangs if several MPI_Comm_idup are pending at the same time.
 */
static int level_join_leaders(MPI_Comm comm, MPI_Comm within, MPI_Comm *between)
{
    int rank = 0;
    int within_rank = 0;
    int *ranks = NULL;
    int leaders = 0;
    *between = MPI_COMM_NULL;
    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_rank(within, &within_rank);
    int err = level_find_leaders(comm, within_rank == 0, &ranks, &leaders);
    if (!err) {
        err = ictusi_sync_agree(comm, ranks ? ICTUS_OK : ICTUS_ERR_NOMEM, NULL);
    }
    if (!err && PMPI_Bcast(ranks, leaders, MPI_INT, 0, comm) != MPI_SUCCESS) {
        err = ICTUS_ERR_MPI;
    }
    if (!err) {
        err = within_rank == 0 ? level_join(comm, leaders, ranks, between)
                               : level_join(comm, 1, &rank, between);
    }
    free(ranks);
    return err;
}

/* Ranks keep their order, so that the reference of the whole communicator is also the reference
 * of its group. */
int ictusi_level_create(MPI_Comm comm, enum level_kind kind, struct level *level)
{
    int rank = 0;
    level->within = MPI_COMM_NULL;
    level->between = MPI_COMM_NULL;
    PMPI_Comm_rank(comm, &rank);
    const int err =
        kind == LEVEL_NODE
            ? PMPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &level->within)
            : PMPI_Comm_split(comm, level_my_place(kind), rank, &level->within);
    if (err != MPI_SUCCESS) {
        return ICTUS_ERR_MPI;
    }
    return level_join_leaders(comm, level->within, &level->between);
}

void ictusi_level_free(struct level *level)
{
    if (level->between != MPI_COMM_NULL) {
        PMPI_Comm_free(&level->between);
    }
    if (level->within != MPI_COMM_NULL) {
        PMPI_Comm_free(&level->within);
    }
}

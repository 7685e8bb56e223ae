/* SPDX-License-Identifier: BSD-3-Clause */
/* Topologies of a simulated job and their collectives under MPI's own names, see job_blocks.h. */
#include "job_blocks.h"

#include "../check.h"

enum { NEIGHBORS = 16 };

/* Of a rank, in the topology that was made last. */
static struct neighbors {
    bool grid; /* what comes from one side was sent to the other */
    int in[NEIGHBORS], out[NEIGHBORS];
    int in_count, out_count;
} neighbors[JOB_RANKS];

static int neighbors_made(MPI_Comm comm, MPI_Comm *made)
{
    blocks_things[job_rank()]++;
    return PMPI_Comm_dup(comm, made);
}

/* As equal as primes allow, the longest first. */
int MPI_Dims_create(int size, int count, int dims[])
{
    for (int d = 0; d < count; d++) {
        dims[d] = 1;
    }
    for (int factor = size; size > 1; factor--) {
        const bool prime = factor < 4 || (factor % 2 && factor % 3);
        while (prime && factor > 1 && size % factor == 0) {
            int least = count - 1;
            for (int d = count - 1; d >= 0; d--) {
                least = dims[d] < dims[least] ? d : least;
            }
            dims[least] *= factor;
            size /= factor;
        }
    }
    return MPI_SUCCESS;
}

/* The last dimension varies fastest. */
int MPI_Cart_create(MPI_Comm comm, int count, const int dims[], const int periods[], int reorder,
                    MPI_Comm *made)
{
    struct neighbors *mine = &neighbors[job_rank()];
    int stride = job_options()->ranks;
    REQUIRE(!reorder && 2 * count <= NEIGHBORS);
    *mine = (struct neighbors){.grid = true, .in_count = 2 * count, .out_count = 2 * count};
    for (int d = 0; d < count; d++) {
        stride /= dims[d];
        const int place = job_rank() / stride % dims[d];
        for (int side = 0; side < 2; side++) {
            const int there = place + (side ? 1 : -1);
            const bool beyond = there < 0 || there >= dims[d];
            const int rank = job_rank() + ((there + dims[d]) % dims[d] - place) * stride;
            mine->in[2 * d + side] = beyond && !periods[d] ? MPI_PROC_NULL : rank;
            mine->out[2 * d + side] = mine->in[2 * d + side];
        }
    }
    REQUIRE(stride == 1);
    return neighbors_made(comm, made);
}

int MPI_Dist_graph_create_adjacent(MPI_Comm comm, int in_count, const int in[],
                                   const int in_weights[], int out_count, const int out[],
                                   const int out_weights[], MPI_Info info, int reorder,
                                   MPI_Comm *made)
{
    struct neighbors *mine = &neighbors[job_rank()];
    (void)info;
    REQUIRE(!reorder && in_count <= NEIGHBORS && out_count <= NEIGHBORS);
    *mine = (struct neighbors){.in_count = in_count, .out_count = out_count};
    for (int i = 0; i < in_count; i++) {
        mine->in[i] = in[i];
        CHECK(in_weights[i] == in_weights[0]);
    }
    for (int i = 0; i < out_count; i++) {
        mine->out[i] = out[i];
        CHECK(out_weights[i] == out_weights[0]);
    }
    return neighbors_made(comm, made);
}

/* Which of its blocks a rank's ith source sends it. */
static int slot_of(int rank, int i)
{
    const struct neighbors *mine = &neighbors[rank];
    const struct neighbors *source = &neighbors[mine->in[i]];
    int before = 0, all = 0;
    for (int k = 0; k < mine->in_count; k++) {
        before += k < i && mine->in[k] == mine->in[i];
        all += mine->in[k] == mine->in[i];
    }
    const bool first = mine->in[i] == mine->in[0];
    const bool ascending = blocks_plant.ascending || (blocks_plant.mixed && first);
    if (mine->grid && (all == 1 || !(ascending || blocks_plant.descending))) {
        return i ^ 1;
    }
    int wanted = blocks_plant.descending ? all - 1 - before : before;
    for (int slot = 0; slot < source->out_count; slot++) {
        if (source->out[slot] == rank && wanted-- == 0) {
            return slot;
        }
    }
    abort();
}

static void act_allgather_near(const struct blocks_part *const *parts)
{
    for (int r = 0; r < job_options()->ranks; r++) {
        for (int i = 0; i < neighbors[r].in_count; i++) {
            const int from = neighbors[r].in[i];
            if (from != MPI_PROC_NULL) {
                block_move(block_at(&parts[from]->out, 0), block_at(&parts[r]->in, i));
            }
        }
    }
    blocks_moved();
}

static void act_alltoall_near(const struct blocks_part *const *parts)
{
    for (int r = 0; r < job_options()->ranks; r++) {
        for (int i = 0; i < neighbors[r].in_count; i++) {
            const int from = neighbors[r].in[i];
            if (from != MPI_PROC_NULL) {
                block_move(block_at(&parts[from]->out, slot_of(r, i)), block_at(&parts[r]->in, i));
            }
        }
    }
    blocks_moved();
}

#define OUT(...) ((struct block_side){.bytes = (void *)(uintptr_t)out, __VA_ARGS__})
#define IN(...) ((struct block_side){.bytes = in, __VA_ARGS__})
#define MEET(from, to, act) blocks_meet_as(__func__, from, to, MPI_OP_NULL, 0, act)

int MPI_Neighbor_allgather(const void *out, int out_count, MPI_Datatype out_type, void *in,
                           int count, MPI_Datatype type, MPI_Comm comm)
{
    (void)comm;
    return MEET(OUT(.count = out_count, .type = out_type), IN(.count = count, .type = type),
                act_allgather_near);
}

int MPI_Neighbor_allgatherv(const void *out, int out_count, MPI_Datatype out_type, void *in,
                            const int counts[], const int displs[], MPI_Datatype type,
                            MPI_Comm comm)
{
    (void)comm;
    return MEET(OUT(.count = out_count, .type = out_type),
                IN(.counts = counts, .displs = displs, .type = type), act_allgather_near);
}

int MPI_Neighbor_alltoall(const void *out, int out_count, MPI_Datatype out_type, void *in,
                          int count, MPI_Datatype type, MPI_Comm comm)
{
    (void)comm;
    return MEET(OUT(.count = out_count, .type = out_type), IN(.count = count, .type = type),
                act_alltoall_near);
}

int MPI_Neighbor_alltoallv(const void *out, const int out_counts[], const int out_displs[],
                           MPI_Datatype out_type, void *in, const int counts[], const int displs[],
                           MPI_Datatype type, MPI_Comm comm)
{
    (void)comm;
    return MEET(OUT(.counts = out_counts, .displs = out_displs, .type = out_type),
                IN(.counts = counts, .displs = displs, .type = type), act_alltoall_near);
}

int MPI_Neighbor_alltoallw(const void *out, const int out_counts[], const MPI_Aint out_places[],
                           const MPI_Datatype out_types[], void *in, const int counts[],
                           const MPI_Aint places[], const MPI_Datatype types[], MPI_Comm comm)
{
    (void)comm;
    return MEET(OUT(.counts = out_counts, .places = out_places, .types = out_types),
                IN(.counts = counts, .places = places, .types = types), act_alltoall_near);
}

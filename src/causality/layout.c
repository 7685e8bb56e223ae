/* SPDX-License-Identifier: BSD-3-Clause */
/* Looking up members of communicators. */
#include "causality/layout.h"

#include <stdlib.h>

void ictusi_layout_fini(struct layout *layout)
{
    for (uint64_t i = 0; i < layout->location_count; i++) {
        free(layout->locations[i].offsets);
    }
    for (uint64_t i = 0; i < layout->comm_count; i++) {
        free(layout->comms[i].members);
        ictusi_idmap_fini(&layout->comms[i].ranks);
    }
    free(layout->locations);
    free(layout->processes);
    free(layout->comms);
    *layout = (struct layout){0};
}

/*
 * The rank of a location in a communicator. MPI_COMM_SELF and similar ones are one definition for
 * all processes: each process is rank 0 of its own.
 */
uint32_t ictusi_layout_rank(const struct layout *layout, uint32_t comm, uint32_t location)
{
    const struct layout_comm *c = &layout->comms[comm];
    if (c->self) {
        return 0;
    }
    int64_t rank = ictusi_idmap_get(&c->ranks, location, 0);
    const uint32_t process = layout->locations[location].process;
    if (rank == IDMAP_NONE && process != LAYOUT_NONE) {
        /* A thread that called MPI is represented by its process. */
        rank = ictusi_idmap_get(&c->ranks, layout->processes[process].rank_location, 0);
    }
    return rank == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)rank;
}

uint32_t ictusi_layout_peer(const struct layout *layout, uint32_t comm, uint32_t location,
                            uint32_t own, uint32_t rank)
{
    const struct layout_comm *c = &layout->comms[comm];
    if (c->self) {
        return rank == 0 ? location : LAYOUT_NONE;
    }
    if (own == LAYOUT_NONE) {
        return LAYOUT_NONE;
    }
    if (!c->inter) {
        return rank < c->size_a ? c->members[rank] : LAYOUT_NONE;
    }
    /*
     * On an inter-communicator, ranks refer to the other group (MPI 4.1, 7.6). Group A comes first
     * in the list.
     */
    const bool in_a = own < c->size_a;
    const uint32_t size = in_a ? c->size_b : c->size_a;
    return rank < size ? c->members[(in_a ? c->size_a : 0) + rank] : LAYOUT_NONE;
}

/*
 * A location without a process is given the first process's clock, since nothing says which one it
 * has.
 */
uint32_t ictusi_layout_clock_process(const struct layout *layout, uint32_t location)
{
    const uint32_t process = layout->locations[location].process;
    if (process == LAYOUT_NONE) {
        return 0;
    }
    const uint32_t creator = layout->processes[process].creator;
    return creator == LAYOUT_NONE ? process : creator;
}

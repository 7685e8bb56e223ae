/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Resolves references between definitions once all of them are read: nodes, members of
 * communicators, ranks.
 */
#include "archive/definitions.h"

#include <ictus/text.h>
#include <stdlib.h>
#include <string.h>

/*
 * The node of a process: the ancestor of class "node" in the system tree, or else its parent. The
 * depth is limited, because the tree of a damaged archive may contain a cycle.
 */
static uint32_t definition_links_node_of(const struct trace *trace, uint32_t parent)
{
    uint32_t at = parent;
    for (int depth = 0; depth < 64 && at != OTF2_UNDEFINED_SYSTEM_TREE_NODE; depth++) {
        if (ictusi_idmap_get(&trace->links.tree_class, at, 0) == 1) {
            return at;
        }
        const int64_t up = ictusi_idmap_get(&trace->links.tree_parent, at, 0);
        if (up == IDMAP_NONE) {
            break;
        }
        at = (uint32_t)up;
    }
    return parent;
}

/* Nodes are numbered in the order in which processes refer to them. */
static int link_processes(struct trace *trace)
{
    struct idmap index = {NULL, 0, 0};
    for (uint64_t i = 0; i < trace->layout.process_count; i++) {
        const uint32_t node = definition_links_node_of(trace, trace->links.processes[i].parent);
        int64_t *slot = ictusi_idmap_at(&index, node, 0, (int64_t)index.used);
        if (!slot) {
            ictusi_idmap_fini(&index);
            return ICTUS_ERR_NOMEM;
        }
        const uint32_t creator = trace->links.processes[i].creator;
        const int64_t maker = creator == OTF2_UNDEFINED_LOCATION_GROUP
                                  ? IDMAP_NONE
                                  : ictusi_idmap_get(&trace->process_index, creator, 0);
        trace->layout.processes[i].node = (uint32_t)*slot;
        trace->layout.processes[i].creator = maker == IDMAP_NONE ? LAYOUT_NONE : (uint32_t)maker;
    }
    trace->layout.node_count = index.used;
    ictusi_idmap_fini(&index);
    return ICTUS_OK;
}

static const struct trace_group *definition_links_find_group(const struct trace *trace,
                                                             uint32_t ref)
{
    const int64_t index = ictusi_idmap_get(&trace->group_index, ref, 0);
    return index == IDMAP_NONE ? NULL : &trace->groups[index];
}

/* The group that lists all locations of a paradigm. Other groups contain indices into it. */
static const struct trace_group *paradigm_locations(const struct trace *trace, uint8_t paradigm)
{
    for (uint64_t i = 0; i < trace->group_count; i++) {
        if (trace->groups[i].type == OTF2_GROUP_TYPE_COMM_LOCATIONS &&
            trace->groups[i].paradigm == paradigm) {
            return &trace->groups[i];
        }
    }
    return NULL;
}

static int definition_links_add_members(struct trace *trace, struct layout_comm *comm,
                                        const struct trace_group *group, uint32_t at)
{
    const struct trace_group *all = paradigm_locations(trace, group->paradigm);
    for (uint32_t i = 0; i < group->count; i++) {
        uint64_t ref = group->members[i];
        if (!group->global_members && group->type == OTF2_GROUP_TYPE_COMM_GROUP) {
            if (!all || ref >= all->count) {
                return ictus_because(trace->why, ICTUS_ERR_CORRUPT,
                                     "%s: communicator %u has a member that does not exist",
                                     trace->path, comm->ref);
            }
            ref = all->members[ref];
        }
        const uint32_t location = ictusi_archive_location(trace, ref);
        comm->members[at + i] = location;
        if (location != LAYOUT_NONE &&
            ictusi_idmap_put(&comm->ranks, location, 0, (int64_t)at + (int64_t)i)) {
            return ICTUS_ERR_NOMEM;
        }
    }
    return ICTUS_OK;
}

static int link_comm(struct trace *trace, struct layout_comm *comm, const struct comm_link *link)
{
    const struct trace_group *a = definition_links_find_group(trace, link->group_a);
    const struct trace_group *b =
        comm->inter ? definition_links_find_group(trace, link->group_b) : NULL;
    if (!a) {
        return ICTUS_OK; /* not usable; events on it are reported as unmatched */
    }
    comm->self = a->type == OTF2_GROUP_TYPE_COMM_SELF;
    comm->size_a = comm->self ? 1 : a->count;
    comm->size_b = b ? b->count : 0;
    if (comm->self) {
        return ICTUS_OK;
    }
    comm->members = calloc((size_t)comm->size_a + comm->size_b + 1, sizeof *comm->members);
    if (!comm->members) {
        return ICTUS_ERR_NOMEM;
    }
    const int err = definition_links_add_members(trace, comm, a, 0);
    return err || !b ? err : definition_links_add_members(trace, comm, b, comm->size_a);
}

/* A window has the groups of its communicator, or none if that is not defined. */
static void link_window(struct trace *trace, struct layout_comm *window, struct comm_link *link)
{
    const uint32_t comm = ictusi_archive_comm(trace, window->ref);
    *link = (struct comm_link){OTF2_UNDEFINED_GROUP, OTF2_UNDEFINED_GROUP, true};
    if (comm != LAYOUT_NONE) {
        *link = trace->links.comms[comm];
        window->inter = trace->layout.comms[comm].inter;
    }
}

static void link_ranks(struct trace *trace)
{
    const struct trace_group *mpi = paradigm_locations(trace, OTF2_PARADIGM_MPI);
    for (uint32_t i = 0; mpi && i < mpi->count; i++) {
        const uint32_t location = ictusi_archive_location(trace, mpi->members[i]);
        if (location != LAYOUT_NONE && trace->layout.locations[location].process != LAYOUT_NONE) {
            trace->layout.processes[trace->layout.locations[location].process].rank_location =
                location;
        }
    }
}

/*
 * Mark the regions of neighbourhood collectives: MPI_Neighbor_alltoall,
 * MPI_Ineighbor_allgatherv_init and so on.
 */
static int link_regions(struct trace *trace)
{
    static const char *const beginnings[] = {"MPI_Neighbor_", "MPI_Ineighbor_"};
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < trace->regions.count && !err; i++) {
        const struct name_row *row = &trace->regions.rows[i];
        const char *name = ictusi_archive_string(trace, row->string);
        for (int k = 0; k < 2 && !err; k++) {
            if (strncmp(name, beginnings[k], strlen(beginnings[k])) == 0) {
                err = ictusi_idmap_put(&trace->region_neighbors, row->ref, 0, 1);
            }
        }
    }
    return err;
}

int ictusi_definitions_link(struct trace *trace)
{
    int err = link_processes(trace);
    err = err ? err : link_regions(trace);
    link_ranks(trace);
    for (uint64_t i = 0; i < trace->layout.comm_count && !err; i++) {
        struct layout_comm *comm = &trace->layout.comms[i];
        struct comm_link *link = &trace->links.comms[i];
        if (link->window) {
            link_window(trace, comm, link);
        }
        err = link_comm(trace, comm, link);
    }
    return err;
}

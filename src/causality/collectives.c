/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives as happened-before pairs S x R (B07 4.1): who sends, who receives, and through which
 * virtual nodes. Where a communicator's members are replayed by several MPI ranks, each rank has a
 * node that gathers and one that spreads, connected as binomial trees; Scan and Exscan combine
 * runs of neighbouring members by recursive doubling (Hillis and Steele 1986).
 */
#include "causality/collectives.h"

#include <ictus/error.h>
#include <stdlib.h>
#include <string.h>

enum { SLOT_GATHER, SLOT_SPREAD, SLOTS };

/* How a communicator's members are spread over MPI ranks. */
struct plan {
    const struct layout_comm *comm;
    uint32_t size;            /* members */
    uint32_t *ranks;          /* MPI ranks that have members, in the order of their first member */
    uint32_t rank_count, own; /* own: index of this rank, or rank_count */
    uint32_t *run_first;      /* runs of neighbouring members on one rank; run_count + 1 entries */
    uint32_t run_count, levels;
};

/* One instance being connected. */
struct joint {
    struct graph *graph;
    const struct plan *plan;
    const struct instance *instance;
    const struct agreement *agreement;
    uint32_t root;    /* position */
    bool everybody;   /* sizes are unknown or do not matter */
    uint32_t *enters; /* this rank's points, in no order; the chains are taken apart */
    uint32_t *exits;
    uint32_t count;
};

static uint32_t owner_of(const struct graph *graph, const struct layout_comm *comm, uint32_t member)
{
    const uint32_t location = comm->members[member];
    return location == LAYOUT_NONE ? 0 : graph->share->owner[location];
}

static int plan_ranks(struct plan *plan, const struct graph *graph)
{
    bool *seen = calloc((size_t)graph->share->size, 1);
    plan->ranks = malloc((plan->size + 1UL) * sizeof *plan->ranks);
    plan->run_first = malloc((plan->size + 2UL) * sizeof *plan->run_first);
    if (!seen || !plan->ranks || !plan->run_first) {
        free(seen);
        return ICTUS_ERR_NOMEM;
    }
    for (uint32_t i = 0; i < plan->size; i++) {
        const uint32_t rank = owner_of(graph, plan->comm, i);
        if (i == 0 || rank != owner_of(graph, plan->comm, i - 1)) {
            plan->run_first[plan->run_count++] = i;
        }
        if (!seen[rank]) {
            seen[rank] = true;
            plan->ranks[plan->rank_count++] = rank;
        }
    }
    plan->run_first[plan->run_count] = plan->size;
    plan->own = plan->rank_count;
    for (uint32_t i = 0; i < plan->rank_count; i++) {
        plan->own = plan->ranks[i] == (uint32_t)graph->share->rank ? i : plan->own;
    }
    while ((1U << plan->levels) < plan->run_count) {
        plan->levels++;
    }
    free(seen);
    return ICTUS_OK;
}

static void plan_fini(struct plan *plan)
{
    free(plan->ranks);
    free(plan->run_first);
}

/* Nodes of one instance that other ranks can name: two per direction, then those of each run. */
static uint32_t slots_of(const struct plan *plan, const struct graph *graph, uint32_t rank)
{
    uint32_t runs = 0;
    if (plan->rank_count < 2) {
        return 0;
    }
    for (uint32_t i = 0; i < plan->run_count; i++) {
        runs += owner_of(graph, plan->comm, plan->run_first[i]) == rank;
    }
    return runs ? 2 * SLOTS + runs * (plan->levels + 2) : 0;
}

uint32_t ictusi_collectives_slots(const struct layout *layout, const struct share *share,
                                  uint32_t comm, int rank)
{
    const struct graph graph = {.share = share};
    struct plan plan = {.comm = &layout->comms[comm], .size = layout_members(&layout->comms[comm])};
    uint32_t slots = 0;
    if (plan.comm->self || !plan.comm->members || plan_ranks(&plan, &graph)) {
        return 0;
    }
    slots = slots_of(&plan, &graph, (uint32_t)rank);
    plan_fini(&plan);
    return slots;
}

/* The node in a slot of this instance, on any rank. */
static uint32_t slot_node(struct joint *j, uint32_t rank, uint32_t slot)
{
    const uint32_t slots = slots_of(j->plan, j->graph, rank);
    const uint32_t node =
        NODE_VIRTUAL | (j->agreement->base[rank] + j->instance->sequence * slots + slot);
    return rank == (uint32_t)j->graph->share->rank ? node
                                                   : ictusi_graph_remote(j->graph, rank, node);
}

static bool takes_part(const struct joint *j, uint32_t point)
{
    return j->everybody || (j->graph->history->points.kind[point] & POINT_LIVE);
}

/* A list of nodes under construction. */
struct list {
    uint32_t *nodes;
    uint32_t count;
};

/* Which points take part: those of one group that move data, or the root's. */
enum pick { PICK_ALL, PICK_ROOT };

static void pick_points(const struct joint *j, const uint32_t *from, uint32_t low, uint32_t high,
                        enum pick pick, struct list *list)
{
    const struct points *points = &j->graph->history->points;
    for (uint32_t i = 0; i < j->count; i++) {
        const uint32_t member = points->peer[from[i]];
        const bool wanted = pick == PICK_ROOT
                                ? member == j->root
                                : member >= low && member < high && takes_part(j, from[i]);
        if (wanted) {
            list->nodes[list->count++] = from[i];
        }
    }
}

/* Fill a reserved or new node's lists and connect its points. */
static int fill_node(struct joint *j, uint32_t node, const struct list *in, const struct list *out)
{
    const int err = ictusi_graph_edges(j->graph, node, in->count, out->count);
    if (err) {
        return err;
    }
    uint32_t *link = j->graph->history->points.link;
    uint32_t *edges = ictusi_graph_in(j->graph, node);
    graph_vnode(j->graph, node)->class = j->instance->class;
    for (uint32_t i = 0; i < in->count; i++) {
        edges[i] = in->nodes[i];
        if (!(in->nodes[i] & NODE_VIRTUAL)) {
            link[in->nodes[i]] = node;
        }
    }
    for (uint32_t i = 0; i < out->count; i++) {
        edges[in->count + i] = out->nodes[i];
        if (!(out->nodes[i] & NODE_VIRTUAL)) {
            link[out->nodes[i]] = node;
        }
    }
    return ICTUS_OK;
}

/* The neighbours in a binomial tree of ranks rooted at the index top. */
static uint32_t tree_parent(const struct plan *plan, uint32_t top)
{
    const uint32_t n = plan->rank_count;
    const uint32_t relative = (plan->own + n - top) % n;
    return relative == 0 ? NODE_NONE : ((relative & (relative - 1)) + top) % n;
}

static uint32_t tree_child(const struct plan *plan, uint32_t top, uint32_t level)
{
    const uint32_t n = plan->rank_count;
    const uint32_t relative = (plan->own + n - top) % n;
    const uint32_t bit = 1U << level;
    if ((relative & (bit - 1)) != 0 || (relative & bit) != 0 || relative + bit >= n) {
        return NODE_NONE;
    }
    return (relative + bit + top) % n;
}

/* Which index of plan->ranks replays a member. */
static uint32_t rank_index(const struct joint *j, uint32_t member)
{
    const uint32_t rank = owner_of(j->graph, j->plan->comm, member);
    for (uint32_t i = 0; i < j->plan->rank_count; i++) {
        if (j->plan->ranks[i] == rank) {
            return i;
        }
    }
    return 0;
}

static void add_children(struct joint *j, uint32_t top, uint32_t slot, struct list *list)
{
    for (uint32_t level = 0; (1U << level) < j->plan->rank_count; level++) {
        const uint32_t child = tree_child(j->plan, top, level);
        if (child != NODE_NONE) {
            list->nodes[list->count++] = slot_node(j, j->plan->ranks[child], slot);
        }
    }
}

/*
 * From the enters in one list to the exits in another, over a tree of ranks: gather up to the rank
 * `top`, unless only the root sends, then spread down, unless only the root receives.
 */
static int connect_tree(struct joint *j, uint32_t top, bool gather, bool spread,
                        uint32_t first_slot, struct list *in, struct list *out)
{
    const uint32_t up = slot_node(j, j->plan->ranks[j->plan->own], first_slot + SLOT_GATHER);
    const uint32_t down = slot_node(j, j->plan->ranks[j->plan->own], first_slot + SLOT_SPREAD);
    const uint32_t parent = tree_parent(j->plan, top);
    uint32_t one = NODE_NONE;
    struct list single = {&one, 1};
    int err = ICTUS_OK;
    if (gather) {
        add_children(j, top, first_slot + SLOT_GATHER, in);
        if (parent != NODE_NONE) {
            one = slot_node(j, j->plan->ranks[parent], first_slot + SLOT_GATHER);
        } else {
            one = down;
        }
        err = fill_node(j, up, in, !spread && parent == NODE_NONE ? out : &single);
    }
    if (spread && !err) {
        add_children(j, top, first_slot + SLOT_SPREAD, out);
        if (parent != NODE_NONE) {
            one = slot_node(j, j->plan->ranks[parent], first_slot + SLOT_SPREAD);
        } else {
            one = up;
        }
        err = fill_node(j, down, gather || parent != NODE_NONE ? &single : in, out);
    }
    return err;
}

static int connect_sets(struct joint *j, bool root_sends, bool root_receives, uint32_t first_slot,
                        struct list *in, struct list *out)
{
    if (j->plan->rank_count < 2) {
        uint32_t node = NODE_NONE;
        if (in->count == 0 || out->count == 0) {
            return ICTUS_OK;
        }
        const int err = ictusi_graph_vnode(j->graph, 0, 0, j->instance->class, &node);
        return err ? err : fill_node(j, node, in, out);
    }
    const uint32_t top = j->root == LAYOUT_NONE ? 0 : rank_index(j, j->root);
    return connect_tree(j, top, !root_sends, !root_receives, first_slot, in, out);
}

/* One direction: the enters of members [from, from_end) before the exits of [to, to_end). */
struct direction {
    uint32_t from, from_end, to, to_end;
    uint32_t first_slot;
};

static int connect_direction(struct joint *j, const struct direction *d, bool root_sends,
                             bool root_receives)
{
    const size_t room = j->count + 40UL; /* and the children in a tree of at most 2^32 ranks */
    uint32_t *memory = malloc(2 * room * sizeof *memory);
    if (!memory) {
        return ICTUS_ERR_NOMEM;
    }
    struct list in = {memory, 0};
    struct list out = {memory + room, 0};
    pick_points(j, j->enters, d->from, d->from_end, root_sends ? PICK_ROOT : PICK_ALL, &in);
    pick_points(j, j->exits, d->to, d->to_end, root_receives ? PICK_ROOT : PICK_ALL, &out);
    const int err = connect_sets(j, root_sends, root_receives, d->first_slot, &in, &out);
    free(memory);
    return err;
}

/* An inner node of a scan; nodes may be NODE_NONE and are then left out. */
static int scan_node(struct joint *j, uint32_t node, uint32_t in_a, uint32_t in_b, uint32_t out_a,
                     uint32_t out_b)
{
    uint32_t ins[2];
    uint32_t outs[2];
    struct list in = {ins, 0};
    struct list out = {outs, 0};
    const uint32_t given[4] = {in_a, in_b, out_a, out_b};
    for (int i = 0; i < 4; i++) {
        struct list *list = i < 2 ? &in : &out;
        if (given[i] != NODE_NONE) {
            list->nodes[list->count++] = given[i];
        }
    }
    return fill_node(j, node, &in, &out);
}

/* The node of a run in a slot: 0..levels combine, levels + 1 is what comes from the runs below. */
static uint32_t run_node(struct joint *j, uint32_t run, uint32_t slot)
{
    const struct plan *plan = j->plan;
    const uint32_t rank = owner_of(j->graph, plan->comm, plan->run_first[run]);
    uint32_t before = 0;
    for (uint32_t i = 0; i < run; i++) {
        before += owner_of(j->graph, plan->comm, plan->run_first[i]) == rank;
    }
    return slot_node(j, rank, 2 * SLOTS + before * (plan->levels + 2) + slot);
}

/* Recursive doubling over runs: node k of a run holds the maximum of the 2^k runs up to it. */
static int connect_levels(struct joint *j, uint32_t run, uint32_t chain_end,
                          const struct list *exits)
{
    const struct plan *plan = j->plan;
    int err = ICTUS_OK;
    for (uint32_t k = 0; k <= plan->levels && !err; k++) {
        const uint32_t reach = 1U << k;
        const bool top = k == plan->levels;
        const uint32_t in_a = k == 0 ? chain_end : run_node(j, run, k - 1);
        const uint32_t in_b =
            k > 0 && run >= reach / 2 ? run_node(j, run - reach / 2, k - 1) : NODE_NONE;
        const uint32_t out_a = top ? NODE_NONE : run_node(j, run, k + 1);
        uint32_t out_b = NODE_NONE;
        if (top && run + 1 < plan->run_count) {
            out_b = run_node(j, run + 1, plan->levels + 1);
        } else if (!top && run + reach < plan->run_count) {
            out_b = run_node(j, run + reach, k + 1);
        }
        err = scan_node(j, run_node(j, run, k), in_a, in_b, out_a, out_b);
    }
    if (!err && run > 0) {
        uint32_t below = run_node(j, run - 1, plan->levels);
        const struct list in = {&below, 1};
        err = fill_node(j, run_node(j, run, plan->levels + 1), &in, exits);
    }
    return err;
}

/* The new nodes of a run: n chain nodes in a row, then one per exit. */
static int make_run_nodes(struct joint *j, uint32_t n, uint32_t *base)
{
    int err = ICTUS_OK;
    for (uint32_t i = 0; i < 2 * n && !err; i++) {
        uint32_t node = NODE_NONE;
        err = ictusi_graph_vnode(j->graph, 0, 0, j->instance->class, &node);
        *base = i == 0 ? node : *base;
    }
    return err;
}

/*
 * One run of members: node i of a chain holds the maximum of the enters up to member i. An exit
 * listens to its own node (Scan) or the one below (Exscan: no dependency on itself), and to the
 * runs below.
 */
static int connect_run(struct joint *j, const uint32_t *enter, const uint32_t *exit, uint32_t run)
{
    const uint32_t first = j->plan->run_first[run];
    const uint32_t n = j->plan->run_first[run + 1] - first;
    const uint32_t own = j->instance->op == COLLECTIVE_SCAN ? 0 : 1;
    const bool several = j->plan->run_count > 1;
    const uint32_t above = several ? run_node(j, run, 0) : NODE_NONE;
    const uint32_t below = run > 0 ? run_node(j, run, j->plan->levels + 1) : NODE_NONE;
    uint32_t *exits = malloc(n * sizeof *exits);
    uint32_t base = NODE_NONE;
    int err = exits ? make_run_nodes(j, n, &base) : ICTUS_ERR_NOMEM;
    for (uint32_t i = 0; i < n && !err; i++) {
        const uint32_t listener = i + own < n ? base + n + i + own : NODE_NONE;
        err = scan_node(j, base + i, enter[first + i], i > 0 ? base + i - 1 : NODE_NONE,
                        i + 1 < n ? base + i + 1 : above, listener);
    }
    for (uint32_t i = 0; i < n && !err; i++) {
        exits[i] = base + n + i;
        err = scan_node(j, exits[i], i >= own ? base + i - own : NODE_NONE, below, exit[first + i],
                        NODE_NONE);
    }
    const struct list list = {exits, n};
    if (!err && several) {
        err = connect_levels(j, run, base + n - 1, &list);
    }
    free(exits);
    return err;
}

static int connect_scan(struct joint *j)
{
    const struct points *points = &j->graph->history->points;
    const uint32_t size = j->plan->size;
    uint32_t *enter = malloc(2 * (size + 1UL) * sizeof *enter);
    if (!enter) {
        return ICTUS_ERR_NOMEM;
    }
    uint32_t *exit = enter + size;
    for (uint32_t i = 0; i < j->count; i++) {
        enter[points->peer[j->enters[i]]] = j->enters[i];
        exit[points->peer[j->exits[i]]] = j->exits[i];
    }
    int err = ICTUS_OK;
    for (uint32_t run = 0; run < j->plan->run_count && !err; run++) {
        if (owner_of(j->graph, j->plan->comm, j->plan->run_first[run]) ==
            (uint32_t)j->graph->share->rank) {
            err = connect_run(j, enter, exit, run);
        }
    }
    free(enter);
    return err;
}

static bool is_proven(const struct joint *j, bool from_b, bool to_b)
{
    const uint32_t *live =
        j->plan->rank_count > 1
            ? &j->agreement->live[(uint64_t)j->instance->sequence * COLLECTIVE_SIDES]
            : j->instance->live;
    if (!collective_is_sparse(j->instance->op)) {
        return true;
    }
    return !j->everybody &&
           (live[collective_side(from_b, false)] <= 1 || live[collective_side(to_b, true)] <= 1);
}

static int connect_proven(struct joint *j, const struct direction *d, bool root_sends,
                          bool root_receives)
{
    const uint32_t half = j->plan->comm->inter ? j->plan->comm->size_a : UINT32_MAX;
    if (is_proven(j, d->from >= half, d->to >= half)) {
        return connect_direction(j, d, root_sends, root_receives);
    }
    j->graph->unproven += j->plan->own == 0;
    return ICTUS_OK;
}

static int connect_op(struct joint *j)
{
    const struct layout_comm *comm = j->plan->comm;
    const uint32_t all = j->plan->size;
    bool root_sends = false;
    bool root_receives = false;
    switch (j->instance->op) {
    case COLLECTIVE_BCAST:
    case COLLECTIVE_SCATTER:
    case COLLECTIVE_SCATTERV:
        root_sends = true;
        break;
    case COLLECTIVE_GATHER:
    case COLLECTIVE_GATHERV:
    case COLLECTIVE_REDUCE:
        root_receives = true;
        break;
    case COLLECTIVE_SCAN:
    case COLLECTIVE_EXSCAN:
        return connect_scan(j);
    default:
        break;
    }
    if (!comm->inter) {
        const struct direction d = {0, all, 0, all, 0};
        return connect_proven(j, &d, root_sends, root_receives);
    }
    const bool root_in_a = j->root < comm->size_a;
    const struct direction from_a = {0, comm->size_a, comm->size_a, all, 0};
    const struct direction from_b = {comm->size_a, all, 0, comm->size_a, SLOTS};
    const bool rooted = root_sends || root_receives;
    int err = ICTUS_OK;
    if (!rooted || root_in_a == root_sends) {
        err = connect_proven(j, &from_a, root_sends, root_receives);
    }
    if (!err && (!rooted || root_in_a != root_sends)) {
        err = connect_proven(j, &from_b, root_sends, root_receives);
    }
    return err;
}

static uint64_t chain_detach(struct points *points, uint32_t from, uint32_t *list)
{
    uint64_t count = 0;
    while (from != NODE_NONE) {
        const uint32_t next = points->link[from];
        points->link[from] = NODE_NONE;
        list[count++] = from;
        from = next;
    }
    return count;
}

/* Whether all members took part, and in the same operation. */
static bool is_usable(const struct joint *j)
{
    const struct instance *instance = j->instance;
    const struct agreement *agreement = j->agreement;
    if (j->plan->rank_count < 2) {
        return !instance->broken && instance->out.count == j->plan->size && j->plan->size > 1;
    }
    return instance->sequence < agreement->calls &&
           agreement->op_low[instance->sequence] == agreement->op_high[instance->sequence];
}

/* Whether some member began to be recorded later than others, so that calls cannot be counted. */
static bool begins_late(const struct graph *graph, const struct plan *plan, uint32_t comm)
{
    const struct stretch_list *stretches = &graph->history->matching.stretches;
    const uint32_t *list = graph->history->layout->comms[comm].members;
    bool late = false;
    for (uint32_t i = 0; stretches->begin_late && i < plan->size && !late; i++) {
        late = stretches->gaps[list[i]].late;
    }
    return late;
}

static int connect_instance(struct graph *graph, const struct plan *plan,
                            const struct instance *instance, const struct agreement *agreement)
{
    struct joint j = {graph, plan, instance, agreement, instance->root, false, NULL, NULL, 0};
    int err = ICTUS_OK;
    j.enters = malloc(((size_t)instance->out.count + instance->in.count + 1) * sizeof *j.enters);
    if (!j.enters) {
        return ICTUS_ERR_NOMEM;
    }
    j.exits = j.enters + instance->out.count;
    j.count = (uint32_t)chain_detach(&graph->history->points, instance->out.head, j.enters);
    (void)chain_detach(&graph->history->points, instance->in.head, j.exits);
    if (plan->rank_count > 1 && agreement && instance->sequence < agreement->calls) {
        j.root = agreement->root[instance->sequence];
    }
    /* Barriers and calls that make or free handles move no data, and still wait for everybody. */
    j.everybody = instance->op == COLLECTIVE_BARRIER || instance->op >= COLLECTIVE_CREATE_HANDLE ||
                  !graph->history->matching.sizes_known;
    if (begins_late(graph, plan, instance->comm)) {
        graph->left_out += j.count;
    } else if (!is_usable(&j) || (collective_is_rooted(instance->op) && j.root >= plan->size)) {
        graph->incomplete += plan->size > 1;
    } else {
        graph->collectives += plan->own == 0;
        err = connect_op(&j);
    }
    free(j.enters);
    return err;
}

/* Nodes that other ranks name lie where they expect them. */
static int reserve_slots(struct graph *graph, const struct plan *plan,
                         const struct agreement *agreement)
{
    int err = ICTUS_OK;
    if (!agreement || plan->rank_count < 2 || plan->own == plan->rank_count) {
        return ICTUS_OK;
    }
    const uint64_t slots = slots_of(plan, graph, (uint32_t)graph->share->rank);
    for (uint64_t i = 0; i < slots * agreement->calls && !err; i++) {
        uint32_t node = NODE_NONE;
        err = ictusi_graph_vnode(graph, 0, 0, POINT_COLLECTIVE, &node);
    }
    return err;
}

static int make_plans(struct graph *graph, struct plan *plans)
{
    const struct layout *layout = graph->history->layout;
    int err = ICTUS_OK;
    for (uint64_t i = 0; i < layout->comm_count && !err; i++) {
        plans[i].comm = &layout->comms[i];
        if (!layout->comms[i].self && layout->comms[i].members) {
            plans[i].size = layout_members(&layout->comms[i]);
            err = plan_ranks(&plans[i], graph);
        }
    }
    return err;
}

int ictusi_collectives_connect(struct graph *graph, const struct agreement *agreements)
{
    const struct layout *layout = graph->history->layout;
    const struct matching *m = &graph->history->matching;
    const uint64_t comms = layout->comm_count;
    struct plan *plans = calloc(comms + 1, sizeof *plans);
    int err = plans ? make_plans(graph, plans) : ICTUS_ERR_NOMEM;
    for (uint64_t i = 0; agreements && i < POINT_CLASSES * comms && !err; i++) {
        err = reserve_slots(graph, &plans[i % comms], &agreements[i]);
    }
    for (uint64_t i = 0; i < m->instance_count && !err; i++) {
        const struct instance *instance = &m->instances[i];
        if (instance->op < OP_FORK) {
            const struct agreement *agreement =
                agreements ? &agreements[instance->class * comms + instance->comm] : NULL;
            err = connect_instance(graph, &plans[instance->comm], instance, agreement);
        }
    }
    for (uint64_t i = 0; plans && i < comms; i++) {
        plan_fini(&plans[i]);
    }
    free(plans);
    return err;
}

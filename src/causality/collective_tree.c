/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the senders of a collective operation to its receivers: through one node, or, where several
 * ranks replay members, through binomial trees of ranks with two nodes each.
 */
#include "causality/collective_joint.h"

#include <ictus/error.h>
#include <stdlib.h>

static bool collective_tree_takes_part(const struct joint *j, uint32_t point)
{
    return j->everybody || (j->graph->history->points.kind[point] & POINT_LIVE);
}

/* Which points take part: those of one group that move data, or only the root's. */
enum pick { PICK_ALL, PICK_ROOT };

static void collective_tree_pick_points(const struct joint *j, const uint32_t *from, uint32_t low,
                                        uint32_t high, enum pick pick, struct node_list *list)
{
    const struct points *points = &j->graph->history->points;
    for (uint32_t i = 0; i < j->count; i++) {
        const uint32_t member = points->peer[from[i]];
        const bool wanted = pick == PICK_ROOT ? member == j->root
                                              : member >= low && member < high &&
                                                    collective_tree_takes_part(j, from[i]);
        if (wanted) {
            list->nodes[list->count++] = from[i];
        }
    }
}

/*
 * The parent in a binomial tree of ranks rooted at index top. Numbers are relative to the root; a
 * parent's number is its child's with the lowest set bit cleared.
 */
static uint32_t collective_tree_parent(const struct collective_plan *plan, uint32_t top)
{
    const uint32_t n = plan->rank_count;
    const uint32_t relative = (plan->own + n - top) % n;
    return relative == 0 ? NODE_NONE : ((relative & (relative - 1)) + top) % n;
}

/*
 * A rank has a child at a level if its bits up to and including that level are clear. The child is
 * relative + 2^level.
 */
static uint32_t tree_child(const struct collective_plan *plan, uint32_t top, uint32_t level)
{
    const uint32_t n = plan->rank_count;
    const uint32_t relative = (plan->own + n - top) % n;
    const uint32_t bit = 1U << level;
    if ((relative & (bit - 1)) != 0 || (relative & bit) != 0 || relative + bit >= n) {
        return NODE_NONE;
    }
    return (relative + bit + top) % n;
}

/* The index in plan->ranks of the rank that replays a member. */
static uint32_t rank_index(const struct joint *j, uint32_t member)
{
    const uint32_t rank = plan_owner(j->plan, member);
    for (uint32_t i = 0; i < j->plan->rank_count; i++) {
        if (j->plan->ranks[i] == rank) {
            return i;
        }
    }
    return 0;
}

static void collective_tree_add_children(struct joint *j, uint32_t top, uint32_t slot,
                                         struct node_list *list)
{
    for (uint32_t level = 0; (1U << level) < j->plan->rank_count; level++) {
        const uint32_t child = tree_child(j->plan, top, level);
        if (child != NODE_NONE) {
            list->nodes[list->count++] = ictusi_joint_slot(j, j->plan->ranks[child], slot);
        }
    }
}

/*
 * Connect the enters in one list to the exits in another over a tree of ranks: gather up to the
 * rank `top`, unless only the root sends, then spread down, unless only the root receives. The
 * neighbours in the tree are added to both lists. If nothing is spread, the gathering node at the
 * top leads directly to the exits. If nothing is gathered, the spreading node there depends
 * directly on the enters.
 */
static int tree_connect(struct joint *j, uint32_t top, bool gather, bool spread,
                        uint32_t first_slot, struct node_list *in, struct node_list *out)
{
    const uint32_t up =
        ictusi_joint_slot(j, j->plan->ranks[j->plan->own], first_slot + SLOT_GATHER);
    const uint32_t down =
        ictusi_joint_slot(j, j->plan->ranks[j->plan->own], first_slot + SLOT_SPREAD);
    const uint32_t parent = collective_tree_parent(j->plan, top);
    uint32_t one = NODE_NONE;
    struct node_list single = {&one, 1};
    int err = ICTUS_OK;
    if (gather) {
        collective_tree_add_children(j, top, first_slot + SLOT_GATHER, in);
        if (parent != NODE_NONE) {
            one = ictusi_joint_slot(j, j->plan->ranks[parent], first_slot + SLOT_GATHER);
        } else {
            one = down;
        }
        err = ictusi_joint_fill(j, up, in, !spread && parent == NODE_NONE ? out : &single);
    }
    if (spread && !err) {
        collective_tree_add_children(j, top, first_slot + SLOT_SPREAD, out);
        if (parent != NODE_NONE) {
            one = ictusi_joint_slot(j, j->plan->ranks[parent], first_slot + SLOT_SPREAD);
        } else {
            one = up;
        }
        err = ictusi_joint_fill(j, down, gather || parent != NODE_NONE ? &single : in, out);
    }
    return err;
}

/* If one rank has all members, a single node joins senders and receivers, and no tree is needed. */
static int collective_tree_connect_sets(struct joint *j, bool root_sends, bool root_receives,
                                        uint32_t first_slot, struct node_list *in,
                                        struct node_list *out)
{
    if (j->plan->rank_count < 2) {
        uint32_t node = NODE_NONE;
        if (in->count == 0 || out->count == 0) {
            return ICTUS_OK;
        }
        const int err = ictusi_graph_vnode(j->graph, 0, 0, j->instance->class, &node);
        return err ? err : ictusi_joint_fill(j, node, in, out);
    }
    const uint32_t top = j->root == LAYOUT_NONE ? 0 : rank_index(j, j->root);
    return tree_connect(j, top, !root_sends, !root_receives, first_slot, in, out);
}

int ictusi_joint_direction(struct joint *j, const struct direction *d, bool root_sends,
                           bool root_receives)
{
    const size_t room = j->count + 40UL; /* plus the children in a tree of at most 2^32 ranks */
    uint32_t *memory = malloc(2 * room * sizeof *memory);
    if (!memory) {
        return ICTUS_ERR_NOMEM;
    }
    struct node_list in = {memory, 0};
    struct node_list out = {memory + room, 0};
    collective_tree_pick_points(j, j->enters, d->from, d->from_end,
                                root_sends ? PICK_ROOT : PICK_ALL, &in);
    collective_tree_pick_points(j, j->exits, d->to, d->to_end, root_receives ? PICK_ROOT : PICK_ALL,
                                &out);
    const int err =
        collective_tree_connect_sets(j, root_sends, root_receives, d->first_slot, &in, &out);
    free(memory);
    return err;
}

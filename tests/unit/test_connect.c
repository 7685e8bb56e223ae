/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The happened-before relation in histories made by hand: messages around a gap in the recording,
 * messages to oneself, and collective operations on several ranks and between groups.
 */
#include "../check.h"

#include "causality/connect.h"
#include "core/random.h"

#include <stdbool.h>

enum { LOCATIONS = 12, RANKS_MOST = 3, WORLD = 0, SELF = 1, COMMS = 2 };

/* One process per location, a communicator of the first ones, and one for each process alone. */
struct scene {
    struct layout layout;
    struct layout_location locations[LOCATIONS];
    struct layout_process processes[LOCATIONS];
    struct layout_comm comms[COMMS];
    uint32_t members[LOCATIONS];
    uint32_t owner[LOCATIONS];
    struct share share;
    struct history history;
    struct graph graph;
};

static void scene_open(struct scene *s, uint32_t members)
{
    *s = (struct scene){.share = {.rank = 0, .size = 1, .owner = s->owner}};
    s->comms[WORLD] = (struct layout_comm){.size_a = members, .members = s->members};
    s->comms[SELF] = (struct layout_comm){.self = true, .size_a = 1};
    for (uint32_t i = 0; i < LOCATIONS; i++) {
        s->locations[i] = (struct layout_location){.ref = i, .process = i, .events = 1};
        s->processes[i] =
            (struct layout_process){.ref = i, .creator = LAYOUT_NONE, .rank_location = i};
        s->members[i] = i;
        if (i < members) {
            REQUIRE(!ictusi_idmap_put(&s->comms[WORLD].ranks, i, 0, i));
        }
    }
    s->layout = (struct layout){.resolution = 1000000000,
                                .location_count = LOCATIONS,
                                .process_count = LOCATIONS,
                                .comm_count = COMMS,
                                .locations = s->locations,
                                .processes = s->processes,
                                .comms = s->comms};
    REQUIRE(!ictusi_history_init(&s->history, &s->layout, 1000, NULL));
}

static void scene_close(struct scene *s)
{
    ictusi_graph_fini(&s->graph);
    ictusi_history_fini(&s->history);
    ictusi_idmap_fini(&s->comms[WORLD].ranks);
}

static uint32_t scene_point(struct scene *s, uint8_t kind)
{
    struct points *points = &s->history.points;
    REQUIRE(!ictusi_points_grow(points, NULL));
    const uint32_t point = (uint32_t)points->count++;
    points->time[point] = 1000 * (int64_t)point;
    points->link[point] = NODE_NONE;
    points->kind[point] = kind;
    return point;
}

static uint32_t scene_message(struct scene *s, uint32_t comm, uint32_t from, uint32_t to, bool send)
{
    const uint32_t point = scene_point(s, (uint8_t)(POINT_P2P | (send ? POINT_OUT : POINT_IN)));
    REQUIRE(!ictusi_match_message(&s->history.matching, point, send ? from : to, comm,
                                  send ? to : from, 5, send));
    return point;
}

static bool scene_paired(const struct scene *s, uint32_t send, uint32_t receive)
{
    const uint32_t *link = s->history.points.link;
    return link[send] == receive && link[receive] == send;
}

/*
 * One side has recorded the first three of ten messages and, after a gap, the last four. These are
 * paired; what the other side has in between is left out.
 */
static void ends_around_a_gap_are_paired(bool sender_has_gap)
{
    enum { ALL = 10, FIRST = 3, LAST = 4 };
    struct scene s;
    uint32_t whole[ALL];
    uint32_t part[FIRST + LAST];
    scene_open(&s, 2);
    struct matching *m = &s.history.matching;
    for (int i = 0; i < ALL; i++) {
        whole[i] = scene_message(&s, WORLD, 0, 1, !sender_has_gap);
    }
    for (int i = 0; i < FIRST + LAST; i++) {
        m->gap = i >= FIRST;
        part[i] = scene_message(&s, WORLD, 0, 1, sender_has_gap);
    }
    m->stretches.gaps[sender_has_gap ? 0 : 1].count = 1;
    ictusi_stretches_seal(&m->stretches);
    REQUIRE(!ictusi_connect_history(&s.graph, &s.history, &s.share, NULL, 2));
    for (int i = 0; i < FIRST + LAST; i++) {
        CHECK(scene_paired(&s, whole[i < FIRST ? i : i + ALL - FIRST - LAST], part[i]));
    }
    for (int i = FIRST; i < ALL - LAST; i++) {
        CHECK(s.history.points.link[whole[i]] == NODE_NONE);
    }
    CHECK(s.graph.messages == FIRST + LAST && s.graph.left_out == ALL - FIRST - LAST);
    CHECK(s.graph.unmatched_sends == 0 && s.graph.unmatched_receives == 0);
    scene_close(&s);
}

/* Messages to oneself match those of the same process, never another's. */
static void self_is_alone(void)
{
    struct scene s;
    scene_open(&s, 2);
    const uint32_t send = scene_message(&s, SELF, 0, 0, true);
    const uint32_t lone = scene_message(&s, SELF, 1, 1, false);
    const uint32_t receive = scene_message(&s, SELF, 0, 0, false);
    REQUIRE(!ictusi_connect_history(&s.graph, &s.history, &s.share, NULL, 2));
    CHECK(scene_paired(&s, send, receive));
    CHECK(s.history.points.link[lone] == NODE_NONE);
    CHECK(s.graph.messages == 1 && s.graph.unmatched_receives == 1);
    scene_close(&s);
}

/* A process that is not a member of a communicator stands for itself, as in a damaged archive. */
static void strangers_stand_for_themselves(void)
{
    struct scene s;
    scene_open(&s, 2);
    const uint32_t send = scene_message(&s, WORLD, 3, 1, true);
    const uint32_t receive = scene_message(&s, WORLD, 3, 1, false);
    CHECK(s.history.matching.channel_count == 1);
    CHECK(s.history.matching.channels[0].sender == 3);
    REQUIRE(!ictusi_connect_history(&s.graph, &s.history, &s.share, NULL, 2));
    CHECK(scene_paired(&s, send, receive));
    scene_close(&s);
}

/* A collective call on a communicator with one member waits for nobody and is not even stored. */
static void collectives_of_one_wait_for_nobody(void)
{
    struct scene s;
    scene_open(&s, 2);
    const uint32_t begin = scene_point(&s, POINT_COLLECTIVE | POINT_OUT);
    const uint32_t end = scene_point(&s, POINT_COLLECTIVE | POINT_IN);
    const struct collective_call call = {.begin = begin,
                                         .end = end,
                                         .location = 1,
                                         .comm = SELF,
                                         .root = COLLECTIVE_ROOT_NONE,
                                         .op = COLLECTIVE_BARRIER,
                                         .class = POINT_COLLECTIVE};
    REQUIRE(!ictusi_match_collective(&s.history.matching, &call));
    CHECK(s.history.matching.instance_count == 0);
    REQUIRE(!ictusi_connect_history(&s.graph, &s.history, &s.share, NULL, 2));
    CHECK(s.graph.collectives == 0 && s.graph.incomplete == 0);
    scene_close(&s);
}

/*
 * The graphs of all ranks combined: a node's number is that of its rank's first node plus its own.
 */
enum { NODES_OF_RANK = 400, POINTS_OF_RANK = 2 * LOCATIONS, NODES = RANKS_MOST * NODES_OF_RANK };

struct whole {
    struct scene scenes[RANKS_MOST];
    uint32_t enter[LOCATIONS], exit[LOCATIONS];
    bool before[NODES][NODES]; /* as the earlier node says */
    bool after[NODES][NODES];  /* as the later node expects, the earlier first */
};

static uint32_t whole_node(const struct graph *graph, uint32_t rank, uint32_t node)
{
    if ((node & NODE_TYPE) == NODE_REMOTE) {
        const struct remote *remote = &graph->remotes[node & NODE_INDEX];
        return whole_node(graph, remote->rank, remote->node);
    }
    const uint32_t own = node & NODE_VIRTUAL ? POINTS_OF_RANK + (node & NODE_INDEX) : node;
    REQUIRE(own < NODES_OF_RANK);
    return rank * NODES_OF_RANK + own;
}

/*
 * A call on the world. group_a: the number of members of the first of two groups, or 0 for one
 * group.
 */
struct world_call {
    uint32_t ranks, members, group_a;
    uint32_t root; /* among all members; LAYOUT_NONE: none */
    uint8_t op;
    const uint32_t *owner;
};

/*
 * The root as a member specifies it (MPI 4.1, 6.2.3): between groups, its rank in the other group.
 */
static uint32_t root_named(const struct world_call *call, uint32_t member)
{
    if (call->root == LAYOUT_NONE) {
        return COLLECTIVE_ROOT_NONE;
    }
    if (!call->group_a) {
        return call->root;
    }
    const bool root_in_a = call->root < call->group_a;
    if (root_in_a == (member < call->group_a)) {
        return member == call->root ? COLLECTIVE_ROOT_SELF : COLLECTIVE_ROOT_THIS_GROUP;
    }
    return root_in_a ? call->root : call->root - call->group_a;
}

/* Add the part of one rank: the points of its members, connected. */
static void whole_add_rank(struct whole *w, uint32_t rank, const struct world_call *made)
{
    const uint32_t members = made->members;
    struct scene *s = &w->scenes[rank];
    struct agreement agreements[POINT_CLASSES * COMMS] = {{.calls = 0}};
    struct agreement *world = &agreements[POINT_COLLECTIVE * COMMS + WORLD];
    uint32_t base[RANKS_MOST] = {0};
    uint32_t ops[1] = {made->op};
    uint32_t root[1] = {made->root};
    uint32_t sums[COLLECTIVE_SUMS] = {0};
    scene_open(s, members);
    s->comms[WORLD].inter = made->group_a > 0;
    s->comms[WORLD].size_a = made->group_a ? made->group_a : members;
    s->comms[WORLD].size_b = members - s->comms[WORLD].size_a;
    s->share.rank = (int)rank;
    s->share.size = (int)made->ranks;
    for (uint32_t i = 0; i < members; i++) {
        s->owner[i] = made->owner[i];
        if (made->owner[i] == rank) {
            const struct collective_call call = {.begin = scene_point(s, POINT_COLLECTIVE),
                                                 .end = scene_point(s, POINT_COLLECTIVE),
                                                 .location = i,
                                                 .comm = WORLD,
                                                 .root = root_named(made, i),
                                                 .op = made->op,
                                                 .class = POINT_COLLECTIVE};
            REQUIRE(!ictusi_match_collective(&s->history.matching, &call));
            w->enter[i] = whole_node(&s->graph, rank, call.begin);
            w->exit[i] = whole_node(&s->graph, rank, call.end);
        }
    }
    *world = (struct agreement){1, base, ops, ops, root, sums};
    REQUIRE(!ictusi_connect_history(&s->graph, &s->history, &s->share, agreements, 2));
}

static void whole_link(struct whole *w, uint32_t from, uint32_t to, bool told, bool expected)
{
    CHECK(!(told && w->before[from][to]) && !(expected && w->after[from][to]));
    w->before[from][to] = w->before[from][to] || told;
    w->after[from][to] = w->after[from][to] || expected;
}

/* Points have no lists of their own: the list of their node has both directions. */
static void whole_collect(struct whole *w, uint32_t rank)
{
    const struct graph *graph = &w->scenes[rank].graph;
    for (uint32_t v = 0; v < graph->vnode_count; v++) {
        const uint32_t node = whole_node(graph, rank, NODE_VIRTUAL | v);
        const struct vnode *vnode = &graph->vnodes[v];
        const uint32_t *edges = graph->edges + vnode->edges;
        for (uint32_t i = 0; i < vnode->in_count; i++) {
            const bool point = !(edges[i] & NODE_VIRTUAL);
            whole_link(w, whole_node(graph, rank, edges[i]), node, point, true);
        }
        for (uint32_t i = 0; i < vnode->out_count; i++) {
            const uint32_t out = edges[vnode->in_count + i];
            const bool point = !(out & NODE_VIRTUAL);
            whole_link(w, node, whole_node(graph, rank, out), true, point);
        }
    }
}

static void whole_reach(const struct whole *w, uint32_t from, bool *reached)
{
    static uint32_t stack[NODES];
    int depth = 0;
    memset(reached, 0, NODES * sizeof *reached);
    reached[from] = true;
    stack[depth++] = from;
    while (depth > 0) {
        const uint32_t node = stack[--depth];
        for (uint32_t next = 0; next < NODES; next++) {
            if (w->before[node][next] && !reached[next]) {
                reached[next] = true;
                stack[depth++] = next;
            }
        }
    }
}

/*
 * Whether a member cannot leave a call before another one has entered it (MPI 4.1, chapter 6). In a
 * rooted operation the root sends or receives. Between two groups, each group depends only on the
 * other one; in rooted operations only the root of one group and all of the other take part.
 */
static bool is_needed(const struct world_call *call, uint32_t from, uint32_t to)
{
    const bool apart = (from < call->group_a) != (to < call->group_a);
    switch (call->op) {
    case COLLECTIVE_SCAN:
        return from <= to;
    case COLLECTIVE_EXSCAN:
        return from < to; /* not its own part */
    case COLLECTIVE_BCAST:
    case COLLECTIVE_SCATTER:
        return from == call->root && (!call->group_a || apart);
    case COLLECTIVE_REDUCE:
    case COLLECTIVE_GATHER:
        return to == call->root && (!call->group_a || apart);
    default:
        return !call->group_a || apart;
    }
}

static void members_wait_for_whom_they_need(const struct world_call *call)
{
    static struct whole w;
    static bool reached[NODES];
    const bool scan = call->op == COLLECTIVE_SCAN || call->op == COLLECTIVE_EXSCAN;
    memset(&w, 0, sizeof w);
    for (uint32_t r = 0; r < call->ranks; r++) {
        whole_add_rank(&w, r, call);
    }
    for (uint32_t r = 0; r < call->ranks; r++) {
        whole_collect(&w, r);
    }
    CHECK(memcmp(w.before, w.after, sizeof w.before) == 0);
    for (uint32_t from = 0; from < call->members; from++) {
        whole_reach(&w, w.enter[from], reached);
        for (uint32_t to = 0; to < call->members; to++) {
            /* It is trivial that a member leaves after it has entered. */
            CHECK((!scan && from == to) || reached[w.exit[to]] == is_needed(call, from, to));
        }
    }
    for (uint32_t r = 0; r < call->ranks; r++) {
        scene_close(&w.scenes[r]);
    }
}

static void collectives_over_ranks(void)
{
    static const struct {
        uint8_t op;
        bool rooted, between; /* between: also with two groups */
    } ops[] = {{COLLECTIVE_SCAN, false, false},    {COLLECTIVE_EXSCAN, false, false},
               {COLLECTIVE_BARRIER, false, true},  {COLLECTIVE_ALLREDUCE, false, true},
               {COLLECTIVE_ALLTOALL, false, true}, {COLLECTIVE_BCAST, true, true},
               {COLLECTIVE_SCATTER, true, true},   {COLLECTIVE_REDUCE, true, true},
               {COLLECTIVE_GATHER, true, true}};
    struct rng rng;
    ictusi_random_seed(&rng, 21, 0);
    for (int trial = 0; trial < 12; trial++) {
        uint32_t owner[LOCATIONS];
        struct world_call call = {.ranks = 1 + (uint32_t)trial % RANKS_MOST, .owner = owner};
        call.members = 2 + (uint32_t)ictusi_random_below(&rng, LOCATIONS - 1);
        for (uint32_t i = 0; i < call.members; i++) {
            owner[i] = (uint32_t)ictusi_random_below(&rng, call.ranks);
        }
        for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
            call.op = ops[i].op;
            call.root =
                ops[i].rooted ? (uint32_t)ictusi_random_below(&rng, call.members) : LAYOUT_NONE;
            call.group_a = 0;
            members_wait_for_whom_they_need(&call);
            if (ops[i].between) {
                call.group_a = 1 + (uint32_t)ictusi_random_below(&rng, call.members - 1);
                members_wait_for_whom_they_need(&call);
            }
        }
    }
}

/* Who forks a thread alone comes before it, however many other pairs there are. */
static void single_forks_are_pairs(void)
{
    enum { FORKS = 3 };
    struct scene s;
    uint32_t out[FORKS];
    uint32_t in[FORKS];
    scene_open(&s, 2);
    s.comms[WORLD].size_a = 1;
    for (uint32_t i = 0; i < FORKS; i++) {
        out[i] = scene_point(&s, POINT_THREAD | POINT_OUT);
        in[i] = scene_point(&s, POINT_THREAD | POINT_IN);
        REQUIRE(!ictusi_match_thread(&s.history.matching, OP_FORK, WORLD, i, 0, out[i], true));
        REQUIRE(!ictusi_match_thread(&s.history.matching, OP_FORK, WORLD, i, 0, in[i], false));
    }
    REQUIRE(!ictusi_connect_history(&s.graph, &s.history, &s.share, NULL, 2));
    CHECK(s.graph.thread_pairs == FORKS && s.graph.incomplete == 0);
    for (int i = 0; i < FORKS; i++) {
        CHECK(scene_paired(&s, out[i], in[i]));
    }
    scene_close(&s);
}

int main(void)
{
    ends_around_a_gap_are_paired(false);
    ends_around_a_gap_are_paired(true);
    self_is_alone();
    strangers_stand_for_themselves();
    collectives_of_one_wait_for_nobody();
    collectives_over_ranks();
    single_forks_are_pairs();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks of a replay that each know some locations match their messages, in simulated jobs: the nth
 * send of a channel with its nth receive, wherever these are, and both sides list them in one
 * order.
 */
#include "correct/rank_matching.h"

#include "../check.h"
#include "../sim/job_blocks.h"
#include "causality/connect.h"

enum { RANKS = 3, OF_RANK = 4, LOCATIONS = RANKS * OF_RANK, PROCESSES = LOCATIONS / 2 };
enum { MESSAGES = 600, TAGS = 2, CHANNELS = PROCESSES * PROCESSES * TAGS, COMM = 0 };

/* What was recorded of a message, and its points on the ranks of its sender and receiver. */
struct told {
    uint32_t from, to, tag; /* locations; two of them are the threads of one process */
    bool sent, received;
    uint32_t send, receive;
};

/* One rank's part of the history. */
struct part {
    struct layout layout;
    struct layout_location locations[LOCATIONS];
    struct layout_process processes[PROCESSES];
    struct layout_comm comm;
    uint32_t members[PROCESSES], owner[LOCATIONS];
    bool mine[LOCATIONS];
    struct share share;
    struct history history;
    struct graph graph;
    struct crossings crossings;
};

static struct {
    struct told messages[MESSAGES];
    struct part parts[RANKS];
} world;

static int rank_of(uint32_t location)
{
    return (int)(location / OF_RANK);
}

static void world_draw(uint64_t seed, double lost)
{
    struct rng rng;
    memset(&world, 0, sizeof(world));
    ictusi_random_seed(&rng, seed, 3);
    for (int i = 0; i < MESSAGES; i++) {
        struct told *m = &world.messages[i];
        m->from = (uint32_t)(ictusi_random_uniform(&rng) * LOCATIONS);
        m->to = (uint32_t)(ictusi_random_uniform(&rng) * LOCATIONS);
        m->tag = (uint32_t)(ictusi_random_uniform(&rng) * TAGS);
        m->sent = ictusi_random_uniform(&rng) >= lost;
        m->received = ictusi_random_uniform(&rng) >= lost;
    }
}

static void part_open(struct part *p, int rank)
{
    p->share = (struct share){.rank = rank, .size = RANKS, .owner = p->owner, .mine = p->mine};
    p->comm = (struct layout_comm){.size_a = PROCESSES, .members = p->members};
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        p->locations[l] = (struct layout_location){.ref = l, .process = l / 2, .events = 1};
        p->owner[l] = (uint32_t)rank_of(l);
        p->mine[l] = rank_of(l) == rank;
    }
    for (uint32_t i = 0; i < PROCESSES; i++) {
        p->processes[i] =
            (struct layout_process){.ref = i, .creator = LAYOUT_NONE, .rank_location = 2 * i};
        p->members[i] = 2 * i;
        REQUIRE(!ictusi_idmap_put(&p->comm.ranks, 2 * i, 0, i));
    }
    p->layout = (struct layout){.resolution = 1000000000,
                                .location_count = LOCATIONS,
                                .process_count = PROCESSES,
                                .comm_count = 1,
                                .locations = p->locations,
                                .processes = p->processes,
                                .comms = &p->comm};
    REQUIRE(!ictusi_history_init(&p->history, &p->layout, 4 * MESSAGES, NULL));
}

static uint32_t part_add(struct part *p, const struct told *m, int64_t time, bool send)
{
    struct points *points = &p->history.points;
    REQUIRE(!ictusi_points_grow(points, NULL));
    const uint32_t point = (uint32_t)points->count++;
    points->time[point] = time;
    points->link[point] = NODE_NONE;
    points->kind[point] = (uint8_t)(POINT_P2P | (send ? POINT_OUT : POINT_IN));
    REQUIRE(!ictusi_match_message(&p->history.matching, point, send ? m->from : m->to, COMM,
                                  (send ? m->to : m->from) / 2 * 2, m->tag, send));
    return point;
}

/* Each location's events in the order of time. */
static void part_fill(struct part *p)
{
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        p->history.first[l] = p->history.points.count;
        for (int i = 0; i < MESSAGES && p->mine[l]; i++) {
            struct told *m = &world.messages[i];
            if (m->sent && m->from == l) {
                m->send = part_add(p, m, 1000 * (int64_t)i, true);
            }
            if (m->received && m->to == l) {
                m->receive = part_add(p, m, 1000 * (int64_t)i + 500, false);
            }
        }
    }
    p->history.first[LOCATIONS] = p->history.points.count;
    ictusi_stretches_seal(&p->history.matching.stretches);
}

static void part_close(struct part *p)
{
    ictusi_crossings_fini(&p->crossings);
    ictusi_graph_fini(&p->graph);
    ictusi_history_fini(&p->history);
    ictusi_idmap_fini(&p->comm.ranks);
}

/* The rank and point at the other end of a send. */
static struct remote other_end(const struct part *p, uint32_t send)
{
    const uint32_t link = p->history.points.link[send];
    const struct remote none = {RANKS, NODE_NONE};
    return link == NODE_NONE || (link & NODE_TYPE) != NODE_REMOTE
               ? none
               : p->graph.remotes[link & NODE_INDEX];
}

static void pair_is_right(const struct told *s, const struct told *r)
{
    const struct part *a = &world.parts[rank_of(s->from)];
    const struct part *b = &world.parts[rank_of(r->to)];
    if (a == b) {
        CHECK(a->history.points.link[s->send] == r->receive);
    } else {
        const struct remote met = other_end(a, s->send);
        CHECK((int)met.rank == rank_of(r->to) && met.node == r->receive);
        CHECK((b->history.points.link[r->receive] & NODE_TYPE) == NODE_REMOTE);
    }
    CHECK(a->history.points.peer[s->send] == r->to);
    CHECK(b->history.points.peer[r->receive] == s->from);
}

/* Every channel; @return the pairs that cross between each two ranks */
static void channels_are_right(uint64_t crossing[RANKS][RANKS])
{
    uint64_t lone_sends = 0, lone_receives = 0, pairs = 0;
    for (int c = 0; c < CHANNELS; c++) {
        const struct told *sends[MESSAGES], *receives[MESSAGES];
        int sent = 0, received = 0;
        for (int i = 0; i < MESSAGES; i++) {
            const struct told *m = &world.messages[i];
            if (((int)(m->from / 2) * PROCESSES + (int)(m->to / 2)) * TAGS + (int)m->tag == c) {
                sends[sent] = m;
                sent += m->sent;
                receives[received] = m;
                received += m->received;
            }
        }
        for (int k = 0; k < sent && k < received; k++) {
            const int a = rank_of(sends[k]->from), b = rank_of(receives[k]->to);
            pair_is_right(sends[k], receives[k]);
            crossing[a][b] += a != b;
            pairs++;
        }
        for (int k = received; k < sent; k++) {
            const struct part *a = &world.parts[rank_of(sends[k]->from)];
            CHECK(a->history.points.link[sends[k]->send] == NODE_NONE);
            lone_sends++;
        }
        for (int k = sent; k < received; k++) {
            const struct part *b = &world.parts[rank_of(receives[k]->to)];
            CHECK(b->history.points.link[receives[k]->receive] == NODE_NONE);
            lone_receives++;
        }
    }
    for (int r = 0; r < RANKS; r++) {
        const struct graph *g = &world.parts[r].graph;
        lone_sends -= g->unmatched_sends;
        lone_receives -= g->unmatched_receives;
        pairs -= g->messages;
        CHECK(g->left_out == 0);
    }
    CHECK(lone_sends == 0 && lone_receives == 0 && pairs == 0);
}

/* In the order of the sender's points, on both sides. */
static void lists_are_alike(uint64_t crossing[RANKS][RANKS])
{
    uint64_t longest = 0;
    for (int a = 0; a < RANKS; a++) {
        for (int b = 0; b < RANKS; b++) {
            const struct crossing_list *out = &world.parts[a].crossings.sends;
            const struct crossing_list *in = &world.parts[b].crossings.receives;
            const uint64_t n = out->starts[b + 1] - out->starts[b];
            CHECK(n == crossing[a][b] && n == in->starts[a + 1] - in->starts[a]);
            longest = n > longest ? n : longest;
            for (uint64_t k = 0; k < n && n == crossing[a][b]; k++) {
                const uint32_t *send = &out->points[out->starts[b] + k];
                const struct remote met = other_end(&world.parts[a], *send);
                CHECK((int)met.rank == b && met.node == in->points[in->starts[a] + k]);
                CHECK(k == 0 || send[0] > send[-1]);
            }
        }
    }
    for (int r = 0; r < RANKS; r++) {
        CHECK(world.parts[r].crossings.longest == longest);
    }
}

static void matching_rank(int rank, void *context)
{
    struct part *p = &world.parts[rank];
    struct agreement *agreements = calloc(POINT_CLASSES + 1, sizeof *agreements);
    (void)context;
    REQUIRE(agreements);
    part_open(p, rank);
    part_fill(p);
    REQUIRE(!ictusi_connect_history(&p->graph, &p->history, &p->share, agreements, 1));
    CHECK(!ictusi_rank_matching_run(job_world(), &p->graph, &p->crossings));
    (void)MPI_Barrier(job_world());
    if (rank == 0) {
        uint64_t crossing[RANKS][RANKS] = {{0}};
        channels_are_right(crossing);
        lists_are_alike(crossing);
    }
    (void)MPI_Barrier(job_world());
    part_close(p);
    free(agreements);
}

/*
 * One side has recorded the first three of ten messages and, after a gap, the last four. These are
 * paired, and what the other side has in between is left out.
 */
enum { ALL = 10, BEFORE = 3, BEHIND = 4, SENDER = 0, RECEIVER = OF_RANK };
static bool sender_has_gap;

static void gap_fill(struct part *p, int rank)
{
    struct matching *m = &p->history.matching;
    const bool cut = (rank == 0) == sender_has_gap && rank < 2;
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        p->history.first[l] = p->history.points.count;
        for (int i = 0; i < ALL && p->mine[l] && (l == SENDER || l == RECEIVER); i++) {
            struct told *told = &world.messages[i];
            *told = (struct told){
                .from = SENDER, .to = RECEIVER, .send = told->send, .receive = told->receive};
            if (!cut || i < BEFORE || i >= ALL - BEHIND) {
                m->gap = cut && i >= BEFORE;
                *(l == SENDER ? &told->send : &told->receive) =
                    part_add(p, told, 1000 * (int64_t)i, l == SENDER);
            }
        }
    }
    p->history.first[LOCATIONS] = p->history.points.count;
    if (cut) {
        m->stretches.gaps[sender_has_gap ? SENDER : RECEIVER].count = 1;
    }
    ictusi_stretches_seal(&m->stretches);
}

static void gap_is_right(void)
{
    uint64_t left_out = 0;
    for (int r = 0; r < RANKS; r++) {
        const struct graph *g = &world.parts[r].graph;
        left_out += g->left_out;
        CHECK(g->unmatched_sends == 0 && g->unmatched_receives == 0);
        CHECK(g->messages == (r == 1 ? BEFORE + BEHIND : 0));
    }
    CHECK(left_out == ALL - BEFORE - BEHIND);
    for (int i = 0; i < ALL; i++) {
        const struct told *m = &world.messages[i];
        if (i < BEFORE || i >= ALL - BEHIND) {
            pair_is_right(m, m);
        } else if (sender_has_gap) {
            CHECK(world.parts[1].history.points.link[m->receive] == NODE_NONE);
        } else {
            CHECK(world.parts[0].history.points.link[m->send] == NODE_NONE);
        }
    }
}

static void gap_rank(int rank, void *context)
{
    struct part *p = &world.parts[rank];
    struct agreement *agreements = calloc(POINT_CLASSES + 1, sizeof *agreements);
    (void)context;
    REQUIRE(agreements);
    part_open(p, rank);
    gap_fill(p, rank);
    REQUIRE(!ictusi_connect_history(&p->graph, &p->history, &p->share, agreements, 1));
    CHECK(!ictusi_rank_matching_run(job_world(), &p->graph, &p->crossings));
    (void)MPI_Barrier(job_world());
    if (rank == 0) {
        gap_is_right();
    }
    (void)MPI_Barrier(job_world());
    part_close(p);
    free(agreements);
}

static void play(void (*rank_main)(int rank, void *context))
{
    char said[512];
    const struct job_options options = {
        .seed = 1, .ranks = RANKS, .nodes = 1, .cores = RANKS, .slow = -1, .slow_factor = 1.0};
    blocks_start();
    REQUIRE(job_run(&options, rank_main, NULL, said, sizeof(said)) == JOB_DONE);
    for (int r = 0; r < RANKS; r++) {
        CHECK(blocks_things[r] == 0); /* no datatype is left */
    }
}

int main(void)
{
    static const double lost[] = {0.0, 0.05, 0.5, 1.0};
    for (int k = 0; k < 12; k++) {
        world_draw((uint64_t)k, lost[k % 4]);
        play(matching_rank);
    }
    for (int k = 0; k < 2; k++) {
        sender_has_gap = k == 0;
        memset(&world, 0, sizeof(world));
        play(gap_rank);
    }
    return check_result();
}

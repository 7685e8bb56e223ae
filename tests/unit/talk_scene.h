/* SPDX-License-Identifier: BSD-3-Clause */
/* Four processes with known clocks that talk to each other: a session made by hand. */
#ifndef ICTUS_TESTS_TALK_SCENE_H
#define ICTUS_TESTS_TALK_SCENE_H

#include "../check.h"

#include "causality/connect.h"
#include "core/random.h"
#include "correct/session.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    CLOCKS = 4,
    ROUNDS = 60, /* from each clock to each other one, and back */
    PATH = 1000, /* ticks, minimum */
    APART = 20000000,
    EVENTS_MOST = ROUNDS * CLOCKS * CLOCKS * 2,
    BEGIN = 100000 /* what clocks show at first, without their errors */
};

/* About how long all of it takes. */
static const double talk_ticks = 1.0 * ROUNDS * CLOCKS * (CLOCKS - 1) * APART;

/* The planted truth. */
struct world {
    double off[CLOCKS];   /* initial error of each clock */
    double drift[CLOCKS]; /* and its error as a share of the time */
    double wait;          /* mean wait of a message */
    double longer;        /* how much longer messages from 0 to 1 take */
    double late;          /* how long all wait, but those of the round in the middle */
    int silent;           /* a clock that never sends; -1: none */
    int rounds[2];        /* in how many rounds 0 speaks to 1, and 1 to 0; 0: in all */
    bool thread;          /* clock 3 is that of a thread, which meets only its process's clock, 2 */
    double bend[CLOCKS];  /* by how much the drift is larger in the second half */
    double jump[CLOCKS];  /* by how much the clock is set ahead after half of the time */
};

/* How much a clock is ahead of the truth. */
static double world_error(const struct world *w, uint32_t clock, double truth)
{
    const double half = talk_ticks / 2.0;
    return w->off[clock] + w->drift[clock] * truth +
           (truth > half ? w->jump[clock] + w->bend[clock] * (truth - half) : 0);
}

struct event {
    int64_t time;
    uint32_t peer;
    bool send;
    double truth;
};

struct scene {
    struct trace trace;
    struct layout_location locations[CLOCKS];
    struct layout_process processes[CLOCKS];
    struct layout_comm comm;
    uint32_t members[CLOCKS], numbers[CLOCKS], homes[CLOCKS], owner[CLOCKS];
    bool mine[CLOCKS];
    struct event events[CLOCKS][EVENTS_MOST];
    uint32_t counts[CLOCKS];
    struct session session;
    double end; /* the last event, ticks from the beginning */
};

static void scene_event(struct scene *s, const struct world *w, uint32_t clock, double truth,
                        uint32_t peer, bool send)
{
    const double shown = truth + world_error(w, clock, truth);
    s->events[clock][s->counts[clock]++] =
        (struct event){BEGIN + llround(shown), peer, send, truth};
}

static double scene_talk(struct scene *s, const struct world *w)
{
    double truth = 0;
    struct rng rng;
    ictusi_random_seed(&rng, 41, 0);
    for (int round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < CLOCKS * CLOCKS; i++) {
            const uint32_t from = i / CLOCKS;
            const uint32_t to = i % CLOCKS;
            const bool meets = from < CLOCKS - 1 && to < CLOCKS - 1;
            const bool is_within = from + to == CLOCKS - 2 + CLOCKS - 1;
            if (from == to || (int)from == w->silent || (w->thread && !meets && !is_within)) {
                continue;
            }
            const int most = from + to == 1 ? w->rounds[from] : 0;
            if (most > 0 && round >= most) {
                truth += APART;
                continue;
            }
            const double took = PATH - w->wait * log(1 - ictusi_random_uniform(&rng)) +
                                (from == 0 && to == 1 ? w->longer : 0) +
                                (round == ROUNDS / 2 ? 0 : w->late);
            scene_event(s, w, from, truth, to, true);
            scene_event(s, w, to, truth + took, from, false);
            truth += APART + took;
        }
    }
    return truth;
}

static void scene_layout(struct scene *s)
{
    s->comm = (struct layout_comm){.size_a = CLOCKS, .members = s->members};
    for (uint32_t i = 0; i < CLOCKS; i++) {
        s->locations[i] = (struct layout_location){.ref = i, .process = i, .events = EVENTS_MOST};
        s->processes[i] = (struct layout_process){
            .ref = i, .node = i, .creator = LAYOUT_NONE, .rank_location = i};
        s->members[i] = s->numbers[i] = s->homes[i] = i;
        s->mine[i] = true;
        REQUIRE(!ictusi_idmap_put(&s->comm.ranks, i, 0, i));
    }
    s->trace.layout = (struct layout){.resolution = 1000000000,
                                      .length = 77,
                                      .location_count = CLOCKS,
                                      .process_count = CLOCKS,
                                      .comm_count = 1,
                                      .node_count = CLOCKS,
                                      .locations = s->locations,
                                      .processes = s->processes,
                                      .comms = &s->comm};
}

static void scene_points(struct scene *s)
{
    struct history *history = &s->session.history;
    struct points *points = &history->points;
    REQUIRE(
        !ictusi_history_init(history, &s->trace.layout, UINT64_C(1) * CLOCKS * EVENTS_MOST, NULL));
    for (uint32_t l = 0; l < CLOCKS; l++) {
        history->first[l] = points->count;
        for (uint32_t i = 0; i < s->counts[l]; i++) {
            const struct event *e = &s->events[l][i];
            REQUIRE(!ictusi_points_grow(points, NULL));
            const uint32_t point = (uint32_t)points->count++;
            points->time[point] = e->time;
            points->link[point] = NODE_NONE;
            points->kind[point] = (uint8_t)(POINT_P2P | (e->send ? POINT_OUT : POINT_IN));
            REQUIRE(!ictusi_match_message(&history->matching, point, l, 0, e->peer, 1, e->send));
        }
    }
    history->first[CLOCKS] = points->count;
}

/* The graph of the messages of a world. */
static struct scene *scene_make(const struct world *w)
{
    struct scene *s = calloc(1, sizeof *s);
    REQUIRE(s);
    struct session *session = &s->session;
    scene_layout(s);
    s->homes[CLOCKS - 1] = w->thread ? CLOCKS - 2 : CLOCKS - 1;
    s->end = scene_talk(s, w);
    scene_points(s);
    session->trace = &s->trace;
    session->threads = 1;
    session->share = (struct share){.rank = 0, .size = 1, .owner = s->owner, .mine = s->mine};
    session->latency =
        (struct latency){.units = CLOCKS, .unit_of = s->numbers, .process_of = s->numbers};
    session->flow = (struct flow){.graph = &session->graph, .latency = &session->latency};
    session->from = BEGIN;
    session->to = BEGIN + llround(s->end);
    REQUIRE(!ictusi_connect_history(&session->graph, &session->history, &session->share, NULL, 2));
    return s;
}

static void scene_free(struct scene *s)
{
    ictusi_graph_fini(&s->session.graph);
    ictusi_history_fini(&s->session.history);
    ictusi_idmap_fini(&s->comm.ranks);
    free(s);
}

#endif

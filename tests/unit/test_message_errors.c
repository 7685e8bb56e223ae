/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What messages show about clocks, against known clocks. The errors of each clock are found within
 * the stated uncertainty, more waiting and contradictory paths increase it, and nothing is stated
 * about clocks without messages both ways.
 */
#include "../check.h"

#include "causality/connect.h"
#include "core/random.h"
#include "waits/message_errors.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    CLOCKS = 4,
    ROUNDS = 60, /* from each clock to each other one, and back */
    PATH = 1000, /* ticks, minimum */
    APART = 20000000,
    EVENTS_MOST = ROUNDS * CLOCKS * CLOCKS * 2
};

/* The planted truth. */
struct world {
    double off[CLOCKS];   /* initial error of each clock */
    double drift[CLOCKS]; /* and its error as a share of the time */
    double wait;          /* mean wait of a message */
    double longer;        /* how much longer messages from 0 to 1 take */
    int silent;           /* a clock that never sends; -1: none */
    bool thread;          /* clock 3 is that of a thread, which meets only its process's clock, 2 */
};

struct event {
    int64_t time;
    uint32_t peer;
    bool send;
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
    struct histories h;
};

static void scene_event(struct scene *s, const struct world *w, uint32_t clock, double truth,
                        uint32_t peer, bool send)
{
    const double shown = truth + w->off[clock] + w->drift[clock] * truth;
    s->events[clock][s->counts[clock]++] = (struct event){100000 + llround(shown), peer, send};
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
            const double took = PATH - w->wait * log(1 - ictusi_random_uniform(&rng)) +
                                (from == 0 && to == 1 ? w->longer : 0);
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

/* The errors computed from the messages of a world; fitted: number of knots. */
static struct scene *scene_open(const struct world *w, uint32_t fitted)
{
    struct scene *s = calloc(1, sizeof *s);
    REQUIRE(s);
    struct session *session = &s->session;
    scene_layout(s);
    s->homes[CLOCKS - 1] = w->thread ? CLOCKS - 2 : CLOCKS - 1;
    const double end = scene_talk(s, w);
    scene_points(s);
    session->trace = &s->trace;
    session->share = (struct share){.rank = 0, .size = 1, .owner = s->owner, .mine = s->mine};
    session->latency =
        (struct latency){.units = CLOCKS, .unit_of = s->numbers, .process_of = s->numbers};
    session->flow = (struct flow){.graph = &session->graph, .latency = &session->latency};
    session->from = 100000;
    session->to = 100000 + llround(end);
    REQUIRE(!ictusi_connect_history(&session->graph, &session->history, &session->share, NULL, 2));
    s->h = (struct histories){.clock_of = s->numbers,
                              .home = s->homes, /* one clock per location */
                              .clock_count = CLOCKS,
                              .clocks = calloc(CLOCKS, sizeof *s->h.clocks)};
    REQUIRE(s->h.clocks);
    REQUIRE(!ictusi_message_errors(&s->h, session, fitted));
    return s;
}

static void scene_close(struct scene *s)
{
    s->h.clock_of = s->h.home = NULL; /* owned by the scene */
    ictusi_histories_free(&s->h);
    ictusi_graph_fini(&s->session.graph);
    ictusi_history_fini(&s->session.history);
    ictusi_idmap_fini(&s->comm.ranks);
    free(s);
}

/* The path is half of the shortest round trip; each way may differ by 0.3 of it, uniformly. */
static const double path_sigma = 0.3 * PATH / 2.449489742783178; /* sqrt(6) */

static void offsets_are_found(uint32_t knots)
{
    const struct world w = {
        .off = {0, 9000, -4000, 600}, .drift = {0, 2e-7, -1e-7, 0}, .wait = 200, .silent = -1};
    struct scene *s = scene_open(&w, knots);
    REQUIRE(s->h.source == SIGMA_MESSAGES);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        const struct clock_errors *e = &s->h.clocks[c];
        REQUIRE(e->count == knots);
        for (uint32_t k = 0; k < knots; k++) {
            const double at = (double)(s->session.to - s->session.from) * k / (knots - 1);
            const double truth = w.off[c] + w.drift[c] * at - w.off[0] - w.drift[0] * at;
            CHECK_NEAR((double)e->times[k], (double)s->session.from + at, 1);
            /* Half of a wait; for clocks that may walk, also a drift up to the next knot. */
            const double part = knots > 2 ? 0.5 / (knots - 1) : 0;
            const double within = 100 + 3e-7 * part * (double)(s->session.to - s->session.from);
            CHECK_NEAR(e->off[k] - s->h.clocks[0].off[k], truth, within);
            /* The first clock is the one to which the others are compared. */
            CHECK(c == 0 ? e->sigma[k] == 0
                         : e->sigma[k] > 0.5 * path_sigma && e->sigma[k] < 1.5 * path_sigma);
            double square = 0;
            for (int d = 0; d < HISTORIES; d++) {
                const double draw = e->history[k * HISTORIES + (uint32_t)d];
                square += draw * draw / HISTORIES;
            }
            CHECK_NEAR(sqrt(square), e->sigma[k], 1e-6 * e->sigma[k]); /* as large as stated */
        }
    }
    scene_close(s);
}

/* Clocks that are trusted may be anywhere between their own time and what messages show. */
static void beliefs_are_doubted(void)
{
    const struct world w = {.off = {0, 3000, -2000, 500}, .wait = 200, .silent = -1};
    struct scene *fitted = scene_open(&w, 2);
    struct scene *believed = scene_open(&w, 0);
    REQUIRE(believed->h.source == SIGMA_MESSAGES && believed->h.clocks[0].count == 2);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        for (uint32_t k = 0; k < 2; k++) {
            const double off = fitted->h.clocks[c].off[k];
            const double sigma = fitted->h.clocks[c].sigma[k];
            CHECK(believed->h.clocks[c].off[k] == 0);
            CHECK_NEAR(believed->h.clocks[c].sigma[k], sqrt(sigma * sigma + off * off / 3), 1e-6);
        }
    }
    scene_close(fitted);
    scene_close(believed);
}

static double largest_sigma(const struct world *w)
{
    struct scene *s = scene_open(w, 2);
    double largest = 0;
    REQUIRE(s->h.source == SIGMA_MESSAGES);
    for (uint32_t c = 0; c < CLOCKS; c++) {
        largest = fmax(largest, fmax(s->h.clocks[c].sigma[0], s->h.clocks[c].sigma[1]));
    }
    scene_close(s);
    return largest;
}

static void doubts_grow(void)
{
    const double prompt = largest_sigma(&(struct world){.wait = 1, .silent = -1});
    const double waiting = largest_sigma(&(struct world){.wait = 40000, .silent = -1});
    /*
     * Between two of four clocks that all exchange messages, there is half of a pair's variance.
     * Three loops that close exactly make it smaller; four loops are presumed not to close.
     */
    CHECK_NEAR(prompt, path_sigma * sqrt(0.5 * 4 / 7), 0.1 * prompt);
    CHECK(waiting > 5 * prompt);
    /* Around a triangle of clocks errors add up to zero; here they do not. */
    const double odd = largest_sigma(&(struct world){.wait = 1, .longer = 9 * PATH, .silent = -1});
    CHECK(odd > 1.5 * prompt);
}

/*
 * Between threads there is no path of known length: any line within the bounds is equally likely.
 * Its value at either end is uniform there. That does not concern processes.
 */
static void threads_have_no_path(void)
{
    const struct world w = {.wait = 1, .silent = -1, .thread = true};
    struct scene *s = scene_open(&w, 2);
    const double sigma = s->h.clocks[CLOCKS - 1].sigma[0];
    const double home = s->h.clocks[CLOCKS - 2].sigma[0];
    CHECK(s->h.source == SIGMA_MESSAGES);
    CHECK_NEAR(sqrt(sigma * sigma - home * home), PATH / sqrt(3), 0.1 * PATH);
    CHECK(home < 0.15 * PATH);
    scene_close(s);
}

/* A clock that only listens may show any time. */
static void silence_tells_nothing(void)
{
    const struct world w = {.wait = 200, .silent = 2};
    struct scene *s = scene_open(&w, 2);
    CHECK(s->h.source == SIGMA_UNKNOWN);
    s->session.to = s->session.from; /* nor does a run of length zero */
    CHECK(!ictusi_message_errors(&s->h, &s->session, 2) && s->h.source == SIGMA_UNKNOWN);
    scene_close(s);
}

int main(void)
{
    offsets_are_found(2);
    offsets_are_found(5);
    beliefs_are_doubted();
    doubts_grow();
    threads_have_no_path();
    silence_tells_nothing();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* How an analysis goes through points and calls, and which waits are in the wrong order. */
#include "wait_scene.h"

#include "core/random.h"
#include "waits/message_order.h"

#include <ictus/error.h>

enum { MANY = 40000, MOST = 12 };

/* Points of some locations, each in order of time. */
struct walk {
    struct trace trace;
    struct analysis a;
    uint64_t first[MOST + 1];
    int64_t time[MANY];
    uint32_t visits[MANY], order[MANY], count;
    int64_t latest[MOST]; /* of the points that were visited */
};

static void walk_make(struct walk *w, uint32_t locations, uint64_t points)
{
    struct rng rng;
    *w = (struct walk){.trace = {.layout = {.location_count = locations}}};
    w->a.session.trace = &w->trace;
    w->a.session.history.points.count = points;
    w->a.session.history.points.time = w->time;
    w->a.session.history.first = w->first;
    ictusi_random_seed(&rng, locations, points);
    w->a.session.from = w->a.session.to = 5000;
    for (uint32_t l = 0; l < locations; l++) {
        const uint64_t end = points * (l + 1) / locations;
        int64_t time = 5000;
        for (uint64_t i = w->first[l]; i < end; i++) {
            time += (int64_t)ictusi_random_below(&rng, 40 * (l + 1));
            w->time[i] = time;
        }
        w->a.session.to = time > w->a.session.to ? time : w->a.session.to;
        w->first[l + 1] = end;
    }
}

static void point_visit(void *self, uint32_t point)
{
    struct walk *w = self;
    w->visits[point]++;
    w->order[w->count++] = point;
}

/*
 * Each point of the block is visited once, each location's in order, and the locations together:
 * none is ahead of another one by more than an interval of the time, of which there is one for 8192
 * points.
 */
static void points_are_visited(uint32_t locations, uint64_t points)
{
    static struct walk w;
    for (uint32_t from = 0; from < locations; from += 1 + locations / 3) {
        for (uint32_t to = from + 1; to <= locations; to += 1 + locations / 4) {
            walk_make(&w, locations, points);
            const double interval =
                (double)(w.a.session.to - w.a.session.from) / (double)(points / 8192 + 1);
            REQUIRE(
                !ictusi_analysis_visit(&w.a, (struct location_block){from, to}, point_visit, &w));
            CHECK(w.count == w.first[to] - w.first[from]);
            int wrong = 0;
            int64_t latest = w.a.session.from;
            for (uint32_t i = 0; i < w.count; i++) {
                const uint32_t point = w.order[i];
                wrong += point < w.first[from] || point >= w.first[to] || w.visits[point] != 1;
                wrong += (double)(latest - w.time[point]) > interval + 1;
                latest = w.time[point] > latest ? w.time[point] : latest;
            }
            CHECK(wrong == 0);
        }
    }
}

/*
 * Blocks follow each other and have all locations between them, one block for each thread if there
 * are as many locations; none has more than its share by more than one location.
 */
static void locations_are_divided(void)
{
    static struct walk w;
    struct location_block blocks[BLOCKS_MOST];
    for (uint32_t locations = 1; locations <= MOST; locations++) {
        for (int threads = 0; threads <= BLOCKS_MOST + 2; threads++) {
            walk_make(&w, locations, 1000UL * locations);
            w.a.session.threads = threads;
            const uint32_t count = ictusi_analysis_divide(&w.a, blocks);
            uint32_t most = threads > BLOCKS_MOST ? BLOCKS_MOST
                            : threads > 1         ? (uint32_t)threads
                                                  : 1;
            most = most < locations ? most : locations;
            CHECK(count == most && blocks[0].from == 0 && blocks[count - 1].to == locations);
            for (uint32_t i = 0; i < count; i++) {
                CHECK(blocks[i].from < blocks[i].to);
                CHECK(i == 0 || blocks[i].from == blocks[i - 1].to);
                CHECK((blocks[i].to - blocks[i].from - 1) * count <= locations);
            }
        }
    }
}

/* Calls come to each pass in order, a location after another, not too many at a time. */
struct counting {
    struct call_pass pass;
    uint64_t next, stretches, fails_at;
    uint32_t location;
};

static int stretch_count(struct call_pass *pass, uint32_t location, uint64_t from, uint64_t to)
{
    struct counting *c = (struct counting *)pass;
    CHECK(from == c->next && to > from && to - from <= 4096);
    CHECK(location == c->location || (location > c->location && from % CALLS == 0));
    c->next = to;
    c->location = location;
    return ++c->stretches == c->fails_at ? ICTUS_ERR_NOMEM : ICTUS_OK;
}

static void calls_are_walked(void)
{
    static struct scene s;
    scene_open(&s);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        s.first[l] = (uint64_t)l * CALLS;
    }
    s.first[LOCATIONS] = ALL;
    for (uint64_t fails_at = 0; fails_at < 4; fails_at++) {
        struct counting one = {.pass = {stretch_count}};
        struct counting two = {.pass = {stretch_count}, .fails_at = fails_at};
        struct call_pass *const passes[] = {&one.pass, &two.pass};
        const int err = ictusi_analysis_walk(&s.a, passes, 2);
        const uint64_t stretches = fails_at ? fails_at : 2 * LOCATIONS; /* two for 5000 calls */
        CHECK(err == (fails_at ? ICTUS_ERR_NOMEM : ICTUS_OK));
        CHECK(one.stretches == stretches && two.stretches == stretches);
        CHECK(fails_at || (one.next == ALL && two.next == ALL));
    }
    scene_close(&s);
}

/*
 * Of five receives of location 1, the first two had been sent after the third, and the fourth after
 * the fifth; a barrier says nothing of that. Waits are counted for the lower of both locations.
 */
static void order_is_told(void)
{
    static const int64_t sent[] = {150, 160, 145, 400, 390};
    static const bool wrong[] = {true, true, false, true, false};
    static struct scene s;
    uint64_t lower[LOCATIONS + 1] = {0};
    uint64_t points[LOCATIONS + 1] = {0};
    uint32_t cause[5];
    scene_open(&s);
    s.a.session.history.first = points;
    s.a.partners.lower = lower;
    s.first[0] = 0;
    for (int i = 0; i < 5; i++) {
        cause[i] = scene_call(&s, 0, sent[i], sent[i] + 5, 1);
    }
    s.first[1] = 5;
    for (int i = 0; i < 5; i++) {
        const int64_t enter = i < 3 ? 100 + 20 * i : 300 + 20 * i;
        const uint32_t call = scene_call(&s, 1, enter, enter + 1000, 2);
        scene_wait(&s, call, cause[i], WAIT_LATE_SENDER);
    }
    const uint32_t last = scene_call(&s, 1, 2000, 2100, 3);
    s.first[2] = 11;
    const uint32_t meet = scene_call(&s, 2, 100, 1100, 3);
    scene_wait(&s, meet, cause[2], WAIT_BARRIER);
    const uint32_t third = scene_call(&s, 2, 2050, 2100, 3);
    (void)scene_call(&s, 2, 2200, 2300, 3);
    (void)scene_call(&s, 2, 2400, 2500, 3);
    s.first[3] = s.first[4] = 15;
    scene_wait(&s, third, last, WAIT_LATE_SENDER); /* it had come before: no wait */
    scene_wait(&s, last, third, WAIT_BARRIER);
    REQUIRE(!ictusi_message_order_find(&s.a.partners, &s.a));
    for (uint32_t i = 0; i < 15; i++) {
        const bool of_five = i >= 5 && i < 10;
        CHECK(*partner_wrong_order(&s.a.partners, i) == (of_five && wrong[i - 5]));
    }
    CHECK(lower[0] == 6 && lower[1] == 1 && lower[2] == 0 && lower[3] == 0);
    scene_close(&s);
}

int main(void)
{
    points_are_visited(1, 3);
    points_are_visited(2, 0);
    points_are_visited(3, 9000);
    points_are_visited(MOST, MANY);
    locations_are_divided();
    calls_are_walked();
    order_is_told();
    return check_result();
}

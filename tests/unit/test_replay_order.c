/* SPDX-License-Identifier: BSD-3-Clause */
/* The order in which the backward replay passes calls, in programs drawn at random and in a circle.
 */
#include "../check.h"

#include "core/random.h"
#include "wait_scene.h"
#include "waits/replay_order.h"

#include <string.h>

enum { DRAWN = 400, NOBODY = -1 };

/* Calls of all locations, numbered as the scene does. */
struct order {
    uint32_t count;
    uint32_t location[DRAWN];
    int cause[DRAWN];       /* the call that it waits for, or NOBODY */
    bool awaited[DRAWN];    /* somebody waits for it */
    uint64_t passed[DRAWN]; /* in which step, from 1; 0: in none */
};

/*
 * A program in which each call may wait for one that was begun before it on another location. The
 * times when calls are left say nothing about that.
 */
static void order_draw(struct order *o, struct scene *s, struct rng *rng)
{
    uint32_t begun[DRAWN];
    uint32_t next[LOCATIONS];
    memset(o, 0, sizeof *o);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        int64_t time = 0;
        s->first[l] = next[l] = o->count;
        for (int i = 0; i < DRAWN / LOCATIONS; i++) {
            time += 1 + (int64_t)ictusi_random_below(rng, 1000);
            o->location[o->count++] = l;
            (void)scene_call(s, l, time - 1, time, 2);
        }
    }
    s->first[LOCATIONS] = o->count;
    for (uint32_t k = 0; k < o->count; k++) {
        uint32_t l = (uint32_t)ictusi_random_below(rng, LOCATIONS);
        while (next[l] == s->first[l + 1]) {
            l = (l + 1) % LOCATIONS;
        }
        const uint32_t call = begun[k] = next[l]++;
        const uint32_t cause = begun[ictusi_random_below(rng, k + 1)];
        const bool waits = o->location[cause] != l && ictusi_random_below(rng, 3) > 0;
        o->cause[call] = waits ? (int)cause : NOBODY;
    }
}

static void order_enter(struct order *o, struct scene *s)
{
    for (uint32_t i = 0; i < o->count; i++) {
        if (o->cause[i] != NOBODY) {
            o->awaited[o->cause[i]] = true;
            scene_wait(s, i, (uint32_t)o->cause[i], WAIT_LATE_SENDER);
            scene_wait_for(s, i, 1);
        }
    }
}

/* Pass all calls, some at a time. Returns how many waits were given up. */
static uint64_t order_pass(struct order *o, struct scene *s, uint64_t most)
{
    struct replay_step steps[DRAWN];
    struct replay_order b;
    uint64_t done = 0;
    REQUIRE(!ictusi_replay_order_init(&b, &s->a, NULL));
    for (uint64_t n; (n = ictusi_replay_order_pass(&b, steps, most)) > 0;) {
        CHECK(n <= most);
        for (uint64_t i = 0; i < n; i++) {
            REQUIRE(steps[i].call < o->count);
            CHECK(steps[i].location == o->location[steps[i].call]);
            CHECK(o->passed[steps[i].call] == 0);
            o->passed[steps[i].call] = ++done;
        }
    }
    const uint64_t cyclic = b.cyclic;
    ictusi_replay_order_free(&b);
    return cyclic;
}

/* Whether steps are the calls that wait or are waited for, the last of a location first. */
static bool order_is_whole(const struct order *o)
{
    uint64_t last[LOCATIONS] = {0};
    bool whole = true;
    for (uint32_t i = o->count; i-- > 0;) {
        const bool expected = o->cause[i] != NOBODY || o->awaited[i];
        whole = whole && expected == (o->passed[i] > 0);
        if (expected) {
            whole = whole && o->passed[i] > last[o->location[i]];
            last[o->location[i]] = o->passed[i];
        }
    }
    return whole;
}

static void waiters_come_before_their_causers(void)
{
    static const uint64_t mosts[] = {1, 7, DRAWN};
    static struct order o;
    struct scene s;
    struct rng rng;
    for (uint64_t trial = 0; trial < 30; trial++) {
        scene_open(&s);
        ictusi_random_seed(&rng, 11, trial);
        order_draw(&o, &s, &rng);
        order_enter(&o, &s);
        CHECK(order_pass(&o, &s, mosts[trial % 3]) == 0);
        CHECK(order_is_whole(&o));
        for (uint32_t i = 0; i < o.count; i++) {
            CHECK(o.cause[i] == NOBODY || o.passed[i] < o.passed[o.cause[i]]);
        }
        scene_close(&s);
    }
}

/*
 * Each of two locations waits first, for what the other does afterwards. All is passed, and only
 * the wait for the latest call is given up.
 */
static void circles_are_broken(void)
{
    static const int64_t left[] = {12, 15, 6, 16}; /* the second location is the later one */
    static struct order o;
    struct scene s;
    memset(&o, 0, sizeof o);
    scene_open(&s);
    for (uint32_t l = 0; l < LOCATIONS; l++) {
        s.first[l] = o.count;
        for (uint32_t i = 0; i < 2 && l < 2; i++) {
            o.location[o.count] = l;
            o.cause[o.count++] = i == 0 ? (int)(3 - 2 * l) : NOBODY;
            (void)scene_call(&s, l, left[o.count - 1] - 5, left[o.count - 1], 2);
        }
    }
    s.first[LOCATIONS] = o.count;
    order_enter(&o, &s);
    CHECK(order_pass(&o, &s, DRAWN) == 1);
    CHECK(order_is_whole(&o));
    CHECK(o.passed[3] == 1); /* the latest */
    CHECK(o.passed[0] > o.passed[1]);
    CHECK(o.passed[2] < o.passed[1]);
    scene_close(&s);
}

int main(void)
{
    waiters_come_before_their_causers();
    circles_are_broken();
    return check_result();
}

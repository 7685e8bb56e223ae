/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ramps that pass through sends, of clocks that are known: where some shift of each clock is gentle
 * enough, one is found that breaks no bound; where none is, nothing but the plain passes is left.
 */
#include "talk_scene.h"

#include "causality/easing.h"
#include "correct/ease.h"

#include <ictus/error.h>

static const double decay = 0.01;

static void passes_run(struct session *s)
{
    s->flow.decay = decay;
    REQUIRE(!ictusi_flow_run(&s->flow, FLOW_CLOCK));
    REQUIRE(!ictusi_flow_run(&s->flow, FLOW_LIMIT));
}

/* How many sends ramps of this slope would raise too far, and the largest shift of any point. */
static uint64_t sends_above(const struct session *s, double slope, int64_t *largest)
{
    const struct history *h = &s->history;
    uint64_t above = 0;
    *largest = 0;
    for (uint32_t l = 0; l < CLOCKS; l++) {
        above += ictusi_easing_above(&h->points, h->first[l], h->first[l + 1], slope);
        for (uint64_t i = h->first[l]; i < h->first[l + 1]; i++) {
            const int64_t shift = h->points.value[i] - h->points.time[i];
            *largest = shift > *largest ? shift : *largest;
        }
    }
    return above;
}

/* No event comes earlier than it was recorded, or than the one before it, or than its message. */
static void order_holds(const struct session *s)
{
    const struct history *h = &s->history;
    const struct points *points = &h->points;
    int wrong = 0;
    for (uint32_t l = 0; l < CLOCKS; l++) {
        for (uint64_t i = h->first[l]; i < h->first[l + 1]; i++) {
            wrong += points->value[i] < points->time[i];
            wrong += i > h->first[l] && points->value[i] <= points->value[i - 1];
            if ((points->kind[i] & POINT_OUT) && points->link[i] != NODE_NONE) {
                wrong += points->value[points->link[i]] <= points->value[i];
            }
        }
    }
    CHECK(wrong == 0);
}

static const double slope = 1e-3;

/* Clocks that are apart, or drift by less than the slope. */
static void gentle_shifts_are_found(void)
{
    static const struct world worlds[] = {
        {.off = {0, -5e6, 3e6, -9e6}, .wait = 200, .silent = -1},
        {.off = {0, 5e6, 0, 0}, .wait = 200, .silent = -1},
        {.off = {-5e6, 3e6, -9e6, 0}, .wait = 200, .silent = -1},
        {.off = {0, -5e6, 0, 0}, .drift = {0, 2e-4, -1e-4, 0}, .wait = 200, .silent = -1}};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct scene *scene = scene_make(&worlds[i]);
        struct session *s = &scene->session;
        int64_t first = 0;
        int64_t largest = 0;
        s->latency.least = 1;
        passes_run(s);
        CHECK(sends_above(s, slope, &first) > 0 && first > 0);
        REQUIRE(!ictusi_ease(s, decay, slope));
        CHECK(sends_above(s, slope, &largest) == 0);
        CHECK(largest <= 2 * first && s->flow.broken == 0);
        order_holds(s);
        scene_free(scene);
    }
}

/* Where nothing has to be eased, and where nothing can be, the values are those of the passes. */
static void else_nothing_changes(void)
{
    static const struct world worlds[] = {
        {.wait = 200, .silent = -1}, /* no clock is wrong */
        {.jump = {0, 2e8, 0, 0}, .wait = 200, .silent = -1},
        {.jump = {0, 0, -2e8, 0}, .off = {0, 1e6, 0, 0}, .wait = 200, .silent = -1}};
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++) {
        struct scene *scene = scene_make(&worlds[i]);
        struct session *s = &scene->session;
        const struct points *points = &s->history.points;
        int64_t largest = 0;
        s->latency.least = 1;
        passes_run(s);
        int64_t *before = malloc(points->count * sizeof *before);
        REQUIRE(before);
        memcpy(before, points->value, points->count * sizeof *before);
        CHECK((sends_above(s, slope, &largest) > 0) == (i > 0));
        REQUIRE(!ictusi_ease(s, decay, slope));
        CHECK(memcmp(before, points->value, points->count * sizeof *before) == 0);
        CHECK((sends_above(s, slope, &largest) > 0) == (i > 0)); /* with limits, as before */
        order_holds(s);
        free(before);
        scene_free(scene);
    }
}

int main(void)
{
    gentle_shifts_are_found();
    else_nothing_changes();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What is drawn of many messages, calls and names: an even share of each kind, the longest in one
 * fixed order, and what took the most time. */
#include "../check.h"
#include "archive/trace.h"
#include "core/random.h"
#include "view/arrows.h"
#include "view/density.h"
#include "view/slices.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Three tracks with so many points each: sends of the first go to the second on time, those of the
 * third to the first, and arrive before they were sent. */
enum { TRACKS = 3, TICK_NS = 1000, ORIGIN = 500 };

static struct {
    struct session session;
    struct trace trace;
    uint64_t first[TRACKS + 1];
} world;

static void world_make(uint32_t forward, uint32_t backward)
{
    memset(&world, 0, sizeof world);
    struct points *p = &world.session.history.points;
    const uint32_t odd = 4; /* points that are not arrows, on the third track */
    p->count = 2 * (uint64_t)(forward + backward) + odd;
    p->value = calloc(p->count, sizeof *p->value);
    p->link = calloc(p->count, sizeof *p->link);
    p->kind = calloc(p->count, sizeof *p->kind);
    REQUIRE(p->value && p->link && p->kind);
    world.trace.layout.resolution = 1000000000 / TICK_NS;
    world.trace.layout.location_count = TRACKS;
    world.session.trace = &world.trace;
    world.session.history.first = world.first;
    world.session.history.matching.layout = &world.trace.layout;
    world.session.history.matching.first = world.first;
    /* Track 0: its sends, then what it receives; track 1: receives; track 2: sends. */
    const uint32_t second = forward + backward, third = second + forward;
    world.first[1] = second;
    world.first[2] = third;
    world.first[3] = p->count;
    for (uint32_t i = 0; i < forward; i++) {
        p->kind[i] = POINT_P2P | POINT_OUT;
        p->link[i] = second + i;
        p->value[i] = ORIGIN + 10 * (int64_t)i;
        p->kind[second + i] = POINT_P2P;
        p->link[second + i] = i;
        p->value[second + i] = p->value[i] + i % 3; /* some in no time at all */
    }
    for (uint32_t i = 0; i < backward; i++) {
        p->kind[third + i] = POINT_P2P | POINT_OUT;
        p->link[third + i] = forward + i;
        p->value[third + i] = ORIGIN + 20 * (int64_t)i;
        p->kind[forward + i] = POINT_P2P;
        p->link[forward + i] = third + i;
        p->value[forward + i] = p->value[third + i] - 1;
    }
    const uint64_t rest = p->count - odd;
    p->kind[rest] = POINT_COLLECTIVE | POINT_OUT;
    p->link[rest] = 0;
    p->kind[rest + 1] = POINT_P2P | POINT_OUT | POINT_CANCELLED;
    p->link[rest + 1] = 0;
    p->kind[rest + 2] = POINT_P2P | POINT_OUT;
    p->link[rest + 2] = NODE_NONE;
    p->kind[rest + 3] = POINT_P2P | POINT_OUT;
    p->link[rest + 3] = (uint32_t)p->count; /* beyond what was read */
}

static void world_end(void)
{
    struct points *p = &world.session.history.points;
    free(p->value);
    free(p->link);
    free(p->kind);
}

static json_int_t at(const json_t *list, size_t i)
{
    return json_integer_value(json_array_get(list, i));
}

/* The numbers of arrows that are drawn, of each kind; all are right, and at even distances. */
static void arrows_are(uint32_t forward, uint32_t backward, uint32_t every, uint32_t back_every)
{
    const struct picture_clock clock = {&world.trace, ORIGIN};
    json_t *object = json_object();
    REQUIRE(object);
    world_make(forward, backward);
    CHECK(ictusi_arrows_json(&world.session, &clock, object) == ICTUS_OK);
    CHECK(json_integer_value(json_object_get(object, "message_count")) == forward + backward);
    CHECK(json_integer_value(json_object_get(object, "backward_count")) == backward);
    const json_t *list = json_object_get(object, "messages");
    const size_t ahead = (forward + every - 1) / every;
    const size_t back = (backward + back_every - 1) / back_every;
    CHECK(json_array_size(list) == 5 * (ahead + back));
    for (size_t k = 0; k < ahead; k++) {
        const json_int_t sent = 10 * (json_int_t)(k * every) * TICK_NS;
        CHECK(at(list, 5 * k) == 0 && at(list, 5 * k + 1) == sent && at(list, 5 * k + 2) == 1);
        CHECK(at(list, 5 * k + 3) == sent + (json_int_t)(k * every % 3) * TICK_NS);
        CHECK(at(list, 5 * k + 4) == -1);
    }
    for (size_t k = 0; k < back; k++) {
        const size_t i = 5 * (ahead + k);
        const json_int_t sent = 20 * (json_int_t)(k * back_every) * TICK_NS;
        CHECK(at(list, i) == 2 && at(list, i + 1) == sent && at(list, i + 2) == 0);
        CHECK(at(list, i + 3) == sent - TICK_NS);
    }
    json_decref(object);
    world_end();
}

static void many_arrows_are_thinned(void)
{
    arrows_are(3, 2, 1, 1);
    arrows_are(1, 0, 1, 1);
    arrows_are(0, 1, 1, 1);
    arrows_are(19999, 4999, 1, 1);
    arrows_are(20000, 3, 2, 1); /* one kind does not thin the other */
    arrows_are(7, 5000, 1, 2);
    arrows_are(45000, 12000, 3, 3);
}

static void ends_are_receives(void)
{
    world_make(2, 1);
    const struct points *p = &world.session.history.points;
    CHECK(ictusi_arrow_end(p, 0) == 3 && ictusi_arrow_end(p, 1) == 4);
    CHECK(ictusi_arrow_end(p, 3) == NODE_NONE); /* a receive sends nothing */
    for (uint64_t i = p->count - 4; i < p->count; i++) {
        CHECK(ictusi_arrow_end(p, i) == NODE_NONE);
    }
    p->link[0] = (uint32_t)p->count - 1;
    CHECK(ictusi_arrow_end(p, 0) == p->count - 1);
    p->link[0] = NODE_VIRTUAL; /* of a collective */
    CHECK(ictusi_arrow_end(p, 0) == NODE_NONE);
    world_end();
}

/* From the longest on; of equal ones the earlier, then the one on the earlier track, then the
 * outer. */
static bool slice_is_before(const struct slice *a, const struct slice *b)
{
    if (a->duration != b->duration) {
        return a->duration > b->duration;
    }
    if (a->start != b->start) {
        return a->start < b->start;
    }
    return a->track != b->track ? a->track < b->track : a->depth < b->depth;
}

static bool slice_is_left(const struct slice *a, const struct slice *b)
{
    if (a->track != b->track) {
        return a->track < b->track;
    }
    return a->start != b->start ? a->start < b->start : a->depth < b->depth;
}

/* Whichever order they come in, the same slices are kept: those that a plain search finds. */
static void the_longest_are_kept(void)
{
    enum { ALL = 200 };
    struct slice all[ALL];
    struct rng rng;
    ictusi_random_seed(&rng, 5, 0);
    for (uint32_t i = 0; i < ALL; i++) { /* each one once, with many ties in each member */
        all[i] = (struct slice){
            .duration = i % 3, .start = i / 3 % 4, .track = i / 12 % 4, .depth = i / 48};
    }
    for (size_t most = 1; most < ALL + 20; most += 13) {
        struct slices slices;
        for (size_t i = ALL; i > 1; i--) {
            const size_t k = ictusi_random_below(&rng, i);
            const struct slice other = all[k];
            all[k] = all[i - 1];
            all[i - 1] = other;
        }
        REQUIRE(!ictusi_slices_init(&slices, most));
        for (size_t i = 0; i < ALL; i++) {
            ictusi_slices_add(&slices, all[i]);
            CHECK(slices.count < 2 * most);
        }
        ictusi_slices_finish(&slices);
        CHECK(slices.count == (most < ALL ? most : ALL));
        CHECK(slices.count + slices.dropped == ALL);
        for (size_t i = 0; i < slices.count; i++) {
            size_t longer = 0;
            for (size_t k = 0; k < ALL; k++) {
                longer += slice_is_before(&all[k], &slices.list[i]);
            }
            CHECK(longer < most);
            CHECK(i == 0 || !slice_is_left(&slices.list[i], &slices.list[i - 1]));
        }
        ictusi_slices_fini(&slices);
        CHECK(!slices.list);
    }
}

/* As many bins as there is room for, 16 at least and 512 at most, that cover the whole run. */
static void bins_cover_the_run(void)
{
    static const struct {
        uint64_t tracks;
        uint32_t count;
    } cases[] = {{0, 16},    {1, 512},   {127, 512}, {128, 512},
                 {129, 508}, {4095, 16}, {4096, 16}, {5000, 16}};
    static const int64_t lengths[] = {0, 1, 511, 512, 100000, INT64_MAX / 2};
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
            struct density density;
            REQUIRE(!ictusi_density_init(&density, cases[c].tracks, lengths[l]));
            CHECK(density.count == cases[c].count && density.width >= 1);
            CHECK(density.width > lengths[l] / density.count);
            CHECK(density.width - 1 <= lengths[l] / density.count);
            if (cases[c].tracks > 0) {
                uint32_t name = 0;
                double share = 0;
                const uint32_t last = (uint32_t)cases[c].tracks - 1;
                ictusi_density_add(&density, last, 8, lengths[l], lengths[l] + 1);
                const uint32_t bin = (uint32_t)(lengths[l] / density.width);
                CHECK(bin < density.count &&
                      ictusi_density_most(&density, last, bin, &name, &share));
                CHECK(name == 8 && share > 0);
            }
            ictusi_density_fini(&density);
            CHECK(!density.bins);
        }
    }
}

/* The parts of a name add up; with room for all names, the largest sum wins, wherever it came. */
static void the_largest_sum_wins(void)
{
    for (uint32_t winner = 0; winner < DENSITY_NAMES; winner++) {
        struct density density;
        uint32_t name = 99;
        double share = 0;
        REQUIRE(!ictusi_density_init(&density, 1, 512 * 1000 - 1));
        for (int round = 0; round < 3; round++) {
            for (uint32_t i = 0; i < DENSITY_NAMES; i++) {
                ictusi_density_add(&density, 0, i, 1000, 1000 + (i == winner ? 60 : 50));
            }
        }
        CHECK(ictusi_density_most(&density, 0, 1, &name, &share) && name == winner);
        CHECK_NEAR(share, 0.18, 1e-6);
        /* A fifth name that is alone shorter than each of the sums takes no place. */
        ictusi_density_add(&density, 0, 7, 1000, 1149);
        for (int round = 0; round < 2; round++) {
            ictusi_density_add(&density, 0, (winner + 1) % DENSITY_NAMES, 1000, 1020);
        }
        CHECK(ictusi_density_most(&density, 0, 1, &name, &share) &&
              name == (winner + 1) % DENSITY_NAMES);
        CHECK_NEAR(share, 0.19, 1e-6);
        ictusi_density_fini(&density);
    }
}

int main(void)
{
    many_arrows_are_thinned();
    ends_are_receives();
    the_longest_are_kept();
    bins_cover_the_run();
    the_largest_sum_wins();
    return check_result();
}

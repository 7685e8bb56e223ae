/* SPDX-License-Identifier: BSD-3-Clause */
/* Maps from the clock offsets of an archive: which of them make a line, which a chain, and where.
 */
#include "../check.h"

#include "correct/presync.h"

#include <ictus/error.h>
#include <math.h>

enum { SECOND = 1000000000 };

/* Maps of a single location, whose run takes a second. */
static struct clock_map *maps_of(enum presync mode, struct clock_offset *offsets, uint32_t count)
{
    struct layout_location location = {.offsets = offsets, .offset_count = count};
    const struct layout layout = {
        .resolution = SECOND, .length = SECOND, .location_count = 1, .locations = &location};
    struct clock_map *maps = NULL;
    REQUIRE(!ictusi_presync_make(&layout, mode, &maps));
    return maps;
}

static int64_t map_at(const struct clock_map *map, int64_t time)
{
    uint32_t hint = 0;
    return clock_map_at(map, time, &hint);
}

/* A map of so many pieces with this offset at this time. */
static void offset_is(const struct clock_map *map, int64_t time, double wanted)
{
    CHECK_NEAR(map_at(map, time) - time, wanted, 0.51);
}

/* Offsets at five instants from 0.1 to 0.9 s. */
static void offsets_make(struct clock_offset *offsets, const int64_t *values, double sd)
{
    for (int i = 0; i < 5; i++) {
        offsets[i] = (struct clock_offset){
            .time = (uint64_t)(SECOND / 10 + i * (SECOND / 5)), .offset = values[i], .sd = sd};
    }
}

/* Through two offsets of which no errors are known goes the line that their recorder expects. */
static void two_make_a_line(void)
{
    struct clock_offset offsets[] = {{SECOND / 10, 50, 0}, {SECOND / 10 * 9, 850, 0}};
    struct clock_map *map = maps_of(PRESYNC_AUTO, offsets, 2);
    offset_is(map, 0, -50);
    offset_is(map, SECOND / 10, 50);
    offset_is(map, SECOND / 2, 450);
    offset_is(map, 2 * (int64_t)SECOND, 1950);
    ictusi_presync_free(map, 1);
    /* Beyond a small part of the run it would go anywhere: their mean is used. */
    offsets[1] = (struct clock_offset){SECOND / 10 + 1000, 56, 0};
    map = maps_of(PRESYNC_AUTO, offsets, 2);
    offset_is(map, SECOND / 10, 53);
    offset_is(map, SECOND, 53);
    ictusi_presync_free(map, 1);
    /* Half of the run is enough, and nothing less. */
    for (int less = 0; less < 2; less++) {
        offsets[1] = (struct clock_offset){SECOND / 10 + SECOND / 2 - (uint64_t)less, 56, 0};
        map = maps_of(PRESYNC_AUTO, offsets, 2);
        offset_is(map, SECOND / 10, less ? 53 : 50);
        ictusi_presync_free(map, 1);
    }
    map = maps_of(PRESYNC_AUTO, offsets, 1);
    CHECK(map->count == 1);
    offset_is(map, SECOND, 50);
    ictusi_presync_free(map, 1);
}

/*
 * More offsets make the line of least squares if they are as near to it as their errors say, and
 * else a chain through all of them.
 */
static void more_make_a_line_or_chain(void)
{
    static const int64_t straight[] = {0, 1003, 1996, 3001, 4000};
    static const int64_t bent[] = {0, 1000, 2000, 1000, 0};
    struct clock_offset offsets[5];
    for (int known = 0; known < 2; known++) {
        offsets_make(offsets, straight, known ? 5 : 0);
        struct clock_map *map = maps_of(PRESYNC_AUTO, offsets, 5);
        CHECK(map->count == 1);
        offset_is(map, SECOND / 2, 2000);
        offset_is(map, SECOND / 10, 0.4);
        offset_is(map, SECOND, 4500);
        ictusi_presync_free(map, 1);
    }
    offsets_make(offsets, bent, 5);
    struct clock_map *map = maps_of(PRESYNC_AUTO, offsets, 5);
    CHECK(map->count == 4);
    for (int i = 0; i < 5; i++) {
        offset_is(map, (int64_t)offsets[i].time, (double)bent[i]);
    }
    offset_is(map, SECOND / 10 * 4, 1500);
    offset_is(map, SECOND, -500); /* the last piece goes on */
    ictusi_presync_free(map, 1);
    offsets_make(offsets, bent, 2000); /* they may all be the same */
    map = maps_of(PRESYNC_AUTO, offsets, 5);
    CHECK(map->count == 1);
    offset_is(map, 0, 800);
    ictusi_presync_free(map, 1);
    map = maps_of(PRESYNC_LINEAR, offsets, 5); /* whatever they are */
    CHECK(map->count == 1);
    ictusi_presync_free(map, 1);
    map = maps_of(PRESYNC_NONE, offsets, 5);
    CHECK(ictusi_presync_is_identity(map, 1) && map->count == 1);
    ictusi_presync_free(map, 1);
}

/* A single knot is an offset for all times; with none, nothing changes. */
static void one_knot_is_an_offset(void)
{
    const int64_t times[] = {500, 900};
    const double offsets[] = {7, 1000};
    for (uint32_t count = 0; count < 2; count++) {
        struct clock_map *map = calloc(1, sizeof(*map));
        REQUIRE(map && !ictusi_clock_map_knots(map, times, offsets, count));
        CHECK(map->count == 1);
        offset_is(map, 0, count ? 7 : 0);
        offset_is(map, SECOND, count ? 7 : 0);
        ictusi_presync_free(map, 1);
    }
}

/* An offset counts by the inverse square of its error. */
static void errors_weigh(void)
{
    struct clock_offset offsets[] = {{SECOND / 10, 100, 10}, {SECOND / 10 * 9, 400, 20}};
    struct clock_map *map = maps_of(PRESYNC_OFFSET, offsets, 2);
    offset_is(map, 0, (4 * 100 + 400) / 5.0);
    offset_is(map, SECOND, (4 * 100 + 400) / 5.0);
    ictusi_presync_free(map, 1);
    /* Three of five offsets agree, and the line passes where they are. */
    static const int64_t values[] = {0, 900, 100, 150, 200};
    struct clock_offset five[5];
    offsets_make(five, values, 1);
    five[1].sd = 1e6;
    map = maps_of(PRESYNC_LINEAR, five, 5);
    offset_is(map, SECOND / 10, 0);
    offset_is(map, SECOND / 10 * 9, 200);
    ictusi_presync_free(map, 1);
}

/* As readers of OTF2 do: lines between records, of which none is earlier than the one before. */
static void archives_are_read_like_others_do(void)
{
    struct clock_offset offsets[] = {{1000, INT64_C(1700000000000000000), 0},
                                     {3000, INT64_C(1700000000000000100), 0},
                                     {3000, INT64_C(1800000000000000000), 0},
                                     {2000, INT64_C(1900000000000000000), 0},
                                     {5000, INT64_C(1700000000000000000), 0}};
    static const int64_t wanted[][2] = {{0, -50},   {1000, 0}, {2000, 50}, {3000, 100},
                                        {4000, 50}, {5000, 0}, {6000, -50}};
    struct clock_map *map = maps_of(PRESYNC_ARCHIVE, offsets, 5);
    CHECK(map->count == 2);
    uint32_t hint = 0;
    for (int back = 0; back < 2; back++) { /* wherever the search begins */
        for (int k = 0; k < 7; k++) {
            const int i = back ? 6 - k : k;
            const int64_t shown = clock_map_at(map, wanted[i][0], &hint);
            CHECK(shown == wanted[i][0] + INT64_C(1700000000000000000) + wanted[i][1]);
        }
    }
    CHECK(!ictusi_presync_is_identity(map, 1));
    CHECK_NEAR(ictusi_clock_maps_bend(map, 1), 0.05, 1e-12);
    ictusi_clock_maps_raise(map, 1, 7);
    CHECK(map_at(map, 4000) == 4000 + INT64_C(1700000000000000000) + 57);
    ictusi_presync_free(map, 1);
    /* One record alone counts to the last digit; what follows it does not. */
    struct clock_offset one[] = {{1000, INT64_C(1700000000000000001), 0}, {3000, 0, 0}};
    static const enum presync modes[] = {PRESYNC_ARCHIVE, PRESYNC_LINEAR, PRESYNC_OFFSET,
                                         PRESYNC_AUTO};
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        map = maps_of(modes[i], one, 1);
        CHECK(map->count == 1 && map_at(map, 4000) == 4000 + INT64_C(1700000000000000001));
        ictusi_presync_free(map, 1);
    }
    /* A map changes nothing if none of its pieces does. */
    struct clock_offset zeros[] = {{1000, 0, 0}, {3000, 0, 0}, {5000, 0, 0}};
    map = maps_of(PRESYNC_ARCHIVE, zeros, 3);
    CHECK(ictusi_presync_is_identity(map, 1) && ictusi_clock_maps_bend(map, 1) == 0);
    ictusi_presync_free(map, 1);
    zeros[2].offset = 1;
    map = maps_of(PRESYNC_ARCHIVE, zeros, 3);
    CHECK(!ictusi_presync_is_identity(map, 1));
    ictusi_presync_free(map, 1);
}

/* Each location has its own; where nothing was recorded, stamps stay. Halves are rounded. */
static void locations_have_maps(void)
{
    struct clock_offset offsets[] = {{1000, 5, 0}};
    struct layout_location locations[3] = {
        {.offset_count = 0}, {.offsets = offsets, .offset_count = 1}, {.offset_count = 0}};
    const struct layout layout = {
        .resolution = SECOND, .length = SECOND, .location_count = 3, .locations = locations};
    struct clock_map *maps = NULL;
    REQUIRE(!ictusi_presync_make(&layout, PRESYNC_AUTO, &maps));
    CHECK(map_at(&maps[0], 1234) == 1234 && map_at(&maps[2], 1234) == 1234);
    CHECK(map_at(&maps[1], 1234) == 1239);
    CHECK(!ictusi_presync_is_identity(maps, 3) && ictusi_presync_is_identity(maps, 1));
    ictusi_clock_maps_raise(maps, 3, 10);
    CHECK(map_at(&maps[0], 1234) == 1244 && map_at(&maps[2], 1234) == 1244);
    ictusi_presync_free(maps, 3);
    const int64_t times[] = {0, 1000};
    const double through[] = {-0.5, 999.5};
    struct clock_map map;
    REQUIRE(!ictusi_clock_map_knots(&map, times, through, 2));
    CHECK(map_at(&map, 0) == 0 || map_at(&map, 0) == -1);
    CHECK_NEAR(map_at(&map, 250), 500 - 0.5, 0.5);
    CHECK_NEAR(map_at(&map, -1000), -1000 - 1000.5, 0.5);
    free(map.pieces);
    REQUIRE(!ictusi_clock_map_knots(&map, times, through, 1));
    CHECK(map.count == 1 && map_at(&map, 5000) - map_at(&map, 0) == 5000);
    free(map.pieces);
    REQUIRE(!ictusi_clock_map_knots(&map, NULL, NULL, 0)); /* without knots nothing changes */
    CHECK(map.count == 1 && map_at(&map, 5000) == 5000);
    free(map.pieces);
}

int main(void)
{
    two_make_a_line();
    more_make_a_line_or_chain();
    one_knot_is_an_offset();
    errors_weigh();
    archives_are_read_like_others_do();
    locations_have_maps();
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* What keeps a timeline small: the longest calls, metrics thinned evenly, bins of the busiest name.
 */
#include "../check.h"

#include "core/random.h"
#include "view/density.h"
#include "view/series.h"
#include "view/slices.h"

#include <ictus/error.h>
#include <ictus/timeline.h>

/* The longest are kept, however they come; the others are counted. */
static void test_slices(void)
{
    enum { ALL = 5000, MOST = 300 };
    static int64_t durations[ALL];
    struct slices slices;
    struct rng rng;
    ictusi_random_seed(&rng, 7, 0);
    REQUIRE(ictusi_slices_init(&slices, MOST) == 0);
    for (int i = 0; i < ALL; i++) {
        durations[i] = (int64_t)(ictusi_random_next(&rng) % 1000) + 10L * (i % 3);
        ictusi_slices_add(&slices,
                          (struct slice){1000 - i % 7, durations[i], 1, (uint32_t)i % 5, 0});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == MOST);
    CHECK(slices.dropped == ALL - MOST);
    int longer = 0;
    for (int i = 0; i < ALL; i++) {
        longer += durations[i] > slices.least;
    }
    CHECK(longer < MOST);
    for (size_t i = 0; i < slices.count; i++) {
        const struct slice *s = &slices.list[i];
        const struct slice *before = i > 0 ? s - 1 : s;
        CHECK(s->duration >= slices.least);
        CHECK(before->track < s->track || (before->track == s->track && before->start <= s->start));
    }
    ictusi_slices_fini(&slices);
}

/* Calls of one start and one length: which are kept does not depend on the order they come in. */
static void test_equal_slices(void)
{
    uint32_t kept[2][4];
    for (int turn = 0; turn < 2; turn++) {
        struct slices slices;
        REQUIRE(ictusi_slices_init(&slices, 4) == 0);
        for (uint32_t i = 0; i < 20; i++) {
            const uint32_t depth = turn ? 19 - i : i;
            ictusi_slices_add(&slices, (struct slice){5, 10, 0, 0, depth});
        }
        ictusi_slices_finish(&slices);
        REQUIRE(slices.count == 4);
        CHECK(slices.dropped == 16);
        for (int i = 0; i < 4; i++) {
            kept[turn][i] = slices.list[i].depth;
        }
        ictusi_slices_fini(&slices);
    }
    CHECK(memcmp(kept[0], kept[1], sizeof kept[0]) == 0);
}

/* Fewer than wanted: all of them. */
static void test_few_slices(void)
{
    struct slices slices;
    REQUIRE(ictusi_slices_init(&slices, 100) == 0);
    for (int i = 0; i < 100; i++) {
        ictusi_slices_add(&slices, (struct slice){i, 0, 0, 0, 0});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == 100);
    CHECK(slices.dropped == 0);
    ictusi_slices_fini(&slices);
}

/* A picture without room shows the longest call all the same. */
static void test_no_slices(void)
{
    struct slices slices;
    REQUIRE(ictusi_slices_init(&slices, 0) == 0);
    for (int i = 0; i < 9; i++) {
        ictusi_slices_add(&slices, (struct slice){.start = i, .duration = i % 5});
    }
    ictusi_slices_finish(&slices);
    CHECK(slices.count == 1 && slices.dropped == 8);
    CHECK(slices.list[0].start == 4 && slices.list[0].duration == 4);
    ictusi_slices_fini(&slices);
}

static void test_misuse(void)
{
    json_t *timeline = NULL;
    struct ictus_why why;
    CHECK(ictus_timeline_read(NULL, 10, &timeline, &why) == ICTUS_ERR_ARG && !timeline);
    CHECK(ictus_timeline_read("none.otf2", 10, NULL, &why) == ICTUS_ERR_ARG);
    CHECK(ictus_timeline_read("none.otf2", 10, &timeline, &why) && !timeline && why.text[0]);
}

/* Of n values every k-th, k a power of two, in order, from the first to nearly the last. */
static void test_series(void)
{
    const int lengths[] = {1, SERIES_POINTS, SERIES_POINTS + 1, 12345};
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
        struct series_list series = {.count = 0};
        for (int i = 0; i < lengths[l]; i++) {
            CHECK(ictusi_series_add(&series, 3, 1, 10L * i, 0.5 * i) == 0);
        }
        REQUIRE(series.count == 1);
        const struct metric_series *one = series.list[0];
        const uint64_t n = (uint64_t)lengths[l];
        CHECK(one->seen == n && series.values == n && series.seen == 1);
        CHECK(one->count == (n - 1) / one->every + 1);
        CHECK(one->count <= SERIES_POINTS);
        CHECK(one->every == 1 || 2 * one->count >= SERIES_POINTS);
        for (uint32_t i = 0; i < one->count; i++) {
            CHECK(one->time[i] == (int64_t)(10 * one->every * i));
            CHECK_NEAR(one->value[i], 0.5 * (double)(one->every * i), 0);
        }
        ictusi_series_fini(&series);
    }
}

/* More series than are kept are counted, with their values. */
static void test_many_series(void)
{
    struct series_list series = {.count = 0};
    for (int turn = 0; turn < 3; turn++) {
        for (uint32_t track = 0; track < UINT32_C(2) * SERIES_MOST; track++) {
            CHECK(ictusi_series_add(&series, track, track % 3, turn, track) == 0);
        }
    }
    CHECK(series.count == SERIES_MOST);
    CHECK(series.seen == UINT64_C(2) * SERIES_MOST);
    CHECK(series.values == UINT64_C(6) * SERIES_MOST);
    for (uint32_t i = 0; i < SERIES_MOST; i++) {
        CHECK(series.list[i]->track == i && series.list[i]->member == i % 3);
        CHECK(series.list[i]->count == 3 && series.list[i]->value[2] == i);
    }
    ictusi_series_fini(&series);
}

/* Each bin tells the name that had most of it, whatever of it lies outside of the run. */
static void test_density(void)
{
    struct density density;
    uint32_t name = 0;
    double share = 0;
    REQUIRE(ictusi_density_init(&density, 2, 512 * 100 - 1) == 0);
    CHECK(density.count == 512);
    CHECK(density.width == 100);
    ictusi_density_add(&density, 1, 4, -500, 130);      /* bin 0, and 30 of bin 1 */
    ictusi_density_add(&density, 1, 9, 130, 180);       /* 50 of bin 1 */
    ictusi_density_add(&density, 1, 4, 180, 190);       /* 10 more */
    ictusi_density_add(&density, 1, 7, 51150, 5000000); /* half of the last bin */
    CHECK(ictusi_density_most(&density, 1, 0, &name, &share) && name == 4);
    CHECK_NEAR(share, 1, 1e-6);
    CHECK(ictusi_density_most(&density, 1, 1, &name, &share) && name == 9);
    CHECK_NEAR(share, 0.5, 1e-6);
    CHECK(!ictusi_density_most(&density, 1, 2, &name, &share));
    CHECK(ictusi_density_most(&density, 1, 511, &name, &share) && name == 7);
    CHECK_NEAR(share, 0.5, 1e-6);
    for (uint32_t b = 0; b < density.count; b++) {
        CHECK(!ictusi_density_most(&density, 0, b, &name, &share));
    }
    ictusi_density_fini(&density);
    REQUIRE(ictusi_density_init(&density, 100000, 0) == 0);
    CHECK(density.count == 16 && density.width == 1);
    ictusi_density_fini(&density);
    REQUIRE(ictusi_density_init(&density, 1000, 65000) == 0);
    CHECK(density.count == 65);
    ictusi_density_fini(&density);
}

/* More names than a bin holds: the busiest stays. */
static void test_crowded_bin(void)
{
    struct density density;
    uint32_t name = 0;
    double share = 0;
    REQUIRE(ictusi_density_init(&density, 1, 512 * 1000 - 1) == 0);
    for (int i = 0; i < 50; i++) {
        const int64_t from = 10L * i;
        ictusi_density_add(&density, 0, (uint32_t)i, from, from + (i == 20 ? 10 : 2));
    }
    CHECK(ictusi_density_most(&density, 0, 0, &name, &share) && name == 20);
    CHECK_NEAR(share, 0.01, 1e-6);
    ictusi_density_fini(&density);
}

int main(void)
{
    test_slices();
    test_equal_slices();
    test_few_slices();
    test_no_slices();
    test_misuse();
    test_series();
    test_many_series();
    test_density();
    test_crowded_bin();
    return check_result();
}

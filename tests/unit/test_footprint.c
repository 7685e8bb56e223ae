/* SPDX-License-Identifier: BSD-3-Clause */
/* The footprint with which a replay takes as long as the calls that were recorded. */
#include "bench/footprint.h"

#include "../check.h"

#include <math.h>
#include <stdlib.h>

enum { LEVELS = FOOTPRINT_LEVELS, LAST = LEVELS - 1 };

/* Times that grow with a power of the footprint have every target where that power says. */
static void test_between_levels(void)
{
    double took[LEVELS];
    for (int i = 0; i < LEVELS; i++) {
        took[i] = 3e-7 * sqrt((double)ictusi_footprint_levels[i]);
    }
    for (double bytes = 64; bytes < 16777216; bytes *= 1.37) {
        const double found = (double)ictusi_footprint_find(took, 3e-7 * sqrt(bytes));
        CHECK_NEAR(found, bytes, 33);
        CHECK(fmod(found, 64) == 0);
    }
    for (int i = 0; i < LEVELS; i++) {
        CHECK_NEAR((double)ictusi_footprint_find(took, took[i]), (double)ictusi_footprint_levels[i],
                   1);
    }
}

/* What no level reaches has the nearest one, the smallest of those that are as near. */
static void test_beyond_levels(void)
{
    const double steps[LEVELS] = {1, 1, 1, 2, 3, 3, 3, 3};
    CHECK(ictusi_footprint_find(steps, 0.5) == ictusi_footprint_levels[0]);
    CHECK(ictusi_footprint_find(steps, 1) == ictusi_footprint_levels[0]);
    CHECK(ictusi_footprint_find(steps, 3) == ictusi_footprint_levels[4]);
    CHECK(ictusi_footprint_find(steps, 9) == ictusi_footprint_levels[4]);
    const double flat[LEVELS] = {1, 1, 1, 1, 1, 1, 1, 1};
    CHECK(ictusi_footprint_find(flat, 0.9) == ictusi_footprint_levels[0]);
    CHECK(ictusi_footprint_find(flat, 1.1) == ictusi_footprint_levels[0]);
    const double rising[LEVELS] = {1, 2, 3, 4, 5, 6, 7, 8};
    CHECK(ictusi_footprint_find(rising, 9) == ictusi_footprint_levels[LAST]);
}

/* Neighbours in the wrong order count as one level, with the mean of their logarithms. */
static void test_wrong_order(void)
{
    const double pair[LEVELS] = {1, 8, 2, 16, 32, 64, 128, 256};
    const double mean[LEVELS] = {1, 4, 4, 16, 32, 64, 128, 256};
    const double three[LEVELS] = {1, 27, 9, 3, 100, 200, 300, 400};
    const double middle[LEVELS] = {1, 9, 9, 9, 100, 200, 300, 400};
    /* 10 and 1 have the mean 3.16, which is less than 5: all three are one. */
    const double chain[LEVELS] = {5, 10, 1, 60, 61, 62, 63, 64};
    const double one = cbrt(50);
    const double chained[LEVELS] = {one, one, one, 60, 61, 62, 63, 64};
    for (double target = 0.5; target < 500; target *= 1.19) {
        CHECK(ictusi_footprint_find(pair, target) == ictusi_footprint_find(mean, target));
        CHECK(ictusi_footprint_find(three, target) == ictusi_footprint_find(middle, target));
        CHECK(ictusi_footprint_find(chain, target) == ictusi_footprint_find(chained, target));
    }
    const double falling[LEVELS] = {8, 7, 6, 5, 4, 3, 2, 1};
    CHECK(ictusi_footprint_find(falling, 100) == ictusi_footprint_levels[0]);
}

int main(void)
{
    test_between_levels();
    test_beyond_levels();
    test_wrong_order();
    return check_result();
}

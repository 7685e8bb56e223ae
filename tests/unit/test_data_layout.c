/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the elements of a block lie: without gaps, evenly, or in runs drawn by chance. */
#include "bench/data_layout.h"

#include "../check.h"

enum { ELEMENTS = 2000, ELEMENT = 4 };

static struct data_layout layout;

static int layout_of(const char *text, int64_t elements)
{
    struct data_layout_options options;
    struct ictus_why why;
    const int err = ictusi_data_layout_read(text, &options, &why);
    return err ? err : ictusi_data_layout_init(&layout, &options, elements, ELEMENT, &why);
}

/* Where element i begins, in elements. */
static int64_t place(int64_t i)
{
    const size_t offset = ictusi_data_layout_offset(&layout, i);
    CHECK(offset % ELEMENT == 0);
    return (int64_t)(offset / ELEMENT);
}

static void even_layouts_are_even(void)
{
    REQUIRE(layout_of(NULL, ELEMENTS) == ICTUS_OK);
    CHECK(place(0) == 0 && place(7) == 7 && layout.extent == ELEMENTS * ELEMENT);
    REQUIRE(layout_of("vector:block=4,stride=10", ELEMENTS) == ICTUS_OK);
    CHECK(place(3) == 3 && place(4) == 10 && place(9) == 21 && place(ELEMENTS) == 5000);
    CHECK(layout.extent == 5000 * ELEMENT);
    REQUIRE(layout_of("resized:stride=3", ELEMENTS) == ICTUS_OK);
    CHECK(place(0) == 0 && place(1) == 3 && place(10) == 30);
    CHECK(layout_of("vector:block=4,stride=10", 10) == ICTUS_ERR_ARG);
    CHECK(layout_of("vector:block=4,stride=3", 8) == ICTUS_ERR_SPEC);
}

/* How many elements lie where others of their number do. */
static int64_t count_same(const int64_t *others)
{
    int64_t same = 0;
    for (int64_t i = 0; i <= ELEMENTS; i++) {
        same += place(i) == others[i];
    }
    return same;
}

/* Runs of 1 to 15 elements with gaps of 0 to 16, on average 8 and 8, alike for the same seed. */
static void drawn_layouts_have_runs(void)
{
    int64_t first[ELEMENTS + 1];
    int runs = 0, lengths[16] = {0}, gaps[17] = {0};
    REQUIRE(layout_of("indexed:block=8,stride=16,seed=3", ELEMENTS) == ICTUS_OK);
    for (int64_t i = 0, length = 0; i <= ELEMENTS; i++) {
        first[i] = place(i);
        const int64_t gap = i > 0 ? first[i] - first[i - 1] - 1 : 0;
        REQUIRE(gap >= 0 && gap <= 16);
        length++;
        if (gap > 0) {
            gaps[gap]++;
            lengths[(length - 1) % 16]++;
            length = 1;
            runs++;
        }
    }
    CHECK(first[0] == 0);
    CHECK(runs > ELEMENTS / 12 && runs < ELEMENTS / 6);
    CHECK(first[ELEMENTS] > 3 * ELEMENTS / 2 && first[ELEMENTS] < 5 * ELEMENTS / 2);
    int kinds = 0;
    for (int i = 1; i < 16; i++) {
        kinds += (lengths[i] > 0) + (gaps[i] > 0);
    }
    CHECK(kinds > 20); /* of 30 */
    REQUIRE(layout_of("indexed:block=8,stride=16,seed=3", ELEMENTS) == ICTUS_OK);
    CHECK(count_same(first) == ELEMENTS + 1);
    REQUIRE(layout_of("indexed:block=8,stride=16,seed=4", ELEMENTS) == ICTUS_OK);
    CHECK(count_same(first) < ELEMENTS / 2);
}

int main(void)
{
    even_layouts_are_even();
    drawn_layouts_have_runs();
    return check_result();
}

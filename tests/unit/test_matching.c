/* SPDX-License-Identifier: BSD-3-Clause */
/* Matchings: mutual, complete, without repetition, fair, the same on every process. */
#include "core/matching.h"

#include "../check.h"

static void pairs_are_mutual_and_distinct(int size, int rounds, uint64_t seed)
{
    struct matching m;
    REQUIRE(!ictusi_matching_create(size, rounds, seed, &m));
    char *seen = calloc((size_t)size * (size_t)size, 1);
    int *asked = calloc((size_t)size, sizeof(*asked));
    REQUIRE(seen && asked);
    const int most = size < 2 ? 0 : size % 2 ? size : size - 1;
    CHECK(m.rounds == (rounds < most ? rounds : most));
    for (int r = 0; r < m.rounds; r++) {
        int idle = 0;
        for (int i = 0; i < size; i++) {
            const int j = ictusi_matching_partner(&m, r, i);
            if (j < 0) {
                idle++;
                CHECK(!ictusi_matching_asks(&m, r, i));
                continue;
            }
            CHECK(j != i && j < size);
            CHECK(ictusi_matching_partner(&m, r, j) == i);
            CHECK(ictusi_matching_asks(&m, r, i) != ictusi_matching_asks(&m, r, j));
            CHECK(!seen[i * size + j]);
            seen[i * size + j] = 1;
            asked[i] += ictusi_matching_asks(&m, r, i);
        }
        CHECK(idle == size % 2);
    }
    for (int i = 0; i < size && m.rounds == most; i++) {
        CHECK(2 * asked[i] >= m.rounds - 3 && 2 * asked[i] <= m.rounds + 3);
    }
    free(asked);
    free(seen);
    ictusi_matching_free(&m);
}

static void seeds_matter_and_repeat(void)
{
    struct matching a;
    struct matching b;
    struct matching c;
    REQUIRE(!ictusi_matching_create(64, 8, 1, &a));
    REQUIRE(!ictusi_matching_create(64, 8, 1, &b));
    REQUIRE(!ictusi_matching_create(64, 8, 2, &c));
    int same = 0;
    for (int i = 0; i < 64; i++) {
        CHECK(ictusi_matching_partner(&a, 3, i) == ictusi_matching_partner(&b, 3, i));
        same += ictusi_matching_partner(&a, 3, i) == ictusi_matching_partner(&c, 3, i);
    }
    CHECK(same < 16);
    ictusi_matching_free(&a);
    ictusi_matching_free(&b);
    ictusi_matching_free(&c);
}

int main(void)
{
    for (int size = 1; size <= 34; size++) {
        pairs_are_mutual_and_distinct(size, 1000, 3);
        pairs_are_mutual_and_distinct(size, 5, (uint64_t)size);
    }
    pairs_are_mutual_and_distinct(1000, 40, 9);
    pairs_are_mutual_and_distinct(999, 40, 9);
    seeds_matter_and_repeat();
    return check_result();
}

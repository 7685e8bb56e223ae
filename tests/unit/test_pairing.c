/* SPDX-License-Identifier: BSD-3-Clause */
/* Matchings: mutual, complete, without repetition, fair, the same on every process. */
#include "core/pairing.h"

#include "../check.h"

static void pairs_are_mutual_and_distinct(int size, int rounds, uint64_t seed)
{
    struct pairing m;
    REQUIRE(!ictusi_pairing_create(size, rounds, seed, &m));
    char *seen = calloc((size_t)size * (size_t)size, 1);
    int *asked = calloc((size_t)size, sizeof(*asked));
    REQUIRE(seen && asked);
    const int most = size < 2 ? 0 : size % 2 ? size : size - 1;
    CHECK(m.rounds == (rounds < most ? rounds : most));
    for (int r = 0; r < m.rounds; r++) {
        int idle = 0;
        for (int i = 0; i < size; i++) {
            const int j = ictusi_pairing_partner(&m, r, i);
            if (j < 0) {
                idle++;
                CHECK(!ictusi_pairing_asks(&m, r, i));
                continue;
            }
            CHECK(j != i && j < size);
            CHECK(ictusi_pairing_partner(&m, r, j) == i);
            CHECK(ictusi_pairing_asks(&m, r, i) != ictusi_pairing_asks(&m, r, j));
            CHECK(!seen[i * size + j]);
            seen[i * size + j] = 1;
            asked[i] += ictusi_pairing_asks(&m, r, i);
        }
        CHECK(idle == size % 2);
    }
    for (int i = 0; i < size && m.rounds == most; i++) {
        CHECK(2 * asked[i] >= m.rounds - 3 && 2 * asked[i] <= m.rounds + 3);
    }
    free(asked);
    free(seen);
    ictusi_pairing_free(&m);
}

static void seeds_matter_and_repeat(void)
{
    struct pairing a;
    struct pairing b;
    struct pairing c;
    REQUIRE(!ictusi_pairing_create(64, 8, 1, &a));
    REQUIRE(!ictusi_pairing_create(64, 8, 1, &b));
    REQUIRE(!ictusi_pairing_create(64, 8, 2, &c));
    int same = 0;
    for (int i = 0; i < 64; i++) {
        CHECK(ictusi_pairing_partner(&a, 3, i) == ictusi_pairing_partner(&b, 3, i));
        same += ictusi_pairing_partner(&a, 3, i) == ictusi_pairing_partner(&c, 3, i);
    }
    CHECK(same < 16);
    ictusi_pairing_free(&a);
    ictusi_pairing_free(&b);
    ictusi_pairing_free(&c);
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

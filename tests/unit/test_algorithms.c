/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Selection against brute force, and the bound against random streams, as in
 * tests/fuzz/fuzz_select.c but from a seed.
 */
#include "../check.h"

#include "../fuzz/fuzz_select.c"
#include "core/random.h"

void fuzz_require(bool good)
{
    REQUIRE(good);
}

int main(void)
{
    struct rng rng;
    uint8_t bytes[600];
    ictusi_random_seed(&rng, 2026, 22);
    for (int i = 0; i < 40000; i++) {
        const size_t length = (size_t)ictusi_random_below(&rng, i % 8 ? 80 : sizeof(bytes));
        for (size_t b = 0; b < length; b++) {
            bytes[b] = (uint8_t)ictusi_random_next(&rng);
        }
        CHECK(LLVMFuzzerTestOneInput(bytes, length) == 0);
    }
    return check_result();
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* splitmix64 (Steele, Lea and Flood 2014) and orders made with it. */
#include "main/shuffle.h"

uint64_t shuffle_next(uint64_t *state)
{
    uint64_t z = (*state += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void shuffle_order(size_t *order, size_t count, uint64_t *state)
{
    for (size_t i = count; i > 1; i--) {
        const size_t j = (size_t)(shuffle_next(state) % i);
        const size_t kept = order[i - 1];
        order[i - 1] = order[j];
        order[j] = kept;
    }
}

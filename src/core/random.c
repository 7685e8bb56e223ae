/* SPDX-License-Identifier: BSD-3-Clause */
/* splitmix64 (Steele, Lea, Flood 2014) for seeding, and xoshiro256** (Blackman, Vigna 2018) for
 * the stream. Both algorithms are in the public domain. */
#include "core/random.h"

#include <math.h>

static uint64_t random_splitmix(uint64_t *x)
{
    uint64_t z = (*x += UINT64_C(0x9e3779b97f4a7c15));
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

static uint64_t random_rotate(uint64_t x, int k)
{
    return (x << k) | (x >> (64 - k));
}

void ictusi_random_seed(struct rng *rng, uint64_t seed, uint64_t stream)
{
    uint64_t x = seed;
    x = random_splitmix(&x) ^ (stream * UINT64_C(0xd1342543de82ef95));
    for (int i = 0; i < 4; i++) {
        rng->state[i] = random_splitmix(&x);
    }
}

uint64_t ictusi_random_next(struct rng *rng)
{
    uint64_t *s = rng->state;
    const uint64_t result = random_rotate(s[1] * 5, 7) * 9;
    const uint64_t t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = random_rotate(s[3], 45);
    return result;
}

double ictusi_random_uniform(struct rng *rng)
{
    /* Half a step is added to 52 bits, so that the result is never 0 or 1 and its logarithm is
     * finite. */
    return ((double)(ictusi_random_next(rng) >> 12) + 0.5) * 0x1p-52;
}

uint64_t ictusi_random_below(struct rng *rng, uint64_t n)
{
    /* Values of the last, incomplete run of n are drawn again, because a plain modulo would
     * prefer small numbers. */
    const uint64_t limit = UINT64_MAX - UINT64_MAX % n;
    uint64_t x = ictusi_random_next(rng);
    while (x >= limit) {
        x = ictusi_random_next(rng);
    }
    return x % n;
}

double ictusi_random_normal(struct rng *rng)
{
    const double two_pi = 6.283185307179586;
    /* Box and Muller (1958). The second value, by the sine, is not kept, so that the generator
     * is the only state. */
    const double radius = sqrt(-2.0 * log(ictusi_random_uniform(rng)));
    return radius * cos(two_pi * ictusi_random_uniform(rng));
}

double ictusi_random_exponential(struct rng *rng)
{
    return -log(ictusi_random_uniform(rng));
}

void ictusi_random_shuffle(struct rng *rng, int *items, int n)
{
    /* Fisher and Yates, from the end: each of the n! orders is equally likely. */
    for (int i = n - 1; i > 0; i--) {
        const int j = (int)ictusi_random_below(rng, (uint64_t)i + 1);
        const int kept = items[i];
        items[i] = items[j];
        items[j] = kept;
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Seeded random numbers (splitmix64, xoshiro256**), the same on every machine and with every
 * MPI. */
#ifndef ICTUS_CORE_RANDOM_H
#define ICTUS_CORE_RANDOM_H

#include <stdint.h>

struct rng {
    uint64_t state[4];
};

/* Seed a generator. Streams of one seed with different stream numbers are independent. */
void ictusi_random_seed(struct rng *rng, uint64_t seed, uint64_t stream);

uint64_t ictusi_random_next(struct rng *rng);

/* Uniform in (0, 1), never 0 or 1. */
double ictusi_random_uniform(struct rng *rng);

/* Uniform integer in [0, n), without bias; n > 0. */
uint64_t ictusi_random_below(struct rng *rng, uint64_t n);

/* Standard normal deviate. */
double ictusi_random_normal(struct rng *rng);

/* Exponential deviate of mean 1. */
double ictusi_random_exponential(struct rng *rng);

/* Shuffle n indices in place. */
void ictusi_random_shuffle(struct rng *rng, int *items, int n);

#endif

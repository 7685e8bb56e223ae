/* SPDX-License-Identifier: BSD-3-Clause */
/* Planted patterns: rank 2 is late by 100 us, and the others differ by noise of 1 us. */
#ifndef TESTS_UNIT_STRAGGLER_H
#define TESTS_UNIT_STRAGGLER_H

#include "../check.h"

#include "core/random.h"

#include <ictus/arrivals.h>

#include <math.h>
#include <stdio.h>

enum { RANKS = 4, ROWS = 400 };

static inline void straggler_name(struct ictus_arrivals *a, const char *site)
{
    (void)snprintf(a->site, sizeof a->site, "%s", site);
    (void)snprintf(a->call, sizeof a->call, "MPI_Allreduce");
    (void)snprintf(a->operation, sizeof a->operation, "allreduce");
    (void)snprintf(a->comm, sizeof a->comm, "MPI_COMM_WORLD");
    a->bytes = 64;
}

/* Store a row of given arrivals as offsets from the first one. */
static inline void straggler_put_row(struct ictus_arrivals *a, int64_t row, const double *instants)
{
    double least = INFINITY;
    for (int r = 0; r < a->ranks; r++) {
        least = fmin(least, instants[r]);
    }
    for (int r = 0; r < a->ranks; r++) {
        a->offsets_ns[row * a->ranks + r] = llround(instants[r]) - llround(least);
    }
    a->errors_ns[row] = 50;
    a->durations_s[row] = 3e-6 + 1e-9 * (double)row;
}

static inline void straggler_plant(struct ictus_arrivals *a, uint64_t seed)
{
    struct rng rng;
    ictusi_random_seed(&rng, seed, 0);
    REQUIRE(!ictus_arrivals_init(a, RANKS, ROWS));
    straggler_name(a, "solver.c:120");
    for (int64_t i = 0; i < ROWS; i++) {
        double instants[RANKS];
        for (int r = 0; r < RANKS; r++) {
            instants[r] = 1000.0 * ictusi_random_normal(&rng) + (r == 2 ? 1e5 : 0);
        }
        straggler_put_row(a, i, instants);
    }
    REQUIRE(!ictus_arrivals_summarize(a));
}

#endif

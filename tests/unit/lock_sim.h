/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock and a network in virtual time with known truth: an oscillator whose frequency is a random
 * walk, and exchanges in which each direction takes a base time and an exponential wait.
 */
#ifndef ICTUS_TESTS_LOCK_SIM_H
#define ICTUS_TESTS_LOCK_SIM_H

#include "core/random.h"
#include "lock/bound.h"
#include "lock/discipline.h"
#include "lock/group.h"
#include "lock/interval.h"

#include <math.h>
#include <string.h>

struct sim {
    struct rng rng;
    double now_s;
    double phase_ns, frequency;    /* remote minus local; ns/s: the truth */
    double walk;                   /* of the frequency, ns/s per root second */
    double warm, warm_period_s;    /* temperature: a sine in the frequency, ns/s */
    double base_ns[2], wait_ns[2]; /* there and back */
    double loss;
};

static inline void sim_init(struct sim *s, uint64_t seed)
{
    const struct sim defaults = {.phase_ns = 5e6,
                                 .frequency = 2e4,
                                 .walk = 1.0,
                                 .warm_period_s = 1.0,
                                 .base_ns = {1e5, 1e5},
                                 .wait_ns = {2e4, 2e4}};
    *s = defaults;
    ictusi_random_seed(&s->rng, seed, 77);
}

static inline void sim_advance(struct sim *s, double dt)
{
    /* The exact distribution of phase and frequency of an integrated random walk. */
    const double a = s->walk * sqrt(dt) * ictusi_random_normal(&s->rng);
    const double b = s->walk * sqrt(dt * dt * dt / 12.0) * ictusi_random_normal(&s->rng);
    const double turn = 6.283185307179586 / s->warm_period_s;
    const double warm = s->warm / turn * (cos(turn * s->now_s) - cos(turn * (s->now_s + dt)));
    s->phase_ns += s->frequency * dt + a * dt / 2.0 + b + warm;
    s->frequency += a;
    s->now_s += dt;
}

static inline int64_t sim_local(const struct sim *s)
{
    return (int64_t)llround(s->now_s * 1e9);
}

/* One exchange now. @return false if it was lost */
static inline bool sim_exchange(struct sim *s, struct sample *sample)
{
    const double there = s->base_ns[0] + s->wait_ns[0] * ictusi_random_exponential(&s->rng);
    const double back = s->base_ns[1] + s->wait_ns[1] * ictusi_random_exponential(&s->rng);
    memset(sample, 0, sizeof(*sample));
    sample->local = sim_local(s);
    sample->offset_ns = (int64_t)llround(s->phase_ns + (there - back) / 2.0);
    sample->delay_ns = there + back;
    sample->bound_ns = sample->delay_ns / 2.0 + 1.0;
    sample->network_ns = sample->delay_ns;
    return ictusi_random_uniform(&s->rng) >= s->loss;
}

/* A group of exchanges, 20 ms apart. */
static inline size_t sim_group(struct sim *s, int count, struct sample *samples)
{
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        n += sim_exchange(s, &samples[n]) ? 1 : 0;
        sim_advance(s, 0.02);
    }
    return n;
}

#endif

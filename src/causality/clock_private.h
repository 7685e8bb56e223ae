/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the clock model share. */
#ifndef ICTUS_CAUSALITY_CLOCK_PRIVATE_H
#define ICTUS_CAUSALITY_CLOCK_PRIVATE_H

#include "causality/clock_model.h"

#include <math.h>

/* Scatter that a least delay has at least, us: resolution, cache misses. */
#define MODEL_SCATTER 0.05

/* Of an archive's clock offset that says 0, us. */
#define MODEL_OFFSET_SD 0.25

/* What phi adds to a delay of a pair. */
static inline double model_shift(const struct clock_model *m, const struct model_pair *pair,
                                 int way, double position)
{
    const double forth = ictusi_clock_model_at(m, m->phi, pair->b, position) -
                         ictusi_clock_model_at(m, m->phi, pair->a, position);
    return way ? -forth : forth;
}

/* Whether both directions tell how long messages take. */
static inline bool model_talks_both_ways(const struct model_pair *pair)
{
    return pair->now[0] && pair->now[1];
}

/*
 * Whether a delay tells how long a pair's messages wait. Those of former looks are of members that
 * waited for others, as it turned out: bounds, which say no more than that of what is seen now.
 */
static inline bool model_tells(const struct model_pair *pair, int way,
                               const struct model_delay *delay)
{
    return delay->now || !pair->now[way];
}

static inline double model_residual(const struct clock_model *m, const struct model_pair *pair,
                                    int way, uint32_t k)
{
    const struct model_delay *delay = &pair->delays[way][k];
    return delay->y - model_shift(m, pair, way, delay->position) - pair->least[way];
}

/* Pairs of neighbouring cells are left out in turn. */
static inline bool model_is_held(const struct model_delay *delay, int fold)
{
    return fold >= 0 && delay->cell / 2 % 2 == (uint32_t)fold;
}

/* Loss of e: quadratic below and to scatter^2 / spread, then linear: waits are exponential. */
static inline double model_weight(double spread, double e)
{
    const double square = MODEL_SCATTER * MODEL_SCATTER;
    return e < square / spread ? 1 / square : 1 / (spread * (e > 1e-12 ? e : 1e-12));
}

/*
 * The same of one delay of a pair: one that does not tell of waits counts where it forbids. Where
 * no message goes back, a step passes as waiting one way, and as a broken bound the other way; were
 * the second one forbidden, all clocks further on would follow the one that jumped. So both count
 * alike there, as they do of clocks that jump (even): a regression to the median.
 */
static inline double model_delay_weight(const struct model_pair *pair, int way,
                                        const struct model_delay *delay, double e, bool even)
{
    const double weight = model_weight(pair->spread[way], e);
    if (e >= 0) {
        return model_tells(pair, way, delay) ? weight : 0;
    }
    return even || !model_talks_both_ways(pair) ? fmin(weight, 1 / (pair->spread[way] * -e))
                                                : weight;
}

/*
 * Whether some bound of a pair is broken by more than ten scatters: a clock jumped, or bent more
 * than its knots can follow. Such a bound holds both D down, to nothing, and all other delays of
 * the pair then lie off by as much as D is too small.
 */
static inline bool model_contradicts(const struct clock_model *m, const struct model_pair *pair)
{
    const double beyond = -10 * MODEL_SCATTER;
    bool found = false;
    for (int way = 0; way < 2; way++) {
        for (uint32_t k = 0; k < pair->counts[way] && !found; k++) {
            found = model_residual(m, pair, way, k) < beyond;
        }
    }
    return found;
}

static inline double model_offset_sd(const struct model_offset *o)
{
    return o->sd > 0 ? o->sd : MODEL_OFFSET_SD;
}

static inline double model_offset_residual(const struct clock_model *m,
                                           const struct model_offset *o)
{
    return o->value - ictusi_clock_model_at(m, m->phi, o->clock, o->position) +
           ictusi_clock_model_at(m, m->phi, m->reference, o->position);
}

/* D as the least that is left, or 0 where nothing is. */
void ictusi_model_least_guess(const struct clock_model *model, struct model_pair *pair, int way,
                              int fold);

/* The middle of values, or the mean of the middle two; sorts them in place, n > 0. */
double ictusi_model_median(double *values, uint32_t n);

/* The scale of e: the median of what is left, at least twice the scatter. */
void ictusi_model_spread(const struct clock_model *model, struct model_pair *pair, int way,
                         int fold);

#endif

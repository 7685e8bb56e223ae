/* SPDX-License-Identifier: BSD-3-Clause */
/* What the files of the clock model share. */
#ifndef ICTUS_CAUSALITY_CLOCK_PRIVATE_H
#define ICTUS_CAUSALITY_CLOCK_PRIVATE_H

#include "causality/clock_model.h"

#include <math.h>

/* The least scatter of a least delay, us: clock resolution, cache misses. */
#define MODEL_SCATTER 0.05

/* The standard deviation assumed for an archive's clock offset that declares 0, us. */
#define MODEL_OFFSET_SD 0.25

/* What phi adds to a delay of a pair, us. */
static inline double model_shift(const struct clock_model *m, const struct model_pair *pair,
                                 int way, double position)
{
    const double forth = ictusi_clock_model_at(m, m->phi, pair->b, position) -
                         ictusi_clock_model_at(m, m->phi, pair->a, position);
    return way ? -forth : forth;
}

/* Whether both directions were observed, so that the length of a round trip is known. */
static inline bool model_talks_both_ways(const struct model_pair *pair)
{
    return pair->now[0] && pair->now[1];
}

/*
 * Whether a delay says how long a pair's messages wait. Delays of earlier observations belong to
 * members that turned out to have waited for others. Where the direction is still observed now,
 * they are bounds and no more.
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

/* A fold leaves out every other pair of neighbouring cells. */
static inline bool model_is_held(const struct model_delay *delay, int fold)
{
    return fold >= 0 && delay->cell / 2 % 2 == (uint32_t)fold;
}

/*
 * The weight that gives the loss of e: quadratic up to scatter^2 / spread, then linear, because
 * waits are exponential.
 */
static inline double model_weight(double spread, double e)
{
    const double square = MODEL_SCATTER * MODEL_SCATTER;
    return e < square / spread ? 1 / square : 1 / (spread * (e > 1e-12 ? e : 1e-12));
}

/*
 * The weight of one delay of a pair. A delay that says nothing about waits counts only where it is
 * violated (e < 0), and a violation weighs more than any wait.
 *
 * If no message goes back, a clock that steps shows as a wait one way and as a broken bound the
 * other way. If broken bounds were forbidden there, all clocks beyond would follow the one that
 * jumped. So both count alike there, as they do for clocks that jump (even), which makes it a
 * regression to the median.
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

/* Whether a D is at its least: no message takes less than no time. */
static inline bool model_is_least(const struct model_pair *pair)
{
    return model_talks_both_ways(pair) && fmin(pair->least[0], pair->least[1]) <= 0;
}

/*
 * Whether some bound of a pair is broken by more than ten scatters, because a clock jumped or bent
 * more than its knots can follow. Such a bound forces both D towards 0, and all other delays of the
 * pair are then off by the amount by which D is too small. Where D cannot give way any further, a
 * bound that is broken by more than chance, two scatters, shows the same.
 */
static inline bool model_contradicts(const struct clock_model *m, const struct model_pair *pair)
{
    const double beyond = (model_is_least(pair) ? -2 : -10) * MODEL_SCATTER;
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

/* Set D to the least residual, or to 0 if there is none. */
void ictusi_model_least_guess(const struct clock_model *model, struct model_pair *pair, int way,
                              int fold);

/* The median of n > 0 values, or the mean of the middle two; sorts them in place. */
double ictusi_model_median(double *values, uint32_t n);

/* Set the scale of e: the median residual, at least twice the scatter. */
void ictusi_model_spread(const struct clock_model *model, struct model_pair *pair, int way,
                         int fold);

/* The worst violation among the delays as they are seen now, us. */
double ictusi_model_worst_violation(const struct clock_model *model);

/* The mean over all clocks of the error where it is least, and the largest error of any, us. */
double ictusi_model_level_error(const struct clock_model *model);
double ictusi_model_largest_error(const struct clock_model *model);

/* The largest |phi|, us. */
double ictusi_model_largest_move(const struct clock_model *model);

/* Whether any clock is moved by more than two standard deviations of its phi. */
bool ictusi_model_moves(const struct clock_model *model);

/* How many times their stated sd the archive's offsets err; `ratios` has room for one of each. */
double ictusi_model_offsets_scatter(const struct clock_model *model, double *ratios);

/*
 * The error of a clock that stays this far from a fit with this error: the clock is as certainly
 * within it.
 */
double ictusi_model_error_beside(double error, double distance);

/*
 * Take the movement of the clocks' levels back, unless all movements together are too large for
 * chance. Bends and slopes stay. For a fit that heals no violation: what it knows of levels is how
 * asymmetric paths usually are, and the archive's offsets of a few clocks may be nearer to the
 * truth. Needs the errors, which grow. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_clock_model_keep_levels(struct clock_model *model);

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* The three policies. */
#include "interval.h"

#include <math.h>

/* Candidates are tmin times powers of two. Nothing depends on finer steps. */
enum { CANDIDATES_MAX = 24 };

/* Candidate i in s: tmin, 2 tmin, 4 tmin, ..., tmax. */
static double interval_candidate(const struct interval_options *options, int i)
{
    return fmin(options->tmax_s, options->tmin_s * ldexp(1.0, i));
}

/*
 * Return the longest interval in which the oscillator wanders less than the error of a measurement.
 * The standard deviation of the prediction after t is 1e9 ns t sigma_y(t), with the Allan deviation
 * sigma_y that the discipline has measured. Where it exceeds the noise of a single measurement,
 * waiting longer costs accuracy.
 */
static double interval_best(const struct interval_options *options, const struct discipline *d)
{
    double chosen = options->tmin_s;
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        const double t = interval_candidate(options, i);
        const double wander_ns =
            1e9 * t * ictusi_stability_at(&d->stability, t, d->walk_ns2_per_s3);
        if (wander_ns > sqrt(d->noise_ns2)) {
            break;
        }
        chosen = t;
    }
    return chosen;
}

/*
 * Return the cheapest interval, where half the packets are worth a doubled variance. It minimises
 *     cost(t) = sigma(t)^2 * packets per second ~ sigma(t)^2 / t,
 * where sigma(t) is the steady standard deviation of the discipline for polls t apart. It includes
 * the oscillator's wander, so that the cost rises again for long intervals.
 */
static double interval_cheapest(const struct interval_options *options, const struct discipline *d)
{
    double chosen = options->tmin_s;
    double least = INFINITY;
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        const double t = interval_candidate(options, i);
        const double sigma = ictusi_discipline_steady_sigma(d, t, 1.0);
        if (sigma * sigma / t < least) {
            least = sigma * sigma / t;
            chosen = t;
        }
        if (t >= options->tmax_s) {
            break;
        }
    }
    return chosen;
}

/* Return the longest interval whose steady error is below the requested sigma. If not even the
 * shortest one reaches it, the exchanges are doubled until it is reached or no more are allowed. */
static double interval_target(const struct interval_options *options, const struct discipline *d,
                              int *exchanges)
{
    double chosen = 0.0;
    for (int i = 0; i < CANDIDATES_MAX; i++) {
        const double t = interval_candidate(options, i);
        if (ictusi_discipline_steady_sigma(d, t, 1.0) > options->sigma_ns) {
            break;
        }
        chosen = t;
        if (t >= options->tmax_s) {
            break;
        }
    }
    while (chosen == 0.0 && *exchanges * 2 <= options->exchanges_max) {
        *exchanges *= 2;
        /* The factor by which the variance of a poll's mean falls relative to
         * options->exchanges. */
        const double fewer = (double)*exchanges / options->exchanges;
        if (ictusi_discipline_steady_sigma(d, options->tmin_s, fewer) <= options->sigma_ns) {
            break;
        }
    }
    return chosen > 0.0 ? chosen : options->tmin_s;
}

/* Six polls every 2 s, so that a clock is locked soon, and then twice the interval each time.
 * After 32 doublings the interval exceeds any tmin. */
double ictusi_interval_start(double tmin_s, int polled)
{
    enum { QUICK = 6 };
    static const double quick_s = 2.0;
    const int doubled = polled < QUICK ? 0 : polled < 32 ? polled - QUICK + 1 : 32;
    return fmin(tmin_s, ldexp(quick_s, doubled));
}

/* After a glitch, or with fewer than four accepted measurements, the noise and the stability on
 * which the choice is based are unknown. The shortest interval finds them soonest. */
struct interval_choice ictusi_interval_next(const struct interval_options *options,
                                            const struct discipline *d, double last_s)
{
    struct interval_choice choice = {options->tmin_s, options->exchanges};
    if (d->glitches > 0 || d->accepted < 4) {
        return choice;
    }
    switch (options->policy) {
    case ICTUS_LOCK_BEST:
        choice.interval_s = interval_best(options, d);
        break;
    case ICTUS_LOCK_CHEAPEST:
        choice.interval_s = interval_cheapest(options, d);
        break;
    case ICTUS_LOCK_TARGET:
        choice.interval_s = interval_target(options, d, &choice.exchanges);
        break;
    case ICTUS_LOCK_FIXED:
        break;
    }
    /* At most double or halve the interval, because the estimates behind the choice are noisy. */
    choice.interval_s = fmin(2.0 * last_s, fmax(0.5 * last_s, choice.interval_s));
    choice.interval_s = fmin(options->tmax_s, fmax(options->tmin_s, choice.interval_s));
    return choice;
}

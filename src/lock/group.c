/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups of exchanges. */
#include "group.h"

#include "core/stats.h"

#include <math.h>
#include <string.h>

/* Stamps cannot be better than this (ns): the pair of clock readings, and the kernel's
 * resolution. */
static const double grain_ns = 15.0;

/* Delays of more than this many MAD above the smallest are left out of a group (DESIGN,
 * Autolock). */
static const double mad_limit = 3.0;

/* The path has changed if this many delays in a row are far above the smallest. */
enum { PATH_RUN = 12 };
static const double path_factor = 4.0;

/* Waits of more than this many medians say little about the others and are not used for the
 * lean. */
static const double lean_limit = 4.0;

/*
 * Relative error of the correction if the waits are not exponential. It is smaller if they are all
 * in one direction, because then nothing is left to model.
 */
static const double lean_error = 0.15;

struct floor {
    double minimum; /* smallest delay of the window */
    double typical; /* median of the excess over the smallest */
    double doubt;   /* how far the smallest probably exceeds the true minimum */
    double share;   /* share of the excess by which offsets are wrong */
    double share_sd;
    double even; /* sqrt(1 - 4 share^2): 1 if both directions wait alike, 0 if only one does */
};

void ictusi_lock_delays_reset(struct delays *delays)
{
    memset(delays, 0, sizeof(*delays));
}

static size_t delays_window(const struct delays *delays, double *values)
{
    const size_t oldest = delays->count > DELAY_WINDOW ? delays->count - DELAY_WINDOW : 0;
    const size_t first = delays->first > oldest ? delays->first : oldest;
    size_t n = 0;
    for (size_t i = first; i < delays->count; i++) {
        values[n++] = delays->ring[i % DELAY_WINDOW];
    }
    return n;
}

/* A series of delays far above the smallest means another path, so forget the old one. */
static void group_watch_path(struct delays *delays, double minimum, double typical)
{
    if (delays->count - delays->first <= PATH_RUN) {
        return;
    }
    for (size_t i = 1; i <= PATH_RUN; i++) {
        const double excess = delays->ring[(delays->count - i) % DELAY_WINDOW] - minimum;
        if (excess < path_factor * typical + grain_ns) {
            return;
        }
    }
    /* The series itself is all that is known about the new path. */
    delays->first = delays->count - PATH_RUN;
}

/*
 * Add the delays of a poll. If each delay is a minimum plus two exponential waits of mean m, the
 * smallest of n delays exceeds the true minimum by about m sqrt(pi/(2n)): this is the doubt. If
 * only one direction waits with a mean M, it is M/n. A share x lies between, because the product of
 * the two means is M^2 (1 - 4 x^2) / 4.
 */
static struct floor group_add_delays(struct delays *delays, const struct sample *samples,
                                     size_t count)
{
    double values[DELAY_WINDOW];
    struct floor floor;
    for (size_t i = 0; i < count; i++) {
        delays->ring[delays->count++ % DELAY_WINDOW] = samples[i].delay_ns;
    }
    size_t n = delays_window(delays, values);
    ictusi_stats_sort(values, n);
    group_watch_path(delays, values[0], ictusi_stats_quantile(values, n, 0.5) - values[0]);
    n = delays_window(delays, values);
    ictusi_stats_sort(values, n);
    /* The median of the sum of two exponential waits of mean m is 1.678 m, so m sqrt(pi/2) is
     * 0.75 times the excess. */
    const double excess = ictusi_stats_quantile(values, n, 0.5) - values[0];
    floor.minimum = values[0];
    floor.typical = excess;
    floor.share = ictusi_lean_share(&delays->lean, &floor.share_sd);
    floor.even = sqrt(1.0 - 4.0 * floor.share * floor.share);
    floor.doubt = excess * (0.75 * floor.even / sqrt((double)n) + (1.0 - floor.even) / (double)n);
    return floor;
}

/* Learn from the exchanges of a poll in which direction messages wait. */
static void group_learn_lean(struct delays *delays, const struct sample *samples, size_t count,
                             const struct floor *floor)
{
    for (size_t i = 0; i < count; i++) {
        const struct lean_point point = {.local = samples[i].local,
                                         .offset_ns = samples[i].offset_ns,
                                         .excess_ns = samples[i].delay_ns - floor->minimum};
        if (samples[i].sigma_ns == 0.0 && point.excess_ns <= lean_limit * floor->typical) {
            ictusi_lean_add(&delays->lean, &point);
        }
    }
}

/* Return how far the delay of an exchange probably exceeds the path's true minimum. */
static double excess_of(const struct sample *sample, const struct floor *floor)
{
    return sample->delay_ns - floor->minimum + floor->doubt;
}

static double variance_of(const struct sample *sample, const struct floor *floor)
{
    if (sample->sigma_ns > 0.0) {
        return sample->sigma_ns * sample->sigma_ns;
    }
    const double s = excess_of(sample, floor);
    /*
     * If both directions wait alike (exponentially, with the same mean), the sum s of the waits
     * does not show how it is divided. All divisions are equally likely, and half of the difference
     * is uniform within +- s/2, with the variance s^2 / 12. If only one direction waits (even = 0),
     * nothing is uncertain.
     */
    const double squares = floor->even * floor->even / 12.0 + floor->share_sd * floor->share_sd;
    return grain_ns * grain_ns + s * s * squares;
}

/* Return the mean error that the waits add to an offset. */
static double group_lean_of(const struct sample *sample, const struct floor *floor)
{
    return sample->sigma_ns > 0.0 ? 0.0 : floor->share * excess_of(sample, floor);
}

/* Return the delay above which a sample of this group is left out. */
static double delay_limit(const struct sample *samples, size_t count)
{
    double values[GROUP_MAX];
    double deviations[GROUP_MAX];
    for (size_t i = 0; i < count; i++) {
        values[i] = samples[i].delay_ns;
    }
    ictusi_stats_sort(values, count);
    const double median = ictusi_stats_quantile(values, count, 0.5);
    for (size_t i = 0; i < count; i++) {
        deviations[i] = fabs(values[i] - median);
    }
    ictusi_stats_sort(deviations, count);
    const double mad = 1.4826 * ictusi_stats_quantile(deviations, count, 0.5);
    /* The limit is above the smallest delay and not above the median. Delays have no lower tail,
     * so the good ones are close to the smallest. */
    return values[0] + mad_limit * mad + grain_ns;
}

static void group_describe(const struct sample *samples, size_t count, struct measurement *out)
{
    double delays[GROUP_MAX];
    out->delay_ns = samples[0].delay_ns;
    for (size_t i = 0; i < count; i++) {
        const struct sample *s = &samples[i];
        delays[i] = s->delay_ns + s->send_ns + s->receive_ns;
        out->delay_ns = fmin(out->delay_ns, s->delay_ns);
        out->send_ns += s->send_ns / (double)count;
        out->network_ns += s->network_ns / (double)count;
        out->receive_ns += s->receive_ns / (double)count;
        out->interleaved = out->interleaved && s->interleaved;
        out->kernel = out->kernel && s->kernel;
    }
    out->delay_sd_ns = ictusi_stats_sd(delays, count);
}

/* Offsets are taken relative to the first, each at its own instant. Within a group of some
 * milliseconds, a frequency error of 100 ppm changes them by less than a microsecond. */
static void group_average(const struct sample *samples, size_t count, const struct floor *floor,
                          struct measurement *out)
{
    const int64_t base = samples[0].offset_ns;
    const double limit = delay_limit(samples, count);
    double kept[GROUP_MAX], all[GROUP_MAX];
    double weights = 0.0, offset = 0.0, at = 0.0;
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const double x = (double)(samples[i].offset_ns - base);
        all[i] = x;
        if (samples[i].delay_ns > limit) {
            continue;
        }
        const double w = 1.0 / variance_of(&samples[i], floor);
        weights += w;
        offset += w * (x - group_lean_of(&samples[i], floor));
        at += w * (double)(samples[i].local - samples[0].local);
        kept[n++] = x;
    }
    out->offset_ns = base;
    out->offset_frac = offset / weights;
    out->local = samples[0].local + (int64_t)llround(at / weights);
    out->variance_ns2 = 1.0 / weights;
    /* The error of the correction is the same for all exchanges of the path, so no average
     * reduces it. It is therefore reported apart from the variance. */
    out->common_ns =
        fabs(floor->share) * (lean_error * floor->even * floor->typical + floor->doubt);
    out->mean_ns = ictusi_stats_mean(kept, n);
    out->spread_ns = n > 1 ? ictusi_stats_sd(kept, n) : ictusi_stats_sd(all, count);
    out->used = (int)n;
}

bool ictusi_group_combine(const struct sample *samples, size_t count, bool drop_first,
                          struct delays *delays, struct measurement *out)
{
    memset(out, 0, sizeof(*out));
    if (count == 0 || count > GROUP_MAX) {
        return false;
    }
    const size_t skip = drop_first && count > 2 ? 1 : 0;
    const struct floor floor = group_add_delays(delays, samples + skip, count - skip);
    group_learn_lean(delays, samples + skip, count - skip, &floor);
    out->count = (int)count;
    out->interleaved = true;
    out->kernel = true;
    group_describe(samples + skip, count - skip, out);
    group_average(samples + skip, count - skip, &floor, out);
    return true;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Allan deviation of unequally spaced phase measurements. */
#include "stability.h"

#include <math.h>
#include <string.h>

/* Fewer second differences than this are meaningless. */
enum { TERMS_MIN = 4 };

/* The noise that is subtracted is known to about a third. If less than this share remains (in
 * standard deviations), there may be nothing but noise. */
static const double significant = 0.6;

void ictusi_stability_reset(struct stability *s)
{
    memset(s, 0, sizeof(*s));
}

void ictusi_stability_add(struct stability *s, int64_t at, double phase_ns, double variance_ns2)
{
    const size_t i = s->count++ % STABILITY_WINDOW;
    s->at[i] = at;
    s->phase_ns[i] = phase_ns;
    s->variance_ns2[i] = variance_ns2;
}

struct sums {
    double square; /* sum of squared second differences, as fractional frequency */
    double noise;  /* contribution of white phase noise to it */
    double tau_s;
    int terms;
};

/*
 * For phases x0, x1, x2 at t0, t1, t2 the change of mean frequency is
 * y2 - y1 = (x2 - x1)/T2 - (x1 - x0)/T1, and AVAR = <(y2 - y1)^2>/2.
 */
static void stability_add_term(const struct stability *s, size_t i0, size_t i1, size_t i2,
                               struct sums *sums)
{
    const double t1 = (double)(s->at[i1] - s->at[i0]) / 1e9;
    const double t2 = (double)(s->at[i2] - s->at[i1]) / 1e9;
    if (t1 <= 0.0 || t2 <= 0.0) {
        return;
    }
    const double middle = 1.0 / t1 + 1.0 / t2;
    const double change =
        (s->phase_ns[i2] - s->phase_ns[i1]) / t2 - (s->phase_ns[i1] - s->phase_ns[i0]) / t1;
    sums->square += change * change;
    /* The change is x2/T2 - x1 (1/T1 + 1/T2) + x0/T1. Its noise is the variance of each phase
     * times the square of its factor. */
    sums->noise += s->variance_ns2[i2] / (t2 * t2) + s->variance_ns2[i0] / (t1 * t1) +
                   s->variance_ns2[i1] * middle * middle;
    sums->tau_s += (t1 + t2) / 2.0;
    sums->terms++;
}

static struct sums stability_sum_level(const struct stability *s, size_t lag)
{
    struct sums sums = {0};
    const size_t n = s->count < STABILITY_WINDOW ? s->count : STABILITY_WINDOW;
    const size_t first = s->count - n;
    /* One term for every i and not for every lag: the terms overlap, and all measurements count. */
    for (size_t i = 0; i + 2 * lag < n; i++) {
        stability_add_term(s, (first + i) % STABILITY_WINDOW, (first + i + lag) % STABILITY_WINDOW,
                           (first + i + 2 * lag) % STABILITY_WINDOW, &sums);
    }
    return sums;
}

size_t ictusi_stability_points(const struct stability *s, struct stability_point *points)
{
    size_t count = 0;
    for (size_t lag = 1; count < STABILITY_LEVELS; lag *= 2) {
        const struct sums sums = stability_sum_level(s, lag);
        if (sums.terms < TERMS_MIN) {
            break;
        }
        const double mean = sums.square / sums.terms;
        const double rest = fmax(0.0, mean - sums.noise / sums.terms);
        points[count].tau_s = sums.tau_s / sums.terms;
        /* AVAR is half the mean square. Changes are in ns per s. */
        points[count].sigma_y_raw = sqrt(mean / 2.0) / 1e9;
        points[count].sigma_y = sqrt(rest / 2.0) / 1e9;
        points[count].terms = sums.terms;
        count++;
    }
    return count;
}

double ictusi_stability_at(const struct stability *s, double tau_s, double walk_ns2_per_s3)
{
    struct stability_point points[STABILITY_LEVELS];
    const size_t count = ictusi_stability_points(s, points);
    double best = sqrt(walk_ns2_per_s3 * tau_s / 3.0) / 1e9;
    double distance = INFINITY;
    for (size_t i = 0; i < count; i++) {
        const double away = fabs(log(points[i].tau_s / tau_s));
        if (away < distance && points[i].sigma_y > significant * points[i].sigma_y_raw) {
            distance = away;
            /* Extrapolate from the nearest measured interval as a random walk of the frequency,
             * whose Allan deviation grows with the root of the interval. */
            best = points[i].sigma_y * sqrt(tau_s / points[i].tau_s);
        }
    }
    return best;
}

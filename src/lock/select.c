/* SPDX-License-Identifier: BSD-3-Clause */
/* Intersection and combination of sources. */
#include "select.h"

#include <math.h>
#include <string.h>

/* A source whose standard deviation is this many times that of the best one is left out of the
 * mean. */
static const double noisy_factor = 3.0;

/* If no majority knows the frequency: no oscillator in service is off by more (ns/s). */
static const double rate_prior = 2e5;

/* Variance of an error that is uniformly distributed over an interval, in units of its width
 * squared. */
static const double even_share2 = 1.0 / 12.0;

/* A candidate's interval of the phase or of the frequency. */
struct span {
    double low, high;
};

static struct span select_span_of(const struct candidate *c, bool rate)
{
    const struct span phase = {c->low_ns, c->high_ns}, frequency = {c->rate_low, c->rate_high};
    return rate ? frequency : phase;
}

/* Return the number of voters whose intervals contain a point. */
static int select_depth(const struct candidate *c, int count, bool rate, double point)
{
    int n = 0;
    for (int i = 0; i < count; i++) {
        const struct span span = select_span_of(&c[i], rate);
        n += c[i].votes && span.low <= point && point <= span.high;
    }
    return n;
}

/*
 * Find the hull of all points that are in at least `wanted` intervals. It begins at the low end of
 * an interval and ends at the high end of one. There are few sources, so the quadratic cost does
 * not matter.
 */
static bool select_intersect(const struct candidate *c, int count, bool rate, int wanted,
                             struct span *hull)
{
    hull->low = INFINITY;
    hull->high = -INFINITY;
    for (int i = 0; i < count; i++) {
        const struct span span = select_span_of(&c[i], rate);
        if (!c[i].votes) {
            continue;
        }
        if (span.low < hull->low && select_depth(c, count, rate, span.low) >= wanted) {
            hull->low = span.low;
        }
        if (span.high > hull->high && select_depth(c, count, rate, span.high) >= wanted) {
            hull->high = span.high;
        }
    }
    return hull->low <= hull->high;
}

/* Return the variance of a source's error (ns^2): its noise, plus the systematic part. The
 * interval only bounds that part, so it is taken as uniform over the interval. */
static double select_error_of(const struct candidate *c)
{
    const double width = c->high_ns - c->low_ns;
    return c->pp + width * width * even_share2;
}

static void select_mark(struct candidate *c, int count, struct consensus *out)
{
    out->selected = -1;
    for (int i = 0; i < count; i++) {
        if (!c[i].votes) {
            continue;
        }
        /* Overlap with the hull is enough. A true interval need not contain the whole hull. */
        const bool agrees = c[i].low_ns <= out->high_ns && c[i].high_ns >= out->low_ns;
        c[i].selection = agrees ? ICTUS_SOURCE_TRUECHIMER : ICTUS_SOURCE_FALSETICKER;
        out->agreeing += agrees;
        if (agrees && c[i].counts &&
            (out->selected < 0 || select_error_of(&c[i]) < select_error_of(&c[out->selected]))) {
            out->selected = i;
        }
    }
}

/*
 * Compute the mean of the good sources, weighted by the inverse variance of their errors (ns^2).
 * Its variance is the sum of w^2 times the noise of each. Only noise is independent. Systematic
 * errors need not be, and are bounded by the hull.
 */
static void select_combine(struct candidate *candidates, int count, struct consensus *out)
{
    const double limit = noisy_factor * noisy_factor * select_error_of(&candidates[out->selected]);
    double sum = 0.0;
    for (int i = 0; i < count; i++) {
        struct candidate *c = &candidates[i];
        if (c->selection != ICTUS_SOURCE_TRUECHIMER || !c->counts || select_error_of(c) > limit) {
            continue;
        }
        const double w = 1.0 / select_error_of(c);
        c->selection = i == out->selected ? ICTUS_SOURCE_SELECTED : ICTUS_SOURCE_COMBINED;
        sum += w;
        out->offset_ns += w * c->offset_ns;
        out->frequency += w * c->frequency;
        out->pp += w * w * c->pp;
        out->pf += w * w * c->pf;
        out->ff += w * w * c->ff;
    }
    out->offset_ns /= sum;
    out->frequency /= sum;
    out->pp /= sum * sum;
    out->pf /= sum * sum;
    out->ff /= sum * sum;
    /* Outside the hull an estimate is wrong by at least its distance, so it is limited to the
     * hull and the distance is added to the error. */
    const double held = fmin(out->high_ns, fmax(out->low_ns, out->offset_ns));
    out->pp += (held - out->offset_ns) * (held - out->offset_ns);
    out->offset_ns = held;
}

/*
 * Marzullo (1984): of n voters any minority, (n - 1) / 2, may be wrong. The truth then lies in at
 * least n - liars intervals, and so in the hull of all points that are in at least that many. If
 * there is no such point, there is no majority, and no voter is trusted. The frequency is bounded
 * in the same way by the intervals of rates.
 */
bool ictusi_select(struct candidate *candidates, int count, struct consensus *out)
{
    memset(out, 0, sizeof(*out));
    out->selected = -1;
    for (int i = 0; i < count; i++) {
        out->voters += candidates[i].votes;
    }
    out->liars = out->voters > 0 ? (out->voters - 1) / 2 : 0;
    const int wanted = out->voters - out->liars;
    struct span phase, rate;
    if (out->voters == 0 || !select_intersect(candidates, count, false, wanted, &phase)) {
        for (int i = 0; i < count; i++) {
            if (candidates[i].votes) {
                candidates[i].selection = ICTUS_SOURCE_FALSETICKER;
            }
        }
        return false;
    }
    const bool known = select_intersect(candidates, count, true, wanted, &rate);
    out->low_ns = phase.low;
    out->high_ns = phase.high;
    out->rate_low = known ? rate.low : -rate_prior;
    out->rate_high = known ? rate.high : rate_prior;
    select_mark(candidates, count, out);
    if (out->selected >= 0) {
        select_combine(candidates, count, out);
    }
    return true;
}

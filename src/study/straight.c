/* SPDX-License-Identifier: BSD-3-Clause */
/* Straight lines through offsets: how well they fit (H18 figure 2) and how long they hold. */
#include "core/stats.h"

#include <ictus/study.h>

#include <math.h>
#include <stdlib.h>

/* 1 ns per s is this many ppm. */
#define PPM_PER_NS_PER_S 1e-3

/*
 * Least squares for o = a + b t. Sums are taken around the means, so that nothing cancels: b = S_to
 * / S_tt and r2 = 1 - (sum of squared residuals) / S_oo. Times are in s and offsets in ns, so b is
 * in ns per s, which is a thousandth of a ppm. If all offsets are equal, there is nothing to
 * explain, and r2 is 1.
 */
int ictus_straight_fit(const double *times_s, const double *offsets_ns, size_t n,
                       struct ictus_straight *line)
{
    if (!times_s || !offsets_ns || !line) {
        return ICTUS_ERR_ARG;
    }
    if (n < 2) {
        return ICTUS_ERR_SAMPLES;
    }
    const double t0 = ictusi_stats_mean(times_s, n);
    const double o0 = ictusi_stats_mean(offsets_ns, n);
    double tt = 0.0;
    double to = 0.0;
    double oo = 0.0;
    for (size_t i = 0; i < n; i++) {
        tt += (times_s[i] - t0) * (times_s[i] - t0);
        to += (times_s[i] - t0) * (offsets_ns[i] - o0);
        oo += (offsets_ns[i] - o0) * (offsets_ns[i] - o0);
    }
    /* All points are at one instant, so that no line fits better than another. */
    if (tt <= 0.0) {
        return ICTUS_ERR_SAMPLES;
    }
    const double slope = to / tt;
    double worst = 0.0;
    double rest = 0.0;
    for (size_t i = 0; i < n; i++) {
        const double residual = offsets_ns[i] - o0 - slope * (times_s[i] - t0);
        rest += residual * residual;
        worst = fabs(residual) > worst ? fabs(residual) : worst;
    }
    *line = (struct ictus_straight){.slope_ppm = slope * PPM_PER_NS_PER_S,
                                    .intercept_ns = o0 - slope * t0,
                                    .r2 = oo > 0.0 ? 1.0 - rest / oo : 1.0,
                                    .max_residual_ns = worst};
    return ICTUS_OK;
}

enum { LINES_MAX = 2000 };

/* The life of one line. */
struct life {
    double held_s;
    bool lasted; /* until the end of the data */
};

/*
 * Follow a line that was fitted up to point `end`. A single point outside may be an exchange that
 * was delayed, so the line ends only with two in a row, and its life is counted up to the first of
 * them. If a line is still good at the last point, its life is only known to be longer than the
 * data. Such a life is censored.
 */
static struct life straight_follow(const struct ictus_straight *line, const double *times_s,
                                   const double *offsets_ns, size_t end, size_t n,
                                   double tolerance_ns)
{
    bool out = false;
    for (size_t i = end; i < n; i++) {
        const double predicted =
            line->intercept_ns + line->slope_ppm / PPM_PER_NS_PER_S * times_s[i];
        const bool now_out = fabs(offsets_ns[i] - predicted) > tolerance_ns;
        if (out && now_out) {
            return (struct life){times_s[i - 1] - times_s[end - 1], false};
        }
        out = now_out;
    }
    return (struct life){times_s[n - 1] - times_s[end - 1], true};
}

/*
 * Try the lines of up to LINES_MAX stretches, and return how many were tried. Neighbouring
 * stretches have nearly the same line, and following each costs a walk along all points. With all
 * stretches of 600000 points (a minute of exchanges without pauses) this took ten minutes.
 */
static size_t straight_try_all(const double *times_s, const double *offsets_ns, size_t n,
                               double fit_s, double tolerance_ns, struct life *lives)
{
    size_t lines = 0;
    size_t end = 0;
    for (size_t begin = 0; begin < n; begin += n / LINES_MAX + 1) {
        struct ictus_straight line;
        /* The window only moves forward, so that finding all windows costs one walk along the
         * points. */
        while (end < n && times_s[end] - times_s[begin] <= fit_s) {
            end++;
        }
        /* The stretch reaches to the end of the data, so that no point is left to test the line
         * on. */
        if (end >= n) {
            break;
        }
        if (ictus_straight_fit(times_s + begin, offsets_ns + begin, end - begin, &line) ==
            ICTUS_OK) {
            lives[lines++] = straight_follow(&line, times_s, offsets_ns, end, n, tolerance_ns);
        }
    }
    return lines;
}

/* In ascending order. Among equal lives, those that ended come before those that are censored. */
static int straight_compare_lives(const void *a, const void *b)
{
    const struct life *x = a;
    const struct life *y = b;
    if (x->held_s < y->held_s || x->held_s > y->held_s) {
        return x->held_s < y->held_s ? -1 : 1;
    }
    return (int)x->lasted - (int)y->lasted;
}

/* Compute the product-limit estimate of the median, and the shortest life. */
static void straight_summarise(struct life *lives, size_t n, struct ictus_holding *holding)
{
    double surviving = 1.0;
    qsort(lives, n, sizeof(*lives), straight_compare_lives);
    *holding = (struct ictus_holding){
        .median_s = lives[n - 1].held_s, .least_s = lives[n - 1].held_s, .lines = n};
    /*
     * Kaplan and Meier (1958): S(t) is the product of 1 - 1 / (lines at risk) over the lines that
     * ended up to t. Censored lines leave the set at risk without a factor. The median is where S
     * first falls to 1/2. If it never does, more than half of the lines outlived the data.
     */
    for (size_t i = 0; i < n; i++) {
        if (lives[i].lasted) {
            holding->lasted++;
            continue;
        }
        surviving *= 1.0 - 1.0 / (double)(n - i);
        holding->least_s = lives[i].held_s < holding->least_s ? lives[i].held_s : holding->least_s;
        if (surviving <= 0.5 && !holding->median_known) {
            holding->median_s = lives[i].held_s;
            holding->median_known = true;
        }
    }
}

int ictus_straight_holding(const double *times_s, const double *offsets_ns, size_t n, double fit_s,
                           double tolerance_ns, struct ictus_holding *holding)
{
    if (!times_s || !offsets_ns || !holding || !(fit_s > 0.0) || !(tolerance_ns > 0.0)) {
        return ICTUS_ERR_ARG;
    }
    if (n == 0) {
        return ICTUS_ERR_SAMPLES;
    }
    struct life *lives = calloc(n, sizeof(*lives));
    if (!lives) {
        return ICTUS_ERR_NOMEM;
    }
    const size_t lines = straight_try_all(times_s, offsets_ns, n, fit_s, tolerance_ns, lives);
    if (lines > 0) {
        straight_summarise(lives, lines, holding);
    }
    free(lives);
    return lines > 0 ? ICTUS_OK : ICTUS_ERR_SAMPLES;
}

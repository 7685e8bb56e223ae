/* SPDX-License-Identifier: BSD-3-Clause */
/* Least-squares lines, numerically centred. */
#include "core/fit.h"

#include <ictus/error.h>
#include <math.h>

#define S_PER_NS 1e-9

/* Sums of a weighted regression around its means: x in s from the anchor, y in ns from the base. */
struct moments {
    double weight;
    double x_mean, y_mean;
    double xx, xy, yy;
};

static double x_of(const struct offset *p, int64_t anchor)
{
    return (double)(p->at - anchor) * S_PER_NS;
}

static double y_of(const struct offset *p, int64_t base)
{
    return (double)(p->offset - base) + p->frac;
}

/* Two passes are made: first the means, and then the central moments, so that nothing cancels. */
static struct moments fit_gather(const struct offset *points, const double *weights, size_t n,
                                 int64_t anchor, int64_t base)
{
    struct moments m = {0};
    for (size_t i = 0; i < n; i++) {
        const double w = weights ? weights[i] : 1.0;
        m.weight += w;
        m.x_mean += w * x_of(&points[i], anchor);
        m.y_mean += w * y_of(&points[i], base);
    }
    m.x_mean /= m.weight;
    m.y_mean /= m.weight;
    for (size_t i = 0; i < n; i++) {
        const double w = weights ? weights[i] : 1.0;
        const double x = x_of(&points[i], anchor) - m.x_mean;
        const double y = y_of(&points[i], base) - m.y_mean;
        m.xx += w * x * x;
        m.xy += w * x * y;
        m.yy += w * y * y;
    }
    return m;
}

/* Each point proves a bound of the line at its anchor: its own half-width, plus its distance
 * from the line, plus the drift since then. The smallest one is returned. */
double ictusi_fit_bound(const struct line *line, const struct offset *points, size_t n)
{
    double bound = INFINITY;
    for (size_t i = 0; i < n; i++) {
        const double away = fabs(y_of(&points[i], line->offset) - line->frac);
        const double reach = fabs(x_of(&points[i], line->anchor)) * ICTUSI_PARTING_MAX_NS_PER_S;
        bound = fmin(bound, away + points[i].half_width_ns + reach);
    }
    return bound;
}

/* Return the noise variance for too few points: the half-widths as uniform distributions. */
static double width_variance(const struct offset *points, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += points[i].half_width_ns * points[i].half_width_ns / 3.0;
    }
    return sum / (double)n;
}

/*
 * The usual errors of a weighted line (Press et al., Numerical Recipes, 15.2). With the noise
 * variance s2 of a point of mean weight, var(y_mean) = s2 w / W and var(b) = s2 w / S_xx, where w
 * is the mean weight and W the sum of the weights. The offset at the anchor is y_mean - b x_mean.
 */
static struct line_error fit_error_of(const struct moments *m, double slope_ns_per_s, double spread,
                                      const struct offset *points, size_t n,
                                      const struct line *line)
{
    const double mean_weight = m->weight / (double)n;
    double noise = width_variance(points, n);
    if (n > 2) {
        const double rest = fmax(m->yy - slope_ns_per_s * m->xy, 0.0);
        /* Residual variance with n - 2 degrees of freedom, because the line has used two. */
        noise = rest / mean_weight / (double)(n - 2);
    }
    struct line_error error = {0};
    /* At the mean of x, offset and slope are independent. The anchor is not at the mean, so the
     * slope's error affects the offset there, and the two become correlated. */
    error.offset_var_ns2 = noise * mean_weight / m->weight;
    if (spread > 0.0) {
        const double slope_var = noise * mean_weight / m->xx;
        error.slope_var_ns2_per_s2 = slope_var;
        error.offset_var_ns2 += m->x_mean * m->x_mean * slope_var;
        error.covariance_ns2_per_s = -m->x_mean * slope_var;
    } else {
        /* Nothing is known about the slope, except that it is within the assumption, where it is
         * taken as uniform. */
        error.slope_var_ns2_per_s2 = ICTUSI_DRIFT_MAX_NS_PER_S * ICTUSI_DRIFT_MAX_NS_PER_S / 3.0;
    }
    error.bound_ns = ictusi_fit_bound(line, points, n);
    error.bound_slope_ns_per_s = ICTUSI_PARTING_MAX_NS_PER_S + fabs(slope_ns_per_s);
    return error;
}

/*
 * Fit y = a + b x by weighted least squares. The anchor is the latest point, because the line is
 * used after it. Fails if no weight is positive. If all points are at one instant, the slope is 0
 * and its variance is that of the assumed drift.
 */
int ictusi_fit_wls(const struct offset *points, const double *weights, size_t n, struct line *line,
                   struct line_error *error)
{
    if (!n) {
        return ICTUS_ERR_SAMPLES;
    }
    int64_t anchor = points[0].at;
    for (size_t i = 1; i < n; i++) {
        anchor = points[i].at > anchor ? points[i].at : anchor;
    }
    const int64_t base = points[n - 1].offset;
    const struct moments m = fit_gather(points, weights, n, anchor, base);
    if (!(m.weight > 0.0)) {
        return ICTUS_ERR_SAMPLES;
    }
    /* Points within a nanosecond of each other do not show a slope. */
    const double spread = m.xx > m.weight * S_PER_NS * S_PER_NS ? m.xx : 0.0;
    const double slope = spread > 0.0 ? m.xy / m.xx : 0.0;
    *line = ictusi_line_make(anchor, base, m.y_mean - slope * m.x_mean, slope * S_PER_NS);
    if (error) {
        *error = fit_error_of(&m, slope, spread, points, n, line);
    }
    return ICTUS_OK;
}

int ictusi_fit_ols(const struct offset *points, size_t n, struct line *line,
                   struct line_error *error)
{
    return ictusi_fit_wls(points, NULL, n, line, error);
}

/* The delay of one direction of a path wanders by this part of the shortest round trip, with
 * this memory (s). */
#define WANDER_PER_RTT 0.01
#define WANDER_MEMORY_S 0.3
/* Usual walk of one clock's drift relative to another's, ns per s per square root of a second. */
#define WALK_NS 1.4

/*
 * Add what residuals cannot show. A path whose two directions differ shifts all points alike, so
 * its variance is added to the offset. A path that wanders slowly bends all points of a span
 * together, so the slope is less certain than independent residuals suggest: 12 v / span2 is the
 * variance of a slope through evenly spread points of variance v. At the end of the span (the
 * anchor) the slope's error acts over span/2, hence the covariance and the last term.
 */
void ictusi_fit_admit_path(const struct offset *points, size_t n, struct line_error *error)
{
    int64_t first = points[0].at;
    int64_t last = first;
    double rtt_ns = points[0].rtt_min_ns;
    for (size_t i = 1; i < n; i++) {
        first = points[i].at < first ? points[i].at : first;
        last = points[i].at > last ? points[i].at : last;
        rtt_ns = fmin(rtt_ns, points[i].rtt_min_ns);
    }
    const double span_s = (double)(last - first) * S_PER_NS;
    const double asymmetry = ICTUSI_ASYMMETRY_PER_RTT * rtt_ns;
    error->offset_var_ns2 += asymmetry * asymmetry;
    error->path_var_ns2 += asymmetry * asymmetry;
    if (span_s > 0.0) {
        /* Least squares over a span of wander that is new after each memory. The anchor is at
         * the end of the span. */
        const double wander = WANDER_PER_RTT * rtt_ns;
        const double news = 1.0 + span_s / WANDER_MEMORY_S;
        const double slope_var = 12.0 * wander * wander / (span_s * span_s * news);
        error->slope_var_ns2_per_s2 += slope_var;
        error->covariance_ns2_per_s += span_s / 2.0 * slope_var;
        error->offset_var_ns2 += span_s * span_s / 4.0 * slope_var + wander * wander / news;
    }
    error->walk_ns_per_s_sqrt_s = hypot(error->walk_ns_per_s_sqrt_s, WALK_NS);
}

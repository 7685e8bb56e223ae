/* SPDX-License-Identifier: BSD-3-Clause */
/* Generalised least squares over sweeps, and the likelihood of a walk. */
#include "core/track.h"

#include <ictus/error.h>
#include <math.h>
#include <string.h>

enum { WALKS = 17, WALKS_MIDDLE = 8, INFLATIONS = 8 };

/* The grid of walks spans prior / 4^8 to prior * 4^8, that of inflations 1 to 4^7. */
static const double grid_ratio = 4.0;
/* Inflation is rare: standard deviation of its natural logarithm. */
static const double inflation_log_sd = 2.0;
/* Standard deviation of the prior's natural logarithm: a factor of 20 either way is plausible. */
static const double prior_log_sd = 3.0;
/* Variances below a hundredth of a rounding error are no information. */
static const double variance_floor = 1e-4;

typedef double matrix[TRACK_MAX][TRACK_MAX];

/* Covariance of a walk's effect on two sweeps of ages a and b, per walk^2. */
static double track_walked(double a, double b)
{
    const double near = fmin(a, b);
    const double far = fmax(a, b);
    return near * near * near / 3.0 + near * near * (far - near) / 2.0;
}

static void track_covariance(const struct track_sweep *s, int n, double now,
                             const struct track_model *model, matrix v)
{
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            v[k][l] = model->walk * model->walk * track_walked(now - s[k].t_s, now - s[l].t_s);
            if (s[k].group == s[l].group) {
                v[k][l] += sqrt(s[k].bias_ns2 * s[l].bias_ns2);
            }
        }
        v[k][k] += model->inflation * s[k].noise_ns2 + variance_floor;
    }
}

static double track_inner(const double *a, const double *b, int n)
{
    double sum = 0.0;
    for (int k = 0; k < n; k++) {
        sum += a[k] * b[k];
    }
    return sum;
}

/* Lower Cholesky factor in place. */
static int track_factor(matrix v, int n)
{
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < k; l++) {
            v[k][l] = (v[k][l] - track_inner(v[k], v[l], l)) / v[l][l];
        }
        const double rest = v[k][k] - track_inner(v[k], v[k], k);
        if (!(rest > 0.0)) {
            return ICTUS_ERR_CORRUPT;
        }
        v[k][k] = sqrt(rest);
    }
    return ICTUS_OK;
}

/* Solve L y = b. */
static void track_forward(matrix l, int n, const double *b, double *y)
{
    for (int k = 0; k < n; k++) {
        double sum = b[k];
        for (int j = 0; j < k; j++) {
            sum -= l[k][j] * y[j];
        }
        y[k] = sum / l[k][k];
    }
}

/* Solve L' x = y. */
static void track_backward(matrix l, int n, const double *y, double *x)
{
    for (int k = n; k-- > 0;) {
        double sum = y[k];
        for (int j = k + 1; j < n; j++) {
            sum -= l[j][k] * x[j];
        }
        x[k] = sum / l[k][k];
    }
}

/* Whitened design: L^-1 1 and L^-1 (t - now), and the information matrix of offset and drift. */
struct design {
    double ones[TRACK_MAX], times[TRACK_MAX];
    double oo, ot, tt;
};

static struct design track_whiten(const struct track_sweep *s, int n, double now, matrix l)
{
    struct design d;
    double one[TRACK_MAX];
    double time[TRACK_MAX];
    for (int k = 0; k < n; k++) {
        one[k] = 1.0;
        time[k] = s[k].t_s - now;
    }
    track_forward(l, n, one, d.ones);
    track_forward(l, n, time, d.times);
    d.oo = track_inner(d.ones, d.ones, n);
    d.ot = track_inner(d.ones, d.times, n);
    d.tt = track_inner(d.times, d.times, n);
    return d;
}

/* Split the rows' variance into what was measured and what the clock wandered. */
static void errors_of(const struct track_sweep *s, double now, const struct track_model *model,
                      struct track *t)
{
    for (int k = 0; k < t->count; k++) {
        for (int l = 0; l < t->count; l++) {
            const double drift =
                model->walk * model->walk * track_walked(now - s[k].t_s, now - s[l].t_s);
            double own = s[k].group == s[l].group ? sqrt(s[k].bias_ns2 * s[l].bias_ns2) : 0.0;
            own += k == l ? model->inflation * s[k].noise_ns2 : 0.0;
            const double oo = t->offset_row[k] * t->offset_row[l];
            const double od = t->offset_row[k] * t->drift_row[l];
            const double dd = t->drift_row[k] * t->drift_row[l];
            t->measured[0] += own * oo;
            t->measured[1] += own * od;
            t->measured[2] += own * dd;
            t->wander[0] += drift * oo;
            t->wander[1] += drift * od;
            t->wander[2] += drift * dd;
        }
    }
}

int ictusi_track_fit(const struct track_sweep *sweeps, int count, double now_s,
                     const struct track_model *model, double drift_prior_ns2_per_s2,
                     struct track *track)
{
    if (count < 1 || count > TRACK_MAX) {
        return ICTUS_ERR_SAMPLES;
    }
    memset(track, 0, sizeof(*track));
    track->count = count;
    if (count == 1) {
        const double age = now_s - sweeps[0].t_s;
        track->offset_row[0] = 1.0;
        track->measured[0] =
            sweeps[0].noise_ns2 + sweeps[0].bias_ns2 + age * age * drift_prior_ns2_per_s2;
        track->measured[1] = age * drift_prior_ns2_per_s2;
        track->measured[2] = drift_prior_ns2_per_s2;
        return ICTUS_OK;
    }
    matrix l;
    track_covariance(sweeps, count, now_s, model, l);
    if (track_factor(l, count)) {
        return ICTUS_ERR_CORRUPT;
    }
    const struct design d = track_whiten(sweeps, count, now_s, l);
    const double det = d.oo * d.tt - d.ot * d.ot;
    if (!(det > 1e-12 * d.oo * d.tt)) {
        return ICTUS_ERR_CORRUPT;
    }
    double offset[TRACK_MAX];
    double drift[TRACK_MAX];
    for (int k = 0; k < count; k++) {
        offset[k] = (d.tt * d.ones[k] - d.ot * d.times[k]) / det;
        drift[k] = (d.oo * d.times[k] - d.ot * d.ones[k]) / det;
    }
    track_backward(l, count, offset, track->offset_row);
    track_backward(l, count, drift, track->drift_row);
    errors_of(sweeps, now_s, model, track);
    return ICTUS_OK;
}

/* tr(P M) with P = V^-1 - V^-1 A (A' V^-1 A)^-1 A' V^-1, and the two log determinants. */
static double log_likelihood(const struct track_sweep *s, int n, const double *moments, int clocks,
                             const struct track_model *model)
{
    matrix l;
    const double now = s[n - 1].t_s;
    track_covariance(s, n, now, model, l);
    if (track_factor(l, n)) {
        return -INFINITY;
    }
    const struct design d = track_whiten(s, n, now, l);
    const double det = d.oo * d.tt - d.ot * d.ot;
    double log_det = log(det);
    for (int k = 0; k < n; k++) {
        log_det += 2.0 * log(l[k][k]);
    }
    /* W = L^-1 M L^-T, row by row, then by column. */
    matrix half;
    matrix white;
    for (int k = 0; k < n; k++) {
        track_forward(l, n, moments + (size_t)k * (size_t)n, half[k]);
    }
    for (int k = 0; k < n; k++) {
        double column[TRACK_MAX];
        for (int j = 0; j < n; j++) {
            column[j] = half[j][k];
        }
        track_forward(l, n, column, white[k]);
    }
    double trace = 0.0;
    double oo = 0.0;
    double ot = 0.0;
    double tt = 0.0;
    for (int k = 0; k < n; k++) {
        trace += white[k][k];
        oo += d.ones[k] * track_inner(white[k], d.ones, n);
        ot += d.ones[k] * track_inner(white[k], d.times, n);
        tt += d.times[k] * track_inner(white[k], d.times, n);
    }
    trace -= (d.tt * oo - 2.0 * d.ot * ot + d.oo * tt) / det;
    return -0.5 * clocks * (log_det + trace);
}

struct track_model ictusi_track_learn(const struct track_sweep *sweeps, int count,
                                      const double *moments, int clocks, double prior_walk)
{
    struct track_model best = {.walk = prior_walk, .inflation = 1.0};
    double most = -INFINITY;
    if (count < 3 || count > TRACK_MAX || !(prior_walk > 0.0)) {
        return best;
    }
    for (int g = 0; g < WALKS * INFLATIONS; g++) {
        const int doublings = g / WALKS;
        const double walked_off = log(grid_ratio) * (g % WALKS - WALKS_MIDDLE);
        const double inflated = log(grid_ratio) * doublings;
        const struct track_model model = {.walk = prior_walk * exp(walked_off),
                                          .inflation = exp(inflated)};
        const double likely = log_likelihood(sweeps, count, moments, clocks, &model) -
                              0.5 * walked_off * walked_off / (prior_log_sd * prior_log_sd) -
                              0.5 * inflated * inflated / (inflation_log_sd * inflation_log_sd);
        if (likely > most) {
            most = likely;
            best = model;
        }
    }
    return best;
}

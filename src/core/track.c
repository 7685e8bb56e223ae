/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Generalised least squares over sweeps, for each likely walk and wander.
 *
 * The offsets of one clock, one for each sweep, are x = A (offset, drift)' + e with the rows (1, t
 * - now) of A and cov(e) = V: the noise of a sweep, the bias of the path (the same in all sweeps
 * over the same pairs), the wander of the path, and the random walk of the clock since the sweep.
 * With V = L L' everything is computed from the whitened columns L^-1 A. All clocks share instants
 * and variances, so V is factored once for each hypothesis, and its solution is stored as two rows:
 * offset = offset_row . x, and likewise the drift. docs/mesh.md, "Time", derives this. Times are in
 * s, offsets in ns and drifts in ns/s.
 */
#include "core/track.h"

#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
    WALKS = 7,      /* the usual one times 10^-1 to 10^2 */
    USUAL_WALK = 2, /* which of these it is */
    LEVELS = 7,     /* wander of paths, in standard deviations of noise: 2^-1 to 2^5 */
    MEMORIES = 3,
    HYPOTHESES = (1 + WALKS) * (1 + LEVELS * MEMORIES), /* or no walk */
    MANY_CLOCKS = 7                                     /* this many clocks show what is usual */
};

/* The scale of the logarithm for walks below the usual one is limited to this. Within a second
 * they look alike, and the quietest would decide what is claimed for the usual ones. */
static const double walk_log_below = 1.15;
/* Prior of the wander's level: either none, or its logarithm is normal around a half. */
static const double none_few = 0.3;
static const double none_many = 0.5;
static const double level_middle = 0.5;
static const double level_log_sd = 1.5;
/* Memories as parts of the sweeps' span, and how usual they are. */
static const double memories[MEMORIES] = {0.0, 0.3, 2.0};
static const double memory_few[MEMORIES] = {1.0 / 3.0, 1.0 / 3.0, 1.0 / 3.0};
static const double memory_many[MEMORIES] = {0.6, 0.3, 0.1};
/* Clocks that may stand still are compared without a path, which could remember. What lasts is
 * theirs. */
static const double memory_still[MEMORIES] = {1.0, 0.0, 0.0};
/* A sweep counts less if it is off the line by more than this many standard deviations. */
static const double unusual_limit = 2.5;
/* Ratio of a Gaussian's standard deviation to the median of its absolute value. */
static const double sigma_per_median = 1.4826;
/* 95 % of a Gaussian distribution lie within this many standard deviations. */
static const double two_sided_95 = 1.959964;
/* The tail: so many standard deviations, and the part of the distribution outside of them. */
static const double tail_sigmas = 3.5;
static const double tail_outside = 4.6526e-4;
/* Variances below a hundredth of a rounding error carry no information. */
static const double variance_floor = 1e-4;

typedef double matrix[TRACK_MAX][TRACK_MAX];

/*
 * Covariance of a walk's effect on two sweeps of ages a and b, per walk^2. Seen from now, the part
 * of an offset that the present drift does not explain is the integral of a Brownian motion. For a
 * <= b it is a^3/3 + a^2 (b - a)/2, in s^3. By this cube, old sweeps lose their weight.
 */
static double track_walked(double a, double b)
{
    const double near = fmin(a, b);
    const double far = fmax(a, b);
    return near * near * near / 3.0 + near * near * (far - near) / 2.0;
}

/* One hypothesis about what is unknown. */
struct hypothesis {
    double walk;   /* ns per s per square root of a second */
    double wander; /* ns: standard deviation of the paths' wander */
    double memory; /* s; 0: none */
    double weight; /* first the prior, then the posterior probability, up to a factor */
    double offset[TRACK_MAX], drift[TRACK_MAX]; /* its rows */
    double noise[3], bias[3], away[3];          /* its variances; the clock's wander is away */
};

/* The measurement part of two sweeps' covariance, without the constant bias of the path. */
static double noise_of(const struct track_sweep *s, int k, int l, const struct hypothesis *h)
{
    const double lag = fabs(s[k].t_s - s[l].t_s);
    double own = k == l ? s[k].noise_ns2 : 0.0;
    if (h->memory > 0.0) {
        own += h->wander * h->wander * exp(-lag / h->memory);
    } else if (k == l) {
        own += h->wander * h->wander;
    }
    return own;
}

/*
 * The asymmetry of a path is one unknown for each group of sweeps over the same pairs. It is fully
 * correlated within a group, so that it cancels in the drift, and independent between groups.
 */
static double bias_of(const struct track_sweep *s, int k, int l)
{
    return s[k].group == s[l].group ? sqrt(s[k].bias_ns2 * s[l].bias_ns2) : 0.0;
}

static void track_covariance(const struct track_sweep *s, int n, double now,
                             const struct hypothesis *h, matrix v)
{
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            v[k][l] = h->walk * h->walk * track_walked(now - s[k].t_s, now - s[l].t_s);
            v[k][l] += bias_of(s, k, l) + noise_of(s, k, l, h);
        }
        v[k][k] += variance_floor;
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

/* Compute the lower Cholesky factor in place. */
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
    double one[TRACK_MAX] = {0.0};
    double time[TRACK_MAX] = {0.0};
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

/*
 * Split the rows' errors by their origin: r V_source r' for each source, with the rows of offset
 * and drift. Index 0 is the variance of the offset (ns^2), 1 its covariance with the drift, and 2
 * the variance of the drift. The variance d seconds from now is thus v[0] + 2 d v[1] + d^2 v[2].
 * They are 0 before.
 */
static void track_split_errors(const struct track_sweep *s, int n, double now, struct hypothesis *h)
{
    for (int k = 0; k < n; k++) {
        for (int l = 0; l < n; l++) {
            const double products[3] = {h->offset[k] * h->offset[l], h->offset[k] * h->drift[l],
                                        h->drift[k] * h->drift[l]};
            const double away = h->walk * h->walk * track_walked(now - s[k].t_s, now - s[l].t_s);
            for (int z = 0; z < 3; z++) {
                h->noise[z] += noise_of(s, k, l, h) * products[z];
                h->bias[z] += bias_of(s, k, l) * products[z];
                h->away[z] += away * products[z];
            }
        }
    }
}

/* Return tr(P M) with P = V^-1 - V^-1 A (A' V^-1 A)^-1 A' V^-1, where M is the mean of x x' over
 * the clocks. It is the mean of x' P x: what the line leaves unexplained, in units of V. */
static double track_misfit(const struct design *d, double det, int n, const double *moments,
                           matrix l)
{
    /* W = L^-1 M L^-T, row by row, then by column. */
    matrix half;
    matrix white;
    for (int k = 0; k < n; k++) {
        track_forward(l, n, moments + (size_t)k * (size_t)n, half[k]);
    }
    for (int k = 0; k < n; k++) {
        double column[TRACK_MAX] = {0.0};
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
        oo += d->ones[k] * track_inner(white[k], d->ones, n);
        ot += d->ones[k] * track_inner(white[k], d->times, n);
        tt += d->times[k] * track_inner(white[k], d->times, n);
    }
    return trace - (d->tt * oo - 2.0 * d->ot * ot + d->oo * tt) / det;
}

/*
 * Compute rows and variances for a hypothesis, and its restricted log likelihood. The restricted
 * likelihood (REML) is that of the residuals alone,
 *     -2 log likelihood = log |V| + log |A' V^-1 A| + x' P x + constant,
 * so that the two fitted parameters do not count as evidence of quiet clocks. The sum over all
 * clocks needs only their mean of x x' (prior->moments). Two sweeps leave no residual, and so no
 * likelihood.
 */
static int fit_hypothesis(const struct track_sweep *s, int n, double now,
                          const struct track_prior *prior, struct hypothesis *h, double *likely)
{
    matrix l;
    track_covariance(s, n, now, h, l);
    if (track_factor(l, n)) {
        return ICTUS_ERR_CORRUPT;
    }
    const struct design d = track_whiten(s, n, now, l);
    const double det = d.oo * d.tt - d.ot * d.ot;
    /* oo tt - ot^2 vanishes if all sweeps are at one instant. Then no drift can be found. */
    if (!(det > 1e-12 * d.oo * d.tt)) {
        return ICTUS_ERR_CORRUPT;
    }
    double offset[TRACK_MAX] = {0.0};
    double drift[TRACK_MAX] = {0.0};
    double log_det = log(det);
    for (int k = 0; k < n; k++) {
        /*
         * (A' V^-1 A)^-1 A' L^-T, row by row. The factor L^-1 that is missing on the right is
         * applied by track_backward(). Both rows are linear in x, whatever x is, so that one
         * solution serves all clocks.
         */
        offset[k] = (d.tt * d.ones[k] - d.ot * d.times[k]) / det;
        drift[k] = (d.oo * d.times[k] - d.ot * d.ones[k]) / det;
        log_det += 2.0 * log(l[k][k]);
    }
    track_backward(l, n, offset, h->offset);
    track_backward(l, n, drift, h->drift);
    track_split_errors(s, n, now, h);
    *likely = n > 2 ? -0.5 * prior->clocks * (log_det + track_misfit(&d, det, n, prior->moments, l))
                    : 0.0;
    return ICTUS_OK;
}

/*
 * Return the prior of walk w: half decades around the usual walk, or none at all (w = WALKS). The
 * density is Student's with 3 degrees of freedom over the logarithm, ~ (1 + z^2 / 3)^-2.
 */
static double track_walk_prior(const struct track_prior *prior, int w, double *walk)
{
    double sum = 0.0;
    double density[WALKS];
    for (int v = 0; v < WALKS; v++) {
        const double decades = 0.5 * v - 1.0;
        const double scale =
            decades < 0.0 ? fmin(prior->walk_log_scale, walk_log_below) : prior->walk_log_scale;
        const double z = decades * log(10.0) / scale;
        density[v] = pow(1.0 + z * z / 3.0, -2.0);
        sum += density[v];
    }
    *walk = w < WALKS ? prior->walk * pow(10.0, 0.5 * w - 1.0) : 0.0;
    return w < WALKS ? (1.0 - prior->still) * density[w] / sum : prior->still;
}

/* List all hypotheses and their priors. Two sweeps carry no information, so there is only one
 * then. */
static int track_list_hypotheses(const struct track_sweep *s, int n,
                                 const struct track_prior *prior, struct hypothesis *list)
{
    double noise[TRACK_MAX];
    if (n < 3) {
        list[0] =
            (struct hypothesis){.walk = prior->walk * sqrt(1.0 - prior->still), .weight = 1.0};
        return 1;
    }
    for (int k = 0; k < n; k++) {
        noise[k] = s[k].noise_ns2;
    }
    ictusi_stats_sort(noise, (size_t)n);
    const bool many = prior->clocks >= MANY_CLOCKS;
    const bool still = prior->still > 0.0;
    const double unit = fmax(sqrt(ictusi_stats_quantile(noise, (size_t)n, 0.5)), prior->floor_ns);
    const double none = many ? none_many : none_few;
    double shape[LEVELS];
    double sum = 0.0;
    for (int v = 0; v < LEVELS; v++) {
        const double off = log(ldexp(0.5, v) / level_middle) / level_log_sd;
        shape[v] = exp(-0.5 * off * off);
        sum += shape[v];
    }
    int count = 0;
    /* Three sweeps show a strong walk, but are too few to prove one weaker than usual. */
    const int weakest = n > 3 || still ? 0 : USUAL_WALK;
    for (int w = weakest; w < (still ? WALKS + 1 : WALKS); w++) {
        double walk = 0.0;
        const double usual = track_walk_prior(prior, w, &walk);
        list[count++] = (struct hypothesis){.walk = walk, .weight = usual * none};
        for (int v = 0; v < LEVELS * MEMORIES; v++) {
            const int m = v % MEMORIES;
            const double share = still ? memory_still[m] : many ? memory_many[m] : memory_few[m];
            list[count++] = (struct hypothesis){.walk = walk,
                                                .wander = unit * ldexp(0.5, v / MEMORIES),
                                                .memory = memories[m] * (s[n - 1].t_s - s[0].t_s),
                                                .weight = usual * (1.0 - none) * share *
                                                          shape[v / MEMORIES] / sum};
        }
    }
    return count;
}

/* Turn prior into posterior probabilities. The largest is factored out first, because exp()
 * underflows. */
static void track_weigh_hypotheses(struct hypothesis *list, int count, const double *likely)
{
    double most = -INFINITY;
    double sum = 0.0;
    for (int h = 0; h < count; h++) {
        most = fmax(most, likely[h]);
    }
    for (int h = 0; h < count; h++) {
        list[h].weight *= exp(likely[h] - most);
        sum += list[h].weight;
    }
    for (int h = 0; h < count; h++) {
        list[h].weight /= sum;
    }
}

/* Return the variance of a hypothesis's value at d seconds after now. */
static double variance_at(const struct hypothesis *h, double d)
{
    const double away = h->walk * h->walk * d * d * d / 3.0;
    double sum[3];
    for (int z = 0; z < 3; z++) {
        sum[z] = h->noise[z] + h->bias[z] + h->away[z];
    }
    return sum[0] + 2.0 * d * sum[1] + d * d * sum[2] + away;
}

/*
 * Return the half-width that the share `beyond` of the mixture exceeds, d seconds from now.
 * spread[h] is the squared distance of a hypothesis's value from the mean.
 */
static double track_half_width(const struct hypothesis *list, int count, const double *spread,
                               double d, double beyond)
{
    double low = 0.0;
    double high = 0.0;
    for (int h = 0; h < count; h++) {
        high = fmax(high, 10.0 * sqrt(variance_at(&list[h], d) + spread[h]));
    }
    for (int step = 0; step < 50; step++) {
        const double at = (low + high) / 2.0;
        double outside = 0.0;
        for (int h = 0; h < count; h++) {
            const double sd = sqrt(variance_at(&list[h], d) + spread[h]);
            outside += list[h].weight * (sd > 0.0 ? erfc(at / sd / sqrt(2.0)) : 0.0);
        }
        *(outside > beyond ? &low : &high) = at;
    }
    return high;
}

/*
 * Return the variance that claims the mixture's 95 %: the square of the half-width divided by 1.96.
 * A distribution with rare wide parts has a larger variance than that. Where several clocks share
 * the walk that was learned, all of them err at once if it is too small, and the largest of their
 * errors is what shows. So with `tail`, 3.5 standard deviations must also contain 99.95 %. Clocks
 * that most likely stand still are an exception, because their tail is that of the few that do not,
 * and would be claimed for all.
 */
static double track_claim_at(const struct hypothesis *list, int count, const double *spread,
                             double d, bool tail)
{
    double sigma = track_half_width(list, count, spread, d, 0.05) / two_sided_95;
    if (tail) {
        const double far = track_half_width(list, count, spread, d, tail_outside);
        sigma = fmax(sigma, far / tail_sigmas);
    }
    return sigma * sigma;
}

/* Compute the mean rows, and the mean squares of wander and walk. */
static void mean_rows(const struct hypothesis *list, int count, struct track *t)
{
    for (int h = 0; h < count; h++) {
        t->inflation += list[h].weight * list[h].wander * list[h].wander;
        t->walk += list[h].weight * list[h].walk * list[h].walk;
        for (int k = 0; k < t->count; k++) {
            t->offset_row[k] += list[h].weight * list[h].offset[k];
            t->drift_row[k] += list[h].weight * list[h].drift[k];
        }
    }
}

/* Return the mean square, over the clocks, by which a hypothesis differs from the mean at d
 * seconds after now. */
static double track_disagreement(const struct hypothesis *h, const struct track *t,
                                 const double *moments, double d)
{
    double sum = 0.0;
    for (int k = 0; moments && k < t->count; k++) {
        const double rk = h->offset[k] - t->offset_row[k] + d * (h->drift[k] - t->drift_row[k]);
        for (int l = 0; l < t->count; l++) {
            const double rl = h->offset[l] - t->offset_row[l] + d * (h->drift[l] - t->drift_row[l]);
            sum += rk * rl * moments[k * t->count + l];
        }
    }
    return fmax(sum, 0.0);
}

/*
 * Scale the mean variances so that they claim the mixture's 95 % now and at the horizon. The
 * variance of the offset takes the factor for now. That of the drift takes the factor for the
 * horizon, where the drift dominates. Their covariance takes the geometric mean, which keeps the
 * matrix positive definite.
 */
static void hypothesis_claim(const struct hypothesis *list, int count,
                             const struct track_prior *prior, struct track *t)
{
    const double at[2] = {0.0, prior->horizon_s};
    double factor[2];
    double spread[HYPOTHESES];
    for (int h = 0; h < count; h++) {
        for (int z = 0; z < 3; z++) {
            t->noise[z] += list[h].weight * list[h].noise[z];
            t->bias[z] += list[h].weight * list[h].bias[z];
            t->wander[z] += list[h].weight * list[h].away[z];
        }
    }
    for (int i = 0; i < 2; i++) {
        double mean = 0.0;
        for (int h = 0; h < count; h++) {
            spread[h] = count > 1 ? track_disagreement(&list[h], t, prior->moments, at[i]) : 0.0;
            mean += list[h].weight * variance_at(&list[h], at[i]);
        }
        const bool tail = i == 1 && prior->clocks > 1.0 && !(prior->still > 0.0);
        factor[i] = mean > 0.0 ? track_claim_at(list, count, spread, at[i], tail) / mean : 1.0;
    }
    const double both[3] = {factor[0], sqrt(factor[0] * factor[1]), factor[1]};
    for (int z = 0; z < 3; z++) {
        t->noise[z] *= both[z];
        t->bias[z] *= both[z];
        t->wander[z] *= both[z];
    }
    t->walk = sqrt(t->walk * factor[1]);
}

/* Fit and weight all hypotheses. The inflation is 1 plus the variance of the wander over the
 * noise of the last sweep. */
static int fit_all(const struct track_sweep *sweeps, int count, double now_s,
                   const struct track_prior *prior, struct hypothesis *list, struct track *track)
{
    double likely[HYPOTHESES];
    const int answers = track_list_hypotheses(sweeps, count, prior, list);
    for (int h = 0; h < answers; h++) {
        const int err = fit_hypothesis(sweeps, count, now_s, prior, &list[h], &likely[h]);
        if (err) {
            return err;
        }
    }
    track_weigh_hypotheses(list, answers, likely);
    mean_rows(list, answers, track);
    hypothesis_claim(list, answers, prior, track);
    track->inflation = 1.0 + track->inflation / fmax(sweeps[count - 1].noise_ns2, variance_floor);
    return ICTUS_OK;
}

int ictusi_track_fit(const struct track_sweep *sweeps, int count, double now_s,
                     const struct track_prior *prior, struct track *track)
{
    if (count < 1 || count > TRACK_MAX) {
        return ICTUS_ERR_SAMPLES;
    }
    memset(track, 0, sizeof(*track));
    track->count = count;
    if (count == 1) {
        const double age = now_s - sweeps[0].t_s;
        track->offset_row[0] = 1.0;
        track->walk = prior->walk;
        track->inflation = 1.0;
        track->bias[0] = sweeps[0].bias_ns2;
        track->noise[0] = sweeps[0].noise_ns2;
        track->wander[0] = age * age * prior->drift_var_ns2_per_s2;
        track->wander[1] = age * prior->drift_var_ns2_per_s2;
        track->wander[2] = prior->drift_var_ns2_per_s2;
        return ICTUS_OK;
    }
    struct hypothesis *list = malloc(HYPOTHESES * sizeof(*list));
    if (!list) {
        return ICTUS_ERR_NOMEM;
    }
    const int err = fit_all(sweeps, count, now_s, prior, list, track);
    free(list);
    return err;
}

double ictusi_track_rests(const double *t_s, int count, const double *offsets, double *rest)
{
    double slopes[TRACK_MAX * (TRACK_MAX - 1) / 2];
    double sorted[TRACK_MAX];
    size_t pairs = 0;
    for (int k = 0; k < count; k++) {
        for (int l = 0; l < k; l++) {
            /* Theil (1950) and Sen (1968): the median of the slopes of all pairs tolerates 29 %
             * of bad points. */
            slopes[pairs++] = (offsets[k] - offsets[l]) / (t_s[k] - t_s[l]);
        }
    }
    ictusi_stats_sort(slopes, pairs);
    const double slope = ictusi_stats_quantile(slopes, pairs, 0.5);
    for (int k = 0; k < count; k++) {
        sorted[k] = rest[k] = offsets[k] - slope * (t_s[k] - t_s[0]);
    }
    ictusi_stats_sort(sorted, (size_t)count);
    const double middle = ictusi_stats_quantile(sorted, (size_t)count, 0.5);
    for (int k = 0; k < count; k++) {
        rest[k] -= middle;
        sorted[k] = fabs(rest[k]);
    }
    ictusi_stats_sort(sorted, (size_t)count);
    return sigma_per_median * ictusi_stats_quantile(sorted, (size_t)count, 0.5);
}

double ictusi_track_apart(const double *t_s, const double *values, int count, int k)
{
    const int a = k == 0 ? 1 : k == count - 1 ? count - 3 : k - 1;
    const int b = k == 0 ? 2 : k == count - 1 ? count - 2 : k + 1;
    const double part = (t_s[k] - t_s[a]) / (t_s[b] - t_s[a]);
    return fabs(values[k] - (values[a] + part * (values[b] - values[a])));
}

void ictusi_track_unusual(const struct track_sweep *sweeps, int count, const double *offsets,
                          double *variance)
{
    double t_s[TRACK_MAX];
    double rest[TRACK_MAX];
    memset(variance, 0, (size_t)count * sizeof(*variance));
    if (count < TRACK_LINE) {
        return;
    }
    for (int k = 0; k < count; k++) {
        t_s[k] = sweeps[k].t_s;
    }
    const double typical = ictusi_track_rests(t_s, count, offsets, rest);
    for (int k = 0; k < count; k++) {
        /* The larger one is used. The claimed noise of a sweep may be too small, and the
         * distances of few sweeps may be small by chance. */
        const double usual = fmax(sweeps[k].noise_ns2, typical * typical);
        const double limit = unusual_limit * sqrt(usual);
        const bool bent = ictusi_track_apart(t_s, rest, count, k) <= limit;
        variance[k] = bent ? 0.0 : fmax(rest[k] * rest[k] - limit * limit, 0.0);
    }
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of sweeps: edges as small numbers, robust least squares, variance components. */
#include "core/fit.h"
#include "core/mesh_state.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REWEIGHTINGS = 4, REFINEMENTS = 3, STUDENT = 3 };

/* Huber's limit in standard deviations. It has full efficiency for the asymmetries of paths,
 * which are bounded. */
static const double huber = 2.5;
/* A burst is an outlier of its pair if it deviates by this many standard deviations of the
 * others. */
static const double strange = 5.0;
/* The relative noise that a pair estimates for itself is limited to this factor. */
static const double quality_max = 4.0;
/* Stamps are whole nanoseconds, so no pair is better than this. A comparison by a counter averages
 * many roundings. */
static const double rounding_ns = 0.3;
static const double rounding_counter_ns = 0.02;
/* Sigma as a part of the half-width, if nothing else is known. */
static const double sigma_per_half_width = 0.1;
/* With fewer degrees of freedom than few_loops, part of the bias is assumed, at most as
 * bias_prior degrees. */
static const double few_loops = 6.0;
static const double bias_prior = 2.0;
/* Weight, in degrees of freedom, of the prior that a sweep's noise is that of all sweeps. */
static const double own_prior = 8.0;
/* Degrees of freedom of a burst's own error estimate (from folds), and of the typical one that
 * is mixed in. */
static const double opinion_freedom = 7.0;
static const double opinion_prior = 4.0;
/* Ratio of a Gaussian's standard deviation to the median of its absolute value. */
static const double sigma_per_median = 1.4826;

/* A comparison by a counter averages roundings, and its sigma contains what is left. */
static double edge_sigma(const struct mesh_edge *e)
{
    const double sigma = e->sigma_ns > 0.0 ? e->sigma_ns : sigma_per_half_width * e->half_width_ns;
    return e->path_ns > 0.0 ? sigma : hypot(sigma, rounding_ns);
}

/* Convert times and measured differences to small numbers, with the known drifts subtracted. */
static void group_prepare(const struct mesh *mesh, struct mesh_sweep *s)
{
    double sum = 0.0;
    s->t_last = -INFINITY;
    for (size_t e = 0; e < s->count; e++) {
        const struct mesh_edge *edge = &s->edges[e];
        /* The instant on the reference's clock, in ns from the origin. The base is in whole
         * nanoseconds, so this is exact, and the rest is small enough for doubles. */
        const int64_t rough = edge->at + mesh->base[edge->client] - mesh->origin;
        const double t = (double)rough * 1e-9;
        s->t[e] = ((double)rough + ictusi_mesh_at(mesh, edge->client, t)) * 1e-9;
        sum += s->t[e];
        s->t_last = fmax(s->t_last, s->t[e]);
    }
    s->t_mean = sum / (double)s->count;
    for (size_t e = 0; e < s->count; e++) {
        const struct mesh_edge *edge = &s->edges[e];
        const int a = edge->client;
        const int b = edge->server;
        const double difference = ictusi_mesh_difference(mesh, edge);
        const double drifted = (mesh->drift[b] - mesh->drift[a]) * (s->t[e] - s->t_mean);
        s->graph[e] = (struct graph_edge){a, b, 1.0, difference - drifted};
    }
}

bool ictusi_mesh_same_pairs(const struct mesh *m)
{
    const struct mesh_sweep *a = &m->pending[0];
    for (int k = 1; k < m->pending_count; k++) {
        const struct mesh_sweep *b = &m->pending[k];
        if (a->count != b->count) {
            return false;
        }
        for (size_t e = 0; e < a->count; e++) {
            const struct mesh_edge *x = &a->edges[e];
            const struct mesh_edge *y = &b->edges[e];
            const bool same = x->client == y->client && x->server == y->server;
            const bool turned = x->client == y->server && x->server == y->client;
            if (!same && !turned) {
                return false;
            }
        }
    }
    return true;
}

/* A series of sweeps over the same pairs, and the tables of one solution. */
struct group {
    struct mesh_sweep *sweeps;
    int count;
    size_t edges;
    double rounding; /* ns: no noise is smaller */
    double slack;    /* edges per degree of freedom: squared residuals are too small by it */
    double *quality; /* of each pair: its own estimate of its variance, relative to the median */
    double *weight;
    double *scratch;
};

/* Return the expected systematic error of a pair, in ns^2, if nothing shows it: that of a counter,
 * or a part of the shortest round trip. */
static double mesh_group_usual_bias(const struct group *g)
{
    double shortest = INFINITY;
    double sum = 0.0;
    for (size_t e = 0; e < g->edges; e++) {
        shortest = fmin(shortest, g->sweeps[0].edges[e].rtt_ns);
    }
    for (size_t e = 0; e < g->edges; e++) {
        const double left = g->sweeps[0].edges[e].path_ns;
        const double usual = left > 0.0 ? left : ICTUSI_ASYMMETRY_PER_RTT * shortest;
        sum += usual * usual;
    }
    return sum / (double)g->edges;
}

static int mesh_group_set_quality(struct group *g)
{
    for (size_t e = 0; e < g->edges; e++) {
        double sum = 0.0;
        for (int k = 0; k < g->count; k++) {
            const double sigma = edge_sigma(&g->sweeps[k].edges[e]);
            sum += sigma * sigma / g->count;
        }
        g->scratch[e] = g->quality[e] = sqrt(sum);
        g->weight[e] = 1.0;
    }
    ictusi_stats_sort(g->scratch, g->edges);
    const double median = ictusi_stats_quantile(g->scratch, g->edges, 0.5);
    for (size_t e = 0; e < g->edges; e++) {
        /* Estimates from few exchanges scatter, so the square root of the ratio is used. */
        g->quality[e] = fmin(fmax(g->quality[e] / median, 1.0 / quality_max), quality_max);
    }
    return ICTUS_OK;
}

/* Return 1, or -1 if the pair's client was the server in the first sweep. */
static double group_turn(const struct mesh_sweep *sweeps, int k, size_t e)
{
    return sweeps[k].edges[e].client != sweeps[0].edges[e].client ? -1.0 : 1.0;
}

double ictusi_mesh_residual(const struct mesh_sweep *sweeps, int k, size_t e)
{
    return group_turn(sweeps, k, e) * sweeps[k].residual[e];
}

static double residual_of(const struct group *g, int k, size_t e)
{
    return ictusi_mesh_residual(g->sweeps, k, e);
}

/* Return the expected variance of a pair's residual in one sweep. */
static double group_expected(const struct group *g, const struct mesh_spread *spread, size_t e)
{
    return spread->bias + spread->noise * g->quality[e];
}

/*
 * Split the robust variance of the residuals into what is constant for a pair and what changes from
 * sweep to sweep, by medians over the pairs. A single sweep cannot distinguish them, so everything
 * is noise.
 */
static void mesh_group_split(const struct group *g, struct mesh_spread *spread)
{
    const double c2 = sigma_per_median * sigma_per_median;
    for (size_t e = 0; e < g->edges; e++) {
        double mean = 0.0;
        for (int k = 0; k < g->count; k++) {
            mean += residual_of(g, k, e) / g->count;
        }
        g->scratch[e] = fabs(mean);
    }
    ictusi_stats_sort(g->scratch, g->edges);
    const double middle = ictusi_stats_quantile(g->scratch, g->edges, 0.5);
    /* A fit that leaves f degrees of freedom to n edges makes squared residuals too small by f /
     * n on average. slack is n / f. */
    const double between = c2 * middle * middle * g->slack;
    if (g->count < 2) {
        spread->noise = fmax(between, g->rounding * g->rounding);
        spread->bias = 0.0;
        return;
    }
    for (size_t e = 0; e < g->edges; e++) {
        const double change = residual_of(g, g->count - 1, e) - residual_of(g, 0, e);
        g->scratch[e] = fabs(change);
    }
    ictusi_stats_sort(g->scratch, g->edges);
    const double change = ictusi_stats_quantile(g->scratch, g->edges, 0.5);
    /* The difference of two sweeps has twice the variance of one, and the pair's bias cancels in
     * it. */
    const double within = c2 * change * change / 2.0 * g->slack;
    spread->noise = fmax(within, g->rounding * g->rounding);
    /* The mean over the sweeps still contains noise / count. A difference of two estimates may
     * be negative. */
    spread->bias = fmax(between - spread->noise / g->count, 0.0);
}

static void group_reweigh(struct group *g, const struct mesh_spread *spread)
{
    const double whole = spread->bias + spread->noise;
    for (size_t e = 0; e < g->edges; e++) {
        const double variance = group_expected(g, spread, e);
        double most = 0.0;
        for (int k = 0; k < g->count; k++) {
            most = fmax(most, fabs(g->sweeps[k].residual[e]));
        }
        const double u = most / sqrt(variance);
        /* All sweeps of a pair get the same weight, by its largest residual. Different weights
         * would let the pair's bias affect the drift. */
        g->weight[e] = whole / variance * (u > huber ? huber / u : 1.0);
    }
}

/*
 * Estimate the noise of each sweep, with a prior of the noise of all, because on a shared path
 * every burst of a sweep may be bad. On input noise is the sum of squares around the means of the
 * pairs.
 */
static void mesh_group_own_noise(struct group *g, const struct mesh_spread *spread, double factor)
{
    const double own = spread->freedom * (g->count - 1) / g->count;
    for (int k = 0; k < g->count; k++) {
        struct mesh_sweep *s = &g->sweeps[k];
        const double seen = s->noise * factor * g->count / fmax(g->count - 1, 1);
        s->noise = g->count > 1 ? (own * seen + own_prior * spread->noise) / (own + own_prior)
                                : spread->noise;
    }
}

double ictusi_mesh_admit_bias(double seen, double usual, double *freedom)
{
    const double loops = *freedom;
    const double prior = bias_prior * fmax(1.0 - loops / few_loops, 0.0);
    if (!(prior > 0.0 && usual < INFINITY)) {
        return seen;
    }
    *freedom = loops + prior;
    return (loops * seen + prior * usual) / (loops + prior);
}

/* Compute the final variances, not from medians but from the residuals as the fit used them: psi
 * / mean(psi'), whose variance is the effective noise of an M-estimate (Huber 1981, 6.3). */
static void group_effective(struct group *g, struct mesh_spread *spread)
{
    double inside = 0.0;
    double total = 0.0;
    double change = 0.0;
    for (int k = 0; k < g->count; k++) {
        g->sweeps[k].noise = 0.0;
    }
    for (size_t e = 0; e < g->edges; e++) {
        const double limit = huber * sqrt(group_expected(g, spread, e));
        /* Residuals of good and bad pairs are brought to one scale before their squares are
         * added. */
        const double scale =
            1.0 / sqrt(group_expected(g, spread, e) / (spread->bias + spread->noise));
        double mean = 0.0;
        double square = 0.0;
        for (int k = 0; k < g->count; k++) {
            const double r = residual_of(g, k, e);
            inside += fabs(r) <= limit;
            const double psi = fmin(fmax(r, -limit), limit) * scale;
            mean += psi / g->count;
            square += psi * psi;
        }
        total += square / g->count;
        for (int k = 0; k < g->count; k++) {
            const double psi = fmin(fmax(residual_of(g, k, e), -limit), limit) * scale - mean;
            g->sweeps[k].noise += psi * psi;
        }
        change += g->count > 1 ? (square - g->count * mean * mean) / (g->count - 1) : 0.0;
    }
    const double n = (double)g->edges;
    /* The mean of psi', which is 1 inside the limit and 0 outside. */
    const double slope = fmax(inside / (n * g->count), 0.1);
    const double factor = g->slack / (n * slope * slope);
    spread->noise = fmax((g->count > 1 ? change : total) * factor, g->rounding * g->rounding);
    spread->bias = g->count > 1 ? fmax(total * factor - spread->noise, 0.0) : 0.0;
    mesh_group_own_noise(g, spread, factor);
    spread->bias_freedom = spread->freedom;
    if (g->count > 1) {
        spread->bias =
            ictusi_mesh_admit_bias(spread->bias, mesh_group_usual_bias(g), &spread->bias_freedom);
    }
}

/* There are no loops, so use the pairs' own error estimates, sweep by sweep. The estimate of a
 * burst is uncertain, so that of a typical one is mixed in. */
static void group_believe(struct group *g, struct mesh_spread *spread)
{
    double *sorted = g->scratch; /* one value per sweep; few sweeps, p - 1 edges */
    for (int k = 0; k < g->count; k++) {
        double noise = 0.0;
        for (size_t e = 0; e < g->edges; e++) {
            const double sigma = edge_sigma(&g->sweeps[k].edges[e]);
            noise += sigma * sigma / (double)g->edges;
        }
        g->sweeps[k].noise = noise;
        sorted[k] = noise;
    }
    ictusi_stats_sort(sorted, (size_t)g->count);
    spread->noise = ictusi_stats_quantile(sorted, (size_t)g->count, 0.5);
    for (int k = 0; k < g->count; k++) {
        double *noise = &g->sweeps[k].noise;
        *noise = (opinion_freedom * *noise + opinion_prior * spread->noise) /
                 (opinion_freedom + opinion_prior);
    }
    spread->bias = mesh_group_usual_bias(g);
}

/* Compute a pair's offsets in all sweeps and the distance of each from the line through most of
 * them. Return the usual distance. */
static double group_rests(const struct group *g, size_t e, double *t_s, double *rest)
{
    double offsets[TRACK_MAX];
    for (int k = 0; k < g->count; k++) {
        t_s[k] = g->sweeps[k].t_mean;
        offsets[k] = group_turn(g->sweeps, k, e) * g->sweeps[k].graph[e].y;
    }
    return ictusi_track_rests(t_s, g->count, offsets, rest);
}

/*
 * Correct bad bursts. The error of a congested burst may show neither in its own jitter nor, if
 * there are many of them, in the loops of its sweep. The other bursts of its pair show it: a burst
 * that is far off the line through most of them, and also off the line through its neighbours, is
 * moved onto the first line. The pair keeps its weight, and its asymmetry in all sweeps. A clock
 * that wanders bends the line, but then the neighbours follow. The usual distance of half a dozen
 * bursts of one pair may be small by chance, which would straighten the clocks, so it is at least
 * the usual one of most pairs.
 */
static void group_mend_bursts(const struct group *g)
{
    double t_s[TRACK_MAX];
    double rest[TRACK_MAX];
    if (g->count < TRACK_LINE) {
        return;
    }
    for (size_t e = 0; e < g->edges; e++) {
        g->scratch[e] = group_rests(g, e, t_s, rest);
    }
    ictusi_stats_sort(g->scratch, g->edges);
    const double usual = fmax(ictusi_stats_quantile(g->scratch, g->edges, 0.5), g->rounding);
    const double beyond = strange * g->count / (g->count - 2.0); /* the line uses two */
    for (size_t e = 0; e < g->edges; e++) {
        const double limit = beyond * fmax(group_rests(g, e, t_s, rest), usual);
        for (int k = 0; k < g->count; k++) {
            if (fabs(rest[k]) > limit && ictusi_track_apart(t_s, rest, g->count, k) > limit) {
                g->sweeps[k].graph[e].y -= group_turn(g->sweeps, k, e) * rest[k];
            }
        }
    }
}

/* Compute offsets and residuals of all sweeps with the present weights. */
static int group_solve_weighted(struct mesh *mesh, struct group *g)
{
    for (int k = 0; k < g->count; k++) {
        struct mesh_sweep *s = &g->sweeps[k];
        for (size_t e = 0; e < g->edges; e++) {
            s->graph[e].weight = g->weight[e];
        }
        const int err = ictusi_laplacian_solve(&mesh->laplacian, s->graph, s->count, s->x);
        if (err) {
            return err;
        }
        for (size_t e = 0; e < g->edges; e++) {
            const struct graph_edge *edge = &s->graph[e];
            s->residual[e] = edge->y - (s->x[edge->b] - s->x[edge->a]);
        }
    }
    return ICTUS_OK;
}

/*
 * Weight the pairs by the noise of their ends. Noise has long tails, so it gets Student's weights
 * for all sweeps of a pair. Asymmetries are bounded, so they get Huber's. The weight of a pair is
 * the mean of both, in proportion to their expected parts of the residual.
 */
static void group_weigh_by_ends(const struct mesh *mesh, struct group *g,
                                const struct mesh_spread *spread)
{
    for (size_t e = 0; e < g->edges; e++) {
        const struct graph_edge *edge = &g->sweeps[0].graph[e];
        const double noise = mesh->g[edge->a] + mesh->g[edge->b];
        const double v = spread->bias + noise;
        double most = 0.0;
        double sum = 0.0;
        for (int k = 0; k < g->count; k++) {
            const double r = g->sweeps[k].residual[e];
            most = fmax(most, fabs(r));
            sum += r * r / v;
        }
        const double u = most / sqrt(v);
        /* The weight of a multivariate Student distribution with `count` observations: (nu +
         * count) / (nu + squared distance). */
        const double long_tailed = (STUDENT + g->count) / (STUDENT + sum);
        const double bounded = u > huber ? huber / u : 1.0;
        g->weight[e] = (spread->bias + spread->noise) / v *
                       (noise / v * long_tailed + spread->bias / v * bounded);
    }
}

static int group_solve(struct mesh *mesh, struct group *g, struct mesh_spread *spread)
{
    for (int pass = 0; pass <= REWEIGHTINGS; pass++) {
        const int err = group_solve_weighted(mesh, g);
        if (err) {
            return err;
        }
        if (!(spread->freedom > 0.0)) {
            group_believe(g, spread);
            return ICTUS_OK;
        }
        mesh_group_split(g, spread);
        if (pass < REWEIGHTINGS) {
            group_reweigh(g, spread);
        }
    }
    group_effective(g, spread);
    /* Degrees of freedom of one process's noise: the share of its pairs. */
    spread->noise_freedom = 2.0 * spread->freedom / mesh->size * fmax(g->count - 1, 1.0);
    for (int pass = 0; pass < REFINEMENTS; pass++) {
        int err = ictusi_mesh_components(g->sweeps, g->count, mesh->size, spread->noise, mesh->g);
        if (!err) {
            group_weigh_by_ends(mesh, g, spread);
            err = group_solve_weighted(mesh, g);
        }
        if (err) {
            return err;
        }
    }
    return ictusi_mesh_components(g->sweeps, g->count, mesh->size, spread->noise, mesh->g);
}

static int group_solve_run(struct mesh *mesh, struct mesh_sweep *sweeps, int count,
                           struct mesh_spread *spread)
{
    const size_t edges = sweeps[0].count;
    struct group g = {.sweeps = sweeps, .count = count, .edges = edges};
    g.rounding = mesh->calibrated ? rounding_counter_ns : rounding_ns;
    spread->freedom = fmax((double)edges - (double)(mesh->size - 1), 0.0);
    g.slack = spread->freedom > 0.0 ? (double)edges / spread->freedom : 1.0;
    spread->sweeps = count;
    const size_t room = edges > (size_t)count ? edges : (size_t)count;
    g.quality = malloc(3 * room * sizeof(*g.quality));
    if (!g.quality) {
        return ICTUS_ERR_NOMEM;
    }
    g.weight = g.quality + room;
    g.scratch = g.quality + 2 * room;
    int err = mesh_group_set_quality(&g);
    if (!err && spread->freedom > 0.0) {
        group_mend_bursts(&g);
    }
    if (!err) {
        err = group_solve(mesh, &g, spread);
    }
    free(g.quality);
    return err;
}

int ictusi_mesh_group_solve(struct mesh *mesh, struct mesh_spread *spread)
{
    for (int k = 0; k < mesh->pending_count; k++) {
        group_prepare(mesh, &mesh->pending[k]);
    }
    if (ictusi_mesh_same_pairs(mesh)) {
        return group_solve_run(mesh, mesh->pending, mesh->pending_count, spread);
    }
    struct mesh_spread sum = {0};
    for (int k = 0; k < mesh->pending_count; k++) {
        const int err = group_solve_run(mesh, &mesh->pending[k], 1, spread);
        if (err) {
            return err;
        }
        sum.noise += spread->noise / mesh->pending_count;
        sum.bias += spread->bias / mesh->pending_count;
        sum.freedom += spread->freedom;
        sum.sweeps = 1;
        sum.noise_freedom += spread->noise_freedom;
        sum.bias_freedom += spread->bias_freedom;
    }
    *spread = sum;
    return ICTUS_OK;
}

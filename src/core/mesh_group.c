/* SPDX-License-Identifier: BSD-3-Clause */
/* One group of sweeps: edges to small numbers, robust least squares, variance components. */
#include "core/mesh_state.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REWEIGHTINGS = 4 };

/* Huber's limit in standard deviations: full efficiency for paths' asymmetries, which are bounded.
 */
static const double huber = 2.5;
/* A pair's own opinion of its noise counts between these, relative to the median pair's. */
static const double quality_max = 4.0;
/* Stamps are whole nanoseconds: no pair is better than this. */
static const double rounding_ns = 0.3;
/* What a half-width says of a sigma where nothing else does. */
static const double sigma_per_half_width = 0.1;
/*
 * Without loops no asymmetry can be seen. Then this part of the shortest round trip is assumed: 3 %
 * is 23 ns of 800 ns, as measured between two cores.
 */
static const double asymmetry_per_rtt = 0.03;
/* The standard deviation of a Gaussian over the median of its absolute value. */
static const double sigma_per_median = 1.4826;

static double edge_sigma(const struct mesh_edge *e)
{
    const double sigma = e->sigma_ns > 0.0 ? e->sigma_ns : sigma_per_half_width * e->half_width_ns;
    return hypot(sigma, rounding_ns);
}

/* Times and measured differences as small numbers, the known drifts taken out. */
static void group_prepare(const struct mesh *mesh, struct mesh_sweep *s)
{
    double sum = 0.0;
    s->t_last = -INFINITY;
    for (size_t e = 0; e < s->count; e++) {
        const struct mesh_edge *edge = &s->edges[e];
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

/* A run of sweeps over the same pairs, and the tables of one solution. */
struct group {
    struct mesh_sweep *sweeps;
    int count;
    size_t edges;
    double slack;    /* edges per degree of freedom: what squared residuals are too small by */
    double *quality; /* of each pair: its own opinion of its variance over the median's */
    double *weight;
    double *scratch;
};

static int set_quality(struct group *g)
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
    ictusi_sort(g->scratch, g->edges);
    const double median = ictusi_quantile(g->scratch, g->edges, 0.5);
    for (size_t e = 0; e < g->edges; e++) {
        /* Opinions from few exchanges scatter: the root of the ratio goes half of the way. */
        g->quality[e] = fmin(fmax(g->quality[e] / median, 1.0 / quality_max), quality_max);
    }
    return ICTUS_OK;
}

/* Residual of a pair in a sweep, in the direction of the first sweep. */
static double residual_of(const struct group *g, int k, size_t e)
{
    const struct mesh_sweep *s = &g->sweeps[k];
    const bool turned = s->edges[e].client != g->sweeps[0].edges[e].client;
    return turned ? -s->residual[e] : s->residual[e];
}

/* The variance expected of a pair's residual in one sweep. */
static double group_expected(const struct group *g, const struct mesh_spread *spread, size_t e)
{
    return spread->bias + spread->noise * g->quality[e];
}

/*
 * Split the residuals' robust variance: medians over the pairs of what a pair keeps and of what
 * changes from sweep to sweep. A single sweep cannot tell: all is noise.
 */
static void group_split(const struct group *g, struct mesh_spread *spread)
{
    const double c2 = sigma_per_median * sigma_per_median;
    for (size_t e = 0; e < g->edges; e++) {
        double mean = 0.0;
        for (int k = 0; k < g->count; k++) {
            mean += residual_of(g, k, e) / g->count;
        }
        g->scratch[e] = fabs(mean);
    }
    ictusi_sort(g->scratch, g->edges);
    const double middle = ictusi_quantile(g->scratch, g->edges, 0.5);
    const double between = c2 * middle * middle * g->slack;
    if (g->count < 2) {
        spread->noise = fmax(between, rounding_ns * rounding_ns);
        spread->bias = 0.0;
        return;
    }
    for (size_t e = 0; e < g->edges; e++) {
        const double change = residual_of(g, g->count - 1, e) - residual_of(g, 0, e);
        g->scratch[e] = fabs(change);
    }
    ictusi_sort(g->scratch, g->edges);
    const double change = ictusi_quantile(g->scratch, g->edges, 0.5);
    const double within = c2 * change * change / 2.0 * g->slack;
    spread->noise = fmax(within, rounding_ns * rounding_ns);
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
        g->weight[e] = whole / variance * (u > huber ? huber / u : 1.0);
    }
}

/*
 * The final variances, not by medians but by what the fit made of the residuals: psi / mean(psi'),
 * whose variance is an M-estimate's effective noise (Huber 1981, 6.3).
 */
static void group_effective(struct group *g, struct mesh_spread *spread)
{
    double inside = 0.0;
    double total = 0.0;
    double change = 0.0;
    for (size_t e = 0; e < g->edges; e++) {
        const double limit = huber * sqrt(group_expected(g, spread, e));
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
        change += g->count > 1 ? (square - g->count * mean * mean) / (g->count - 1) : 0.0;
    }
    const double n = (double)g->edges;
    const double slope = fmax(inside / (n * g->count), 0.1);
    const double factor = g->slack / (n * slope * slope);
    spread->noise = fmax((g->count > 1 ? change : total) * factor, rounding_ns * rounding_ns);
    spread->bias = g->count > 1 ? fmax(total * factor - spread->noise, 0.0) : 0.0;
}

/* No loops: what the pairs say of themselves. */
static void group_believe(const struct group *g, struct mesh_spread *spread)
{
    double noise = 0.0;
    double shortest = INFINITY;
    for (size_t e = 0; e < g->edges; e++) {
        const double sigma = edge_sigma(&g->sweeps[0].edges[e]);
        noise += sigma * sigma / (double)g->edges;
        shortest = fmin(shortest, g->sweeps[0].edges[e].rtt_ns);
    }
    spread->noise = noise;
    spread->bias = pow(asymmetry_per_rtt * shortest, 2.0);
}

static int solve_group(struct mesh *mesh, struct group *g, struct mesh_spread *spread)
{
    for (int pass = 0; pass <= REWEIGHTINGS; pass++) {
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
        if (!(spread->freedom > 0.0)) {
            group_believe(g, spread);
            return ICTUS_OK;
        }
        group_split(g, spread);
        if (pass < REWEIGHTINGS) {
            group_reweigh(g, spread);
        }
    }
    group_effective(g, spread);
    return ICTUS_OK;
}

static int solve_run(struct mesh *mesh, struct mesh_sweep *sweeps, int count,
                     struct mesh_spread *spread)
{
    const size_t edges = sweeps[0].count;
    struct group g = {.sweeps = sweeps, .count = count, .edges = edges};
    spread->freedom = fmax((double)edges - (double)(mesh->size - 1), 0.0);
    g.slack = spread->freedom > 0.0 ? (double)edges / spread->freedom : 1.0;
    g.quality = malloc(3 * edges * sizeof(*g.quality));
    if (!g.quality) {
        return ICTUS_ERR_NOMEM;
    }
    g.weight = g.quality + edges;
    g.scratch = g.quality + 2 * edges;
    int err = set_quality(&g);
    if (!err) {
        err = solve_group(mesh, &g, spread);
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
        return solve_run(mesh, mesh->pending, mesh->pending_count, spread);
    }
    struct mesh_spread sum = {0};
    for (int k = 0; k < mesh->pending_count; k++) {
        const int err = solve_run(mesh, &mesh->pending[k], 1, spread);
        if (err) {
            return err;
        }
        sum.noise += spread->noise / mesh->pending_count;
        sum.bias += spread->bias / mesh->pending_count;
        sum.freedom += spread->freedom;
    }
    *spread = sum;
    return ICTUS_OK;
}

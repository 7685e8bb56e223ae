/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How well the offset of each process is known: variance components by process. The variance of a
 * pair's noise is g_a + g_b. A noisy process shows in all its pairs, but would be lost in a pooled
 * noise.
 *
 * REML by fixed-point iteration. With V = g_a + g_b, residuals r of leverage h, and the weights of
 * Student's distribution (because middles of minima have Laplacian tails)
 *     u = 4 / (3 + r^2 / ((1 - h) V)),
 * each process is updated, over its pairs, by
 *     g <- g sqrt(sum of u r^2 / ((1 - h) V^2) / sum of 1 / V)
 * Without the root the iteration oscillates.
 */
#include "core/mesh_state.h"
#include "core/stats.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { UPDATES = 20 };

/* Degrees of freedom of Student's distribution of a residual. */
static const double student = 3.0;
/*
 * Ratio of the variance of pairs to Student's scale squared, if one degree of freedom shows a pair:
 * 1.6 for Gaussian and 1.9 for Laplacian residuals. With m degrees the mean square scatters less,
 * and the excess over 1 falls as 1 / m (1.10 and 1.22 for m = 5).
 */
static const double variance_over_scale = 1.75;
/* Weight, in pairs, of the prior that a process is like the median one. */
static const double prior_pairs = 1.0;
/* Lower limit of 1 - h, because a residual that its own pair alone determines (h = 1) carries no
 * information. */
static const double freedom_least = 0.05;
/* No process is better than the stamps, in ns^2, nor than this part of the noise of all. */
static const double least = 0.05;
static const double least_part = 0.25;

/* Tables of one estimation. */
struct components {
    const struct mesh_sweep *sweep; /* whose graph lists the pairs */
    int size;
    double floor;  /* ns^2: of g */
    double *pair;  /* mean square of each pair's residuals */
    double *g;     /* of each process, ns^2 */
    double *above; /* sums over a process's pairs */
    double *below;
    double *sorted;
};

/* The ratio variance_over_scale if this many sweeps show a pair. */
static double components_scale(int sweeps)
{
    return 1.0 + (variance_over_scale - 1.0) / fmax(sweeps - 1.0, 1.0);
}

/* The part of the residuals that changes from sweep to sweep. With a single sweep, all of it. */
static void square_residuals(const struct mesh_sweep *first, int sweeps, struct components *c)
{
    for (size_t e = 0; e < c->sweep->count; e++) {
        double mean = 0.0;
        double square = 0.0;
        for (int k = 0; k < sweeps; k++) {
            const double r = ictusi_mesh_residual(first, k, e);
            mean += r / sweeps;
            square += r * r;
        }
        c->pair[e] = sweeps > 1 ? fmax(square - sweeps * mean * mean, 0.0) / (sweeps - 1) : square;
    }
}

static void components_update(struct components *c)
{
    const size_t n = (size_t)c->size;
    /*
     * The leverage of an edge is its weight times the effective resistance between its ends. On an
     * expander it is close to 1/D_a + 1/D_b, where D is the sum of the weights. The factor makes
     * all leverages add up to p - 1, as they must.
     */
    const double tree = (c->size - 1.0) / c->size;
    memset(c->below, 0, n * sizeof(double));
    for (size_t e = 0; e < c->sweep->count; e++) {
        const struct graph_edge *edge = &c->sweep->graph[e];
        const double inverse = 1.0 / (c->g[edge->a] + c->g[edge->b]);
        c->below[edge->a] += inverse;
        c->below[edge->b] += inverse;
    }
    memset(c->above, 0, n * sizeof(double));
    for (size_t e = 0; e < c->sweep->count; e++) {
        const struct graph_edge *edge = &c->sweep->graph[e];
        const double v = c->g[edge->a] + c->g[edge->b];
        const double leverage = tree / v * (1.0 / c->below[edge->a] + 1.0 / c->below[edge->b]);
        const double square = c->pair[e] / fmax(1.0 - leverage, freedom_least);
        const double weight = (student + 1.0) / (student + square / v);
        c->above[edge->a] += weight * square / (v * v);
        c->above[edge->b] += weight * square / (v * v);
    }
    memcpy(c->sorted, c->g, n * sizeof(double));
    ictusi_stats_sort(c->sorted, n);
    const double usual = ictusi_stats_quantile(c->sorted, n, 0.5);
    for (int i = 0; i < c->size; i++) {
        const double g = c->g[i];
        /* The prior acts as one more pair whose mean square is the variance of the median
         * process. At g = usual it adds 1/g to both sums and so does not move the solution. */
        const double up = c->above[i] + prior_pairs * usual / (g * g);
        c->g[i] = fmax(g * sqrt(up / (c->below[i] + prior_pairs / g)), c->floor);
    }
}

int ictusi_mesh_components(const struct mesh_sweep *sweeps, int count, int size, double noise,
                           double *g)
{
    const size_t n = (size_t)size;
    double *room = malloc((sweeps->count + 3 * n) * sizeof(*room));
    if (!room) {
        return ICTUS_ERR_NOMEM;
    }
    struct components c = {.sweep = sweeps, .size = size, .g = g, .pair = room + 3 * n};
    c.floor = fmin(least, least_part * noise);
    c.above = room;
    c.below = room + n;
    c.sorted = room + 2 * n;
    square_residuals(sweeps, count, &c);
    for (size_t i = 0; i < n; i++) {
        g[i] = noise / (2.0 * components_scale(count));
    }
    for (int k = 0; k < UPDATES; k++) {
        components_update(&c);
    }
    free(room);
    return ICTUS_OK;
}

/* Compute the resistances relative to their mean between any two processes. That mean is the
 * gain. */
static int errors_relative(struct mesh *mesh, const struct graph_edge *graph, size_t count,
                           double *relative, double *gain)
{
    const int err = ictusi_laplacian_resistance(&mesh->laplacian, graph, count, relative, gain);
    for (int i = 1; !err && i < mesh->size; i++) {
        relative[i] /= *gain;
    }
    return err;
}

int ictusi_mesh_errors(struct mesh *mesh, const struct mesh_spread *spread)
{
    struct mesh_sweep *last = &mesh->pending[mesh->pending_count - 1];
    struct graph_edge *graph = malloc(last->count * sizeof(*graph));
    if (!graph) {
        return ICTUS_ERR_NOMEM;
    }
    int err = errors_relative(mesh, last->graph, last->count, mesh->relative, &mesh->bias_gain);
    memcpy(mesh->noisy, mesh->relative, (size_t)mesh->size * sizeof(double));
    mesh->noise_gain = mesh->bias_gain;
    if (!err && spread->freedom > 0.0) {
        const double scale = components_scale(spread->sweeps);
        for (size_t e = 0; e < last->count; e++) {
            const double v = mesh->g[last->graph[e].a] + mesh->g[last->graph[e].b];
            graph[e] = last->graph[e];
            graph[e].weight = spread->noise / (scale * v);
        }
        err = errors_relative(mesh, graph, last->count, mesh->noisy, &mesh->noise_gain);
    }
    free(graph);
    return err;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Conjugate gradients on a graph's Laplacian with node 0 grounded. */
#include "core/laplacian.h"
#include "core/random.h"

#include <ictus/error.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    EXACT_NODES = 48, /* up to this many nodes, one solve for each */
    PROBES = 12,      /* random right-hand sides for more nodes */
    ITERATIONS_EXTRA = 200
};

/* The residual is reduced to this part of the right-hand side, which is far below a picosecond. */
static const double tolerance = 1e-10;

int ictusi_laplacian_create(int nodes, struct laplacian *laplacian)
{
    laplacian->nodes = nodes;
    laplacian->degree = malloc(4 * (size_t)nodes * sizeof(double));
    if (!laplacian->degree) {
        return ICTUS_ERR_NOMEM;
    }
    laplacian->room = laplacian->degree + nodes;
    return ICTUS_OK;
}

void ictusi_laplacian_free(struct laplacian *laplacian)
{
    free(laplacian->degree);
    *laplacian = (struct laplacian){0};
}

/* Compute out = L x, with node 0 grounded. */
static void laplacian_multiply(int nodes, const struct graph_edge *edges, size_t count,
                               const double *x, double *out)
{
    memset(out, 0, (size_t)nodes * sizeof(*out));
    for (size_t e = 0; e < count; e++) {
        const double flow = edges[e].weight * (x[edges[e].b] - x[edges[e].a]);
        out[edges[e].b] += flow;
        out[edges[e].a] -= flow;
    }
    out[0] = 0.0;
}

static double laplacian_dot(int n, const double *a, const double *b)
{
    double sum = 0.0;
    for (int i = 1; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

static void laplacian_sum_degrees(struct laplacian *l, const struct graph_edge *edges, size_t count)
{
    memset(l->degree, 0, (size_t)l->nodes * sizeof(double));
    for (size_t e = 0; e < count; e++) {
        l->degree[edges[e].a] += edges[e].weight;
        l->degree[edges[e].b] += edges[e].weight;
    }
}

/*
 * Solve L x = rhs from the guess in x. The degrees are up to date, and rhs is overwritten. The
 * preconditioner is the diagonal (Golub and Van Loan, Matrix Computations, 11.5). A node without
 * edges has the degree 0 and keeps its guess. A curvature that is not positive means that the
 * weights are not, so the input is corrupt.
 */
static int laplacian_descend(struct laplacian *l, const struct graph_edge *edges, size_t count,
                             double *rhs, double *x)
{
    const int n = l->nodes;
    double *residual = rhs;
    double *direction = l->room + n;
    double *image = direction + n;
    const double wanted = laplacian_dot(n, rhs, rhs) * tolerance * tolerance;
    laplacian_multiply(n, edges, count, x, image);
    for (int i = 1; i < n; i++) {
        residual[i] -= image[i];
        direction[i] = l->degree[i] > 0.0 ? residual[i] / l->degree[i] : 0.0;
    }
    direction[0] = 0.0;
    /* power is r' M^-1 r with the preconditioner M = diag(degree). All sums start at 1, because
     * node 0 is held at 0 and has no equation. */
    double power = laplacian_dot(n, residual, direction);
    /*
     * Without rounding n steps would suffice, and an expander needs a few dozen. The extra steps
     * allow for rounding on long paths, whose condition number grows with the square of their
     * length.
     */
    for (int k = 0; k < n + ITERATIONS_EXTRA; k++) {
        if (laplacian_dot(n, residual, residual) <= wanted || !(power > 0.0)) {
            return ICTUS_OK;
        }
        laplacian_multiply(n, edges, count, direction, image);
        const double curvature = laplacian_dot(n, direction, image);
        if (!(curvature > 0.0)) {
            return ICTUS_ERR_CORRUPT;
        }
        const double step = power / curvature;
        for (int i = 1; i < n; i++) {
            x[i] += step * direction[i];
            residual[i] -= step * image[i];
        }
        double next = 0.0;
        for (int i = 1; i < n; i++) {
            next += l->degree[i] > 0.0 ? residual[i] * residual[i] / l->degree[i] : 0.0;
        }
        for (int i = 1; i < n; i++) {
            const double scaled = l->degree[i] > 0.0 ? residual[i] / l->degree[i] : 0.0;
            direction[i] = scaled + next / power * direction[i];
        }
        power = next;
    }
    /* On long paths, rounding stops the progress near the end. Accept a residual that is 1e4
     * times larger. */
    return laplacian_dot(n, residual, residual) <= wanted * 1e8 ? ICTUS_OK : ICTUS_ERR_CORRUPT;
}

/*
 * Least squares on a graph: minimise the sum of w (x_b - x_a - y)^2 over all edges. The normal
 * equations are L x = B' W y with the weighted Laplacian L. Only differences are measured, so node
 * 0 is held at 0. O(edges) for each iteration of conjugate gradients.
 */
int ictusi_laplacian_solve(struct laplacian *laplacian, const struct graph_edge *edges,
                           size_t count, double *x)
{
    double *rhs = laplacian->room;
    const double ground = x[0];
    for (int i = 0; i < laplacian->nodes; i++) {
        x[i] -= ground;
    }
    laplacian_sum_degrees(laplacian, edges, count);
    memset(rhs, 0, (size_t)laplacian->nodes * sizeof(*rhs));
    for (size_t e = 0; e < count; e++) {
        const double flow = edges[e].weight * edges[e].y;
        rhs[edges[e].b] += flow;
        rhs[edges[e].a] -= flow;
    }
    rhs[0] = 0.0;
    return laplacian_descend(laplacian, edges, count, rhs, x);
}

/*
 * Column i of G, the inverse of the grounded Laplacian, is the response to a flow into i. The
 * resistance between i and j is G_ii + G_jj - 2 G_ij, and the sum over all pairs is n tr G - the
 * sum of all G_ij.
 */
static int resistance_exact(struct laplacian *l, const struct graph_edge *edges, size_t count,
                            double *x, double *resistance, double *between)
{
    const double n = l->nodes;
    double sum = 0.0;
    for (int i = 1; i < l->nodes; i++) {
        memset(l->room, 0, (size_t)l->nodes * sizeof(double));
        memset(x, 0, (size_t)l->nodes * sizeof(double));
        l->room[i] = 1.0;
        const int err = laplacian_descend(l, edges, count, l->room, x);
        if (err) {
            return err;
        }
        resistance[i] = x[i];
        sum += n * x[i];
        for (int j = 1; j < l->nodes; j++) {
            sum -= x[j];
        }
    }
    *between = 2.0 * sum / (n * (n - 1.0));
    return ICTUS_OK;
}

/*
 * Right-hand sides with the covariance L give solutions with the covariance of the fit. The trace
 * is estimated by random probes (Hutchinson 1990), with PROBES solves instead of one for each node.
 * The single resistances are shaped like 1/degree and scaled to the sum from the probes, so they
 * are estimates.
 */
static int resistance_probed(struct laplacian *l, const struct graph_edge *edges, size_t count,
                             double *x, double *resistance, double *between)
{
    struct rng rng;
    ictusi_random_seed(&rng, 1, 0);
    double seen = 0.0;
    double shape = 0.0;
    for (int k = 0; k < PROBES; k++) {
        memset(l->room, 0, (size_t)l->nodes * sizeof(double));
        memset(x, 0, (size_t)l->nodes * sizeof(double));
        for (size_t e = 0; e < count; e++) {
            /* A normal current of variance w flows through each edge: B' W^(1/2) z has the
             * covariance B' W B = L. */
            const double flow = sqrt(edges[e].weight) * ictusi_random_normal(&rng);
            l->room[edges[e].b] += flow;
            l->room[edges[e].a] -= flow;
        }
        l->room[0] = 0.0;
        const int err = laplacian_descend(l, edges, count, l->room, x);
        if (err) {
            return err;
        }
        /* The part common to all is that of node 0 itself. Measure the rest relative to the
         * mean. */
        double mean = 0.0;
        for (int i = 1; i < l->nodes; i++) {
            mean += x[i] / (double)(l->nodes - 1);
        }
        for (int i = 1; i < l->nodes; i++) {
            seen += (x[i] - mean) * (x[i] - mean);
            shape += l->degree[i] > 0.0 ? 1.0 / l->degree[i] : 0.0;
        }
    }
    const double scale = shape > 0.0 ? seen / shape : 1.0;
    *between = 2.0 * seen / (PROBES * (l->nodes - 2.0));
    for (int i = 1; i < l->nodes; i++) {
        resistance[i] = l->degree[i] > 0.0 && l->degree[0] > 0.0
                            ? scale * (1.0 / l->degree[i] + 1.0 / l->degree[0])
                            : INFINITY;
    }
    return ICTUS_OK;
}

int ictusi_laplacian_resistance(struct laplacian *laplacian, const struct graph_edge *edges,
                                size_t count, double *resistance, double *between)
{
    double mean = 0.0;
    double *x = malloc((size_t)laplacian->nodes * sizeof(*x));
    if (!x) {
        return ICTUS_ERR_NOMEM;
    }
    laplacian_sum_degrees(laplacian, edges, count);
    resistance[0] = 0.0;
    const int err = laplacian->nodes <= EXACT_NODES
                        ? resistance_exact(laplacian, edges, count, x, resistance, &mean)
                        : resistance_probed(laplacian, edges, count, x, resistance, &mean);
    if (between) {
        *between = mean;
    }
    free(x);
    return err;
}

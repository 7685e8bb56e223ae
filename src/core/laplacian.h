/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted least squares of differences on a graph: given y_e = x[b] - x[a] + noise for every edge,
 * find x with x[0] = 0. The normal equations are the graph's Laplacian. They are solved by
 * conjugate gradients with a diagonal preconditioner, which on an expander takes a few dozen passes
 * over the edges.
 */
#ifndef ICTUS_CORE_LAPLACIAN_H
#define ICTUS_CORE_LAPLACIAN_H

#include <stddef.h>
#include <stdint.h>

struct graph_edge {
    int32_t a, b;
    double weight; /* inverse variance up to a common factor; 0 leaves the edge out */
    double y;      /* measured x[b] - x[a] */
};

struct laplacian {
    int nodes;
    double *degree; /* sum of the weights at each node */
    double *room;   /* residual, direction, image */
};

/* Allocate for a graph with this number of nodes. Errors: ICTUS_ERR_NOMEM. */
int ictusi_laplacian_create(int nodes, struct laplacian *laplacian);

/* Release. Allowed on a zeroed structure. */
void ictusi_laplacian_free(struct laplacian *laplacian);

/*
 * Solve for x, one value for each node. On input x is the first guess; on output x[0] is 0. Nodes
 * that no weighted edge reaches keep their guess. Errors: ICTUS_ERR_CORRUPT if the iteration does
 * not converge.
 */
int ictusi_laplacian_solve(struct laplacian *laplacian, const struct graph_edge *edges,
                           size_t count, double *x);

/*
 * Compute the variance of each x[i] relative to x[0] if every edge errs independently with variance
 * 1 / weight. This is the effective resistance between i and 0. Up to a few dozen nodes it is
 * exact, with one solve for each. Above that it is 1/degree[i] + 1/degree[0], scaled by random
 * probes of the solver, which errs by a few per cent on an expander. *between (may be NULL) is the
 * mean of the effective resistances between all pairs of nodes.
 */
int ictusi_laplacian_resistance(struct laplacian *laplacian, const struct graph_edge *edges,
                                size_t count, double *resistance, double *between);

#endif

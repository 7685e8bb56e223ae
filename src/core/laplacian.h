/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Weighted least squares of differences on a graph: given y_e = x[b] - x[a] + noise for every edge,
 * find x with x[0] = 0. The normal equations are the graph's Laplacian, solved by conjugate
 * gradients with a diagonal preconditioner: on an expander a few dozen passes over the edges.
 */
#ifndef ICTUS_CORE_LAPLACIAN_H
#define ICTUS_CORE_LAPLACIAN_H

#include <stddef.h>
#include <stdint.h>

struct graph_edge {
    int32_t a, b;
    double weight; /* inverse variance, up to a common factor; 0 leaves the edge out */
    double y;      /* x[b] - x[a] as measured */
};

struct laplacian {
    int nodes;
    double *degree; /* sum of the weights at each node */
    double *room;   /* residual, direction, image */
};

/* Room for a graph of so many nodes. Errors: ICTUS_ERR_NOMEM. */
int ictusi_laplacian_create(int nodes, struct laplacian *laplacian);

/* Release; legal on a zeroed structure. */
void ictusi_laplacian_free(struct laplacian *laplacian);

/*
 * Solve for x (nodes values; read as the first guess, x[0] becomes 0). Nodes that no weighted edge
 * reaches keep their guess. Errors: ICTUS_ERR_CORRUPT where it does not converge.
 */
int ictusi_laplacian_solve(struct laplacian *laplacian, const struct graph_edge *edges,
                           size_t count, double *x);

/*
 * The variance of each x[i] against x[0], if every edge errs independently with variance
 * 1 / weight: the effective resistance between i and 0. Exact up to a few dozen nodes (one solve
 * each); above, 1/degree[i] + 1/degree[0] scaled by what random probes of the solver show, which
 * errs by a few per cent on an expander. between (may be NULL) becomes the mean of the effective
 * resistances between all pairs of nodes.
 */
int ictusi_laplacian_resistance(struct laplacian *laplacian, const struct graph_edge *edges,
                                size_t count, double *resistance, double *between);

#endif

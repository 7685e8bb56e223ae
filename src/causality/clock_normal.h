/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The normal equations of one step of a clock model, in their natural shape. With a block of nb
 * unknowns per clock,
 *
 *       A = sum over clocks of O_u + sum over edges of (b - a)' S_ab (b - a)
 *
 * where O_u holds what is known of one clock, and S_ab what is known of the difference of two. A
 * few clocks are solved for densely (Cholesky), many by conjugate gradients (Hestenes and Stiefel
 * 1952), preconditioned by the clocks' own blocks: A is the Laplacian of a graph with matrices as
 * weights, and a step of the iteration costs time in proportion to the edges. The errors of many
 * clocks are estimated by random draws. As A is a sum of squares, a random vector b with covariance
 * A takes only a few normal random numbers per edge, and A^-1 b has the covariance A^-1.
 */
#ifndef ICTUS_CAUSALITY_CLOCK_NORMAL_H
#define ICTUS_CAUSALITY_CLOCK_NORMAL_H

#include "core/random.h"

#include <stdbool.h>
#include <stdint.h>

/* Beyond this number of clocks, conjugate gradients are used. */
enum { NORMAL_DENSE_MAX = 120 };

struct normal_edge {
    uint32_t a, b;
};

struct normal {
    uint32_t clocks, nb;
    uint64_t n; /* clocks x nb */
    struct normal_edge *edges;
    uint64_t edge_count;
    double *own;    /* clocks x nb x nb */
    double *blocks; /* edges x nb x nb */
    double *right;  /* n; the solution after ictusi_normal_solve() */
    bool dense;
    double *matrix, *scale;    /* dense: n x n and n */
    double *inverse, *vectors; /* else: clocks x (nb + 1) x nb, factors and scales; work space */
};

/*
 * Allocate room for this many clocks and edges, which the caller fills in. dense: store the whole
 * matrix. Errors: ICTUS_ERR_NOMEM.
 */
int ictusi_normal_init(struct normal *s, uint32_t clocks, uint32_t nb, uint64_t edges, bool dense);
void ictusi_normal_fini(struct normal *s);

/* Set all of A and the right-hand side to 0; the edges stay. */
void ictusi_normal_clear(struct normal *s);

/* Call after A is filled in. Returns false if A is not positive definite. */
bool ictusi_normal_factorise(struct normal *s);

/* Replace the right-hand side by the solution; call after factorising. */
void ictusi_normal_solve(struct normal *s);

/* Replace the right-hand side by a random vector with covariance A; not for the dense solver. */
void ictusi_normal_draw(struct normal *s, struct rng *rng);

#endif
